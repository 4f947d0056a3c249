# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigify itself: enabled, and its meta-rigs and rigs told from other armatures."""

from __future__ import annotations

from collections.abc import Iterable

import bpy  # first: it puts addon_utils on the path

# isort: split
import addon_utils

from ..errors import ToolError

DEFORM_COLLECTION = "DEF"


def ensure_enabled() -> None:
    """Enable Rigify where it is not. Raises ToolError when Blender was built or installed without it."""
    _, enabled = addon_utils.check("rigify")
    if enabled and hasattr(bpy.types.Armature, "rigify_target_rig"):
        return
    # without default_set Rigify registers no parameters of its rig types, and Generate fails
    addon_utils.enable("rigify", default_set=True)
    if not hasattr(bpy.types.Armature, "rigify_target_rig"):
        raise ToolError("Rigify is missing. Enable the add-on Rigify, which comes with Blender, in the preferences.")


def is_generated_rig(thing: bpy.types.Object | None) -> bool:
    """Whether an object is a rig that Rigify has generated."""
    return thing is not None and thing.type == "ARMATURE" and thing.data.get("rig_id") is not None


def is_metarig(thing: bpy.types.Object | None) -> bool:
    """Whether an object is an armature from which Rigify can generate a rig."""
    if thing is None or thing.type != "ARMATURE" or is_generated_rig(thing):
        return False
    if thing.pose is None:  # made a moment ago, and not evaluated yet
        return False
    return any(getattr(bone, "rigify_type", "") for bone in thing.pose.bones)


def generated_rigs(things: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """The generated rigs among objects, sorted by name."""
    return sorted((thing for thing in things if is_generated_rig(thing)), key=lambda rig: rig.name)


def deform_bones(rig: bpy.types.Object) -> list[bpy.types.Bone]:
    """The bones that carry the mesh: those of the collection DEF, or all that deform where there is none."""
    collection = rig.data.collections_all.get(DEFORM_COLLECTION)
    bones = collection.bones if collection else rig.data.bones
    return [bone for bone in bones if bone.use_deform]
