# SPDX-License-Identifier: GPL-3.0-or-later
"""The FK side of a limb made to show wanted poses."""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

from ..geometry.two_bone import Rows
from .controls import basis_from_pose, key_basis
from .fcurves import Rewrite
from .limbs import Limb
from .stage import Played, Poses

Array = NDArray[np.float64]

_SAME = 2e-7
"""Parents that differ less than this from what was foreseen (metres, and entries of rotations) are as foreseen."""


class FkMatch:
    """FK controls that bring the visible chain to where it was seen, on n frames.

    The FK controls are what the chain copies, so each control's pose is the wanted pose itself. Only the parents of
    some controls (of the hand, the foot, the toe) depend on the controls before them: they are foreseen for the first
    evaluation and read from it afterwards.
    """

    def __init__(self, rig: bpy.types.Object, limb: Limb) -> None:
        self.limb = limb
        self._bones = rig.pose.bones
        self.reads = {*limb.visible, *limb.fk, *(p.name for p in map(self._parent, limb.fk) if p)}
        self.bases: set[str] = set()
        self.values: set[str] = set()

    def _parent(self, control: str) -> bpy.types.PoseBone | None:
        return self._bones[control].parent

    def begin(self, seen: Played) -> None:
        """Take the visible poses as wanted, and foresee the parents."""
        poses = seen.poses
        self.wanted = dict(zip(self.limb.fk, (poses[name] for name in self.limb.visible), strict=True))
        count = len(poses[self.limb.fk[0]])
        self.waiting = np.ones(count, bool)
        self.error = np.full(count, np.inf)
        self._unwritten = list(self.limb.fk)
        self._parents: Poses = {}
        for control in self.limb.fk:
            parent = self._parent(control)
            if parent is None:
                continue
            before = next((b.name for b in (parent, *parent.parent_recursive) if b.name in self.wanted), None)
            foreseen = poses[parent.name].copy()
            if before == parent.name:
                foreseen = self.wanted[before]
            elif before is not None:
                moved = self.wanted[before] @ np.linalg.inv(poses[before]) @ foreseen
                foreseen[:, :3, :3] = _with_lengths_of(moved[:, :3, :3], foreseen[:, :3, :3])
                foreseen[:, :3, 3] = moved[:, :3, 3]
            self._parents[control] = foreseen

    def probes(self) -> list[int]:
        """No frame has to be tried beforehand."""
        return []

    def key(self, rewrite: Rewrite) -> None:
        """Write the controls' channels."""
        for control in self._unwritten:
            bone = self._bones[control]
            key_basis(rewrite, bone, basis_from_pose(bone.bone, self.wanted[control], self._parents.get(control)))
        self._unwritten = []

    def saw(self, rows: Rows, poses: Poses) -> None:
        """Read the parents as they are with the controls in place."""
        for control, foreseen in self._parents.items():
            seen = poses[self._bones[control].parent.name]
            if np.abs(seen - foreseen[rows]).max() > _SAME:
                foreseen[rows] = seen
                self._unwritten.append(control)
        self.waiting[rows] = False

    def try_out(self, step: int, rows: Rows) -> bool:
        """Nothing has to be tried beforehand."""
        return False

    def correct(self) -> None:
        """Nothing to seek: the next keys are exact."""

    def settle(self) -> None:
        """Nothing to choose between."""


def _with_lengths_of(turned: Array, like: Array) -> Array:
    directions = turned / np.linalg.norm(turned, axis=1, keepdims=True)
    return directions * np.linalg.norm(like, axis=1, keepdims=True)
