# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar tab: character, animation, result."""

from __future__ import annotations

import textwrap
from typing import Any

import bpy

from ..rigs.limb_reader import read_limbs
from ..rigs.limbs import FK, IK
from ..rigs.rigify import is_generated_rig
from . import results
from .operators import (
    OBJECT_OT_rigify_ikfk_generate_and_bind,
    POSE_OT_rigify_ikfk_bake_to_fk,
    POSE_OT_rigify_ikfk_bake_to_ik,
    POSE_OT_rigify_ikfk_blend,
    POSE_OT_rigify_ikfk_parent,
    POSE_OT_rigify_ikfk_switch,
    selected_meshes,
)


class _Tab:
    bl_space_type: Any = "VIEW_3D"
    bl_region_type: Any = "UI"
    bl_category = "IK/FK"


class VIEW3D_PT_rigify_ikfk_character(_Tab, bpy.types.Panel):
    """From a mesh to a bound character."""

    bl_label = "Character"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return context.mode == "OBJECT" and not is_generated_rig(context.object)

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        column = layout.column()
        for thing in selected_meshes(context):
            column.label(text=thing.name, icon="MESH_DATA")
        if not selected_meshes(context):
            column.label(text="No mesh selected", icon="INFO")
        layout.label(text="Generate and Bind as")
        row = layout.row(align=True)
        for preset, name in (("human", "Human"), ("basic_human", "Basic Human")):
            row.operator(OBJECT_OT_rigify_ikfk_generate_and_bind.bl_idname, text=name).preset = preset


class VIEW3D_PT_rigify_ikfk_animation(_Tab, bpy.types.Panel):
    """The limbs of the active rig, and baking."""

    bl_label = "Animation"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return is_generated_rig(context.object)

    def draw(self, context: bpy.types.Context) -> None:
        layout, rig = self.layout, context.object
        limbs, unserved = read_limbs(rig)
        column = layout.column(align=True)
        for limb in limbs:
            bone = rig.pose.bones[limb.slider.bone]
            ends = "IK-FK" if limb.slider_value(FK) > limb.slider_value(IK) else "FK-IK"
            column.prop(bone, f'["{limb.slider.name}"]', text=f"{limb.name}   {ends}", slider=True)
        for name in unserved:
            row = column.row()
            row.enabled = False
            row.label(text=f"{name}: not served yet", icon="INFO")
        row = layout.row(align=True)
        row.operator(POSE_OT_rigify_ikfk_bake_to_ik.bl_idname)
        row.operator(POSE_OT_rigify_ikfk_bake_to_fk.bl_idname)
        for operator in (POSE_OT_rigify_ikfk_switch, POSE_OT_rigify_ikfk_blend):
            row = layout.row(align=True)
            for side in (IK, FK):
                row.operator(operator.bl_idname, text=f"{operator.bl_label} to {side.upper()}").to = side
        layout.operator(POSE_OT_rigify_ikfk_parent.bl_idname)


class VIEW3D_PT_rigify_ikfk_result(_Tab, bpy.types.Panel):
    """What the last job told."""

    bl_label = "Result"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return bool(results.last_lines())

    def draw(self, context: bpy.types.Context) -> None:
        column = self.layout.column(align=True)
        width = max(20, int(context.region.width / context.preferences.system.ui_scale / 7))
        for line in results.last_lines():
            for part in textwrap.wrap(line, width):
                column.label(text=part)
            column.separator(factor=0.5)


CLASSES = (VIEW3D_PT_rigify_ikfk_character, VIEW3D_PT_rigify_ikfk_animation, VIEW3D_PT_rigify_ikfk_result)
