# SPDX-License-Identifier: GPL-3.0-or-later
"""Thin doors to the jobs: operators and panels."""

import bpy

from . import operators, panels

_CLASSES = (*operators.CLASSES, *panels.CLASSES)


def register() -> None:
    """Add operators and panels."""
    for cls in _CLASSES:
        bpy.utils.register_class(cls)


def unregister() -> None:
    """Take away all that `register` has added."""
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
