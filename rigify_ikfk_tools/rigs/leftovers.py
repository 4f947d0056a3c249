# SPDX-License-Identifier: GPL-3.0-or-later
"""What a failed job has made is taken away again."""

from __future__ import annotations

import bpy

_KINDS = ("objects", "armatures", "meshes", "collections", "texts")


class Leftovers:
    """Remembers what a file holds, to remove all that has come since."""

    def __init__(self) -> None:
        self._known = {kind: set(getattr(bpy.data, kind)) for kind in _KINDS}

    def remove(self) -> None:
        """Remove objects, armatures, meshes, collections and texts that were not there before."""
        if bpy.context.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        for kind in _KINDS:
            blocks = getattr(bpy.data, kind)
            for block in set(blocks) - self._known[kind]:
                blocks.remove(block)
