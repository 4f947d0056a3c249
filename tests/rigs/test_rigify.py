# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigify itself: switched on when it is needed, and its rigs told from others."""

import bpy  # first: it puts addon_utils on the path

# isort: split
import addon_utils
import pytest

from rigify_ikfk_tools.errors import ToolError
from rigify_ikfk_tools.rigs.rigify import deform_bones, ensure_enabled, generated_rigs, is_generated_rig, is_metarig


def test_rigify_is_switched_on_with_its_parameters(empty_scene):
    assert not hasattr(bpy.types.Armature, "rigify_target_rig")
    ensure_enabled()
    ensure_enabled()
    assert hasattr(bpy.types.Armature, "rigify_target_rig")
    bpy.ops.object.armature_basic_human_metarig_add()
    assert is_metarig(bpy.context.object)
    assert not is_generated_rig(bpy.context.object)


def test_a_blender_without_rigify_is_told_in_plain_words(empty_scene, monkeypatch):
    monkeypatch.setattr(addon_utils, "enable", lambda name, **options: None)
    with pytest.raises(ToolError, match="Rigify is missing"):
        ensure_enabled()


def test_generated_rigs_and_their_deform_bones(generate_stock):
    rig = generate_stock("basic_human")
    plain = bpy.data.objects.new("plain", bpy.data.armatures.new("plain"))
    bpy.context.scene.collection.objects.link(plain)
    assert generated_rigs(bpy.context.scene.objects) == [rig]
    assert not is_metarig(plain)
    names = [bone.name for bone in deform_bones(rig)]
    assert len(names) == 35
    assert all(name.startswith("DEF-") for name in names)
