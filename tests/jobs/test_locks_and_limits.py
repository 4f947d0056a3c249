# SPDX-License-Identifier: GPL-3.0-or-later
"""Locked channels and limits on the controls that a job keys: the pose is not lost without a word."""

import numpy as np
import pytest

from rigify_ikfk_tools.jobs.bake import bake
from rigify_ikfk_tools.jobs.blend import blend


@pytest.mark.parametrize("to", ["ik", "fk"])
@pytest.mark.parametrize("from_ik", [False, True])
def test_what_rigify_locks_itself_is_not_told(fk_shot, shots, to, from_ik):
    if from_ik:
        shots.animate_ik(fk_shot)
    assert bake(fk_shot, to=to).notes == []


def lock(rig, name, part, channels):
    for channel in channels:
        if channel == "W":
            rig.pose.bones[name].lock_rotation_w = True
        else:
            getattr(rig.pose.bones[name], f"lock_{part}")["XYZ".index(channel)] = True


@pytest.mark.parametrize(
    ("to", "name", "mode", "part", "channels", "told"),
    [
        ("fk", "shin_fk.L", "QUATERNION", "rotation", "XW", "X rotation, W rotation"),
        ("fk", "shin_fk.L", "XYZ", "rotation", "X", "X rotation"),
        ("fk", "shin_fk.L", "XYZ", "rotation", "YZ", ""),  # IK bends it about X only
        ("fk", "shin_fk.L", "AXIS_ANGLE", "rotation", "W", "W rotation"),
        ("fk", "hand_fk.L", "XYZ", "location", "XYZ", ""),
        ("ik", "hand_ik.L", "QUATERNION", "location", "Y", "Y location"),
        ("ik", "upper_arm_ik.L", "ZXY", "rotation", "Y", "Y rotation"),
        ("ik", "upper_arm_ik.L", "ZXY", "scale", "XYZ", "X scale, Y scale, Z scale"),
        ("ik", "toe_ik.L", "ZYX", "rotation", "X", "X rotation"),
        ("ik", "foot_heel_ik.L", "ZXY", "rotation", "X", "X rotation"),
        ("ik", "foot_heel_ik.L", "ZXY", "rotation", "XYZ", "X rotation"),  # a control all the same
        ("ik", "hand_ik.R", "XYZ", "rotation", "XYZ", "X rotation, Y rotation, Z rotation"),
    ],
)
def test_a_locked_channel_that_moves_is_keyed_and_named(ik_shot, shots, to, name, mode, part, channels, told):
    rig = ik_shot
    if to == "ik":
        shots.animate_fk(rig)
    rig.pose.bones[name].rotation_mode = mode
    lock(rig, name, part, channels)
    before, _ = shots.visible_poses(rig)
    notes = bake(rig, to=to).notes
    after, _ = shots.visible_poses(rig)
    expected = f"Locked channels of {name!r} were keyed all the same, to keep the pose: {told}."
    assert notes == ([expected] if told else [])
    assert shots.millimetres(before, after).max() < 0.3


@pytest.mark.parametrize("mode", ["QUATERNION", "AXIS_ANGLE"])
def test_locks_of_quaternions_as_of_euler_angles(ik_shot, mode):
    bone = ik_shot.pose.bones["shin_fk.L"]
    bone.rotation_mode = mode
    bone.lock_rotations_4d = False
    lock(ik_shot, "shin_fk.L", "rotation", "YZ")
    assert bake(ik_shot, to="fk").notes == []
    lock(ik_shot, "shin_fk.L", "rotation", "X")
    ik_shot.pose.bones["foot_ik.L"].location.z = 0.3
    ik_shot.animation_data.action = None
    (note,) = bake(ik_shot, to={"foot.L": "ik"}, frames=range(1, 3)).notes or ["nothing"]
    assert note == "nothing"  # FK is not touched
    ik_shot.pose.bones["thigh_parent.L"]["IK_FK"] = 0.0
    (note,) = bake(ik_shot, to={"foot.L": "fk"}, frames=range(1, 3)).notes
    assert note.endswith("'shin_fk.L' were keyed all the same, to keep the pose: X rotation.")


def test_blend_tells_of_locks_on_both_sides(fk_shot):
    lock(fk_shot, "hand_ik.L", "location", "X")
    lock(fk_shot, "hand_fk.L", "rotation", "XYZW")  # shows the pose already, and goes on doing so
    (note,) = blend(fk_shot, to="ik", frames=range(5, 12), limbs=["arm.L"]).notes
    assert note.startswith("Locked channels of 'hand_ik.L'")


def test_locks_of_fingers(generate_stock):
    rig = generate_stock("human+fingers")
    rig.pose.bones["f_index.01_ik.L"].location = 0.01, 0.02, -0.01
    rig.pose.bones["f_index.01_ik.L"]["FK_IK"] = 1.0
    lock(rig, "f_index.02.L", "rotation", "X")
    frames = range(1, 3)
    (note,) = bake(rig, to="fk", frames=frames, limbs=["f_index.01.L"]).notes
    assert note.endswith("'f_index.02.L' were keyed all the same, to keep the pose: X rotation.")
    assert bake(rig, to="ik", frames=frames, limbs=["f_index.01.L"]).notes == []


LIMITS = [
    ("fk", "shin_fk.L", "LIMIT_ROTATION"),
    ("fk", "hand_fk.L", "LIMIT_ROTATION"),
    ("fk", "toe_fk.L", "LIMIT_ROTATION"),
    ("fk", "hand_fk.L", "LIMIT_SCALE"),
    ("ik", "hand_ik.L", "LIMIT_ROTATION"),
    ("ik", "hand_ik.L", "LIMIT_SCALE"),
    ("ik", "foot_ik.L", "LIMIT_LOCATION"),
    ("ik", "toe_ik.L", "LIMIT_ROTATION"),
]


@pytest.mark.parametrize(("to", "name", "kind"), LIMITS, ids=[" ".join(limit) for limit in LIMITS])
def test_limits_that_hold_a_control_back_are_named(fk_shot, shots, to, name, kind):
    rig = fk_shot
    if to == "fk":
        shots.animate_ik(rig)
    for scaled in ("hand_fk.L", "hand_ik.L"):
        rig.pose.bones[scaled].scale = 1.5, 1.5, 1.5
    for turned in ("toe_fk.L", "toe_ik.L"):
        rig.pose.bones[turned].rotation_mode = "QUATERNION"
        rig.pose.bones[turned].rotation_quaternion = 0.9, 0.4, 0, 0
        rig.pose.bones[turned].keyframe_insert("rotation_quaternion", frame=1)
    limit = rig.pose.bones[name].constraints.new(kind)
    limit.owner_space = "LOCAL"
    for axis in "xyz":
        if kind == "LIMIT_ROTATION":
            setattr(limit, f"use_limit_{axis}", True)
        else:
            setattr(limit, f"use_min_{axis}", True)
            setattr(limit, f"use_max_{axis}", True)
            setattr(limit, f"min_{axis}", float(kind == "LIMIT_SCALE"))
            setattr(limit, f"max_{axis}", float(kind == "LIMIT_SCALE"))
    report = bake(rig, to=to)
    held = [note for note in report.notes if "hold it back" in note]
    (note,) = held
    assert note.startswith("foot.L: " if name.startswith(("foot", "toe", "shin")) else "hand.L: ")
    assert note.endswith(f"Constraints hold it back: {limit.name!r} on {name!r}.")
    (limb,) = [limb for limb in report.limbs if limb.beyond or limb.end_beyond]
    assert note.startswith(limb.limb)
    assert np.isfinite(limb.worst_mm)


def test_a_limit_that_keeps_a_heel_rolled_is_made_up_for(fk_shot, shots):
    limit = fk_shot.pose.bones["foot_heel_ik.L"].constraints.new("LIMIT_ROTATION")
    limit.owner_space = "LOCAL"
    limit.use_limit_x = True
    limit.min_x = limit.max_x = 0.4
    before, _ = shots.visible_poses(fk_shot)
    report = bake(fk_shot, to="ik")
    after, _ = shots.visible_poses(fk_shot)
    assert shots.millimetres(before, after).max() < 0.3
    assert report.notes == []
