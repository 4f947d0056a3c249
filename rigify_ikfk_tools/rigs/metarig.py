# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigify's stock meta-rigs: made, read and placed."""

from __future__ import annotations

from collections.abc import Mapping

import bpy
import numpy as np
from mathutils import Matrix, Vector

from ..geometry.metarig_bones import BoneRest
from .context import kept_context, select_only
from .rigify import ensure_enabled


def add_metarig(kind: str) -> bpy.types.Object:
    """A stock meta-rig (``human`` or ``basic_human``) in the current scene, at the origin."""
    ensure_enabled()
    with kept_context():
        getattr(bpy.ops.object, f"armature_{kind}_metarig_add")()
        metarig = bpy.context.object
        metarig.matrix_world = Matrix()
    return metarig


def read_bones(metarig: bpy.types.Object) -> tuple[dict[str, BoneRest], dict[str, str]]:
    """The rest of each bone in armature space, and the parent of each that has one."""
    bones = metarig.data.bones
    rests = {
        b.name: BoneRest(np.array(b.head_local), np.array(b.tail_local), np.array(b.matrix_local)[:3, 2]) for b in bones
    }
    return rests, {bone.name: bone.parent.name for bone in bones if bone.parent}


def place_bones(metarig: bpy.types.Object, rests: Mapping[str, BoneRest]) -> None:
    """Give bones their rest in armature space; bones that are not named go along with their parents.

    A bone that began where its parent ended, connected or not, does so exactly: Rigify's chains want it.
    """
    with kept_context():
        select_only([metarig], metarig)
        bpy.ops.object.mode_set(mode="EDIT")
        edit_bones = metarig.data.edit_bones
        before = {bone.name: (bone.head.copy(), bone.tail.copy(), bone.z_axis.copy()) for bone in edit_bones}
        for bone in edit_bones:
            if bone.name in rests:
                _place(bone, rests[bone.name])
        for bone in edit_bones:  # parents come before children
            if bone.name not in rests and bone.parent:
                shift = bone.parent.head - before[bone.parent.name][0]
                bone.head, bone.tail = (place + shift for place in before[bone.name][:2])
                bone.align_roll(before[bone.name][2])
        for bone in edit_bones:
            if bone.parent and (before[bone.name][0] - before[bone.parent.name][1]).length < 1e-5:
                bone.head = bone.parent.tail
        bpy.ops.object.mode_set(mode="OBJECT")


def _place(bone: bpy.types.EditBone, rest: BoneRest) -> None:
    bone.head, bone.tail = Vector(rest.head.tolist()), Vector(rest.tail.tolist())
    bone.align_roll(Vector(rest.z_axis.tolist()))
