# SPDX-License-Identifier: GPL-3.0-or-later
"""Generate Rig, what is in its way, and what is left when it fails."""

import bpy
import pytest
from mathutils import Matrix

from rigify_ikfk_tools.errors import ToolError
from rigify_ikfk_tools.jobs.generate import generate
from rigify_ikfk_tools.rigs.metarig import add_metarig


@pytest.fixture
def metarig(empty_scene):
    return add_metarig("basic_human")


def edit(metarig, change):
    bpy.context.view_layer.objects.active = metarig
    bpy.ops.object.mode_set(mode="EDIT")
    change(metarig.data.edit_bones)
    bpy.ops.object.mode_set(mode="OBJECT")


def test_a_rig_is_generated_and_the_context_comes_back(metarig):
    lamp = bpy.data.objects.new("lamp", bpy.data.lights.new("lamp", "POINT"))
    bpy.context.scene.collection.objects.link(lamp)
    metarig.select_set(False)
    lamp.select_set(True)
    bpy.context.view_layer.objects.active = lamp
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    report = generate(metarig)
    assert report.rig.data["rig_id"]
    assert (report.deform_bones, report.again) == (35, False)
    assert bpy.context.object == lamp
    assert list(bpy.context.selected_objects) == [lamp]
    assert bpy.context.scene.tool_settings.use_keyframe_insert_auto
    assert not bpy.data.actions


def test_generating_again_updates_the_same_rig(metarig):
    first = generate(metarig).rig
    report = generate(metarig)
    assert report.rig == first
    assert report.again


def test_the_place_of_the_meta_rig_is_not_lost(metarig):
    metarig.matrix_world = Matrix.Translation((1, 2, 0.5)) @ Matrix.Scale(0.5, 4)
    rig = generate(metarig).rig
    assert rig.matrix_world == metarig.matrix_world
    hand = rig.matrix_world @ rig.data.bones["hand_ik.L"].head_local
    wanted = metarig.matrix_world @ metarig.data.bones["hand.L"].head_local
    assert (hand - wanted).length < 1e-4


def _unconnect(name):
    return lambda bones: setattr(bones[name], "use_connect", False)


def _straighten(bones):
    upper, lower = bones["upper_arm.L"], bones["forearm.L"]
    lower.tail = upper.head + (upper.tail - upper.head) * 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda bones: bones.remove(bones["heel.02.L"]), "'foot.L' has no heel"),
        (lambda bones: bones.remove(bones["toe.R"]), "'thigh.R' breaks off after 'foot.R'"),
        (_unconnect("forearm.L"), "'upper_arm.L' breaks off after 'upper_arm.L': connect 'forearm.L' to it"),
        (_straighten, "'upper_arm.L' and 'forearm.L' are in one line"),
        (lambda bones: bones.new("root").__setattr__("tail", (0, 0, 1)), "named 'root'"),
    ],
    ids=["heel", "toe", "gap", "straight", "root"],
)
def test_faults_are_found_first_and_named(metarig, change, message):
    edit(metarig, change)
    before = set(bpy.data.objects)
    with pytest.raises(ToolError, match=message):
        generate(metarig)
    assert set(bpy.data.objects) == before


def test_all_faults_are_listed_at_once(metarig):
    edit(metarig, lambda bones: [bones.remove(bones[name]) for name in ("heel.02.L", "heel.02.R")])
    with pytest.raises(ToolError, match=r"'foot\.L' has no heel.*'foot\.R' has no heel"):
        generate(metarig)


def test_what_rigify_itself_refuses_is_told_in_one_sentence_and_leaves_nothing(metarig):
    edit(metarig, lambda bones: setattr(bones["spine.004"], "head", (0, 0.3, 1.6)))
    before = set(bpy.data.objects), set(bpy.data.armatures)
    with pytest.raises(ToolError, match=r"Rigify could not generate 'metarig': .*spine\.004") as caught:
        generate(metarig)
    assert "\n" not in str(caught.value)
    assert "Traceback" not in str(caught.value)
    assert (set(bpy.data.objects), set(bpy.data.armatures)) == before
    assert metarig.data.rigify_target_rig is None
    assert bpy.context.mode == "OBJECT"


def test_hidden_and_duplicated_meta_rigs_are_refused(metarig):
    metarig.hide_set(True)
    with pytest.raises(ToolError, match="hidden"):
        generate(metarig)
    metarig.hide_set(False)
    first = generate(metarig).rig
    copy = metarig.copy()
    copy.data = metarig.data.copy()
    copy.name = "second"
    bpy.context.scene.collection.objects.link(copy)
    with pytest.raises(ToolError, match=f"overwrite '{first.name}', the rig of 'metarig'"):
        generate(copy)


def test_only_meta_rigs_are_generated(generate_stock):
    rig = generate_stock("basic_human")
    with pytest.raises(ToolError, match="no meta-rig"):
        generate(rig)
