# SPDX-License-Identifier: GPL-3.0-or-later
"""Blend limbs from one side to the other over a range of frames, the pose kept all the way."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import bpy
import numpy as np

from ..rigs.fcurves import Rewrite
from ..rigs.limbs import FK, IK
from ..rigs.locks import LockedChannels
from ..rigs.matching import Matching
from ..rigs.stage import Stage
from .proof import ShotReport, notes_beyond, prove
from .shot import checked_shot, chosen_sides, left_out


@dataclass
class BlendReport(ShotReport):
    """How exactly the pose was kept while the sliders moved."""

    to: str = ""

    def what(self) -> str:
        """The job, the rig and the side."""
        return f"{self.job} the sliders of {self.rig} to {self.to.upper()}"


def blend(
    rig: bpy.types.Object,
    *,
    to: str,
    frames: range,
    limbs: Sequence[str] | None = None,
    scene: bpy.types.Scene | None = None,
    tolerance_mm: float = 1.0,
) -> BlendReport:
    """Ease the IK-FK sliders of limbs to the side `to` over `frames`, from the other side.

    Both sides are keyed on each frame with the pose that was visible, so that every value of the slider shows it. The
    slider eases in and out; beyond the frames keys and pose stay as they are. For the other arguments see `bake`.

    Raises ToolError, and leaves everything as it was, when the rig, a limb, the frames or an F-curve can't be served.
    """
    started = time.perf_counter()
    scene, frames = checked_shot(rig, frames, scene)
    goal = chosen_sides(rig, to, limbs)
    both = [(limb, side) for limb, _ in goal for side in (FK, IK)]
    share = np.linspace(0, 1, len(frames)) if len(frames) > 1 else np.ones(1)
    eased = share * share * (3 - 2 * share)
    other = FK if to == IK else IK
    with (
        Stage(rig, scene) as stage,
        Rewrite(rig, frames) as rewrite,
        Matching(stage, rig, both, frames) as matching,
    ):
        matching.look()
        locked = LockedChannels(rewrite, rig, both)
        for limb, side in goal:
            start, stop = limb.slider_value(other), limb.slider_value(side)
            rewrite.set_property(limb.slider, start + (stop - start) * eased)
        matching.carry_over(rewrite)
        errors = prove(rig, goal, matching, frames, tolerance_mm=tolerance_mm)
        notes = [*left_out(rig, to, limbs), *notes_beyond(rig, goal, errors, tolerance_mm), *locked.notes()]
    return BlendReport(
        job="blend",
        seconds=time.perf_counter() - started,
        notes=notes,
        rig=rig.name,
        to=to,
        first_frame=frames[0],
        last_frame=frames[-1],
        limbs=errors,
    )
