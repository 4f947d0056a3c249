# SPDX-License-Identifier: GPL-3.0-or-later
"""The extension comes and goes without a trace, as often as Blender wants."""

import bpy

import rigify_ikfk_tools


def names():
    """Names of all operators and panels that Blender knows."""
    return {name for name in dir(bpy.types) if "_OT_" in name or "_PT_" in name}


def test_everything_registered_is_taken_away_again(empty_scene):
    before = names()
    for _ in range(2):
        rigify_ikfk_tools.register()
        added = names() - before
        rigify_ikfk_tools.unregister()
        assert {"OBJECT_OT_rigify_ikfk_generate_and_bind", "POSE_OT_rigify_ikfk_bake_to_ik"} <= added
        assert all("rigify_ikfk" in name for name in added)
        assert names() == before
