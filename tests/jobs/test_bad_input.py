# SPDX-License-Identifier: GPL-3.0-or-later
"""What bake and blend do with a rig or a shot that is not as it should be: a clear word and no change, or the job."""

import bpy
import numpy as np
import pytest

from rigify_ikfk_tools.errors import ToolError
from rigify_ikfk_tools.jobs.bake import bake
from rigify_ikfk_tools.jobs.blend import blend


def run(job, rig, to, frames, **options):
    return (bake if job == "bake" else blend)(rig, to=to, frames=frames, **options)


JOBS = pytest.mark.parametrize("job", ["bake", "blend"])
SIDES = pytest.mark.parametrize("to", ["ik", "fk"])


def refused(shots, rig, match, **options):
    """Each job says why, in one sentence or two, and leaves all curves as they were."""
    old = shots.all_curves(rig.animation_data.action)
    objects, actions, scenes = len(bpy.data.objects), len(bpy.data.actions), len(bpy.data.scenes)
    frame = bpy.context.scene.frame_current
    for job in ("bake", "blend"):
        for to in ("ik", "fk"):
            with pytest.raises(ToolError, match=match) as problem:
                run(job, rig, to, **{"frames": range(3, 9), **options})
            assert str(problem.value).endswith(".")
            assert "\n" not in str(problem.value)
    assert shots.all_curves(rig.animation_data.action) == old
    assert (len(bpy.data.objects), len(bpy.data.actions), len(bpy.data.scenes)) == (objects, actions, scenes)
    assert bpy.context.scene.frame_current == frame


def stays(shots, rig, job, to, frames, **options):
    """The job does its work, and the pose stays."""
    before, _ = shots.visible_poses(rig, frames)
    report = run(job, rig, to, frames, **options)
    after, _ = shots.visible_poses(rig, frames)
    assert shots.millimetres(before, after).max() < 0.3
    return report


@JOBS
@SIDES
def test_a_rig_without_an_action(generate_stock, shots, job, to):
    rig = generate_stock("basic_human")
    rig.pose.bones["hand_ik.L"].location = 0.1, -0.2, 0.15
    rig.pose.bones["forearm_fk.R"].rotation_quaternion = 0.9, 0.4, 0, 0
    report = stays(shots, rig, job, to, range(1, 5))
    assert report.notes == []


@JOBS
@SIDES
@pytest.mark.parametrize("hiding", ["bones", "collections", "solo", "rig", "excluded"])
def test_what_is_hidden_is_served_and_stays_hidden(fk_shot, shots, job, to, hiding):
    shots.animate_ik(fk_shot)
    shots.set_sliders(fk_shot, 1.0, 1)
    armature, layer = fk_shot.data, bpy.context.view_layer
    before, _ = shots.visible_poses(fk_shot)
    if hiding == "bones":
        for bone in fk_shot.pose.bones:
            (bone if bpy.app.version >= (5, 0, 0) else bone.bone).hide = True
    elif hiding == "collections":
        for collection in armature.collections_all:
            collection.is_visible = False
    elif hiding == "solo":
        armature.collections_all["Face" if "Face" in armature.collections_all else "Torso"].is_solo = True
    elif hiding == "rig":
        fk_shot.hide_set(True)
    else:
        home = bpy.data.collections.new("home")
        bpy.context.scene.collection.children.link(home)
        for collection in list(fk_shot.users_collection):
            collection.objects.unlink(fk_shot)
        home.objects.link(fk_shot)
        layer.layer_collection.children["home"].exclude = True
    told = visibility(fk_shot)
    report = run(job, fk_shot, to, shots.FRAMES)
    assert visibility(fk_shot) == told
    assert report.notes == []
    if hiding == "excluded":
        layer.layer_collection.children["home"].exclude = False
    after, _ = shots.visible_poses(fk_shot)
    assert shots.millimetres(before, after).max() < 0.3


def visibility(rig):
    bones = [(b.bone.hide, getattr(b, "hide", None)) for b in rig.pose.bones]
    collections = [(c.is_visible, c.is_solo) for c in rig.data.collections_all]
    return bones, collections, rig.hide_viewport, [c.name for c in rig.users_collection]


def constraint(rig, bone, number):
    return rig.pose.bones[bone].constraints[number]


BROKEN = {
    "FK copy muted": (
        lambda rig: setattr(constraint(rig, "ORG-forearm.L", 0), "mute", True),
        "'hand.L'.*'ORG-forearm.L' is muted",
    ),
    "IK copy muted": (
        lambda rig: setattr(constraint(rig, "ORG-hand.L", 1), "mute", True),
        "'hand.L'.*'ORG-hand.L' is muted",
    ),
    "FK copy with influence": (
        lambda rig: setattr(constraint(rig, "ORG-upper_arm.L", 0), "influence", 0.5),
        "'hand.L'.*'ORG-upper_arm.L' has an influence of 0.5",
    ),
    "IK copy of the first bone deleted": (
        lambda rig: delete(rig, "ORG-thigh.L", 1),
        "'foot.L'.*'ORG-thigh.L' has 1 Copy Transforms",
    ),
    "IK copy of the middle bone deleted": (
        lambda rig: delete(rig, "ORG-forearm.L", 1),
        "'hand.L'.*'ORG-forearm.L' has 1 Copy Transforms",
    ),
    "both copies of the middle bone deleted": (
        lambda rig: (delete(rig, "ORG-forearm.L", 1), delete(rig, "ORG-forearm.L", 0)),
        "'hand.L'.*'ORG-forearm.L' has 0 Copy Transforms",
    ),
    "FK copy of the end deleted": (
        lambda rig: delete(rig, "ORG-hand.L", 0),
        "'hand.L'.*'ORG-hand.L' has 1 Copy Transforms",
    ),
    "IK copy of the toe deleted": (
        lambda rig: delete(rig, "ORG-toe.L", 1),
        "'foot.L'.*'ORG-toe.L' has 1 Copy Transforms",
    ),
    "one more copy": (
        lambda rig: add_copy(rig, "ORG-hand.L", "head"),
        "'hand.L'.*'ORG-hand.L' has 3 Copy Transforms",
    ),
    "driver of the first bone removed": (
        lambda rig: constraint(rig, "ORG-upper_arm.L", 1).driver_remove("influence"),
        "'hand.L'.*does not drive the influence.*'ORG-upper_arm.L'",
    ),
    "driver of the end muted": (
        lambda rig: mute_driver(rig, "ORG-hand.L"),
        "'hand.L'.*does not drive the influence.*'ORG-hand.L'",
    ),
    "IK deleted": (
        lambda rig: (delete(rig, "MCH-forearm_ik.L", 1), delete(rig, "MCH-forearm_ik.L", 0)),
        "'hand.L'.*no Inverse Kinematics constraint.*'MCH-forearm_ik.L'",
    ),
    "IK without pole deleted": (
        lambda rig: delete(rig, "MCH-forearm_ik.L", 0),
        "'hand.L'.*'MCH-forearm_ik.L' has no Inverse Kinematics constraint for the time without pole",
    ),
    "IK muted": (
        lambda rig: mute_ik(rig, "MCH-shin_ik.L"),
        "'foot.L'.*'MCH-shin_ik.L' is muted",
    ),
    "slider deleted": (
        lambda rig: rig.pose.bones["upper_arm_parent.L"].__delitem__("IK_FK"),
        "'hand.L'.*'upper_arm_parent.L' has no property 'IK_FK'",
    ),
}


def delete(rig, bone, number):
    rig.pose.bones[bone].constraints.remove(constraint(rig, bone, number))


def add_copy(rig, bone, target):
    new = rig.pose.bones[bone].constraints.new("COPY_TRANSFORMS")
    new.target, new.subtarget = rig, target


def mute_driver(rig, bone):
    path = f'pose.bones["{bone}"].constraints["{constraint(rig, bone, 1).name}"].influence'
    rig.animation_data.drivers.find(path).mute = True


def mute_ik(rig, bone):
    for solver in rig.pose.bones[bone].constraints:
        solver.driver_remove("mute")
        solver.mute = True


@pytest.mark.parametrize("what", BROKEN)
def test_a_limb_with_a_broken_side_is_refused_by_name_and_left_out_of_all(fk_shot, shots, what):
    shots.animate_ik(fk_shot)
    damage, said = BROKEN[what]
    damage(fk_shot)
    fk_shot.update_tag()
    bpy.context.view_layer.update()
    limb = "foot.L" if "'foot.L'" in said else "hand.L"
    refused(shots, fk_shot, said, limbs=[limb])
    report = bake(fk_shot, to="fk", frames=range(3, 9))
    assert {done.limb for done in report.limbs} == {"hand.L", "hand.R", "foot.L", "foot.R"} - {limb}
    (note,) = [note for note in report.notes if "left out" in note]
    assert note.startswith(f"{limb} was left out: ")


def test_a_finger_with_a_broken_side_is_named(generate_stock, shots):
    rig = generate_stock("human+fingers")
    rig.animation_data_create().action = bpy.data.actions.new("empty")
    damage = {
        "f_index.01.L": ("ORG-f_index.03.L", "FingerIK", "'FingerIK' on 'ORG-f_index.03.L' is muted"),
        "f_ring.01.L": ("ORG-f_ring.02.L", "Copy Transforms", "'Copy Transforms' on 'ORG-f_ring.02.L' is muted"),
        "thumb.01.L": ("MCH-thumb.02.L", "Stretch To", "'Stretch To' on 'MCH-thumb.02.L' is muted"),
    }
    for name, (bone, broken, said) in damage.items():
        rig.pose.bones[bone].constraints[broken].mute = True
        refused(shots, rig, f"'{name}'.*{said}", limbs=[name])


@pytest.mark.parametrize("obstacle", ["lock", "mute"])
def test_a_group_that_would_hide_the_keys_is_named(fk_shot, shots, obstacle):
    shots.animate_ik(fk_shot)
    shots.set_sliders(fk_shot, 1.0, 1)
    curve = next(c for c in shots.curves(fk_shot) if c.data_path == 'pose.bones["hand_ik.L"].location')
    if curve.group is None:  # before Blender 4.4 a script's keys have none
        curve.group = fk_shot.animation_data.action.groups.new("hand_ik.L")
    setattr(curve.group, obstacle, True)
    told = {"lock": "locked", "mute": "muted"}[obstacle]
    old = shots.all_curves(fk_shot.animation_data.action)
    for job in (bake, blend):
        with pytest.raises(ToolError, match=rf"location\[0\] of 'hand_ik\.L' is {told}"):
            job(fk_shot, to="ik", frames=range(3, 9))
    assert shots.all_curves(fk_shot.animation_data.action) == old


def test_a_muted_group_without_the_curves_of_the_bake_is_named_too(generate_stock, shots):
    rig = generate_stock("basic_human")
    rig.pose.bones["upper_arm_parent.L"].keyframe_insert('["IK_FK"]', frame=1)
    rig.pose.bones["hand_ik.L"].location = 0.1, -0.2, 0.15
    rig.pose.bones["forearm_fk.L"]["mood"] = 1.0
    rig.pose.bones["forearm_fk.L"].keyframe_insert('["mood"]', frame=1, group="forearm_fk.L")
    next(c for c in shots.curves(rig) if "mood" in c.data_path).group.mute = True
    old = shots.all_curves(rig.animation_data.action)
    with pytest.raises(ToolError, match=r"group 'forearm_fk\.L' is muted"):
        bake(rig, to="fk", frames=range(1, 4), limbs=["hand.L"])
    assert shots.all_curves(rig.animation_data.action) == old


@pytest.mark.parametrize("obstacle", ["lock", "mute", "modifier"])
def test_blend_names_a_curve_that_would_hide_it(fk_shot, shots, obstacle):
    shots.animate_ik(fk_shot)
    curve = next(c for c in shots.curves(fk_shot) if "IK_FK" in c.data_path)
    if obstacle == "modifier":
        curve.modifiers.new("NOISE")
    else:
        setattr(curve, obstacle, True)
    refused(shots, fk_shot, "The F-curve IK_FK of ", limbs=None)


@pytest.mark.parametrize("shared", [False, True])
def test_edit_mode(fk_shot, shots, shared):
    other = fk_shot
    if shared:
        other = bpy.data.objects.new("twin", fk_shot.data)
        bpy.context.scene.collection.objects.link(other)
    bpy.context.view_layer.objects.active = other
    bpy.ops.object.mode_set(mode="EDIT")
    refused(shots, fk_shot, "edit mode")
    assert other.mode == "EDIT"
    bpy.ops.object.mode_set(mode="OBJECT")


@JOBS
def test_pose_mode_stays(fk_shot, shots, job):
    bpy.ops.object.mode_set(mode="POSE")
    stays(shots, fk_shot, job, "ik", shots.FRAMES)
    assert fk_shot.mode == "POSE"


@JOBS
@SIDES
@pytest.mark.parametrize(
    "frames", [range(-12, -3), range(-3, 4), range(0, 1), range(21, 22), range(15, 90), range(400, 420)], ids=str
)
def test_any_range(fk_shot, shots, job, to, frames):
    shots.animate_ik(fk_shot)
    shots.set_sliders(fk_shot, 1.0, 1)
    report = stays(shots, fk_shot, job, to, frames)
    assert (report.first_frame, report.last_frame) == (frames[0], frames[-1])


def test_frames_that_blender_does_not_have(fk_shot, shots):
    refused(shots, fk_shot, "from -1048574 to 1048574", frames=range(1048570, 1048580))
    refused(shots, fk_shot, "from -1048574 to 1048574", frames=range(-1048580, 1))
    refused(shots, fk_shot, "empty", frames=range(5, 5))
    refused(shots, fk_shot, "steps are not supported", frames=range(1, 9, 2))


@JOBS
def test_scripts_stay_switched_off(fk_shot, shots, job):
    paths = bpy.context.preferences.filepaths
    assert not paths.use_scripts_auto_execute
    shots.animate_ik(fk_shot)
    stays(shots, fk_shot, job, "fk", shots.FRAMES)
    assert not paths.use_scripts_auto_execute
    assert np.isfinite([limb.worst_mm for limb in bake(fk_shot, to="ik").limbs]).all()


@pytest.mark.parametrize("job", [bake, blend])
def test_a_key_that_is_no_number_is_named_by_what_it_moves(fk_shot, shots, job):
    curve = next(curve for curve in shots.curves(fk_shot) if "thigh_fk.L" in curve.data_path)
    curve.keyframe_points[2].co.y = float("nan")
    old = repr(shots.all_curves(fk_shot.animation_data.action))
    with pytest.raises(ToolError, match=r"'ORG-thigh\.L' has no pose on frame 7: a key, .* no number"):
        job(fk_shot, to="ik", frames=range(1, 22))
    assert repr(shots.all_curves(fk_shot.animation_data.action)) == old


def test_a_rig_that_is_scaled_to_nothing_is_refused(fk_shot):
    fk_shot.scale = 0, 1, 1
    bpy.context.view_layer.update()
    with pytest.raises(ToolError, match="'rig' is scaled to nothing"):
        bake(fk_shot, to="ik")


def test_a_rig_that_is_scaled_unevenly_or_of_enormous_size_is_told(fk_shot):
    fk_shot.scale = 1, 2, 0.5
    bpy.context.view_layer.update()
    report = bake(fk_shot, to="ik", limbs=["hand.L"])
    assert (
        "'rig' is scaled unevenly, which its own constraints do not follow: apply its scale first." in report.notes[0]
    )
    fk_shot.scale = 1000, 1000, 1000
    bpy.context.view_layer.update()
    report = bake(fk_shot, to="ik", limbs=["foot.L"], frames=range(1, 5))
    assert report.notes[0].endswith("At this size Blender's own IK comes no nearer.")
