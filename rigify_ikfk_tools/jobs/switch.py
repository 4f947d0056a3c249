# SPDX-License-Identifier: GPL-3.0-or-later
"""Switch limbs to the other side at a frame, without a pop."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import bpy

from ..errors import ToolError
from ..rigs.fcurves import Rewrite
from ..rigs.locks import LockedChannels
from ..rigs.matching import Matching
from ..rigs.stage import Stage
from .proof import ShotReport, notes_beyond, prove
from .shot import checked_shot, chosen_sides, left_out


@dataclass
class SwitchReport(ShotReport):
    """How exactly the pose was kept where the limbs were switched."""

    to: str = ""

    def what(self) -> str:
        """The job, the rig and the side."""
        return f"{self.job} {self.rig} to {self.to.upper()}"


def switch(
    rig: bpy.types.Object,
    *,
    to: str,
    frame: int,
    until: int | None = None,
    limbs: Sequence[str] | None = None,
    scene: bpy.types.Scene | None = None,
    guard: bool = True,
    keep_roll: bool = False,
    tolerance_mm: float = 1.0,
) -> SwitchReport:
    """Set the IK-FK sliders of limbs to the side `to` at `frame`, and key that side so that the pose stays.

    From there the limbs are on that side until the next key of their sliders, and its controls go on to their next
    keys. With `until`, each frame up to that one is baked, and from the frame after it the shot is as it was. Before
    `frame` nothing changes: guard keys one frame before hold both slider and controls where they were. Without `guard`
    there are none, and the curves flow from the keys before. Where `frame` is the current one of the current scene, the
    pose counts that is seen there now, be it keyed or not. For the other arguments see `bake`.

    Raises ToolError, and leaves everything as it was, when the rig, a limb, the frames or an F-curve can't be served.
    """
    started = time.perf_counter()
    if until is not None and until < frame:
        raise ToolError(f"The switch can't end at frame {until}, before it begins at frame {frame}.")
    scene, frames = checked_shot(rig, range(frame, (frame if until is None else until) + 1), scene)
    sides = chosen_sides(rig, to, limbs)
    live = until is None and scene == bpy.context.scene and scene.frame_current_final == frame
    with (
        Stage(rig, scene) as stage,
        Rewrite(rig, frames, stage, guards=guard, open_end=until is None) as rewrite,
        Matching(stage, rig, sides, frames, keep_roll=keep_roll) as matching,
    ):
        matching.look(live=live)
        locked = LockedChannels(rewrite, rig, sides)
        for limb, side in sides:
            rewrite.hold(limb.slider, limb.slider_value(side))
        matching.carry_over(rewrite)
        errors = prove(rig, sides, matching, frames, tolerance_mm=tolerance_mm)
        notes = [*left_out(rig, to, limbs), *notes_beyond(rig, sides, errors, tolerance_mm), *locked.notes()]
    return SwitchReport(
        job="switch",
        seconds=time.perf_counter() - started,
        notes=notes,
        rig=rig.name,
        to=to,
        first_frame=frames[0],
        last_frame=frames[-1],
        limbs=errors,
    )
