# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints are found in figures of all poses, turns and dresses; what is no humanoid is refused with the reason."""

import sys
from pathlib import Path

import numpy as np
import pytest

from rigify_ikfk_tools.geometry.landmarks import UnreadableBody, read_body

sys.path.insert(0, str(Path(__file__).parent))
from figure import JOINTS, both_sides, cone, humanoid, joined, skin

NAMES = [
    f"{name}.{side}"
    for name in ("shoulder", "elbow", "wrist", "hip", "knee", "ankle", "toe_ball", "toe_tip")
    for side in "LR"
]
HEIGHT = 1.7


@pytest.fixture(scope="module")
def figure():
    return humanoid()


def assert_found(body, joints, most=0.045):
    """Every joint within a share of the height."""
    for name in NAMES:
        gap = np.linalg.norm(body.landmarks[name] - both_sides(joints)[name])
        assert gap < most * HEIGHT, (name, gap / HEIGHT)


def test_the_joints_of_a_standing_figure(figure):
    body = read_body(*figure)
    assert_found(body, JOINTS, 0.035)
    assert body.symmetric
    assert not body.doubts
    np.testing.assert_allclose(body.axes, np.eye(3), atol=0.02)
    assert body.height == pytest.approx(HEIGHT, abs=0.03)
    assert body.landmarks["chin"][1] < body.landmarks["head_base"][1]


@pytest.mark.parametrize(
    ("axis", "degrees"), [((0, 0, 1), 90), ((1, 0, 0), 90), ((1, 0, 0), 25), ((0, 1, 0), 180), ((1, 2, 0.5), 130)]
)
def test_any_turn_gives_the_same_joints(figure, axis, degrees):
    points, faces = figure
    turn = _turn(axis, degrees)
    body = read_body(100 * points @ turn.T + [300, -20, 5], faces)
    straight = read_body(points, faces).landmarks
    for name in NAMES:
        back = (body.landmarks[name] - [300, -20, 5]) / 100 @ turn
        assert np.linalg.norm(back - straight[name]) < 0.03 * HEIGHT, name


def _turn(axis, degrees):
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angle = np.radians(degrees)
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


RAISED = {
    "shoulder.L": (0.19, 0.02, 1.43),
    "elbow.L": (0.33, 0.03, 1.68),
    "wrist.L": (0.4, 0.0, 1.92),
    "hand.L": (0.43, -0.02, 2.02),
    "f_middle_tip.L": (0.45, -0.03, 2.09),
}


@pytest.mark.parametrize("which", ["left arm", "both arms"])
def test_a_raised_hand_is_not_taken_for_the_head(which):
    joints = both_sides(JOINTS | RAISED)
    if which == "left arm":
        joints |= {name: place for name, place in both_sides(JOINTS).items() if name.endswith(".R")}
    body = read_body(*humanoid(joints))
    assert body.landmarks["head_top"][2] == pytest.approx(HEIGHT, abs=0.05)
    assert_found(body, joints, 0.06)
    assert body.symmetric == (which == "both arms")


@pytest.mark.parametrize(
    "extra",
    [
        cone((0, 0, 1.05), (0, 0, 0.4), 0.17, 0.36),
        cone((0, 0, 1.95), (0, 0, 1.66), 0.01, 0.17),
        cone((-0.55, -0.1, 0.9), (-0.5, -0.9, 0.6), 0.012, 0.012),
    ],
    ids=["skirt", "hat", "sword"],
)
def test_loose_clothes_and_things_are_no_limbs(figure, extra):
    plain, dressed = read_body(*figure), read_body(*joined(figure, extra))
    for name, place in plain.landmarks.items():
        assert np.linalg.norm(dressed.landmarks[name] - place) < 1e-6, name


def test_a_figure_cut_into_pieces_is_read_as_one(figure):
    points, faces = figure
    middles = points[faces].mean(axis=1)
    piece = (middles[:, 2] > 1.48) * 1 + (middles[:, 2] < 0.93) * (1 + (middles[:, 2] < 0.15)) * 2 * (
        np.abs(middles[:, 0]) < 0.3
    )
    body = read_body(*joined(*[(points, faces[piece == n]) for n in np.unique(piece)]))
    assert_found(body, JOINTS, 0.05)


def test_flipped_split_and_broken_faces_do_not_matter(figure):
    points, faces = figure
    split = np.concatenate([points[faces].reshape(-1, 3), [[np.nan, 0, 0], [0, 0, 1], [0, 0, 1]]])
    triangles = np.arange(len(split)).reshape(-1, 3)
    triangles[::2] = triangles[::2, ::-1]
    body = read_body(split, triangles)
    for name, place in read_body(points, faces).landmarks.items():
        assert np.linalg.norm(body.landmarks[name] - place) < 1e-3 * HEIGHT, name


def test_large_hands_and_feet_move_their_joints():
    """Wrists and ankles follow what is seen, not the height alone."""
    joints = both_sides(JOINTS)
    for side in "LR":
        wrist, ankle = joints[f"wrist.{side}"], joints[f"ankle.{side}"]
        for name in ("hand", "f_middle_tip"):
            joints[f"{name}.{side}"] = wrist + 1.5 * (joints[f"{name}.{side}"] - wrist)
        for name in ("toe_ball", "toe_tip"):
            joints[f"{name}.{side}"] = ankle + [1.4, 1.4, 1] * (joints[f"{name}.{side}"] - ankle)
    assert_found(read_body(*humanoid(joints)), joints, 0.045)


def _dog():
    legs = [((x, y, 0.5), (x, y, 0.05), 0.06, 0.05) for x in (-0.4, 0.4) for y in (-0.13, 0.13)]
    return skin(
        [((-0.45, 0, 0.6), (0.45, 0, 0.6), 0.17, 0.17), ((0.5, 0, 0.65), (0.8, 0, 0.85), 0.1, 0.08), *legs], 0.02
    )


@pytest.mark.parametrize(
    ("points", "faces"),
    [
        _dog(),
        skin([((0, 0, 0), (0, 0, 0), 0.5, 0.5)], 0.04),
        skin([((0, 0, 0), (0, 0, 2), 0.15, 0.15), ((-1, 0, 1.6), (1, 0, 1.6), 0.1, 0.1)], 0.03),
        (np.zeros((0, 3)), np.zeros((0, 3), int)),
    ],
    ids=["dog", "ball", "scarecrow", "nothing"],
)
def test_what_is_no_humanoid_is_refused(points, faces):
    with pytest.raises(UnreadableBody, match=r"\w+ \w+"):
        read_body(points, faces)
