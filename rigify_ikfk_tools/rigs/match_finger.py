# SPDX-License-Identifier: GPL-3.0-or-later
"""A finger with an IK control made to show wanted poses."""

from __future__ import annotations

from collections.abc import Collection

import bpy
import numpy as np
from numpy.typing import NDArray

from ..geometry.rotations import split_scale
from ..geometry.two_bone import Rows
from .controls import EVERYTHING, LOCATION, basis_from_pose, key_basis, pose_from_basis
from .fcurves import Rewrite
from .limbs import FK, IK, Finger
from .stage import Played, Poses

Array = NDArray[np.float64]

_SAME = 2e-7
"""Places that differ less than this (metres) are the same."""


class FingerMatch:
    """Controls that bring a finger to where it was seen, on n frames.

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

    def begin(self, seen: Played) -> None:
        """Take the visible poses as wanted; what each FK control needs follows at once."""
        finger, poses = self.finger, seen.poses
        count = len(poses[finger.visible[0]])
        self.waiting = np.zeros(count, bool)
        self.error = np.zeros(count)
        self._kept = np.zeros(count, bool)
        if self._keeps:
            self._kept = seen.values[finger.slider.path] > 1 - 1e-6
        still = np.tile(np.eye(4), (count, 1, 1))
        bases = {finger.tip: still}
        moves = [
            _rigid_move(poses[followed], poses[visible])
            for followed, visible in zip(finger.followed, finger.visible, strict=True)
        ]
        wanted = [move @ poses[control] for move, control in zip(moves, finger.fk, strict=True)]
        wanted[-1] = poses[finger.visible[-1]]  # with the length that the tip control gave it
        for n, control in enumerate(finger.fk):
            bone = self._bones[control]
            parents = None if bone.parent is None else poses[bone.parent.name]
            if n:  # the parent hangs on the control before
                parents = moves[n - 1] @ parents
            bases[control] = basis_from_pose(bone.bone, wanted[n], parents)
        self._bases = {name: np.where(self._kept[:, None, None], seen.bases[name], bases[name]) for name in bases}
        self._unwritten = True
        if self._to_ik:
            end = self._bones[finger.ik.end]
            self._end_basis = seen.bases[finger.ik.end].copy()
            self._end_parents = None if end.parent is None else poses[end.parent.name].copy()
            self._place_end(np.arange(count), poses[finger.visible[-1]])

    def _place_end(self, rows: Rows, lasts: Array) -> None:
        """Put the IK control at the tail of the last bone, whose poses on the frames `rows` are `lasts`."""
        bone = self._bones[self.finger.ik.end].bone
        parents = None if self._end_parents is None else self._end_parents[rows]
        poses = pose_from_basis(bone, np.tile(np.eye(4), (len(rows), 1, 1)), parents)
        length = self._bones[self.finger.visible[-1]].bone.length
        poses[:, :3, 3] = lasts[:, :3, 3] + lasts[:, :3, 1] * length
        basis = basis_from_pose(bone, poses, parents)
        moved = ~self._kept[rows]
        self._end_basis[rows[moved], :3, 3] = basis[moved, :3, 3]

    def probes(self) -> list[int]:
        """No frame has to be tried beforehand."""
        return []

    def key(self, rewrite: Rewrite) -> None:
        """Write the controls' channels."""
        if self._unwritten:
            for name, basis in self._bases.items():
                parts = (LOCATION,) if name == self.finger.tip else EVERYTHING
                key_basis(rewrite, self._bones[name], basis, parts)
            if self._to_ik:
                key_basis(rewrite, self._bones[self.finger.ik.end], self._end_basis, (LOCATION,))
        self._unwritten = False

    def saw(self, rows: Rows, poses: Poses) -> None:
        """Keep the IK control at the tip, when what carries the finger or the control has moved a little."""
        if self._to_ik:
            before = self._end_basis.copy()
            if self._end_parents is not None:
                self._end_parents[rows] = poses[self._bones[self.finger.ik.end].parent.name]
            self._place_end(rows, poses[self.finger.followed[-1]])
            self._unwritten |= bool(np.abs(self._end_basis - before).max() > _SAME)

    def try_out(self, step: int, rows: Rows) -> bool:
        """Nothing has to be tried beforehand."""
        return False

    def correct(self) -> None:
        """Nothing to seek."""

    def settle(self) -> None:
        """Nothing to choose between."""


def _rigid_move(start: Array, end: Array) -> Array:
    """The moves (n, 4, 4), rotation and translation, that bring poses `start` (n, 4, 4) to poses `end`."""
    out = np.tile(np.eye(4), (len(start), 1, 1))
    out[:, :3, :3] = split_scale(end[:, :3, :3])[0] @ np.swapaxes(split_scale(start[:, :3, :3])[0], 1, 2)
    out[:, :3, 3] = end[:, :3, 3] - np.einsum("nij,nj->ni", out[:, :3, :3], start[:, :3, 3])
    return out
