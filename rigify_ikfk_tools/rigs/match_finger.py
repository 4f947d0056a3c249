# SPDX-License-Identifier: GPL-3.0-or-later
"""A finger with an IK control made to show wanted poses."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import bpy
import numpy as np
from numpy.typing import NDArray

from ..geometry.rotations import split_scale
from ..geometry.search import Rows
from .controls import EVERYTHING, LOCATION, basis_from_pose, pose_from_basis
from .limbs import FK, IK, Finger
from .stage import Played, Poses
from .tracks import Change, still

Array = NDArray[np.float64]

_SAME = 1e-6
"""Places that differ less than this (metres) are the same to single precision."""


class FingerMatch:
    """Controls that bring a finger to where it was seen.

    IK bends what FK shows, by the least that brings the tip to the IK control. So FK alone is made to show the wanted
    pose; for the IK side the IK control is then put at the tip, where IK has nothing left to do, whatever the slider
    holds. The master control is left alone, the tip control becomes neutral. The roll of the first bone follows from
    the bone that carries the finger; IK may roll it, FK can't.

    Where the finger is wholly at IK and only the IK side is asked for, its controls show the wanted pose, that roll
    included, and are kept.
    """

    def __init__(self, rig: bpy.types.Object, finger: Finger, sides: Collection[str]) -> None:
        self.finger = finger
        self._bones = rig.pose.bones
        self._to_ik, self._keeps = IK in sides, FK not in sides
        self._controls = finger.controls(IK if self._to_ik else FK)
        parents = {bone.parent.name for bone in map(self._bones.__getitem__, self._controls) if bone.parent}
        self.reads = {*finger.visible, *finger.followed, *self._controls, *parents}
        self.bases = set(self._controls)
        self.values = {finger.slider.path}

    def begin(self, count: int) -> None:
        """Be ready for so many frames."""
        self._kept = np.zeros(count, bool)

    def first(self, rows: Rows, wanted: Poses, played: Played) -> Iterator[Change]:
        """All controls on the next frames `rows`, from what was seen on them before any was changed."""
        finger, poses = self.finger, played.poses
        kept = np.zeros(len(rows), bool)
        if self._keeps:
            kept = played.values[finger.slider.path] > 1 - 1e-6
        self._kept[rows] = kept
        bases = {finger.tip: still(len(rows))}
        moves = [
            _rigid_move(poses[followed], wanted[visible])
            for followed, visible in zip(finger.followed, finger.visible, strict=True)
        ]
        placed = [move @ poses[control] for move, control in zip(moves, finger.fk, strict=True)]
        placed[-1] = wanted[finger.visible[-1]]  # with the length that the tip control gave it
        for n, control in enumerate(finger.fk):
            parent = self._bones[control].parent
            parents = None if parent is None else poses[parent.name]
            if n:  # the parent hangs on the control before
                parents = moves[n - 1] @ parents
            bases[control] = basis_from_pose(self._bones[control].bone, placed[n], parents)
        everywhere = np.ones(len(rows), bool)
        for name, basis in bases.items():
            basis = np.where(kept[:, None, None], played.bases[name], basis)
            yield Change(name, everywhere, basis, (LOCATION,) if name == finger.tip else EVERYTHING)
        if self._to_ik:
            basis = played.bases[finger.ik.end].copy()
            basis[~kept] = self._end_basis(wanted[finger.visible[-1]], poses)[~kept]
            yield Change(finger.ik.end, everywhere, basis, (LOCATION,))

    def again(self, rows: Rows, wanted: Poses, played: Played) -> Iterator[Change]:
        """Keep the IK control at the tip, when what carries the finger or the control has moved a little."""
        if self._to_ik:
            end, lasts = self.finger.ik.end, played.poses[self.finger.followed[-1]]
            off = np.abs(self._tips(lasts) - played.poses[end][:, :3, 3]).max(axis=1) > _SAME
            off &= ~self._kept[rows]
            yield Change(end, off, self._end_basis(lasts, played.poses)[off], (LOCATION,))

    def _tips(self, lasts: Array) -> Array:
        """The tails (n, 3) of the last bone, when its poses are `lasts` (n, 4, 4)."""
        return lasts[:, :3, 3] + lasts[:, :3, 1] * self._bones[self.finger.visible[-1]].bone.length

    def _end_basis(self, lasts: Array, poses: Poses) -> Array:
        """What (n, 4, 4) puts the IK control at the tail of the last bone."""
        bone = self._bones[self.finger.ik.end]
        parents = None if bone.parent is None else poses[bone.parent.name]
        placed = pose_from_basis(bone.bone, still(len(lasts)), parents)
        placed[:, :3, 3] = self._tips(lasts)
        return basis_from_pose(bone.bone, placed, parents)


def _rigid_move(start: Array, end: Array) -> Array:
    """The moves (n, 4, 4), rotation and translation, that bring poses `start` (n, 4, 4) to poses `end`."""
    out = still(len(start))
    out[:, :3, :3] = split_scale(end[:, :3, :3])[0] @ np.swapaxes(split_scale(start[:, :3, :3])[0], 1, 2)
    out[:, :3, 3] = end[:, :3, 3] - np.einsum("nij,nj->ni", out[:, :3, :3], start[:, :3, 3])
    return out
