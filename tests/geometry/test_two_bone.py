# SPDX-License-Identifier: GPL-3.0-or-later
"""The chord frame and the search for size and bend, against a solver of our own making."""

from __future__ import annotations

import numpy as np
import pytest

from rigify_ikfk_tools.geometry import two_bone
from rigify_ikfk_tools.geometry.rotations import about_axis, shortest_arc, to_quaternions

RNG = np.random.default_rng(7)


def random_rotations(count):
    return shortest_arc(RNG.normal(size=(count, 3)), RNG.normal(size=(count, 3)))


def test_the_figure_does_not_depend_on_where_the_limb_is():
    head, middle, target = np.array([[0, 0, 0.0]]), np.array([[0.1, 0.5, 0.2]]), np.array([[0, 0.9, 0.1]])
    base = random_rotations(1)
    plain = two_bone.figure(two_bone.chord_frames(base, head, target), head, middle)
    turn, shift = random_rotations(1)[0], np.array([3, -1, 2])
    moved = [points @ turn.T + shift for points in (head, middle, target)]
    frames = two_bone.chord_frames(turn @ base, moved[0], moved[2])
    got = two_bone.figure(frames, moved[0], moved[1])
    np.testing.assert_allclose([got.along, got.across, got.angle], [plain.along, plain.across, plain.angle], atol=1e-9)
    assert got.along[0] == pytest.approx(np.dot([0.1, 0.5, 0.2], [0, 0.9, 0.1]) / np.hypot(0.9, 0.1))


@pytest.mark.parametrize("hinge", [0, 2])
def test_turn_and_bend_come_back(hinge):
    turns, bends = RNG.uniform(-3, 3, 20), RNG.uniform(-1.5, 1.5, 20)
    frames = np.tile(np.eye(3), (20, 1, 1))
    got = two_bone.turn_and_bend(two_bone.base_rotations(frames, turns, bends, hinge), hinge)
    np.testing.assert_allclose(got, [turns, bends], atol=1e-9)


@pytest.mark.parametrize("hinge", [0, 2])
def test_hinge_angle_is_the_turn_that_points_the_hinge(hinge):
    turns = np.linspace(-3, 3, 15)
    frames = random_rotations(15)
    hinges = two_bone.base_rotations(frames, turns, np.zeros(15), hinge)[:, :, hinge]
    np.testing.assert_allclose(two_bone.hinge_angles(frames, hinges, hinge), turns, atol=1e-9)


def test_a_target_on_the_head_gives_a_frame_and_no_nan():
    frames = two_bone.chord_frames(random_rotations(1), np.zeros((1, 3)), np.zeros((1, 3)))
    assert np.isfinite(to_quaternions(frames)).all()


def test_a_straight_limb_takes_its_plane_from_the_hinge():
    wanted = two_bone.Figure(np.full(3, 0.5), np.array([0.0, 3e-4, 0.1]), np.full(3, 1.0))
    goal = two_bone.goal_angles(wanted, np.full(3, 0.2), np.ones(3))
    assert goal[0] == pytest.approx(0.2)
    assert 0.2 < goal[1] < 1.0
    assert goal[2] == pytest.approx(1.0)


def toy_solver(shape, reach):
    """Something as crooked as Blender's solver: both lengths depend on both unknowns and on the reach."""
    size, bend = shape.size - 1, shape.bend
    along = 0.5 * reach + 0.04 * size + 0.001 * bend + 0.0004 * bend**2
    across = np.sqrt(np.maximum(0, 0.25 - along**2 + 0.6 * size - 0.004 * bend * reach))
    return along, across


def test_the_search_finds_what_the_solver_needs_from_few_probes():
    reach = np.linspace(0.5, 0.97, 60)
    truth = two_bone.Shape(np.zeros(60), np.zeros(60))
    truth.unknowns = np.stack([50 + 2 * (1 - reach), -1 - 2 * reach], axis=1)
    along, across = toy_solver(truth, reach)
    shape = two_bone.Shape(along, across)

    def evaluate(rows):
        got = toy_solver(shape, reach)
        shape.saw(rows, got[0][rows], got[1][rows], np.hypot(got[0] - along, got[1] - across)[rows])

    probes = np.array([0, 15, 30, 45, 59])
    evaluate(probes)
    shape.nudge(probes, 0, 0.5)
    evaluate(probes)
    shape.nudge(probes, 1, 1.0)
    evaluate(probes)
    for _ in range(2):
        shape.correct(probes)
        evaluate(probes)
    shape.settle()
    shape.spread(probes, across)
    rows = np.arange(60)
    for _ in range(3):
        evaluate(rows)
        shape.correct(rows)
    assert shape.best_error.max() < 2e-4


def test_known_unknowns_are_not_spread_over():
    shape = two_bone.Shape(np.full(4, 0.5), np.full(4, 0.1))
    known = np.array([False, True, False, False])
    shape.start(known, np.full(4, 1.25), np.full(4, 0.3))
    shape.spread(np.array([0]), np.full(4, 0.1))
    assert shape.size[1] == pytest.approx(1.25)
    assert shape.bend[1] == pytest.approx(0.3)
    assert shape.size[2] == shape.size[0]


def test_the_rest_pose_tells_to_which_side_the_joint_folds():
    bent = about_axis(0, np.array([0.3]))[0] @ [0, 1, 0]  # the second bone points to +Z of the first
    assert abs(two_bone.bend_angle_at_rest(np.eye(3), bent)) == pytest.approx(np.pi)
