# SPDX-License-Identifier: GPL-3.0-or-later
"""What users of other tools have complained about, each with the right result.

Complaints about keys outside the range, sliders that do not stick or ease between switches, unasked guard keys, slots,
overrides, scripts switched off and poses without keys stand in the tests of the jobs they are about.
"""

from pathlib import Path

import bpy
import numpy as np
import pytest

from rigify_ikfk_tools.jobs.bake import bake
from rigify_ikfk_tools.jobs.switch import switch
from rigify_ikfk_tools.rigs.limb_reader import read_limbs


def test_slider_keys_inside_the_range_are_replaced_and_those_outside_lead_where_they_led(fk_shot, shots):
    gear = fk_shot.pose.bones["upper_arm_parent.L"]
    for frame, value in ((1, 0.0), (11, 0.4), (21, 1.0)):
        gear["IK_FK"] = value
        gear.keyframe_insert('["IK_FK"]', frame=frame)
    for curve in shots.curves(fk_shot):
        if curve.data_path == gear.path_from_id() + '["IK_FK"]':
            for key in curve.keyframe_points:
                key.interpolation = "LINEAR"
    before = shots.slider_values(fk_shot, [*range(1, 9), *range(14, 22)])
    bake(fk_shot, to="fk", frames=range(9, 14), limbs=["hand.L"])
    np.testing.assert_allclose(shots.slider_values(fk_shot, [*range(1, 9), *range(14, 22)]), before, atol=1e-6)
    assert shots.slider_values(fk_shot, range(9, 14)) == [1.0] * 5


def test_with_a_pole_and_few_keys_what_drifts_between_them_is_told_or_keyed(generate_stock, shots):
    rig = generate_stock("basic_human")
    shots.set_sliders(rig, 1.0)
    for name in shots.SLIDERS:
        rig.pose.bones[name]["pole_vector"] = True
    for frame, turn in ((1, 0.1), (20, 1.6), (40, 0.3)):
        for name in ("upper_arm_fk.L", "forearm_fk.L"):
            shots._turn(rig.pose.bones[name], (turn, 0, turn if "upper" in name else 0), frame)
    frames = range(1, 41)
    before, names = shots.visible_poses(rig, frames)
    few = bake(rig, to="ik", frames=frames, limbs=["hand.L"], keys="source")
    after, _ = shots.visible_poses(rig, frames)
    off = shots.millimetres(before, after)
    assert few.keys == {"hand.L": 3}
    assert off[[0, 19, 39]].max() < 0.3
    joints = [names.index("ORG-forearm.L"), names.index("ORG-hand.L")]
    assert few.limbs[0].beyond == [frame for frame in frames if off[frame - 1, joints].max() > 1]
    assert few.limbs[0].beyond
    shots.set_sliders(rig, 1.0)
    for curve in [curve for curve in shots.curves(rig) if "IK_FK" in curve.data_path]:
        for key in curve.keyframe_points:
            key.co.y = 1.0
    enough = bake(rig, to="ik", frames=frames, limbs=["hand.L"], keys="fewest")
    after, _ = shots.visible_poses(rig, frames)
    assert shots.millimetres(before, after).max() < 1
    assert 3 < enough.keys["hand.L"] < 40


def test_a_planted_foot_does_not_slide_and_the_last_frame_is_there(generate_stock, shots):
    rig = generate_stock("basic_human")
    rig.pose.bones["foot_ik.L"].keyframe_insert("location", frame=1)
    torso = rig.pose.bones["torso"]
    for frame in range(1, 31, 4):
        torso.location = 0.1 * np.sin(frame / 4), 0.08 * np.cos(frame / 5), -0.05
        torso.keyframe_insert("location", frame=frame)
    frames = range(1, 31)
    before, names = shots.visible_poses(rig, frames)
    bake(rig, to="fk", frames=frames)
    after, _ = shots.visible_poses(rig, frames)
    ankle = names.index("ORG-foot.L")
    assert shots.millimetres(after[:, ankle], after[:1, ankle]).max() < 0.1
    assert shots.millimetres(before, after)[-1].max() < 0.01
    assert shots.slider_values(rig, [30]) == [1.0]


def test_bones_keep_their_modes_whatever_the_object_has(fk_shot):
    fk_shot.rotation_mode = "QUATERNION"
    modes = {"hand_ik.L": "XYZ", "foot_ik.L": "ZYX", "hand_ik.R": "AXIS_ANGLE", "foot_ik.R": "QUATERNION"}
    for name, mode in modes.items():
        fk_shot.pose.bones[name].rotation_mode = mode
    bake(fk_shot, to="ik")
    assert {name: fk_shot.pose.bones[name].rotation_mode for name in modes} == modes
    assert fk_shot.rotation_mode == "QUATERNION"


def test_two_rigs_made_twice_with_bones_and_objects_renamed(generate_stock, shots):
    first = generate_stock("basic_human")
    metarig = bpy.data.objects["metarig"]
    for _ in range(2):
        metarig.hide_set(False)
        bpy.context.view_layer.objects.active = metarig
        bpy.ops.pose.rigify_generate()
    second = first.copy()
    second.data = first.data.copy()
    second.name, second.location.x = "double", 2
    bpy.context.scene.collection.objects.link(second)
    for drawn in second.animation_data.drivers if second.animation_data else ():
        for variable in drawn.driver.variables:
            for target in variable.targets:
                if target.id == first:
                    target.id = second
    for bone in second.pose.bones:
        for constraint in bone.constraints:
            if getattr(constraint, "target", None) == first:
                constraint.target = second
            for target in getattr(constraint, "targets", ()):
                if target.target == first:
                    target.target = second
    for bone in second.data.bones:
        if "thigh" in bone.name:
            bone.name = bone.name.replace("thigh", "leg")
    for rig in (first, second):
        assert len(read_limbs(rig)[0]) == 4
        torso = rig.pose.bones["torso"]
        for frame in (1, 5, 9):
            torso.location.z = -0.01 * frame
            torso.keyframe_insert("location", frame=frame)
        for to in ("fk", "ik"):
            before = seen(rig)
            bake(rig, to=to, frames=range(1, 10))
            assert np.linalg.norm(seen(rig) - before, axis=-1).max() < 3e-4


@pytest.mark.parametrize("to", ["ik", "fk"])
def test_a_shot_that_an_older_blender_made(to):
    """Its rig carries a script for the user interface that newer versions can't run: it is not needed."""
    path = Path(__file__).parents[1] / "files" / "shot_of_blender_4_2.blend"
    bpy.ops.wm.open_mainfile(filepath=str(path), load_ui=False, use_scripts=False)
    rig = bpy.data.objects["rig"]
    before = seen(rig)
    report = bake(rig, to=to, frames=range(1, 22))
    assert np.linalg.norm(seen(rig) - before, axis=-1).max() < 3e-4
    assert {limb.limb for limb in report.limbs} == {"hand.L", "foot.L"}
    assert report.notes == []
    assert rig.pose.bones["thigh_parent.L"]["IK_FK"] == (0.0 if to == "ik" else 1.0)


def seen(rig):
    """Heads (n, b, 3) of the visible bones."""
    out = []
    for frame in range(1, 10):
        bpy.context.scene.frame_set(frame)
        out.append([rig.pose.bones[name].head for limb in read_limbs(rig)[0] for name in limb.visible])
    return np.array(out)


@pytest.mark.parametrize("job", ["bake", "switch"])
def test_only_channels_that_need_them_get_keys(generate_stock, shots, job):
    rig = generate_stock("basic_human")
    hand = rig.pose.bones["hand_ik.L"]
    for frame, x in ((1, 0.0), (11, -0.2)):
        hand.location.x = x
        hand.keyframe_insert("location", frame=frame)
    if job == "bake":
        bake(rig, to="fk", frames=range(1, 12), limbs=["hand.L"])
    else:
        switch(rig, to="fk", frame=6, limbs=["hand.L"])
    keyed = {}
    for curve in shots.curves(rig):
        keyed.setdefault(curve.data_path.split('"')[1], set()).add(curve.data_path.rpartition(".")[2])
    assert keyed.pop("hand_ik.L") == {"location"}
    assert set(keyed) == {"upper_arm_parent.L", "upper_arm_fk.L", "forearm_fk.L", "hand_fk.L"}
    assert keyed["hand_fk.L"] == {"rotation_quaternion"}
