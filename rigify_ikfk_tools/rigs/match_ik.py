# SPDX-License-Identifier: GPL-3.0-or-later
"""The IK side of a limb made to show wanted poses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import bpy
import numpy as np
from numpy.typing import NDArray

from ..geometry.rotations import about_axis, angle_between, split_scale, to_eulers
from ..geometry.search import Rows
from .controls import basis_from_pose, carried, rest_offset
from .ik_chain import ACCEPTED, IkChain
from .limbs import Limb
from .stage import Played, Poses
from .tracks import Change, apart, still

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_CLOSE = 4e-5
"""A middle joint nearer than this to its place, in lengths of the limb, is there already."""
_SOLVER_TOLERANCE = 5e-4
"""How far the solver may leave the end of the chain from its target, in lengths of the limb."""
_GAP = 3e-4
"""A gap between bones of a paw, in lengths of the limb, that is worth a word."""
_SAME_TURN = 1e-4
"""Hands and feet that differ by less (radians) are turned alike."""


class IkMatch:
    """IK controls that bring the middle and the end joint to where they were seen.

    The end control follows from the wanted end at once: that of an arm or a leg from the hand or the foot, that of a
    paw from its last bone, while the bones before it get their own from the pivots. What carries a pivot may follow the
    base control: it is known when the base control has been keyed. The rest is the affair of `IkChain`.

    The visible end hangs on the second bone, which ends beside the target: the target makes up for that. Roll controls
    are neutral, unless the roll shall be kept.
    """

    def __init__(self, rig: bpy.types.Object, limb: Limb, benches: ExitStack, *, keep_roll: bool = False) -> None:
        """With `keep_roll` the end control keeps its orientation, as far as the heel can roll the foot from it."""
        self.limb, self.ik = limb, limb.ik
        self._bones = rig.pose.bones
        self._chain = IkChain(rig, limb, benches)
        controls = [self.ik.end, *self.ik.rolls, *(name for name, _ in self.ik.pivots), *self.ik.tail]
        controls += filter(None, [self.ik.pole])
        parents = {self._bones[name].parent for name in [*controls, self.ik.result[2]]}
        self.reads = {*limb.visible, *self.ik.result, *controls, *(bone.name for bone in parents if bone)}
        self.reads |= self._chain.reads
        self.bases = {*self._chain.bases, *self.ik.rolls}
        self.values = self._chain.values
        self._heel = self.ik.heel if keep_roll else None

    def begin(self, count: int) -> None:
        """Be ready for so many frames."""
        self._chain.begin(count)
        self.held_back, self._gaping = np.zeros(count, bool), np.zeros(count, bool)

    held_back: Mask
    """The frames (n,) on which a constraint keeps the target from where the controls carry it: out of reach."""

    @property
    def uneven(self) -> Mask:
        """The frames (n,) on which the visible bones are not stretched alike, or a gap is between them.

        IK can scale a limb as a whole only.
        """
        return self._chain.uneven | self._gaping

    def first(self, rows: Rows, wanted: Poses, played: Played) -> Iterator[Change]:
        """All controls on the next frames `rows`, from what was seen on them before any was changed."""
        poses = played.poses
        kept = self._fitting(wanted, poses)
        now = self._carried(poses)
        self._chain.shifts[rows] = np.where(kept[:, None], (now - wanted[self.limb.visible[2]])[:, :3, 3], 0)
        self._gaping[rows] = self._gap(wanted) > _GAP * self._chain.rest_length
        everywhere = np.ones(len(rows), bool)
        for name in self.ik.rolls:
            basis = self._rolled(name, wanted, poses) if name == self._heel else still(len(rows))
            if self._heel:
                basis[kept] = played.bases[name][kept]
            yield Change(name, everywhere, basis)
        yield from self._chain.passive(played)
        yield Change(self.ik.base, kept, played.bases[self.ik.base][kept])

        scene = self._chain.scene(wanted, played, self._target(rows, wanted)[:, :3, 3])
        self._chain.choose_planes(rows, scene)
        yield from self._chain.solve(rows, scene, ~kept, played)

        target = self._target(rows, wanted)  # the solving has shifted it
        end = self._end(wanted, target)
        if self._heel:
            end[kept] = poses[self.ik.end][kept]
        yield self._change(self.ik.end, everywhere, end, self._parent(poses, self.ik.end))
        carrier, carries = self.ik.end, end
        for name, pose in self._pivots(wanted, target):
            yield self._change(name, everywhere, pose, self._carried_by(carrier, carries, name, poses))
            carrier, carries = name, pose
        for name, pose in self._tail(wanted):
            yield self._change(name, everywhere, pose, self._foreseen_parent(name, poses, end, target))

    def again(self, rows: Rows, wanted: Poses, played: Played) -> Iterator[Change]:
        """What is to be changed on the frames `rows`, from what is seen now that controls were written."""
        poses = played.poses
        now, shown = self._carried(poses), poses[self.ik.result[2]]
        moved = apart(self._target(rows, wanted), now)
        held = np.linalg.norm((now - shown)[:, :3, 3], axis=1)
        self.held_back[rows] = held > _SOLVER_TOLERANCE * self._chain.rest_length
        scene = self._chain.scene(wanted, played, shown[:, :3, 3] - self._chain.shifts[rows], np.zeros(len(rows), bool))
        off = np.linalg.norm(poses[self.ik.result[1]][:, :3, 3] - scene.middles, axis=1) / scene.total
        wrong = ~moved & (off > np.maximum(ACCEPTED, 1.1 * self._chain.expected[rows]))
        yield from self._chain.solve(rows, scene, wrong, played, wrong)

        target = self._target(rows, wanted)
        if self.ik.pivots:
            yield from self._corrected_paw(wanted, poses, target)
        else:
            yield from self._corrected_end(wanted, poses, target, now)

    def _corrected_end(self, wanted: Poses, poses: Poses, target: Array, now: Array) -> Iterator[Change]:
        """End control and what lies beyond, where the target is not carried to its place."""
        moved = apart(target, now)
        end = target @ np.linalg.inv(now) @ poses[self.ik.end]
        yield self._change(self.ik.end, moved, end, self._parent(poses, self.ik.end))
        for name, pose in self._tail(wanted):
            parents = self._parent(poses, name)
            if parents is not None:
                parents = np.where(moved[:, None, None], carried(parents, now, target), parents)
            yield self._change(name, moved | apart(pose, poses[name]), pose, parents)

    def _corrected_paw(self, wanted: Poses, poses: Poses, target: Array) -> Iterator[Change]:
        """End control and pivots; what lies beyond hangs on the visible bones, and counts when these are in place."""
        moved = np.zeros(len(target), bool)
        for name, pose in [(self.ik.end, self._end(wanted, target)), *self._pivots(wanted, target)]:
            off = apart(pose, poses[name])
            yield self._change(name, off, pose, self._parent(poses, name))
            moved |= off
        for name, pose in self._tail(wanted):
            yield self._change(name, ~moved & apart(pose, poses[name]), pose, self._parent(poses, name))

    def _target(self, rows: Rows, wanted: Poses) -> Array:
        """Where (n, 4, 4) the solver's target shall be."""
        target = wanted[self.limb.visible[2]].copy()
        target[:, :3, 3] += self._chain.shifts[rows]
        return target

    def _end(self, wanted: Poses, target: Array) -> Array:
        """Where (n, 4, 4) the end control shall be: it carries the target, or the last bone of a paw."""
        if self.ik.pivots:
            last = self.limb.visible[-1]
            return wanted[last] @ np.linalg.inv(rest_offset(self._bone(self.ik.end), self._bone(last)))
        return target @ np.linalg.inv(rest_offset(self._bone(self.ik.end), self._bone(self.ik.result[2])))

    def _pivots(self, wanted: Poses, target: Array) -> Iterator[tuple[str, Array]]:
        """Each pivot and where (n, 4, 4) it shall be."""
        for name, place in self.ik.pivots:
            turns = target if place == 2 else wanted[self.limb.visible[place]]
            yield name, turns @ np.linalg.inv(rest_offset(self._bone(name), self._bone(self.ik.result[place])))

    def _tail(self, wanted: Poses) -> Iterator[tuple[str, Array]]:
        if self.ik.tail:
            last = self.limb.visible[-len(self.ik.tail) :]
            yield from zip(self.ik.tail, (wanted[name] for name in last), strict=True)

    def _gap(self, wanted: Poses) -> Array:
        """The largest distance (n,) from the tail of a bone that a pivot turns to the head of the next."""
        gaps = [np.zeros(len(wanted[self.limb.visible[0]]))]
        for _, place in self.ik.pivots:
            name, after = self.limb.visible[place : place + 2]
            tail = wanted[name][:, :3, 3] + self._bone(name).length * wanted[name][:, :3, 1]
            gaps.append(np.linalg.norm(tail - wanted[after][:, :3, 3], axis=1))
        return np.max(gaps, axis=0)

    def _rolled(self, heel: str, wanted: Poses, poses: Poses) -> Array:
        """Basis matrices (n, 4, 4) of the heel that turn the foot, less its yaw, from where the end control has it."""
        bone, end = self._bones[heel], self._bone(self.ik.end)
        now = poses[self.ik.end] @ rest_offset(end, bone.bone)
        then = wanted[self.limb.visible[2]] @ rest_offset(self._bone(self.ik.result[2]), bone.bone)
        turn = split_scale((np.linalg.inv(now) @ then)[:, :3, :3])[0]
        # the yaw, about which Rigify's heels turn first, comes last
        order = bone.rotation_mode[1:] + bone.rotation_mode[0]
        angles = to_eulers(turn, order)
        basis = still(len(turn))
        for axis in ("XYZ".index(letter) for letter in order[:2]):
            basis[:, :3, :3] = about_axis(axis, angles[:, axis]) @ basis[:, :3, :3]
        return basis

    def _fitting(self, wanted: Poses, poses: Poses) -> Mask:
        """The frames (n,) on which the IK side shows the visible pose already."""
        pairs = [(wanted[seen], poses[result]) for seen, result in zip(self.limb.visible, self.ik.result, strict=True)]
        off = [np.linalg.norm(seen[:, :3, 3] - result[:, :3, 3], axis=1) for seen, result in pairs[:3]]
        end, target = (split_scale(pose[:, :3, :3])[0] for pose in pairs[2])
        near = np.max(off[:2], axis=0) < _CLOSE * self._chain.rest_length
        near &= off[2] < _SOLVER_TOLERANCE * self._chain.rest_length
        return near & (angle_between(end, target) < _SAME_TURN)

    # Poses of bones

    def _bone(self, name: str) -> bpy.types.Bone:
        return self._bones[name].bone

    def _parent(self, poses: Poses, name: str) -> Array | None:
        parent = self._bones[name].parent
        return poses[parent.name] if parent else None

    def _carried(self, poses: Poses) -> Array:
        """Where the controls carry the target to, before a constraint holds it back from out of reach."""
        target = self._bones[self.ik.result[2]]
        return poses[target.parent.name] @ rest_offset(target.parent.bone, target.bone)

    def _change(self, name: str, rows: Mask, poses: Array, parents: Array | None) -> Change:
        parents = None if parents is None else parents[rows]
        return Change(name, rows, basis_from_pose(self._bone(name), poses[rows], parents))

    def _carried_by(self, carrier: str, carries: Array, name: str, poses: Poses) -> Array | None:
        """Where the parent of a pivot will be once `carrier` has the poses `carries` (n, 4, 4), if that decides it."""
        parent = self._bones[name].parent
        bone = parent
        while bone is not None and not bone.constraints:
            if bone.name == carrier:
                return carries @ rest_offset(bone.bone, parent.bone)
            bone = bone.parent
        return self._parent(poses, name)

    def _foreseen_parent(self, name: str, poses: Poses, end: Array, target: Array) -> Array | None:
        """Where the parent of a control beyond the end will be, once end control and target have these poses."""
        parent = self._bones[name].parent
        if parent is None:
            return None
        copies = [c for c in parent.constraints if isinstance(c, bpy.types.CopyTransformsConstraint)]
        leader = self._bones.get(copies[0].subtarget, parent) if len(copies) == 1 else parent
        if self._heel is None and self._bones[self.ik.end] in leader.parent_recursive:
            return end @ rest_offset(self._bone(self.ik.end), parent.bone)  # all rolls between are neutral
        return carried(poses[parent.name], self._carried(poses), target)
