# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses out of reach of the IK side, and poses of bones that are not stretched alike: what can't be shown is told."""

import numpy as np
import pytest

from rigify_ikfk_tools.jobs.bake import bake

LONGER = range(8, 13)
"""Frames on which a bone is longer than it was made."""


@pytest.fixture
def long_legs(fk_shot):
    """The FK shot with the left leg nearly straight, and its thigh stretched to half as much again on some frames."""
    thigh, shin = fk_shot.pose.bones["thigh_fk.L"], fk_shot.pose.bones["shin_fk.L"]
    for frame in range(1, 22):
        shin.rotation_quaternion = 1, 0.05, 0, 0
        shin.keyframe_insert("rotation_quaternion", frame=frame)
        thigh.scale = (1, 1.5 if frame in LONGER else 1, 1)
        thigh.keyframe_insert("scale", frame=frame)
    return fk_shot


def error_of(report, limb):
    (found,) = [error for error in report.limbs if error.limb == limb]
    return found


def test_without_stretch_the_frames_out_of_reach_are_named_with_the_setting(long_legs):
    long_legs.pose.bones["thigh_parent.L"]["IK_Stretch"] = 0.0
    report = bake(long_legs, to="ik", limbs=["foot.L", "foot.R"])
    leg = error_of(report, "foot.L")
    assert leg.out_of_reach == leg.beyond == [*LONGER]
    assert error_of(report, "foot.R").out_of_reach == []
    off, turned = report.notes
    assert off.startswith("foot.L: 5 frames are more than 1 mm off: 8 to 12.")
    assert "Out of reach of the IK side: 8 to 12. Set 'IK_Stretch' on 'thigh_parent.L' to 1" in off
    assert turned.endswith("By more than 3 degrees on frames 8 to 12.")


def test_with_stretch_the_same_frames_are_shown(long_legs, shots):
    before, _ = shots.visible_poses(long_legs)
    report = bake(long_legs, to="ik", limbs=["foot.L"])
    after, _ = shots.visible_poses(long_legs)
    assert shots.millimetres(before, after).max() < 0.3
    assert report.notes == []


def test_bones_that_are_not_stretched_alike_are_told(long_legs):
    shin = long_legs.pose.bones["shin_fk.L"]
    for frame in range(1, 22):
        shin.scale = (1, 0.6 if frame in LONGER else 1, 1)
        shin.keyframe_insert("scale", frame=frame)
    report = bake(long_legs, to="ik", limbs=["foot.L"])
    leg = error_of(report, "foot.L")
    assert leg.uneven == leg.beyond == [*LONGER]
    assert leg.out_of_reach == []
    assert "Its bones were not stretched alike, as IK would stretch them, on frames 8 to 12." in report.notes[0]


def test_between_ik_and_fk_the_ends_stay_and_the_frames_are_named(fk_shot, shots):
    shots.animate_ik(fk_shot)
    between = range(9, 14)
    for frame in range(1, 22):
        shots.set_sliders(fk_shot, 0.5 if frame in between else 1.0, frame)
    before, names = shots.visible_poses(fk_shot)
    report = bake(fk_shot, to="ik")
    after, _ = shots.visible_poses(fk_shot)
    off = shots.millimetres(before, after)
    ends = [names.index(f"ORG-{name}.{side}") for name in ("hand", "foot", "toe") for side in "LR"]
    rows = np.array([frame in between for frame in range(1, 22)])
    assert off[:, ends].max() < 1
    assert off[~rows].max() < 0.3
    for error in report.limbs:
        assert set(error.uneven) == set(error.beyond) <= set(between)
