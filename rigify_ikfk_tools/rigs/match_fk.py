# SPDX-License-Identifier: GPL-3.0-or-later
"""The FK side of a limb made to show wanted poses."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import numpy as np
from numpy.typing import NDArray

from ..geometry.search import Rows
from .controls import basis_from_pose, carried, rest_offset
from .limbs import Limb
from .stage import Played, Poses
from .tracks import Change, apart

Array = NDArray[np.float64]


class FkMatch:
    """FK controls that bring the visible chain to where it was seen.

    The FK controls are what the chain copies, so each control's pose is the wanted pose itself. Only the parents of
    some controls (of the hand, the foot, the toe) depend on the controls before them: they are foreseen at first and
    looked at afterwards.
    """

    def __init__(self, rig: bpy.types.Object, limb: Limb) -> None:
        self.limb = limb
        self._bones = rig.pose.bones
        self.reads = {*limb.visible, *limb.fk, *(p.name for p in map(self._parent, limb.fk) if p)}
        self.bases: set[str] = set()
        self.values: set[str] = set()

    def _parent(self, control: str) -> bpy.types.PoseBone | None:
        return self._bones[control].parent

    def begin(self, count: int) -> None:
        """Nothing has to be remembered of the frames."""

    def first(self, rows: Rows, wanted: Poses, played: Played) -> Iterator[Change]:
        """All controls on the next frames `rows`, from what was seen on them before any was changed."""
        everywhere = np.ones(len(rows), bool)
        poses = played.poses
        placed: Poses = {}
        for control, visible in zip(self.limb.fk, self.limb.visible, strict=True):
            parent = self._parent(control)
            parents = None if parent is None else self._foreseen(parent, poses, wanted, placed)
            placed[control] = wanted[visible]
            basis = basis_from_pose(self._bones[control].bone, placed[control], parents)
            yield Change(control, everywhere, basis)

    def _foreseen(self, parent: bpy.types.PoseBone, poses: Poses, wanted: Poses, placed: Poses) -> Array:
        """Where (n, 4, 4) the parent of a control will be, once the controls before it are `placed`."""
        upper = parent.parent
        if upper is not None and upper.name in wanted and _has_copy(parent):  # it follows IK, and is let go
            return wanted[upper.name] @ rest_offset(upper.bone, parent.bone)
        before = next((bone.name for bone in (parent, *parent.parent_recursive) if bone.name in placed), None)
        if before is None:
            return poses[parent.name]
        return placed[before] if before == parent.name else carried(poses[parent.name], poses[before], placed[before])

    def again(self, rows: Rows, wanted: Poses, played: Played) -> Iterator[Change]:
        """What is to be changed on the frames `rows`, from what is seen now that controls were written."""
        for control, visible in zip(self.limb.fk, self.limb.visible, strict=True):
            off = apart(wanted[visible], played.poses[control])
            parent = self._parent(control)
            parents = played.poses[parent.name][off] if parent else None
            yield Change(control, off, basis_from_pose(self._bones[control].bone, wanted[visible][off], parents))


def _has_copy(bone: bpy.types.PoseBone) -> bool:
    return any(isinstance(constraint, bpy.types.CopyTransformsConstraint) for constraint in bone.constraints)
