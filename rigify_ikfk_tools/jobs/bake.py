# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake limbs to IK or FK over a range of frames: what the viewer sees stays."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import bpy
import numpy as np

from ..rigs.fcurves import CONSTANT, Rewrite
from ..rigs.locks import LockedChannels
from ..rigs.matching import Matching
from ..rigs.stage import Stage
from .proof import LimbError, ShotReport, notes_beyond, prove
from .shot import checked_shot, chosen_sides, left_out


@dataclass
class BakeReport(ShotReport):
    """What a bake has done, and how exactly, from playing the shot once more after it."""

    tolerance_mm: float = 1.0

    @property
    def worst(self) -> LimbError:
        """The limb with the largest error."""
        return max(self.limbs, key=lambda limb: limb.worst_mm)

    def headline(self) -> str:
        """The limb that is farthest off."""
        return self.worst.line()

    def what(self) -> str:
        """The job and the rig."""
        return f"{self.job} {self.rig}"


def bake(
    rig: bpy.types.Object,
    *,
    to: str | Mapping[str, str],
    limbs: Sequence[str] | None = None,
    frames: range | None = None,
    scene: bpy.types.Scene | None = None,
    set_slider: bool = True,
    keep_roll: bool = False,
    tolerance_mm: float = 1.0,
) -> BakeReport:
    """Key the IK or the FK side of limbs so that it shows, on every frame, the pose that was visible before.

    `to` is ``"ik"`` or ``"fk"``, or names the side for each limb. `limbs` are names as in Rigify's panel (``hand.L``;
    ``arm.L`` is understood too), all by default: arms, legs, and fingers that have an IK control. `frames`
    has a step of 1 and defaults to the range of `scene`, which defaults to the rig's own or the current one. With
    `set_slider` the IK-FK sliders are keyed to that side inside the frames. IK feet get neutral roll controls; with
    `keep_roll` the foot's control keeps its orientation instead, as far as rolling the heel from it can make the pose.
    Keys and pose outside the frames stay as they are. Errors of the report beyond `tolerance_mm` are named, and locked
    channels that had to move.

    Raises ToolError, and leaves everything as it was, when the rig, a limb, the frames or an F-curve can't be served.
    """
    started = time.perf_counter()
    scene, frames = checked_shot(rig, frames, scene)
    sides = chosen_sides(rig, to, limbs)
    with (
        Stage(rig, scene) as stage,
        Rewrite(rig, frames) as rewrite,
        Matching(stage, rig, sides, frames, visible=set_slider, keep_roll=keep_roll) as matching,
    ):
        matching.look()
        locked = LockedChannels(rewrite, rig, sides)
        if set_slider:
            for limb, side in sides:
                values = np.full(len(frames), limb.slider_value(side))
                rewrite.set_property(limb.slider, values, interpolation=CONSTANT)
        matching.carry_over(rewrite)
        errors = prove(rig, sides, matching, frames, tolerance_mm=tolerance_mm)
        notes = [*left_out(rig, to, limbs), *notes_beyond(rig, sides, errors, tolerance_mm), *locked.notes()]
    return BakeReport(
        job="bake",
        seconds=time.perf_counter() - started,
        notes=notes,
        rig=rig.name,
        first_frame=frames[0],
        last_frame=frames[-1],
        limbs=errors,
        tolerance_mm=tolerance_mm,
    )
