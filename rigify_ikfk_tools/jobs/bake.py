# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake limbs to IK or FK over a range of frames: what the viewer sees stays."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import bpy

from ..errors import ToolError
from ..rigs.fcurves import Rewrite
from ..rigs.locks import LockedChannels
from ..rigs.matching import Matching
from ..rigs.stage import Stage
from ..rigs.thinning import Thinning
from .proof import LimbError, ShotReport, notes_beyond, prove
from .shot import checked_shot, chosen_sides, left_out

SOURCE, FEWEST = "source", "fewest"


@dataclass
class BakeReport(ShotReport):
    """What a bake has done, and how exactly, from playing the shot once more after it."""

    tolerance_mm: float = 1.0
    keys: dict[str, int] = field(default_factory=dict)
    """How many frames have keys, by limb."""

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

    def lines(self) -> list[str]:
        count = self.last_frame - self.first_frame + 1
        counts = sorted(set(self.keys.values()))
        if counts == [count]:
            return super().lines()
        told = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        return [*super().lines(), f"Keys on {told} of {count} frames."]


def bake(
    rig: bpy.types.Object,
    *,
    to: str | Mapping[str, str],
    limbs: Sequence[str] | None = None,
    frames: range | None = None,
    scene: bpy.types.Scene | None = None,
    set_slider: bool = True,
    keep_roll: bool = False,
    keys: int | str = 1,
    tolerance_mm: float = 1.0,
    tolerance_deg: float = 0.5,
) -> BakeReport:
    """Key the IK or the FK side of limbs so that it shows, on every frame, the pose that was visible before.

    `to` is ``"ik"`` or ``"fk"``, or names the side for each limb. `limbs` are names as in Rigify's panel (``hand.L``;
    ``arm.L`` is understood too), all by default: arms, legs, paws, and fingers that have an IK control. `frames`
    has a step of 1 and defaults to the range of `scene`, which defaults to the rig's own or the current one. With
    `set_slider` the IK-FK sliders are keyed to that side inside the frames. IK feet get neutral roll controls; with
    `keep_roll` the foot's control keeps its orientation instead, as far as rolling the heel from it can make the pose.
    Keys and pose outside the frames stay as they are. Errors of the report beyond `tolerance_mm` are named, and locked
    channels that had to move.

    `keys` tells which frames get a key: each n-th for a number, ``"source"`` for those on which the other side has
    keys, ``"fewest"`` for as few as keep middle and end joints within `tolerance_mm` and `tolerance_deg` on every
    frame. The first and the last always do. Between them the curves run on as the motion does.

    Raises ToolError, and leaves everything as it was, when the rig, a limb, the frames or an F-curve can't be served.
    """
    started = time.perf_counter()
    _check_keys(keys, tolerance_mm, tolerance_deg)
    scene, frames = checked_shot(rig, frames, scene)
    sides = chosen_sides(rig, to, limbs)
    with (
        Stage(rig, scene) as stage,
        Rewrite(rig, frames, stage) as rewrite,
        Matching(stage, rig, sides, frames, visible=set_slider, keep_roll=keep_roll) as matching,
    ):
        matching.look()
        locked = LockedChannels(rewrite, rig, sides)
        if set_slider:
            for limb, side in sides:
                rewrite.hold(limb.slider, limb.slider_value(side))
        matching.carry_over(rewrite)
        thinning = Thinning(rewrite, matching, rig, sides)
        if keys == SOURCE:
            thinning.as_source()
        elif keys == FEWEST:
            thinning.fewest(tolerance_mm, tolerance_deg)
        elif keys != 1:
            thinning.each(int(keys))
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
        keys={limb.name: len(rows) for (limb, _), rows in zip(sides, thinning.rows, strict=True)},
    )


def _check_keys(keys: int | str, tolerance_mm: float, tolerance_deg: float) -> None:
    if keys not in (SOURCE, FEWEST) and not (isinstance(keys, int) and keys > 0):
        raise ToolError(
            f"Keys are set on each 1st, 2nd, 3rd ... frame, on 'source' or 'fewest' frames, not on {keys!r}."
        )
    if not (tolerance_mm > 0 and tolerance_deg > 0):
        raise ToolError("The tolerances, in millimetres and in degrees, must be more than nothing.")
