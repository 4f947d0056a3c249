# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's own operators work on a mode, a selection and an active object; here these are lent and given back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import bpy


@contextmanager
def kept_context() -> Iterator[None]:
    """Go to object mode for a while; mode, selection, active object and auto-keying come back, as far as they exist."""
    layer = bpy.context.view_layer
    active, mode = layer.objects.active, bpy.context.mode
    object_mode = active.mode if active else "OBJECT"
    selected = [thing for thing in layer.objects if thing.select_get()]
    tools = bpy.context.scene.tool_settings
    keying, tools.use_keyframe_insert_auto = tools.use_keyframe_insert_auto, False
    if mode != "OBJECT" and active is not None:
        bpy.ops.object.mode_set(mode="OBJECT")
    try:
        yield
    finally:
        if bpy.context.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        alive = set(layer.objects)
        select_only([thing for thing in selected if _lives(thing) and thing in alive], None)
        if active is not None and _lives(active) and active in alive:
            layer.objects.active = active
            if object_mode != "OBJECT" and active.visible_get():
                bpy.ops.object.mode_set(mode=object_mode)
        tools.use_keyframe_insert_auto = keying


def _lives(thing: bpy.types.Object) -> bool:
    try:
        return bool(thing.name)
    except ReferenceError:
        return False


def select_only(things: Iterable[bpy.types.Object], active: bpy.types.Object | None) -> None:
    """Select these objects and no others, and make one active. Object mode is needed."""
    layer = bpy.context.view_layer
    for thing in layer.objects:
        thing.select_set(False)
    for thing in things:
        thing.select_set(True)
    layer.objects.active = active
