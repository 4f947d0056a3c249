# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators: they say what is missing, do the job of the selection, and leave the rest to it."""

import bpy
import pytest

from demo.body import make_body
from rigify_ikfk_tools import ui
from rigify_ikfk_tools.ui import results


@pytest.fixture
def doors():
    """Operators and panels, registered for a while."""
    classes = [*ui.operators.CLASSES, *ui.panels.CLASSES]
    known = [cls for cls in classes if cls.is_registered]
    for cls in classes:
        if cls not in known:
            bpy.utils.register_class(cls)
    yield
    for cls in reversed(classes):
        if cls not in known:
            bpy.utils.unregister_class(cls)


def pose_mode(rig, *selected):
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="POSE")
    for bone in rig.pose.bones:
        owner = bone if bpy.app.version >= (5, 0, 0) else bone.bone
        owner.select = bone.name in selected


def keyed_bones(rig):
    action = rig.animation_data.action
    curves = action.fcurves if not hasattr(action, "layers") else action.layers[0].strips[0].channelbags[0].fcurves
    return {curve.data_path.split('"')[1] for curve in curves}


def test_generate_and_bind_works_on_the_selected_mesh(empty_scene, doors):
    body = make_body()
    body.select_set(True)
    bpy.context.view_layer.objects.active = body
    assert bpy.ops.object.rigify_ikfk_generate_and_bind(preset="basic_human", most_influences=3) == {"FINISHED"}
    assert body.parent.data["rig_id"]
    assert max(len(vertex.groups) for vertex in body.data.vertices) == 3
    assert bpy.context.object == body


def test_generate_and_bind_tells_what_is_in_the_way(empty_scene, doors):
    bpy.ops.mesh.primitive_cube_add()
    with pytest.raises(RuntimeError, match="'Cube' can't be read as a standing humanoid"):
        bpy.ops.object.rigify_ikfk_generate_and_bind()
    bpy.ops.object.select_all(action="DESELECT")
    with pytest.raises(RuntimeError, match=r"poll\(\)"):
        bpy.ops.object.rigify_ikfk_generate_and_bind()


def test_bake_takes_the_limbs_of_the_selected_bones(generate_stock, doors):
    rig = generate_stock("basic_human")
    pose_mode(rig, "hand_ik.L")
    assert bpy.ops.pose.rigify_ikfk_bake_to_fk(frame_start=3, frame_end=6) == {"FINISHED"}
    bones = keyed_bones(rig)
    assert "upper_arm_parent.L" in bones
    assert "upper_arm_parent.R" not in bones
    assert rig.mode == "POSE"


def test_bake_takes_all_limbs_where_none_is_selected(generate_stock, doors):
    rig = generate_stock("basic_human")
    pose_mode(rig)
    assert bpy.ops.pose.rigify_ikfk_bake_to_ik(frame_start=1, frame_end=2) == {"FINISHED"}
    assert {"upper_arm_parent.L", "thigh_parent.R"} <= keyed_bones(rig)


@pytest.mark.parametrize("keeps", [False, True])
def test_the_redo_panel_offers_to_keep_the_roll_of_feet(generate_stock, doors, keeps):
    rig = generate_stock("basic_human")
    rig.pose.bones["thigh_parent.L"]["IK_FK"] = 1.0
    rig.pose.bones["foot_fk.L"].rotation_quaternion = 0.96, 0.28, 0, 0
    pose_mode(rig, "foot_fk.L")
    assert bpy.ops.pose.rigify_ikfk_bake_to_ik(frame_start=1, frame_end=2, keep_roll=keeps) == {"FINISHED"}
    assert (abs(rig.pose.bones["foot_heel_ik.L"].rotation_euler.x) > 0.5) is keeps


@pytest.mark.parametrize(("options", "count"), [({}, 21), ({"step": 4}, 6), ({"keys": "source"}, 3)])
def test_a_bake_keys_the_frames_that_were_asked_for(generate_stock, doors, options, count):
    rig = generate_stock("basic_human")
    hand = rig.pose.bones["hand_ik.L"]
    for frame, x in ((1, 0.0), (11, -0.2), (21, 0.1)):
        hand.location.x = x
        hand.keyframe_insert("location", frame=frame)
    pose_mode(rig, "hand_ik.L")
    assert bpy.ops.pose.rigify_ikfk_bake_to_fk(frame_start=1, frame_end=21, **options) == {"FINISHED"}
    action = rig.animation_data.action
    curves = action.fcurves if not hasattr(action, "layers") else action.layers[0].strips[0].channelbags[0].fcurves
    curve = next(curve for curve in curves if "upper_arm_fk.L" in curve.data_path)
    assert len([key for key in curve.keyframe_points if 1 <= key.co.x <= 21]) == count


def slider_values(rig, frames):
    out = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        out.append(rig.pose.bones["upper_arm_parent.L"]["IK_FK"])
    return out


def test_switch_works_on_the_selection_at_its_frame(generate_stock, doors):
    rig = generate_stock("basic_human")
    pose_mode(rig, "hand_ik.L")
    bpy.context.scene.frame_set(7)
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    assert bpy.ops.pose.rigify_ikfk_switch(to="fk", frame=7) == {"FINISHED"}
    assert bpy.context.scene.frame_current == 7
    assert bpy.context.scene.tool_settings.use_keyframe_insert_auto
    assert slider_values(rig, range(5, 10)) == [0.0, 0.0, 1.0, 1.0, 1.0]
    assert "upper_arm_parent.R" not in keyed_bones(rig)


def test_blend_works_on_the_selection(generate_stock, doors):
    rig = generate_stock("basic_human")
    pose_mode(rig, "hand_ik.L")
    arguments = {"frame_start": 3, "frame_end": 5, "to": "fk", "keep": "motion", "ease": "linear"}
    assert bpy.ops.pose.rigify_ikfk_blend(**arguments) == {"FINISHED"}
    assert slider_values(rig, range(2, 7)) == [0.0, 0.0, 0.5, 1.0, 0.0]
    assert keyed_bones(rig) == {"upper_arm_parent.L"}
    assert "moves 0.0 mm into the first frame" in results.last_lines()[1]


def test_another_parent_for_the_selected_limb(generate_stock, doors):
    rig = generate_stock("basic_human")
    pose_mode(rig, "hand_ik.L")
    assert bpy.ops.pose.rigify_ikfk_parent(parent="torso", frame=5) == {"FINISHED"}
    gear = rig.pose.bones["upper_arm_parent.L"]
    values = []
    for frame in (4, 5, 9):
        bpy.context.scene.frame_set(frame)
        values.append(gear["IK_parent"])
    assert values == [1, 2, 2]
    assert "upper_arm_parent.R" not in keyed_bones(rig)
    with pytest.raises(TypeError, match="not found in"):
        bpy.ops.pose.rigify_ikfk_parent(parent="nobody", frame=5)


def test_bake_needs_a_generated_rig_and_a_range(generate_stock, doors):
    rig = generate_stock("basic_human")
    with pytest.raises(RuntimeError, match="range is empty"):
        bpy.ops.pose.rigify_ikfk_bake_to_ik(frame_start=9, frame_end=2)
    assert rig.animation_data.action is None
    metarig = bpy.data.objects["metarig"]
    metarig.hide_set(False)
    bpy.context.view_layer.objects.active = metarig
    with pytest.raises(RuntimeError, match=r"poll\(\)"):
        bpy.ops.pose.rigify_ikfk_bake_to_ik()


def test_the_last_result_can_be_read_when_its_objects_are_gone(empty_scene, doors):
    body = make_body()
    body.select_set(True)
    bpy.context.view_layer.objects.active = body
    bpy.ops.object.rigify_ikfk_generate_and_bind(preset="basic_human")
    name = body.parent.name
    for thing in list(bpy.data.objects):
        bpy.data.objects.remove(thing)
    assert any(f"generate {name} " in line for line in results.last_lines())
