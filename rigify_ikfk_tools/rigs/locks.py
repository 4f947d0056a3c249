# SPDX-License-Identifier: GPL-3.0-or-later
"""Channels of controls that somebody has locked, and whether a job has moved them all the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Quaternion
from numpy.typing import NDArray

from .controls import LOCATION, ROTATION, SCALE, rotation_path
from .fcurves import Rewrite
from .limbs import FK, Finger, Limb

Array = NDArray[np.float64]

_MOVED = 1e-4
"""Channels that differ by less (metres, radians, shares) have not moved."""


@dataclass(frozen=True)
class _Lock:
    bone: str
    part: str
    axis: int
    """Which channel of a location, an Euler rotation or a scale; of a quaternion or an axis and angle, 0 is W."""
    letter: str


class LockedChannels:
    """The locked channels of controls that a job is going to key.

    A lock keeps an animator's hand from a channel; it does not keep an F-curve from playing. So a job keys what the
    pose needs and leaves the lock as it is: the shot looks right, and what was locked is told. To skip the channel
    would lose the pose, and to refuse would stop a shot for a lock that the rigger may have put there.

    The channels that Rigify locks itself on these controls are not told.
    """

    def __init__(self, rewrite: Rewrite, rig: bpy.types.Object, sides: Sequence[tuple[Limb, str]]) -> None:
        self._rewrite, self._bones = rewrite, rig.pose.bones
        self._before = [(lock, self._values(lock)) for limb, side in sides for lock in self._locks(limb, side)]

    def notes(self) -> Iterator[str]:
        """A sentence for each control of which locked channels have moved since."""
        moved: dict[str, list[str]] = {}
        for lock, before in self._before:
            change = self._change(lock, before, self._values(lock))
            if np.abs(change).max() > _MOVED:
                channels = moved.setdefault(lock.bone, [])
                channels.extend({f"{lock.letter} {lock.part}"} - {*channels})
        for bone, channels in moved.items():
            yield f"Locked channels of {bone!r} were keyed all the same, to keep the pose: {', '.join(channels)}."

    def _locks(self, limb: Limb, side: str) -> Iterator[_Lock]:
        for name in limb.controls(side):
            bone = self._bones[name]
            for part in (LOCATION, ROTATION, SCALE):
                flags = getattr(bone, f"lock_{part}")
                first = int(part == ROTATION and self._by_component(name))
                locks = [_Lock(name, part, axis + first, "XYZ"[axis]) for axis in range(3) if flags[axis]]
                if first and bone.lock_rotation_w:
                    locks.append(_Lock(name, part, 0, "W"))
                yield from (lock for lock in locks if not _is_rigifys(lock, limb, side))

    def _by_component(self, name: str) -> bool:
        bone = self._bones[name]
        return bone.rotation_mode in {"QUATERNION", "AXIS_ANGLE"} and bone.lock_rotations_4d

    def _values(self, lock: _Lock) -> Array:
        """What the part shows on each frame (n, channels); Euler angles where locks are meant so."""
        bone = self._bones[lock.bone]
        path = rotation_path(bone) if lock.part == ROTATION else lock.part
        still = getattr(bone, path)
        channels = [(f"{bone.path_from_id()}.{path}", n) for n in range(len(still))]
        values = np.stack([self._rewrite.values_inside(c, still[c[1]]) for c in channels], axis=1)
        if path == "rotation_quaternion":  # as Blender does with what lies between two keys
            values /= np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-30)
        if lock.part != ROTATION or len(channels) == 3 or self._by_component(lock.bone):
            return values
        turns = [Quaternion(v) if path == "rotation_quaternion" else Quaternion(v[1:], v[0]) for v in values]
        return np.array([turn.to_euler() for turn in turns])

    def _change(self, lock: _Lock, before: Array, after: Array) -> Array:
        """How much the locked channel has moved on each frame (n,), full turns and signs left aside."""
        if lock.part == ROTATION and before.shape[1] == 4 and self._bones[lock.bone].rotation_mode == "QUATERNION":
            before = before * np.where(np.einsum("ni,ni->n", before, after) < 0, -1, 1)[:, None]
        change = after[:, lock.axis] - before[:, lock.axis]
        angle = lock.part == ROTATION and (before.shape[1] == 3 or self._is_angle(lock))
        return change - 2 * np.pi * np.round(change / (2 * np.pi)) if angle else change

    def _is_angle(self, lock: _Lock) -> bool:
        return lock.axis == 0 and self._bones[lock.bone].rotation_mode == "AXIS_ANGLE"


def _is_rigifys(lock: _Lock, limb: Limb, side: str) -> bool:
    """Whether Rigify locks this channel when it generates the control."""
    if isinstance(limb, Finger):
        return lock.bone in {limb.tip, limb.ik.end} and lock.part != LOCATION
    if side == FK:
        return lock.bone == limb.fk[limb.end_index] and lock.part == LOCATION
    if lock.bone == limb.ik.base:
        return lock.part == ROTATION and lock.letter != "Y"
    return lock.part != ROTATION and lock.bone in {*limb.ik.rolls, *(name for name, _ in limb.ik.pivots)}
