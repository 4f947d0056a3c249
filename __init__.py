# SPDX-License-Identifier: GPL-3.0-or-later
"""The door that Blender's extension loader opens: it only hands on register and unregister."""

from .rigify_ikfk_tools import register, unregister

__all__ = ["register", "unregister"]
