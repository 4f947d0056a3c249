# SPDX-License-Identifier: GPL-3.0-or-later
"""Thin doors to the jobs: operators, panels, the command of the command line."""

import bpy

from . import operators, panels

_CLASSES = (*operators.CLASSES, *panels.CLASSES)
_commands: list[object] = []


def register() -> None:
    """Add operators, panels and the command ``blender --command rigify_ikfk``."""
    from .. import cli

    for cls in _CLASSES:
        bpy.utils.register_class(cls)
    _commands.append(bpy.utils.register_cli_command(cli.NAME, cli.main))


def unregister() -> None:
    """Take away all that `register` has added."""
    for command in _commands:
        bpy.utils.unregister_cli_command(command)
    _commands.clear()
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
