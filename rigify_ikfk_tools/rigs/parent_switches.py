# SPDX-License-Identifier: GPL-3.0-or-later
"""Whom the IK control and the pole of a limb may follow: read from the Armature constraint above them and its drivers.

Each target of that constraint is a parent to choose; a driver gives it its weight when a property of the limb's
settings bone holds the target's number, counted from 1. At 0 the control follows none of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import bpy

from ..errors import ToolError
from .limb_reader import read_setting
from .limbs import Limb, Setting

_TARGET = re.compile(r'^pose\.bones\["(?P<bone>.+)"\]\.constraints\["(?P<name>.+)"\]\.targets\[\d+\]\.weight$')
NONE = "none"


@dataclass(frozen=True)
class ParentSwitch:
    """A control whose parent can be chosen."""

    control: str
    setting: Setting
    parents: tuple[str, ...]
    """The bones it may follow, in the order of the property's values from 1 on."""

    def value_of(self, parent: str | int) -> int:
        """What the property holds for a parent, named by its bone, by that without ``ORG-``, or by its number.

        Raises ToolError when the control can't follow it.
        """
        names = [NONE, *self.parents]
        if isinstance(parent, int) and 0 <= parent < len(names):
            return parent
        plain = [name.removeprefix("ORG-").lower() for name in names]
        wanted = str(parent).lower()
        if parent in names or wanted in plain:
            return names.index(parent) if parent in names else plain.index(wanted)
        exist = ", ".join(f"{number} {name}" for number, name in enumerate(names))
        raise ToolError(f"{self.control!r} can't follow {parent!r}. It can follow {exist}.")


def parent_switch(rig: bpy.types.Object, limb: Limb, control: str | None) -> ParentSwitch:
    """The switch of the IK control or the pole of a limb. Raises ToolError when it has none."""
    carrier = rig.pose.bones[control].parent if control else None
    found = [c for c in carrier.constraints if isinstance(c, bpy.types.ArmatureConstraint)] if carrier else []
    for curve in rig.animation_data.drivers if found and rig.animation_data else ():
        place = _TARGET.match(curve.data_path)
        setting = read_setting(rig, curve)
        if place and setting and bpy.utils.unescape_identifier(place["bone"]) == carrier.name:
            return ParentSwitch(control, setting, tuple(target.subtarget for target in found[0].targets))
    what = f"{control!r} of {limb.name}" if control else f"The pole of {limb.name}"
    raise ToolError(f"{what} has no parent to be chosen.")
