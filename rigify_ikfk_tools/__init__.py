# SPDX-License-Identifier: GPL-3.0-or-later
"""IK and FK for Rigify: fit, generate and bind a character; bake, switch and blend a shot.

Imports go down only: ``ui`` and ``cli`` -> ``jobs`` -> ``rigs`` -> ``geometry``.
"""


def register() -> None:
    """Show the tools in Blender's window, and add the command ``blender --command rigify_ikfk``."""
    from . import cli, ui

    ui.register()
    cli.register()


def unregister() -> None:
    """Take away all that `register` has added."""
    from . import cli, ui

    cli.unregister()
    ui.unregister()
