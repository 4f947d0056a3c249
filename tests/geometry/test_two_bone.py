# SPDX-License-Identifier: GPL-3.0-or-later
"""The chord frame, and the plane that a limb bends in."""

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


def test_turned_about_the_chord_what_lies_along_it_stays_and_the_rest_goes_round():
    frames, turns = random_rotations(20), RNG.uniform(-3, 3, 20)
    got = two_bone.turned(frames, turns, frames)
    np.testing.assert_allclose(got[:, :, 1], frames[:, :, 1], atol=1e-9)
    quarter = two_bone.turned(frames, np.full(20, np.pi / 2), frames)
    np.testing.assert_allclose(quarter[:, :, 2], frames[:, :, 0], atol=1e-9)
    np.testing.assert_allclose(got, two_bone.base_rotations(frames, turns, np.zeros(20), 0), atol=1e-9)


@pytest.mark.parametrize("hinge", [0, 2])
def test_hinge_angle_is_the_turn_that_points_the_hinge(hinge):
    turns = np.linspace(-3, 3, 15)
    frames = random_rotations(15)
    hinges = two_bone.base_rotations(frames, turns, np.zeros(15), hinge)[:, :, hinge]
    np.testing.assert_allclose(two_bone.hinge_angles(frames, hinges, hinge), turns, atol=1e-9)


def test_the_rest_pose_tells_which_way_the_second_bone_turns():
    for hinge in (0, 2):
        for angle in (0.3, -0.3):
            second = about_axis(hinge, np.array([angle]))[0] @ [0, 1, 0]
            assert two_bone.bend_sign_at_rest(np.eye(3), second, hinge) == np.sign(angle)


def test_a_target_on_the_head_gives_a_frame_and_no_nan():
    frames = two_bone.chord_frames(random_rotations(1), np.zeros((1, 3)), np.zeros((1, 3)))
    assert np.isfinite(to_quaternions(frames)).all()


def test_a_straight_limb_takes_its_plane_from_its_neighbours_in_time():
    off = np.array([0.4, 2.9, -1.0, 3.0, 0.8])  # a straight limb's own angles are noise
    planes = two_bone.bend_planes(off, np.array([0.2, 0, 1e-5, 1e-4, 0.2]))
    np.testing.assert_allclose(planes, np.linspace(0.4, 0.8, 5), atol=1e-12)


def test_a_limb_that_is_always_straight_bends_as_its_hinge_would():
    assert not two_bone.bend_planes(np.array([1.0, -2.0]), np.zeros(2)).any()


def test_a_limb_that_passes_through_straight_keeps_its_plane():
    reach = np.array([0.1, 0.05, 0.01, 0.0, 0.01, 0.05, 0.1])
    off = np.array([0.1, 0.1, 0.1, 0.0, 0.1 + np.pi, 0.1 - np.pi, 0.1 + np.pi])
    np.testing.assert_allclose(two_bone.bend_planes(off, reach), 0.1, atol=1e-12)


def test_a_limb_that_may_not_fold_turns_instead():
    off, reach = np.array([0.1, 0.1 + np.pi, 0.1 + np.pi]), np.array([0.05, 0.05, 0.05])
    turned = [0, np.pi, np.pi]
    np.testing.assert_allclose(np.abs(two_bone.bend_planes(off, reach, folds=False) - 0.1), turned, atol=1e-12)
    np.testing.assert_allclose(np.abs(two_bone.bend_planes(off, reach * 4) - 0.1), turned, atol=1e-12)
    np.testing.assert_allclose(two_bone.bend_planes(off, reach), 0.1, atol=1e-12)


def test_planes_in_two_parts_are_those_of_the_whole():
    rng = np.random.default_rng(3)
    off, reach = np.cumsum(rng.normal(0, 0.3, 40)), 0.05 * np.abs(np.sin(np.arange(40) / 4))
    whole = two_bone.bend_planes(off, reach)
    first = two_bone.bend_planes(off[:17], reach[:17])
    second = two_bone.bend_planes(off[17:], reach[17:], first[-1])
    np.testing.assert_allclose(np.concatenate([first, second]), whole, atol=0.2)


def test_a_share_of_the_stretching_is_the_first_bones_or_the_second_ones():
    shares = np.array([0, 0.03, -0.03])
    np.testing.assert_allclose(two_bone.stretches_of(shares, 0.1), [[0.1, 0.1], [0.2, 0.1], [0.1, 0.2]])
    np.testing.assert_allclose(two_bone.stretches_of(shares, 0.05), [[0.05, 0.05], [0.2, 0.05], [0.05, 0.2]])


def test_the_rest_pose_tells_to_which_side_the_joint_folds():
    bent = about_axis(0, np.array([0.3]))[0] @ [0, 1, 0]  # the second bone points to +Z of the first
    assert abs(two_bone.bend_angle_at_rest(np.eye(3), bent)) == pytest.approx(np.pi)
