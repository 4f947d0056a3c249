# SPDX-License-Identifier: GPL-3.0-or-later
"""Let IK controls or poles follow another parent, without a pop."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import bpy
import numpy as np
from numpy.typing import NDArray

from ..errors import ToolError
from ..report import Report
from ..rigs.controls import EVERYTHING, LOCATION, basis_from_pose, key_basis
from ..rigs.fcurves import Rewrite
from ..rigs.parent_switches import ParentSwitch, parent_switch
from ..rigs.stage import Played, Stage
from .shot import checked_shot, chosen_limbs

Array = NDArray[np.float64]

END, POLE = "ik", "pole"
_ROUNDS = 4
"""How often controls are corrected at most: one may hang on another that has moved."""
_NEAR = 2e-6


@dataclass
class ControlError:
    """How far a control is off from where it was."""

    control: str
    parent: str
    worst_mm: float
    worst_frame: int

    def line(self) -> str:
        """For a person to read."""
        return f"{self.control} follows {self.parent}: largest error {self.worst_mm:.3f} mm at frame {self.worst_frame}"


@dataclass
class ParentReport(Report):
    """Which controls follow whom now, and how exactly they stayed."""

    rig: str = ""
    first_frame: int = 0
    last_frame: int = 0
    controls: list[ControlError] = field(default_factory=list)

    def lines(self) -> list[str]:
        head = f"{self.job} of {self.rig}, frames {self.first_frame} to {self.last_frame}, in {self.seconds:.1f} s"
        return [head, *(control.line() for control in self.controls), *self.notes]

    def headline(self) -> str:
        return max(self.controls, key=lambda control: control.worst_mm).line()


def change_parent(
    rig: bpy.types.Object,
    *,
    parent: str | int,
    of: str = END,
    frame: int,
    until: int | None = None,
    limbs: Sequence[str] | None = None,
    scene: bpy.types.Scene | None = None,
    guard: bool = True,
) -> ParentReport:
    """Let the IK controls of limbs, or their poles, follow `parent` from `frame` on, and stay where they are.

    `of` is ``"ik"`` for hands and feet or ``"pole"``. `parent` is a bone's name, with or without ``ORG-``, ``"none"``,
    or a number as Rigify's property has it. `until`, `guard` and the other arguments are as `switch` has them: without
    `until` the parent stays until the next key of that property, and the control moves with it.

    Raises ToolError, and leaves everything as it was, when the rig, a limb, the frames, the parent or an F-curve can't
    be served.
    """
    started = time.perf_counter()
    if of not in (END, POLE):
        raise ToolError(f"The parent of 'ik' controls or of 'pole's can be changed, not of {of!r}.")
    if until is not None and until < frame:
        raise ToolError(f"The new parent can't end at frame {until}, before it begins at frame {frame}.")
    scene, frames = checked_shot(rig, range(frame, (frame if until is None else until) + 1), scene)
    controls = [(limb, limb.ik.end if of == END else limb.ik.pole) for limb in chosen_limbs(rig, limbs)]
    switches = [parent_switch(rig, limb, control) for limb, control in controls]
    values = [switch.value_of(parent) for switch in switches]
    live = until is None and scene == bpy.context.scene and scene.frame_current_final == frame
    names = [switch.control for switch in switches]
    bones = rig.pose.bones
    carriers = [bones[name].parent.name for name in names]
    parts = EVERYTHING if of == END else (LOCATION,)
    with Stage(rig, scene) as stage, Rewrite(rig, frames, stage, guards=guard, open_end=until is None) as rewrite:
        before = stage.seen_now(names) if live else stage.play(frames, names)
        for switch, value in zip(switches, values, strict=True):
            rewrite.hold(switch.setting, value)
        for _ in range(_ROUNDS):
            rewrite.curves.changed()
            after = stage.play(frames, [*names, *carriers])
            if max(_off(before, after, name).max() for name in names) < _NEAR:
                break
            for name, carrier in zip(names, carriers, strict=True):
                basis = basis_from_pose(bones[name].bone, before.poses[name], after.poses[carrier])
                key_basis(rewrite, bones[name], basis, parts)
        after = stage.play(frames, names)
        errors = list(_errors(rig, switches, values, before, after, frames))
    return ParentReport(
        job="parent",
        seconds=time.perf_counter() - started,
        rig=rig.name,
        first_frame=frames[0],
        last_frame=frames[-1],
        controls=errors,
    )


def _off(before: Played, after: Played, name: str) -> Array:
    """How far (n,) a control is off, in armature space."""
    return np.linalg.norm((before.poses[name] - after.poses[name])[:, :3, 3], axis=1)


def _errors(
    rig: bpy.types.Object,
    switches: Sequence[ParentSwitch],
    values: Sequence[int],
    before: Played,
    after: Played,
    frames: range,
) -> list[ControlError]:
    size = 1e3 * float(np.cbrt(abs(np.linalg.det(np.array(rig.matrix_world)[:3, :3]))))
    out = []
    for switch, value in zip(switches, values, strict=True):
        off = size * _off(before, after, switch.control)
        parent = switch.parents[value - 1] if value else "nothing"
        out.append(ControlError(switch.control, parent, float(off.max()), frames[int(off.argmax())]))
    return out
