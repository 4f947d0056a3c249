# SPDX-License-Identifier: GPL-3.0-or-later
"""IK and FK for Rigify: fit, generate and bind a character; bake, switch and blend a shot.

Imports go down only: ``ui`` and ``cli`` -> ``jobs`` -> ``rigs`` -> ``geometry``.
"""


def register() -> None:
    """Show the tools in Blender's window."""
    from . import ui

    ui.register()


def unregister() -> None:
    """Take away all that `register` has added."""
    from . import ui

    ui.unregister()
