# SPDX-License-Identifier: GPL-3.0-or-later
"""The bake against what a viewer sees: sampled from the bones, not from the report."""

import bpy
import numpy as np
import pytest

from rigify_ikfk_tools.errors import ToolError
from rigify_ikfk_tools.jobs.bake import bake
from rigify_ikfk_tools.rigs.bench import Bench
from rigify_ikfk_tools.rigs.fcurves import Rewrite
from rigify_ikfk_tools.rigs.stage import Stage
from rigify_ikfk_tools.rigs.tracks import Tracks

MIDDLE_MM, END_MM, FK_MM = 0.3, 0.25, 0.01


def errors(before, after, names):
    """Largest distance of middle joints and of ends, in millimetres."""
    from numpy import array

    distance = 1e3 * np.linalg.norm(before[..., :3, 3] - after[..., :3, 3], axis=-1)
    middle = array([name.startswith(("ORG-forearm", "ORG-shin")) for name in names])
    return distance[:, middle].max(), distance[:, ~middle].max()


def test_fk_motion_baked_to_ik_stays_where_it_was_seen(fk_shot, shots):
    before, names = shots.visible_poses(fk_shot)
    report = bake(fk_shot, to="ik")
    after, _ = shots.visible_poses(fk_shot)
    middle, end = errors(before, after, names)
    assert middle < MIDDLE_MM
    assert end < END_MM
    assert report.worst.worst_mm == pytest.approx(max(middle, end), abs=1e-3)
    assert {limb.limb for limb in report.limbs} == {"hand.L", "hand.R", "foot.L", "foot.R"}
    assert fk_shot.pose.bones["upper_arm_parent.L"]["IK_FK"] == 0.0


@pytest.mark.parametrize("frames", [range(30, 32), range(30, 31), range(60, 81)], ids=["two", "one", "held for long"])
def test_a_held_pose_is_matched_as_well_on_few_frames_and_does_not_tremble(fk_shot, shots, frames):
    for side in "LR":  # nearly straight, where the solver needs the most corrections
        for name in ("forearm_fk", "shin_fk"):
            bone = fk_shot.pose.bones[f"{name}.{side}"]
            bone.rotation_quaternion = 1, -0.03, 0, 0
            bone.keyframe_insert("rotation_quaternion", frame=21)
    before, names = shots.visible_poses(fk_shot, frames)
    report = bake(fk_shot, to="ik", frames=frames)
    after, _ = shots.visible_poses(fk_shot, frames)
    middle, end = errors(before, after, names)
    assert middle < 0.15
    assert end < END_MM
    assert shots.millimetres(after[1:], after[:-1]).max(initial=0) < 0.1
    assert not report.notes


def test_ik_motion_with_rolling_feet_baked_to_fk_is_exact(ik_shot, shots):
    before, names = shots.visible_poses(ik_shot)
    bake(ik_shot, to="fk")
    after, _ = shots.visible_poses(ik_shot)
    assert max(errors(before, after, names)) < FK_MM
    assert ik_shot.pose.bones["thigh_parent.R"]["IK_FK"] == 1.0


def test_baking_to_fk_and_back_again_and_again_does_not_drift(ik_shot, shots):
    before, names = shots.visible_poses(ik_shot)
    for _ in range(3):
        bake(ik_shot, to="fk")
        bake(ik_shot, to="ik")
    after, _ = shots.visible_poses(ik_shot)
    assert max(errors(before, after, names)) < 0.05


def test_the_visible_pose_is_baked_whatever_the_slider_was(fk_shot, shots):
    shots.animate_ik(fk_shot)
    shots.set_sliders(fk_shot, 1.0, 1)
    shots.set_sliders(fk_shot, 0.0, 10)
    for curve in _curves(fk_shot):
        if "IK_FK" in curve.data_path:
            for key in curve.keyframe_points:
                key.interpolation = "CONSTANT"
    before, names = shots.visible_poses(fk_shot)
    bake(fk_shot, to="fk")
    after, _ = shots.visible_poses(fk_shot)
    assert max(errors(before, after, names)) < FK_MM


def test_a_hand_that_was_turned_since_the_last_bake_is_carried_over(fk_shot, shots):
    bake(fk_shot, to="ik")
    shots.set_sliders(fk_shot, 1.0)
    for curve in [curve for curve in shots.curves(fk_shot) if curve.data_path.endswith('["IK_FK"]')]:
        for key in curve.keyframe_points:
            key.co.y = 1.0
    for name in ("hand_fk.L", "foot_fk.R"):  # the joints stay where the IK side shows them too
        shots._turn(fk_shot.pose.bones[name], (0.3, 0.5, -0.4), 11)
    before, names = shots.visible_poses(fk_shot)
    bake(fk_shot, to="ik")
    after, _ = shots.visible_poses(fk_shot)
    assert max(errors(before, after, names)) < MIDDLE_MM
    hands = [names.index(name) for name in ("ORG-hand.L", "ORG-foot.R")]
    np.testing.assert_allclose(after[:, hands, :3, :3], before[:, hands, :3, :3], atol=1e-4)


def test_poles_carry_the_pose_when_they_are_on(fk_shot, shots):
    for name in shots.SLIDERS:
        fk_shot.pose.bones[name]["pole_vector"] = True
    before, names = shots.visible_poses(fk_shot)
    bake(fk_shot, to="ik")
    after, _ = shots.visible_poses(fk_shot)
    middle, end = errors(before, after, names)
    assert middle < MIDDLE_MM
    assert end < END_MM


def test_a_bent_elbow_off_its_hinge_keeps_its_place(fk_shot, shots):
    bone = fk_shot.pose.bones["forearm_fk.L"]
    for frame in (1, 11, 21):
        bone.rotation_quaternion = 0.85, 0.4, 0.3, 0.17
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    before, names = shots.visible_poses(fk_shot)
    bake(fk_shot, to="ik", limbs=["arm.L"])
    after, _ = shots.visible_poses(fk_shot)
    middle, end = errors(before, after, names)
    assert middle < MIDDLE_MM
    assert end < END_MM


def test_a_scaled_moved_and_parented_rig(fk_shot, shots):
    parent = bpy.data.objects.new("platform", None)
    bpy.context.scene.collection.objects.link(parent)
    fk_shot.parent = parent
    parent.location, parent.rotation_euler = (1, -2, 0.5), (0.1, 0.2, 0.7)
    fk_shot.scale = 2, 2, 2
    before, names = shots.visible_poses(fk_shot)
    report = bake(fk_shot, to="ik")
    after, _ = shots.visible_poses(fk_shot)
    middle, end = errors(before, after, names)
    assert middle < 2 * 2 * MIDDLE_MM
    assert end < 2 * END_MM
    assert report.worst.worst_mm == pytest.approx(max(middle, end), rel=0.01, abs=1e-3)


@pytest.mark.parametrize("to", ["ik", "fk"])
def test_outside_the_frames_nothing_changes(fk_shot, shots, to):
    shots.animate_ik(fk_shot)
    shots.set_sliders(fk_shot, 1.0, 1)
    outside = [*range(-3, 8), *range(15, 26)]
    before, _ = shots.visible_poses(fk_shot, outside)
    old = shots.all_curves(fk_shot.animation_data.action)
    inside, names = shots.visible_poses(fk_shot, range(8, 15))
    bake(fk_shot, to=to, frames=range(8, 15))
    after, _ = shots.visible_poses(fk_shot, outside)
    assert shots.millimetres(before, after).max() < 1e-4
    got, _ = shots.visible_poses(fk_shot, range(8, 15))
    assert max(errors(inside, got, names)) < MIDDLE_MM
    new = shots.all_curves(fk_shot.animation_data.action)
    for channel, keys in old.items():
        kept = [key for key in keys if not 8 <= key[0] <= 14]
        assert [key for key in new[channel] if key in kept] == kept


def test_channels_without_keys_outside_hold_their_old_value_there(generate_stock, shots):
    rig = generate_stock("basic_human")
    shots.animate_fk(rig)
    rig.pose.bones["hand_ik.L"].location.x = 0.07
    bake(rig, to="ik", frames=range(8, 15), limbs=["hand.L"])
    for frame, moved in ((7, False), (10, True), (15, False), (40, False)):
        bpy.context.scene.frame_set(frame)
        assert (abs(rig.pose.bones["hand_ik.L"].location.x - 0.07) > 1e-4) is moved


def test_the_slider_is_switched_inside_only(fk_shot):
    bake(fk_shot, to="ik", frames=range(8, 15), limbs=["hand.L"])
    values = {}
    for frame in (7, 7.9, 8, 11, 14, 15, 20):
        bpy.context.scene.frame_set(int(frame), subframe=frame % 1)
        values[frame] = fk_shot.pose.bones["upper_arm_parent.L"]["IK_FK"]
    assert values == {7: 1, 7.9: 1, 8: 0, 11: 0, 14: 0, 15: 1, 20: 1}


def test_each_limb_may_have_a_direction_of_its_own(fk_shot, shots):
    before, names = shots.visible_poses(fk_shot)
    bake(fk_shot, to={"hand.L": "ik", "leg.R": "fk"})
    after, _ = shots.visible_poses(fk_shot)
    assert max(errors(before, after, names)) < MIDDLE_MM
    assert fk_shot.pose.bones["upper_arm_parent.L"]["IK_FK"] == 0
    assert fk_shot.pose.bones["thigh_parent.R"]["IK_FK"] == 1
    assert not any(curve.data_path.startswith('pose.bones["hand_ik.R"]') for curve in _curves(fk_shot))


@pytest.mark.parametrize("mode", ["XYZ", "ZYX", "AXIS_ANGLE", "QUATERNION"])
def test_every_rotation_mode_is_kept_and_runs_without_jumps(ik_shot, shots, mode):
    for name in ("upper_arm_fk.L", "forearm_fk.L", "hand_fk.L"):
        ik_shot.pose.bones[name].rotation_mode = mode
    before, names = shots.visible_poses(ik_shot)
    bake(ik_shot, to="fk", limbs=["hand.L"])
    after, _ = shots.visible_poses(ik_shot)
    assert max(errors(before, after, names)) < FK_MM
    assert ik_shot.pose.bones["hand_fk.L"].rotation_mode == mode
    path = {"AXIS_ANGLE": "rotation_axis_angle", "QUATERNION": "rotation_quaternion"}.get(mode, "rotation_euler")
    curves = [c for c in _curves(ik_shot) if c.data_path.endswith(f'_fk.L"].{path}')]
    assert curves
    for curve in curves:
        values = np.array([key.co.y for key in curve.keyframe_points if 1 <= key.co.x <= 21])
        assert np.abs(np.diff(values)).max() < 0.5 or (mode == "AXIS_ANGLE" and curve.array_index > 0)
    if mode == "AXIS_ANGLE":  # the axis of a small angle may turn fast, but it never flips
        axes = np.array([[curve.evaluate(frame) for curve in curves[1:4]] for frame in shots.FRAMES])
        assert (np.einsum("ni,ni->n", axes[1:], axes[:-1]) > 0).all()


@pytest.mark.parametrize("mode", ["QUATERNION", "AXIS_ANGLE", "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"])
def test_a_body_that_spins_twice_leaves_no_jump_in_any_mode(fk_shot, shots, mode):
    torso, hand = fk_shot.pose.bones["torso"], fk_shot.pose.bones["hand_ik.L"]
    torso.rotation_mode = "XYZ"
    torso.keyframe_insert("rotation_euler", frame=1)
    spun = next(c for c in _curves(fk_shot) if c.data_path.endswith('"torso"].rotation_euler') and c.array_index == 2)
    for frame in shots.FRAMES:  # 36 degrees a frame
        spun.keyframe_points.insert(frame, np.pi / 5 * (frame - 1)).interpolation = "LINEAR"
    hand.rotation_mode = mode
    before, names = shots.visible_poses(fk_shot)
    bake(fk_shot, to="ik", limbs=["hand.L"])
    after, _ = shots.visible_poses(fk_shot)
    assert errors(before, after, names)[1] < END_MM
    path = {"AXIS_ANGLE": "rotation_axis_angle", "QUATERNION": "rotation_quaternion"}.get(mode, "rotation_euler")
    keyed = sorted(
        (c for c in _curves(fk_shot) if c.data_path.endswith(f'hand_ik.L"].{path}')), key=lambda c: c.array_index
    )
    values = np.array([[curve.evaluate(frame) for curve in keyed] for frame in shots.FRAMES])
    if mode == "QUATERNION":
        assert (np.einsum("ni,ni->n", values[1:], values[:-1]) >= 0).all()
    else:
        angles = values[:, :1] if mode == "AXIS_ANGLE" else values
        assert np.abs(np.diff(angles, axis=0)).max() < 2.2
    # half-way between two frames the hand is turned half-way
    for frame in range(1, 21):
        whole = []
        for place in (frame, frame + 0.5, frame + 1):
            bpy.context.scene.frame_set(int(place), subframe=place % 1)
            whole.append(hand.matrix.to_quaternion())
        middle = whole[0].slerp(whole[2] if whole[0].dot(whole[2]) > 0 else -whole[2], 0.5)
        assert 2 * np.degrees(np.arccos(min(1, abs(whole[1].dot(middle))))) < 12


def test_a_rig_without_an_action_bakes_its_static_pose(generate_stock, shots):
    rig = generate_stock("basic_human")
    rig.pose.bones["hand_ik.L"].location = 0.1, -0.2, 0.15
    before, names = shots.visible_poses(rig, range(1, 4))
    bake(rig, to="fk", limbs=["hand.L"], frames=range(1, 4))
    after, _ = shots.visible_poses(rig, range(1, 4))
    assert max(errors(before, after, names)) < FK_MM
    assert rig.animation_data.action is not None


def test_unkeyed_pose_frame_selection_and_mode_stay(fk_shot):
    scene = bpy.context.scene
    scene.frame_set(13)
    head = fk_shot.pose.bones["head"]
    head.rotation_mode = "XYZ"
    head.rotation_euler.x = 0.3
    bake(fk_shot, to="ik")
    assert scene.frame_current == 13
    assert head.rotation_euler.x == pytest.approx(0.3)
    assert fk_shot.mode == "OBJECT"
    assert bpy.context.object == fk_shot
    assert len(bpy.data.scenes) == 1


def test_renamed_bones_and_objects_are_found_from_the_structure(fk_shot, shots):
    fk_shot.name = "Hero"
    fk_shot.data.name = "Hero bones"
    for old, new in (("upper_arm_fk.L", "wing.L"), ("hand_ik.L", "feather.L"), ("MCH-forearm_ik.L", "x")):
        fk_shot.data.bones[old].name = new
    before, names = shots.visible_poses(fk_shot)
    bake(fk_shot, to="ik", limbs=["hand.L"])
    after, _ = shots.visible_poses(fk_shot)
    assert max(errors(before, after, names)) < MIDDLE_MM


@pytest.mark.skipif(bpy.app.version < (4, 4, 0), reason="actions have no slots before Blender 4.4")
def test_other_slots_of_the_action_stay(fk_shot, shots):
    action = fk_shot.animation_data.action
    other = bpy.data.objects.new("prop", None)
    bpy.context.scene.collection.objects.link(other)
    other.animation_data_create().action = action
    other.animation_data.action_slot = action.slots.new("OBJECT", "prop")
    other.keyframe_insert("location", frame=5)
    old = {k: v for k, v in shots.all_curves(action).items() if k[0] == "OBprop"}
    assert old
    bake(fk_shot, to="ik")
    new = shots.all_curves(action)
    assert {k: v for k, v in new.items() if k[0] == "OBprop"} == old


@pytest.mark.skipif(bpy.app.version < (4, 4, 0), reason="actions have no slots before Blender 4.4")
@pytest.mark.parametrize("fails", [False, True])
def test_an_action_without_an_assigned_slot_keeps_what_its_slots_hold(fk_shot, shots, monkeypatch, fails):
    data = fk_shot.animation_data
    data.action_slot = None
    fk_shot.pose.bones["torso"].location = 0, 0, 0
    old = shots.all_curves(data.action)
    before, names = shots.visible_poses(fk_shot, range(1, 12))
    if fails:
        monkeypatch.setattr("rigify_ikfk_tools.jobs.bake.prove", lambda *args, **kwargs: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            bake(fk_shot, to="ik", frames=range(3, 8), limbs=["hand.L"])
        assert data.action_slot is None
        assert shots.all_curves(data.action) == old
    else:
        bake(fk_shot, to="ik", frames=range(3, 8), limbs=["hand.L"])
        new = shots.all_curves(data.action)
        assert {channel: new[channel] for channel in old} == old
    after, _ = shots.visible_poses(fk_shot, range(1, 12))
    assert max(errors(before, after, names)) < MIDDLE_MM


def test_nla_strip_in_tweak_mode_moved_and_scaled(fk_shot, shots):
    data, scene = fk_shot.animation_data, bpy.context.scene
    track = data.nla_tracks.new()
    strip = track.strips.new("shot", 11, data.action)
    if hasattr(strip, "action_slot") and strip.action_slot is None:
        strip.action_slot = data.action_slot
    strip.scale = 1.25
    data.action = None
    strip.select = track.select = True
    data.nla_tracks.active = track
    data.use_tweak_mode = True
    frames = range(12, int(strip.frame_end))
    scene.frame_set(12)
    before, names = shots.visible_poses(fk_shot, frames)
    bake(fk_shot, to="ik", frames=frames)
    after, _ = shots.visible_poses(fk_shot, frames)
    middle, end = errors(before, after, names)
    assert middle < MIDDLE_MM
    assert end < END_MM


def test_a_constraint_that_holds_a_control_back_is_named(ik_shot):
    limit = ik_shot.pose.bones["forearm_fk.L"].constraints.new("LIMIT_ROTATION")
    limit.use_limit_x = limit.use_limit_y = limit.use_limit_z = True
    limit.owner_space = "LOCAL"
    report = bake(ik_shot, to="fk")
    held = [note for note in report.notes if note.startswith("hand.L: ")]
    assert len(report.notes) == len(held) == 1
    assert held[0].endswith("Constraints hold it back: 'Limit Rotation' on 'forearm_fk.L'.")
    assert report.limbs[2].limb == "hand.L"
    assert report.limbs[2].beyond


def test_a_linked_rig_is_refused_and_its_override_is_baked(generate_stock, shots, tmp_path):
    linked, override = shots.override_of_linked_stock(generate_stock, tmp_path)
    with pytest.raises(ToolError, match="'rig' is linked from another file"):
        bake(linked, to="ik", frames=range(1, 4))
    rig = override()
    rig.pose.bones["hand_ik.L"].location = 0.1, -0.2, 0.1
    before, names = shots.visible_poses(rig, range(1, 4))
    bake(rig, to="fk", frames=range(1, 4))
    shot = tmp_path / "shot.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(shot))
    bpy.ops.wm.open_mainfile(filepath=str(shot))
    rig = next(thing for thing in bpy.context.scene.objects if thing.override_library)
    assert rig.pose.bones["upper_arm_parent.L"]["IK_FK"] == 1.0
    after, _ = shots.visible_poses(rig, range(1, 4))
    assert max(errors(before, after, names)) < FK_MM


class Broken(Exception):
    pass


def fail_at(monkeypatch, owner, name, call):
    """Let the call of that number raise Broken."""
    real, calls = getattr(owner, name), []

    def failing(self, *args, **kwargs):
        calls.append(1)
        if len(calls) == call:
            raise Broken
        return real(self, *args, **kwargs)

    monkeypatch.setattr(owner, name, failing)


@pytest.mark.parametrize(
    ("owner", "name", "call"),
    [
        (Stage, "play", 1),
        (Stage, "play", 2),
        (Bench, "_build", 2),
        (Bench, "ask", 1),
        (Bench, "ask", 9),
        (Tracks, "write", 1),
        (Rewrite, "set", 1),
        (Rewrite, "set", 20),
    ],
)
def test_a_failure_at_any_stage_leaves_everything_as_it_was(fk_shot, shots, monkeypatch, owner, name, call):
    bpy.context.scene.frame_set(9)
    old = shots.all_curves(fk_shot.animation_data.action)
    things = [(kind, len(getattr(bpy.data, kind))) for kind in ("scenes", "objects", "armatures", "actions")]
    fail_at(monkeypatch, owner, name, call)
    with pytest.raises(Broken):
        bake(fk_shot, to="ik", frames=range(5, 15))
    assert shots.all_curves(fk_shot.animation_data.action) == old
    assert bpy.context.scene.frame_current == 9
    assert [(kind, len(getattr(bpy.data, kind))) for kind, _ in things] == things


def test_a_failure_on_a_rig_without_action_leaves_no_action(generate_stock, monkeypatch):
    rig = generate_stock("basic_human")
    had = rig.animation_data.action
    fail_at(monkeypatch, Stage, "play", 2)
    with pytest.raises(Broken):
        bake(rig, to="ik", frames=range(1, 5))
    assert rig.animation_data.action == had
    assert not bpy.data.actions


def test_bad_input_is_named(fk_shot):
    with pytest.raises(ToolError, match=r"no limb 'tail.L'.*hand\.L"):
        bake(fk_shot, to="ik", limbs=["tail.L"])
    with pytest.raises(ToolError, match="empty"):
        bake(fk_shot, to="ik", frames=range(10, 5))
    with pytest.raises(ToolError, match="not to 'up'"):
        bake(fk_shot, to="up")
    fk_shot.data.pose_position = "REST"
    with pytest.raises(ToolError, match="rest position"):
        bake(fk_shot, to="ik")
    with pytest.raises(ToolError, match="no limb with an IK and an FK side"):
        bake(bpy.data.objects["metarig"], to="ik")


@pytest.mark.parametrize("obstacle", ["lock", "mute", "modifier"])
def test_a_curve_that_would_hide_the_bake_is_named_and_nothing_is_lost(fk_shot, shots, obstacle):
    shots.animate_ik(fk_shot)
    curve = next(c for c in _curves(fk_shot) if c.data_path == 'pose.bones["hand_ik.L"].location')
    if obstacle == "modifier":
        curve.modifiers.new("NOISE")
    else:
        setattr(curve, obstacle, True)
    old = shots.all_curves(fk_shot.animation_data.action)
    with pytest.raises(ToolError, match=r"location\[0\] of 'hand_ik\.L'"):
        bake(fk_shot, to="ik")
    assert shots.all_curves(fk_shot.animation_data.action) == old


def test_a_twist_that_ik_can_not_show_is_told(fk_shot):
    bone = fk_shot.pose.bones["forearm_fk.L"]
    for frame in (1, 11, 21):
        bone.rotation_quaternion = 0.85, 0.4, 0.3, 0.17
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    report = bake(fk_shot, to="ik")
    (note,) = report.notes
    assert note.startswith("hand.L: upper and middle bone are turned by up to ")
    twisted = {limb.limb: limb.chain_deg.max for limb in report.limbs}
    assert twisted.pop("hand.L") > 20
    assert max(twisted.values()) < 1


def test_an_action_mixed_with_strips_below_is_refused(fk_shot, shots):
    data = fk_shot.animation_data
    data.nla_tracks.new().strips.new("below", 1, data.action)
    data.action_influence = 0.5
    with pytest.raises(ToolError, match="mixed with NLA strips"):
        bake(fk_shot, to="ik")


def test_a_driver_on_a_channel_is_named_and_nothing_is_lost(fk_shot, shots):
    fk_shot.pose.bones["hand_ik.L"].driver_add("location", 1)
    old = shots.all_curves(fk_shot.animation_data.action)
    with pytest.raises(ToolError, match=r"location\[1\] of 'hand_ik\.L' has a driver"):
        bake(fk_shot, to="ik")
    fk_shot.pose.bones["thigh_parent.L"].driver_add('["IK_FK"]')
    with pytest.raises(ToolError, match=r"IK_FK of 'thigh_parent\.L' has a driver"):
        bake(fk_shot, to="fk")
    assert shots.all_curves(fk_shot.animation_data.action) == old


@pytest.mark.parametrize("to", ["ik", "fk"])
def test_a_rig_disabled_in_viewports_is_baked_all_the_same(fk_shot, shots, to):
    shots.animate_ik(fk_shot)
    shots.set_sliders(fk_shot, 1.0, 1)
    before, names = shots.visible_poses(fk_shot)
    fk_shot.hide_viewport = True
    bake(fk_shot, to=to)
    assert fk_shot.hide_viewport
    fk_shot.hide_viewport = False
    after, _ = shots.visible_poses(fk_shot)
    assert max(errors(before, after, names)) < MIDDLE_MM


@pytest.mark.parametrize("to", ["ik", "fk"])
def test_a_leg_whose_toe_serves_both_sides_keeps_the_toe(generate_stock, shots, to):
    generate_stock("basic_human")
    metarig = bpy.data.objects["metarig"]
    metarig.hide_set(False)
    for side in "LR":
        metarig.pose.bones[f"thigh.{side}"].rigify_parameters.extra_ik_toe = False
    metarig.data.rigify_target_rig = None
    bpy.context.view_layer.objects.active = metarig
    bpy.ops.pose.rigify_generate()
    rig = bpy.context.object
    shots.set_sliders(rig, 0.0 if to == "fk" else 1.0, 1)
    rig.pose.bones["foot_heel_ik.L"].rotation_euler.x = 0.6
    rig.pose.bones["toe.L"].rotation_quaternion = 0.95, 0.3, 0, 0
    rig.pose.bones["foot_fk.L"].rotation_quaternion = 0.95, 0.3, 0, 0
    before, names = shots.visible_poses(rig, range(1, 4))
    report = bake(rig, to=to, frames=range(1, 4), limbs=["leg.L"])
    after, _ = shots.visible_poses(rig, range(1, 4))
    assert max(errors(before, after, names)) < MIDDLE_MM
    toe = names.index("ORG-toe.L")
    np.testing.assert_allclose(after[:, toe, :3, :3], before[:, toe, :3, :3], atol=2e-3)
    assert report.limbs[0].end_deg.max < 0.1


def test_animation_that_lies_in_nla_strips_is_not_covered_by_a_new_action(fk_shot):
    data = fk_shot.animation_data
    data.nla_tracks.new().strips.new("shot", 1, data.action)
    data.action = None
    with pytest.raises(ToolError, match="tweak mode"):
        bake(fk_shot, to="ik")
    assert data.action is None


def _curves(rig):
    action = rig.animation_data.action
    if not hasattr(action, "layers"):
        return list(action.fcurves)
    return list(action.layers[0].strips[0].channelbag(rig.animation_data.action_slot).fcurves)
