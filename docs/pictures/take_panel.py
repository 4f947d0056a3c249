# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets up the picture of the sidebar tab in a real window: a rigged body, an arm that moves, a bake just done.

Run it in Blender with its window (`blender --factory-startup --python docs/pictures/take_panel.py`); when it prints
SHOOT, the picture can be taken.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import rigify_ikfk_tools
from demo.body import make_body
from demo.walk import walk
from rigify_ikfk_tools.jobs.rig import rig as rig_character


def set_up() -> None:
    """Make the character and let it walk."""
    rigify_ikfk_tools.register()
    bpy.context.preferences.view.show_splash = False
    for thing in list(bpy.data.objects):
        bpy.data.objects.remove(thing)
    report = rig_character([make_body()], preset="basic_human")
    rig = report.generate.rig
    walk(rig, bpy.context.scene)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="POSE")


def show() -> None:
    """Turn the view to the character, bake, and open the tab."""
    try:
        window = bpy.context.window_manager.windows[0]
        area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
        area.spaces[0].show_region_ui = True
        region = next(region for region in area.regions if region.type == "WINDOW")
        with bpy.context.temp_override(window=window, area=area, region=region):
            bpy.ops.view3d.view_axis(type="FRONT")
            bpy.ops.view3d.view_all()
            bpy.ops.pose.rigify_ikfk_bake_to_fk("INVOKE_DEFAULT")
        bpy.app.timers.register(open_tab, first_interval=1.0)
    except Exception:
        traceback.print_exc()


def open_tab() -> None:
    """Bring the extension's tab to the front, and say that the picture can be taken."""
    area = next(area for area in bpy.context.window_manager.windows[0].screen.areas if area.type == "VIEW_3D")
    sidebar = next(region for region in area.regions if region.type == "UI")
    sidebar.active_panel_category = "IK/FK"
    bpy.app.timers.register(lambda: print("SHOOT", flush=True), first_interval=1.5)


set_up()
bpy.app.timers.register(show, first_interval=1.5)
