# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of a bake made fewer: on the frames that are asked for, or on as few as show the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..geometry import few_keys
from ..geometry.rotations import angle_between, split_scale
from .fcurves import Channel, Rewrite
from .limbs import FK, IK, Limb
from .matching import Matching

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_ROUNDS = 12
"""How often the shot is played at most, with more keys each time."""
_LOOSE = 20.0
"""By how much more the bend that the solver starts from may be off; playing the shot tells where that is too much."""
_STRETCH = 0.01
"""By how much IK stretch may be off, likewise."""
_SPARE = 1.05
"""Where each frame has its key the error may be beyond the tolerance already: then it may grow by so much."""


class Thinning:
    """The keys of limbs that were keyed on each frame. What lies between keys is judged by playing the shot."""

    def __init__(
        self, rewrite: Rewrite, matching: Matching, rig: bpy.types.Object, sides: Sequence[tuple[Limb, str]]
    ) -> None:
        """To be made when `matching` has been carried over."""
        self._rewrite, self._matching, self._rig, self._sides = rewrite, matching, rig, list(sides)
        self._channels = [rewrite.channels_of(_bones(limb, side)) for limb, side in self._sides]
        self._values: dict[Channel, NDArray[np.float32]] = {}
        self.rows = [np.arange(self._count) for _ in self._sides]

    rows: list[Rows]
    """The places (k,) of the frames that have keys, for each limb."""

    def each(self, step: int) -> None:
        """Key every so many frames, and the last."""
        self._key([np.arange(0, self._count, step) for _ in self._sides])
        self._matching.replay()

    def as_source(self) -> None:
        """Key the frames on which the other side has keys; where it has none, those that this side had."""
        rows = []
        for limb, side in self._sides:
            found = self._rewrite.rows_of_keys({*limb.controls(IK if side == FK else FK)} - {*limb.controls(side)})
            rows.append(found if len(found) else self._rewrite.rows_of_keys(_bones(limb, side), old=True))
        self._key(rows)
        self._matching.replay()

    def fewest(self, tolerance_mm: float, tolerance_deg: float) -> None:
        """Key as few frames as keep middle and end joints within the tolerances on all."""
        limits = [np.maximum(1, _SPARE * self._off(limb, tolerance_mm, tolerance_deg)) for limb, _ in self._sides]
        self._key([self._guess(place, tolerance_mm, tolerance_deg) for place in range(len(self._sides))])
        for _ in range(_ROUNDS):
            self._matching.replay()
            more = [
                few_keys.with_worst(rows, self._off(limb, tolerance_mm, tolerance_deg), limit)
                for (limb, _), rows, limit in zip(self._sides, self.rows, limits, strict=True)
            ]
            if all(len(new) == len(old) for new, old in zip(more, self.rows, strict=True)):
                return
            self._key(more)
        self._key([np.arange(self._count)] * len(self._sides))
        self._matching.replay()

    @property
    def _count(self) -> int:
        return len(self._rewrite.frames)

    def _wanted(self, channel: Channel) -> NDArray[np.float32]:
        """What a channel held (n,) while each frame had its key."""
        if channel not in self._values:
            self._values[channel] = self._rewrite.keyed(channel).copy()
        return self._values[channel]

    def _key(self, rows: Sequence[Any]) -> None:
        for place, (group, wanted) in enumerate(zip(self._channels, rows, strict=True)):
            wanted = np.unique(np.concatenate([wanted, [0, self._count - 1]])).astype(np.int64)
            if not np.array_equal(wanted, self.rows[place]):
                self.rows[place] = wanted
                for channel in group:
                    self._rewrite.thin(channel, self._wanted(channel), wanted)
        self._rewrite.curves.changed()

    def _guess(self, place: int, tolerance_mm: float, tolerance_deg: float) -> Rows:
        """The frames that would do, were each channel to move the limb by itself."""
        group = self._channels[place]
        if not group:
            return np.empty(0, np.int64)
        size = float(np.cbrt(abs(np.linalg.det(np.array(self._rig.matrix_world)[:3, :3])))) or 1.0
        levers = _levers(self._rig, *self._sides[place])
        distance, turn = tolerance_mm / 1e3 / size, np.radians(tolerance_deg)
        tolerances = np.array([_tolerance(channel, distance, turn, levers) for channel in group])
        tolerances *= [_LOOSE if self._hardly_shows(place, channel) else 1.0 for channel in group]
        values = np.stack([self._wanted(channel) for channel in group], axis=1).astype(float)
        return few_keys.fewest_rows(values, tolerances, np.empty(0, np.int64))

    def _hardly_shows(self, place: int, channel: Channel) -> bool:
        """Whether a channel is the bend that the IK solver starts from, and soon forgets."""
        limb, side = self._sides[place]
        path, axis = channel
        bend = limb.ik.base in path and path.endswith("rotation_euler") and axis != 1
        return side == IK and bend

    def _off(self, limb: Limb, tolerance_mm: float, tolerance_deg: float) -> Array:
        """How far (n,) middle joint and end are off, in tolerances."""
        pairs = [(a.astype(float), b.astype(float)) for a, b in self._matching.seen(limb)]
        world = np.array(self._rig.matrix_world)[:3, :3]
        off = [1e3 * np.linalg.norm((a - b)[:, :3, 3] @ world.T, axis=1) / tolerance_mm for a, b in pairs[1:]]
        for pair in pairs[limb.end_index :]:
            first, second = (split_scale(pose[:, :3, :3])[0] for pose in pair)
            off.append(np.degrees(angle_between(first, second)) / tolerance_deg)
        return np.max(off, axis=0)


def _bones(limb: Limb, side: str) -> set[str]:
    """The bones that a bake of a limb to a side keys."""
    return {*limb.controls(side), *(limb.ik.result[:2] if side == IK else ())}


def _levers(rig: bpy.types.Object, limb: Limb, side: str) -> dict[str, float]:
    """How far from each control the farthest joint is that it turns."""
    lengths = [rig.pose.bones[name].bone.length for name in limb.visible]
    beyond = [sum(lengths[place:-1]) for place in range(len(lengths))]
    if side == FK:
        return dict(zip(limb.fk, beyond, strict=False))
    ends = (limb.ik.end, *limb.ik.rolls, *(name for name, _ in limb.ik.pivots))
    return {limb.ik.base: lengths[0], **dict.fromkeys(limb.ik.tail, 0.0), **dict.fromkeys(ends, beyond[2])}


def _tolerance(channel: Channel, distance: float, turn: float, levers: Mapping[str, float]) -> float:
    """By how much a channel may be off for joints to move by a `distance` and ends by a `turn` (radians) at most."""
    path, _ = channel
    lever = levers.get(bpy.utils.unescape_identifier(path.split('"')[1]), 0.0)
    angle = min(turn, distance / lever) if lever else turn
    if path.endswith("location"):
        return distance
    if path.endswith("rotation_quaternion"):
        return angle / 2
    if path.endswith("ik_stretch"):
        return _STRETCH
    if path.endswith("scale"):
        return distance / max(levers.values())
    return angle
