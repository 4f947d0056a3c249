# SPDX-License-Identifier: GPL-3.0-or-later
"""Every job on shots as they are made: nothing else is touched, and all is taken back when something fails."""

import bpy
import numpy as np
import pytest

from rigify_ikfk_tools.errors import ToolError
from rigify_ikfk_tools.jobs.bake import bake
from rigify_ikfk_tools.jobs.blend import blend
from rigify_ikfk_tools.jobs.parent import change_parent
from rigify_ikfk_tools.jobs.switch import switch
from rigify_ikfk_tools.rigs.fcurves import OwnCurves, Rewrite
from rigify_ikfk_tools.rigs.stage import Stage

FRAMES = range(8, 14)
OUTSIDE = [*range(-3, 8), *range(14, 26)]
JOBS = {
    "bake": lambda rig: bake(rig, to="ik", frames=FRAMES),
    "bake to FK": lambda rig: bake(rig, to="fk", frames=FRAMES),
    "bake fewest": lambda rig: bake(rig, to="ik", frames=FRAMES, keys="fewest"),
    "switch": lambda rig: switch(rig, to="ik", frame=8, until=13),
    "blend": lambda rig: blend(rig, to="ik", frames=FRAMES),
    "blend motion": lambda rig: blend(rig, to="ik", frames=FRAMES, keep="motion"),
    "parent": lambda rig: change_parent(rig, parent="torso", frame=8, until=13),
}
every_job = pytest.mark.parametrize("job", JOBS)
KEEPS_POSE = pytest.mark.parametrize("job", [name for name in JOBS if name != "blend motion"])
KINDS = ("scenes", "objects", "armatures", "actions", "meshes")


class Broken(Exception):
    pass


@pytest.fixture
def shot(fk_shot, shots):
    """Keys on both sides before, inside and after the frames, the limbs at FK."""
    shots.animate_ik(fk_shot)
    shots.set_sliders(fk_shot, 1.0, 1)
    return fk_shot


def all_things(shots):
    """What a file holds besides the rig's own curves."""
    return {kind: sorted(thing.name for thing in getattr(bpy.data, kind)) for kind in KINDS}


@every_job
def test_keys_and_pose_outside_are_as_before(shot, shots, job):
    old = shots.all_curves(shot.animation_data.action)
    things = all_things(shots)
    calm, _ = shots.visible_poses(shot, OUTSIDE)
    JOBS[job](shot)
    still, _ = shots.visible_poses(shot, OUTSIDE)
    assert shots.millimetres(calm, still).max() < 1e-5
    new = shots.all_curves(shot.animation_data.action)
    for channel, keys in old.items():
        kept = [key for key in keys if not 8 <= key[0] <= 13]
        assert [key for key in new[channel] if key in kept] == kept
    assert all_things(shots) == things


@KEEPS_POSE
def test_pose_inside_stays(shot, shots, job):
    before, _ = shots.visible_poses(shot, FRAMES)
    JOBS[job](shot)
    after, _ = shots.visible_poses(shot, FRAMES)
    assert shots.millimetres(before, after).max() < (1 if "fewest" in job else 0.3)


@every_job
def test_other_bones_slots_and_objects_are_not_touched(shot, shots, job):
    other = bpy.data.objects.new("other", None)
    bpy.context.scene.collection.objects.link(other)
    if hasattr(shot.animation_data.action, "slots"):
        other.animation_data_create().action = shot.animation_data.action
        other.animation_data.action_slot = shot.animation_data.action.slots.new("OBJECT", "other")
    for frame in (1, 10, 20):
        other.location.x = frame
        other.keyframe_insert("location", frame=frame)
    old = shots.all_curves(shot.animation_data.action)
    apart = shots.all_curves(other.animation_data.action)
    JOBS[job](shot)
    new = shots.all_curves(shot.animation_data.action)
    for channel, keys in old.items():
        if "torso" in channel[1] or channel[0] == "OBother":
            assert new[channel] == keys
    if other.animation_data.action != shot.animation_data.action:
        assert shots.all_curves(other.animation_data.action) == apart


@every_job
def test_what_the_user_had_is_given_back(shot, job):
    scene, settings = bpy.context.scene, bpy.context.scene.tool_settings
    bpy.ops.object.mode_set(mode="POSE")
    chosen = shot.pose.bones["hand_fk.R"]
    (chosen if bpy.app.version >= (5, 0, 0) else chosen.bone).select = True
    shot.data.bones.active = shot.data.bones["torso"]
    shot.pose.bones["head"].location = 0.01, 0.02, 0.03
    settings.use_keyframe_insert_auto = True
    scene.use_preview_range = True
    scene.frame_set(9, subframe=0.25)

    def state():
        marked = sorted(
            bone.name for bone in shot.pose.bones if (bone if bpy.app.version >= (5, 0, 0) else bone.bone).select
        )
        visible = sorted(thing.name for thing in bpy.context.view_layer.objects if thing.visible_get())
        return (
            (scene.frame_current, scene.frame_subframe, scene.use_preview_range, scene.frame_start, scene.frame_end),
            (bpy.context.mode, bpy.context.object.name, shot.data.bones.active.name, marked, visible),
            (settings.use_keyframe_insert_auto, [*shot.pose.bones["head"].location]),
        )

    before = state()
    JOBS[job](shot)
    assert state() == before


@every_job
@pytest.mark.parametrize(("owner", "name"), [(Stage, "play"), (Rewrite, "_put"), (OwnCurves, "changed")])
def test_a_failure_at_any_step_takes_all_back(shot, shots, monkeypatch, job, owner, name):
    old, things = shots.all_curves(shot.animation_data.action), all_things(shots)
    real = getattr(owner, name)
    failures = 0
    for step in (0, 1, 2, 3, 5, 9, 40):
        calls = []

        def failing(self, *arguments, _calls=calls, _step=step, **options):
            _calls.append(1)
            if len(_calls) == _step + 1:
                raise Broken
            return real(self, *arguments, **options)

        monkeypatch.setattr(owner, name, failing)
        try:
            JOBS[job](shot)
        except Broken:
            failures += 1
        else:
            break
        assert shots.all_curves(shot.animation_data.action) == old
        assert all_things(shots) == things
    assert failures > 0


@KEEPS_POSE
@pytest.mark.parametrize("scale", [1.25, -1.0], ids=["slower", "reversed"])
def test_an_nla_strip_in_tweak_mode(shot, shots, job, scale):
    data, scene = shot.animation_data, bpy.context.scene
    track = data.nla_tracks.new()
    strip = track.strips.new("shot", 1, data.action)
    if hasattr(strip, "action_slot") and strip.action_slot is None:
        strip.action_slot = data.action_slot
    if scale < 0:
        strip.use_reverse = True
    else:
        strip.scale = scale
    data.action = None
    strip.select = track.select = True
    data.nla_tracks.active = track
    data.use_tweak_mode = True
    scene.frame_set(8)
    outside = [*range(1, 8), *range(14, 20)]
    before, _ = shots.visible_poses(shot, FRAMES)
    calm, _ = shots.visible_poses(shot, outside)
    JOBS[job](shot)
    after, _ = shots.visible_poses(shot, FRAMES)
    still, _ = shots.visible_poses(shot, outside)
    assert shots.millimetres(before, after).max() < (1 if "fewest" in job else 0.3)
    assert shots.millimetres(calm, still).max() < 0.01


@KEEPS_POSE
@pytest.mark.parametrize(("mode", "influence"), [("COMBINE", 1.0), ("COMBINE", 0.5), ("ADD", 1.0), ("SUBTRACT", 0.7)])
def test_an_action_that_is_laid_over_nla_strips(shot, shots, job, mode, influence):
    data = shot.animation_data
    track = data.nla_tracks.new()
    strip = track.strips.new("shot", 1, data.action)
    if hasattr(strip, "action_slot") and strip.action_slot is None:
        strip.action_slot = data.action_slot
    data.action = None
    data.action = bpy.data.actions.new("over it")
    if hasattr(data, "action_slot"):
        data.action_slot = data.action.slots.new("OBJECT", shot.name)
    hand = shot.pose.bones["hand_fk.L"]
    for frame, value in ((1, 0.02), (11, 0.1), (21, 0.05)):
        for index in range(3):
            hand.location[index] = value
        hand.keyframe_insert("location", frame=frame)
    data.action_blend_type, data.action_influence = mode, influence
    before, _ = shots.visible_poses(shot, FRAMES)
    calm, _ = shots.visible_poses(shot, OUTSIDE)
    JOBS[job](shot)
    after, _ = shots.visible_poses(shot, FRAMES)
    still, _ = shots.visible_poses(shot, OUTSIDE)
    assert shots.millimetres(before, after).max() < (1 if "fewest" in job else 0.3)
    assert shots.millimetres(calm, still).max() < 1e-3
    assert data.action_influence == pytest.approx(influence)


@KEEPS_POSE
def test_two_characters(shot, shots, job):
    second = shot.copy()
    second.location.x = 3
    bpy.context.scene.collection.objects.link(second)
    second.animation_data.action = shot.animation_data.action.copy()
    if hasattr(second.animation_data, "action_slot"):
        second.animation_data.action_slot = second.animation_data.action.slots[0]
    calm, _ = shots.visible_poses(second)
    before, _ = shots.visible_poses(shot, FRAMES)
    old = shots.all_curves(second.animation_data.action)
    JOBS[job](shot)
    still, _ = shots.visible_poses(second)
    after, _ = shots.visible_poses(shot, FRAMES)
    assert shots.millimetres(calm, still).max() < 1e-5
    assert shots.all_curves(second.animation_data.action) == old
    assert shots.millimetres(before, after).max() < (1 if "fewest" in job else 0.3)


@KEEPS_POSE
def test_two_characters_that_share_an_action(shot, shots, job):
    second = shot.copy()
    second.location.x = 3
    bpy.context.scene.collection.objects.link(second)
    before, _ = shots.visible_poses(second, FRAMES)
    JOBS[job](shot)
    after, _ = shots.visible_poses(second, FRAMES)
    assert second.animation_data.action == shot.animation_data.action
    assert shots.millimetres(before, after).max() < (1 if "fewest" in job else 0.3)


@KEEPS_POSE
def test_a_scene_in_centimetres_and_frames_below_zero(shot, shots, job):
    bpy.context.scene.unit_settings.scale_length = 0.01
    for curve in shots.curves(shot):
        for key in curve.keyframe_points:
            key.co.x -= 20
            key.handle_left.x -= 20
            key.handle_right.x -= 20
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = -19, 1
    before, _ = shots.visible_poses(shot, range(-19, 2))
    JOBS[job](shot)
    after, _ = shots.visible_poses(shot, range(-19, 2))
    assert shots.millimetres(before, after).max() < (1 if "fewest" in job else 0.3)


@KEEPS_POSE
def test_an_override_of_a_linked_rig(generate_stock, shots, tmp_path, job):
    _, override = shots.override_of_linked_stock(generate_stock, tmp_path)
    rig = override()
    shots.animate_fk(rig)
    before, _ = shots.visible_poses(rig, FRAMES)
    JOBS[job](rig)
    path = tmp_path / "shot.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.open_mainfile(filepath=str(path))
    rig = next(thing for thing in bpy.context.scene.objects if thing.override_library)
    after, _ = shots.visible_poses(rig, FRAMES)
    assert shots.millimetres(before, after).max() < (1 if "fewest" in job else 0.3)
    assert np.isfinite(after).all()


@every_job
def test_a_driver_on_the_property_that_is_switched_is_named(shot, shots, job):
    name = "IK_parent" if job == "parent" else "IK_FK"
    shot.pose.bones["upper_arm_parent.R"].driver_add(f'["{name}"]')
    old = shots.all_curves(shot.animation_data.action)
    with pytest.raises(ToolError, match=f"{name} of 'upper_arm_parent.R' has a driver: keys would not be seen on it"):
        JOBS[job](shot)
    assert shots.all_curves(shot.animation_data.action) == old


@every_job
def test_a_linked_action_is_refused_by_name(shot, shots, tmp_path, job):
    library = tmp_path / "actions.blend"
    bpy.data.libraries.write(str(library), {shot.animation_data.action})
    name = shot.animation_data.action.name
    with bpy.data.libraries.load(str(library), link=True) as (_, wanted):
        wanted.actions = [name]
    (linked,) = wanted.actions
    shot.animation_data.action = linked
    if hasattr(shot.animation_data, "action_slot"):
        shot.animation_data.action_slot = linked.slots[0]
    old = shots.all_curves(linked)
    with pytest.raises(ToolError, match=f"The action '{name}' is linked from another file"):
        JOBS[job](shot)
    assert shots.all_curves(linked) == old


@KEEPS_POSE
def test_frames_beyond_the_action(shot, shots, job):
    for curve in shots.curves(shot):
        for key in curve.keyframe_points:
            key.co.x -= 100
            key.handle_left.x -= 100
            key.handle_right.x -= 100
    before, _ = shots.visible_poses(shot, [*range(-99, -79), *range(5, 17)])
    JOBS[job](shot)
    after, _ = shots.visible_poses(shot, [*range(-99, -79), *range(5, 17)])
    assert shots.millimetres(before, after).max() < (1 if "fewest" in job else 0.3)
