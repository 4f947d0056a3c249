# SPDX-License-Identifier: GPL-3.0-or-later
"""Fingers with an IK control: what is seen stays, on either side and at any value of their slider."""

import bpy
import numpy as np
import pytest

from rigify_ikfk_tools.geometry.rotations import angle_between, split_scale
from rigify_ikfk_tools.jobs.bake import bake
from rigify_ikfk_tools.jobs.blend import blend

FINGERS = ("f_index.01.L", "thumb.01.L", "f_middle.01.L", "f_ring.01.L", "f_pinky.01.L")
FRAMES = range(1, 22)
MM, DEGREES = 0.01, 0.08
STRAIGHT_MM, STRAIGHT_DEGREES = 0.08, 0.15
"""When IK has drawn a finger straight, a tip that is off by a rounding error bends it by so much."""


@pytest.fixture
def shot(generate_stock, shots):
    """Fists that open and close while the arms move; the tips are drawn about by IK from frame 8 on."""
    rig = generate_stock("human+fingers")
    shots.animate_fk(rig)
    rnd = np.random.default_rng(4)
    for first in FINGERS:
        master, end = rig.pose.bones[first.replace(".L", "_master.L")], rig.pose.bones[first.replace(".L", "_ik.L")]
        joint = rig.pose.bones[first.replace(".01", ".02")]
        joint.rotation_mode = "XYZ"
        for frame in (1, 11, 21):
            master.scale.y = rnd.uniform(0.7, 0.95)
            master.keyframe_insert("scale", index=1, frame=frame)
            joint.rotation_euler = rnd.uniform(-0.1, 0.3), 0, rnd.uniform(-0.1, 0.1)
            joint.keyframe_insert("rotation_euler", frame=frame)
        set_sliders(rig, 0.0, first)
        # near where the tip is seen, held by the hand
        end["IK_parent"] = 0
        bpy.context.scene.frame_set(11)
        tip = np.array(rig.pose.bones[first + ".001"].matrix)[:3, 3]
        for frame in (8, 14, 21):
            bpy.context.scene.frame_set(11)
            place(rig, end.name, tip + rnd.uniform(-0.008, 0.008, 3))
            end.keyframe_insert("location", frame=frame)
        for frame, value in ((7, 0.0), (12, 1.0)):
            end["FK_IK"] = value
            end.keyframe_insert('["FK_IK"]', frame=frame)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = FRAMES[0], FRAMES[-1]
    return rig


def place(rig, name, where):
    bone = rig.pose.bones[name]
    matrix = bone.matrix.copy()
    matrix.translation = where
    bone.matrix = matrix


def set_sliders(rig, value, *fingers):
    for first in fingers or FINGERS:
        rig.pose.bones[first.replace(".L", "_ik.L")]["FK_IK"] = value
    rig.update_tag()


def seen(rig, frames=FRAMES, fingers=FINGERS):
    """World matrices (n, fingers, 3, 4, 4), and tips (n, fingers, 3)."""
    poses, tips = [], []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        chains = [[rig.pose.bones["ORG-" + f.replace(".01", f".0{i}")] for i in (1, 2, 3)] for f in fingers]
        poses.append([[np.array(rig.matrix_world @ bone.matrix) for bone in chain] for chain in chains])
        tips.append([np.array(rig.matrix_world @ chain[-1].tail) for chain in chains])
    return np.array(poses), np.array(tips)


def off(before, after):
    """Largest distance of joints and tips in millimetres, largest turn of all but the first bones in degrees."""
    (poses, tips), (new_poses, new_tips) = before, after
    joints = np.linalg.norm(poses[..., :3, 3] - new_poses[..., :3, 3], axis=-1).max()
    turns = angle_between(*(split_scale(p[:, :, 1:, :3, :3])[0] for p in (poses, new_poses)))
    return 1e3 * max(joints, np.linalg.norm(tips - new_tips, axis=-1).max()), np.degrees(turns).max()


def first_rolls(before, after):
    """Largest turn of first bones in degrees, and how much of it turns what they point at."""
    old, new = (split_scale(p[0][:, :, 0, :3, :3])[0] for p in (before, after))
    pointing = np.linalg.norm(old[..., 1] - new[..., 1], axis=-1).max()
    return np.degrees(angle_between(old, new)).max(), np.degrees(pointing)


def test_bake_to_fk_shows_what_ik_showed(shot):
    before = seen(shot)
    master = keys(shot, "_master.L")
    report = bake(shot, to="fk", limbs=FINGERS)
    after = seen(shot)
    mm, degrees = off(before, after)
    assert mm < MM
    assert degrees < DEGREES
    rolled, bent = first_rolls(before, after)
    assert bent < DEGREES
    assert rolled == pytest.approx(max(limb.chain_deg.max for limb in report.limbs), abs=0.05)
    assert all(shot.pose.bones[f.replace(".L", "_ik.L")]["FK_IK"] == 0.0 for f in FINGERS)
    assert keys(shot, "_master.L") == master
    assert [limb.limb for limb in report.limbs] == [*FINGERS]
    for first in FINGERS:
        np.testing.assert_allclose(shot.pose.bones[first + ".001"].location, 0, atol=1e-6)


def test_a_roll_that_fk_can_not_show_is_told(shot):
    bpy.context.scene.frame_set(14)
    end = shot.pose.bones["f_index.01_ik.L"]
    place(shot, end.name, end.head + end.id_data.pose.bones["ORG-f_index.01.L"].x_axis * 0.01 - end.y_axis * 0.02)
    end.keyframe_insert("location", frame=14)
    before = seen(shot)
    report = bake(shot, to="fk", limbs=FINGERS[:1])
    after = seen(shot)
    rolled, _ = first_rolls(before, after)
    assert rolled > 3
    (note,) = report.notes
    assert note.startswith(f"f_index.01.L: its first bone is rolled by up to {rolled:.0f} degrees from what was seen")
    assert off(before, after)[0] < MM


def test_bake_to_ik_shows_what_was_seen_at_any_value_of_the_slider(shot):
    before = seen(shot)
    bake(shot, to="ik", limbs=FINGERS, frames=range(1, 12))
    after = seen(shot)
    mm, degrees = off(before, after)
    assert mm < MM
    assert degrees < DEGREES
    for curve in [c for c in curves(shot) if c.data_path.endswith('["FK_IK"]')]:
        curve.mute = True
    inside = tuple(part[:11] for part in before)
    for value in (0.0, 0.4, 1.0):
        set_sliders(shot, value)
        mm, degrees = off(inside, seen(shot, range(1, 12)))
        assert mm < MM
        assert degrees < DEGREES


def test_fingers_at_ik_keep_even_their_roll_when_they_are_baked_to_ik(shot):
    frames = range(12, 22)
    before = seen(shot, frames)
    bake(shot, to="ik", limbs=FINGERS, frames=frames)
    after = seen(shot, frames)
    assert max(off(before, after)) < MM
    assert max(first_rolls(before, after)) < 0.08


def test_fingers_and_arms_in_one_bake(shot, shots):
    before, body = seen(shot), shots.visible_poses(shot)[0]
    report = bake(shot, to="ik")
    after = seen(shot)
    assert {*FINGERS, "hand.L", "hand.R", "foot.L", "foot.R"} == {limb.limb for limb in report.limbs}
    moved = shots.millimetres(body, shots.visible_poses(shot)[0]).max()
    assert moved < 0.3
    assert off(before, after)[0] < moved + 0.15  # a hand that is turned by 0.05 degrees carries them so far
    # the IK controls stand where the tips are now: IK has nothing to pull
    tips = after[1]
    for value in (0.0, 1.0):
        for curve in [c for c in curves(shot) if c.data_path.endswith('["FK_IK"]')]:
            curve.mute = True
        set_sliders(shot, value)
        assert 1e3 * np.abs(seen(shot, range(1, 12))[1] - tips[:11]).max() < 0.05


@pytest.mark.parametrize("to", ["ik", "fk"])
def test_blend_eases_the_slider_and_any_value_shows_the_pose(shot, to):
    frames = range(4, 17)
    outside = [*range(-2, 4), *range(17, 22)]
    before, calm = seen(shot, frames), seen(shot, outside)
    report = blend(shot, to=to, frames=frames, limbs=FINGERS)
    mm, degrees = off(before, seen(shot, frames))
    assert mm < STRAIGHT_MM
    assert degrees < 0.2  # in between, where a Blender of Debian's shows 0.152
    assert max(off(calm, seen(shot, outside))) < 1e-3
    values = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        values.append(shot.pose.bones["thumb.01_ik.L"]["FK_IK"])
    assert (values[0], values[-1]) == ((0, 1) if to == "ik" else (1, 0))
    assert max(limb.worst_mm for limb in report.limbs) == pytest.approx(mm, abs=1e-3)


@pytest.mark.parametrize("to", ["ik", "fk"])
def test_outside_the_frames_nothing_changes(shot, shots, to):
    outside = [*range(-3, 8), *range(15, 26)]
    before, old = seen(shot, outside), shots.all_curves(shot.animation_data.action)
    bake(shot, to=to, frames=range(8, 15), limbs=FINGERS)
    assert off(before, seen(shot, outside))[0] < 1e-4
    new = shots.all_curves(shot.animation_data.action)
    for channel, there in old.items():
        kept = [key for key in there if not 8 <= key[0] <= 14]
        assert [key for key in new[channel] if key in kept] == kept


def test_moved_and_stretched_controls_of_a_finger_in_a_scaled_rig(shot):
    shot.scale = 2, 2, 2
    shot.rotation_euler = 0.3, 0.2, 1
    bones = shot.pose.bones
    bones["f_index.02.L"].location = 0.002, 0.003, -0.001
    bones["f_index.01.L.001"].location = 0.002, -0.004, 0.001
    bones["f_index.03.L"].scale = 1.2, 1.1, 1.2
    bones["f_index.01_master.L"].rotation_quaternion = 0.97, 0.1, 0.15, -0.1
    before = seen(shot)
    for to, within in (("ik", (MM, DEGREES)), ("fk", (MM, DEGREES)), ("ik", (STRAIGHT_MM, STRAIGHT_DEGREES))):
        bake(shot, to=to, limbs=FINGERS)
        mm, degrees = off(before, seen(shot))
        assert mm < 2 * within[0]
        assert degrees < 2 * within[1]


def keys(rig, ending):
    return {
        (c.data_path, c.array_index): [tuple(k.co) for k in c.keyframe_points]
        for c in curves(rig)
        if ending in c.data_path
    }


def curves(rig):
    action = rig.animation_data.action
    if not hasattr(action, "layers"):
        return list(action.fcurves)
    return list(action.layers[0].strips[0].channelbag(rig.animation_data.action_slot).fcurves)
