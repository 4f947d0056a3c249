# SPDX-License-Identifier: GPL-3.0-or-later
"""The IK side of a limb made to show wanted poses."""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

from ..geometry import two_bone
from ..geometry.rotations import shortest_arc, split_scale
from ..geometry.two_bone import Rows
from .controls import EVERYTHING, LOCATION, basis_from_pose, key_basis, pose_from_basis, rest_offset
from .fcurves import Rewrite
from .limbs import Limb
from .stage import Played, Poses

Array = NDArray[np.float64]

_PROBES = 5
"""Frames of each limb on which the solver is tried first, from the straightest to the most bent."""
_PROBE_STEPS = 5
_CLOSE = 4e-5
"""A middle joint nearer than this to its place, in lengths of the limb, needs no further correction."""

_SOLVER_TOLERANCE = 5e-4
"""How far the solver may leave the end of the chain from its target, in lengths of the limb."""


class IkMatch:
    """IK controls that bring the middle and the end joint to where they were seen, on n frames.

    The end control follows from the wanted end at once. The base control has three free parameters without a pole:
    turn about the chord, size, and the bend to start from. With a pole the pole makes the turn, and the start does not
    count. They are found by asking the solver. Roll controls are neutral.
    """

    def __init__(self, rig: bpy.types.Object, limb: Limb) -> None:
        self.limb, self.ik = limb, limb.ik
        self._bones = rig.pose.bones
        base, middle, target = (self._bones[name] for name in self.ik.result[:3])
        self._swing = base.parent
        self._tracks = self._swing is not None and any(
            isinstance(c, bpy.types.DampedTrackConstraint) and c.subtarget == target.name
            for c in self._swing.constraints
        )
        controls = [self.ik.end, *self.ik.rolls, *self.ik.tail, *filter(None, [self.ik.pole])]
        parents = {self._bones[name].parent for name in controls} | {self._swing}
        if self._tracks:
            parents.add(self._swing.parent)
        self.reads = {*limb.visible, *self.ik.result, *controls, *(bone.name for bone in parents if bone)}
        self.bases = {self.ik.base}
        self.values = {self.ik.pole_switch.path} if self.ik.pole_switch else set()
        self._rest_length = (middle.bone.head_local - base.bone.head_local).length
        self._rest_length += (target.bone.head_local - middle.bone.head_local).length

    def begin(self, seen: Played) -> None:
        """Take the visible poses as wanted, and foresee the controls."""
        poses = seen.poses
        upper, middle, end = (poses[name] for name in self.limb.visible[:3])
        self._fits = self._fitting(poses)
        # the visible end hangs on the middle bone, which the solver brings near the target only: keep the target itself
        end = np.where(self._fits[:, None, None], poses[self.ik.result[2]], end)
        self.heads, self.middles, self.targets = (pose[:, :3, 3] for pose in (upper, middle, end))
        self.count = len(self.heads)
        self.waiting = np.ones(self.count, bool)
        self.error = np.full(self.count, np.inf)
        self._written: dict[str, tuple[Array, Array | None]] = {}
        self._hinges = upper[:, :3, self.ik.hinge]
        self._end = end @ np.linalg.inv(rest_offset(self._bone(self.ik.end), self._bone(self.ik.result[2])))
        self._parents = {name: self._parent_poses(poses, name) for name in (self.ik.end, *self.ik.rolls)}
        if self.ik.pole:
            self._parents[self.ik.pole] = self._parent_poses(poses, self.ik.pole)
        self._tail = dict(zip(self.ik.tail, (poses[name] for name in self.limb.visible[3:]), strict=True))
        carried = end @ np.linalg.inv(poses[self.ik.result[2]])
        for name in self.ik.tail:
            parent = self._parent_poses(poses, name)
            self._parents[name] = None if parent is None else carried @ parent
        self._poled = np.zeros(self.count, bool)
        if self.ik.pole_switch:
            self._poled = seen.values[self.ik.pole_switch.path] > 0.5
        self._begin_solving(seen)

    def _begin_solving(self, seen: Played) -> None:
        base, middle = self._bone(self.ik.base), self._bone(self.ik.result[1])
        self.total = np.linalg.norm(self.middles - self.heads, axis=1) + np.linalg.norm(
            self.targets - self.middles, axis=1
        )
        self.total = np.maximum(self.total, 1e-9)
        self._place_base(self._foreseen_swing(seen.poses))
        rest = np.array(base.matrix_local)[:3, :3]
        to_end = np.array(self._bone(self.ik.result[2]).head_local - middle.head_local)
        self._offset = np.full(self.count, two_bone.bend_angle_at_rest(rest, to_end))
        self._aim()
        self.turns = two_bone.wrapped(self._goal - self._offset)
        self.pole_angles = self._goal.copy()
        self.shape = two_bone.Shape(self._wanted.along / self.total, self._wanted.across / self.total)
        self.shape.fix_bend(self._poled)
        self._keep_what_fits(seen)

    def _fitting(self, poses: Poses) -> NDArray[np.bool_]:
        """The frames (n,) on which the IK side shows the visible pose already."""
        pairs = list(zip(self.limb.visible, self.ik.result, strict=True))[:3]
        off = [np.linalg.norm(poses[seen][:, :3, 3] - poses[result][:, :3, 3], axis=1) for seen, result in pairs]
        joints = np.max(off[:2], axis=0) < _CLOSE * self._rest_length
        return joints & (off[2] < _SOLVER_TOLERANCE * self._rest_length)

    def _keep_what_fits(self, seen: Played) -> None:
        """Start from the present controls on frames where the IK side shows the wanted joints already."""
        poses = seen.poses
        fits = self._fits
        swing = None if self._swing is None else poses[self._swing.name]
        start = pose_from_basis(self._bone(self.ik.base), seen.bases[self.ik.base], swing)
        turn, scale = split_scale(start[:, :3, :3])
        angles, bends = two_bone.turn_and_bend(np.swapaxes(self._frames, 1, 2) @ turn, self.ik.hinge)
        sizes = np.abs(scale).prod(axis=1) ** (1 / 3) * self._rest_length / self.total
        self.turns = np.where(fits, angles, self.turns)
        self.shape.start(fits, sizes, bends)
        if self.ik.pole:
            pole = two_bone.figure(self._frames, self.heads, poses[self.ik.pole][:, :3, 3])
            self.pole_angles = np.where(fits, pole.angle, self.pole_angles)

    def _bone(self, name: str) -> bpy.types.Bone:
        return self._bones[name].bone

    def _parent_poses(self, poses: Poses, name: str) -> Array | None:
        parent = self._bones[name].parent
        return poses[parent.name].copy() if parent else None

    def _foreseen_swing(self, poses: Poses) -> Array | None:
        """Where the base control's parent will be once the target is at the wanted end."""
        if self._swing is None:
            return None
        if not self._tracks:
            return poses[self._swing.name].copy()
        parent = self._parent_poses(poses, self._swing.name)
        still = np.tile(np.eye(4), (self.count, 1, 1))
        pose = pose_from_basis(self._swing.bone, still, parent)
        turn = shortest_arc(pose[:, :3, 1], self.targets - pose[:, :3, 3])
        pose[:, :3, :3] = turn @ pose[:, :3, :3]
        return pose

    def _place_base(self, swing: Array | None) -> None:
        """See all frames from the base control as it hangs on its parent."""
        self._swing_poses = swing
        still = np.tile(np.eye(4), (self.count, 1, 1))
        pose = pose_from_basis(self._bone(self.ik.base), still, swing)
        _, scale = split_scale(pose[:, :3, :3])
        self._parent_size = np.abs(scale).prod(axis=1) ** (1 / 3)
        self._frames = two_bone.chord_frames(pose[:, :3, :3], self.heads, self.targets)
        self._wanted = two_bone.figure(self._frames, self.heads, self.middles)

    def _aim(self) -> None:
        hinge_goal = two_bone.hinge_angles(self._frames, self._hinges, self.ik.hinge) + self._offset
        self._goal = two_bone.goal_angles(self._wanted, hinge_goal, self.total)

    # Writing

    def key(self, rewrite: Rewrite) -> None:
        """Write the controls' channels."""
        self._key(rewrite, self.ik.end, self._end)
        for name in self.ik.rolls:
            if name not in self._written:
                self._written[name] = (np.tile(np.eye(4), (self.count, 1, 1)), None)
                key_basis(rewrite, self._bones[name], self._written[name][0])
        self._key(rewrite, self.ik.base, self._base_poses(), self._swing_poses)
        for name, wanted in self._tail.items():
            self._key(rewrite, name, wanted)
        if self.ik.pole and self._poled.any():
            self._key_pole(rewrite)

    def _key(self, rewrite: Rewrite, name: str, poses: Array, parents: Array | None = None) -> None:
        parents = self._parents[name] if parents is None else parents
        written = self._written.get(name)
        if written and np.array_equal(written[0], poses) and (parents is None or np.array_equal(written[1], parents)):
            return
        self._written[name] = (poses.copy(), None if parents is None else parents.copy())
        key_basis(rewrite, self._bones[name], basis_from_pose(self._bone(name), poses, parents), EVERYTHING)

    def _base_poses(self) -> Array:
        size = self.shape.size * self.total / self._rest_length
        poses = np.tile(np.eye(4), (self.count, 1, 1))
        turn = two_bone.base_rotations(self._frames, self.turns, self.shape.bend, self.ik.hinge)
        poses[:, :3, :3] = turn * size[:, None, None]
        poses[:, :3, 3] = self.heads
        return poses

    def _key_pole(self, rewrite: Rewrite) -> None:
        """The pole stands beside the chord's middle, as far away as in the rest pose."""
        assert self.ik.pole
        bone, parents = self._bone(self.ik.pole), self._parents[self.ik.pole]
        away = np.stack([np.sin(self.pole_angles), np.zeros(self.count), np.cos(self.pole_angles)], axis=1)
        place = (self.heads + self.targets) / 2
        place = (
            place + np.einsum("nij,nj->ni", self._frames, away) * (self._pole_distance() * self._parent_size)[:, None]
        )
        poses = pose_from_basis(bone, np.tile(np.eye(4), (self.count, 1, 1)), parents)
        poses[:, :3, 3] = place
        key_basis(rewrite, self._bones[self.ik.pole], basis_from_pose(bone, poses, parents), (LOCATION,))

    def _pole_distance(self) -> float:
        head = np.array(self._bone(self.ik.base).head_local)
        tip = np.array(self._bone(self.ik.result[2]).head_local)
        to_pole = np.array(self._bone(self.ik.pole).head_local) - head
        chord = (tip - head) / np.linalg.norm(tip - head)
        return float(np.linalg.norm(to_pole - (to_pole @ chord) * chord)) or self._rest_length

    # Solving

    def probes(self) -> list[int]:
        """Frames on which the solver is to be tried first: the straightest, the most bent and some between."""
        open_ = np.flatnonzero(~self._fits)
        order = open_[np.argsort((self._wanted.across / self.total)[open_], kind="stable")]
        return (
            sorted({int(order[round(place)]) for place in np.linspace(0, len(order) - 1, _PROBES)})
            if len(order)
            else []
        )

    def saw(self, rows: Rows, poses: Poses) -> None:
        """Take in what the evaluated rig shows on the frames `rows` with the present controls."""
        for name in self._parents:
            parent = self._parent_poses(poses, name)
            if parent is not None:
                self._parents[name][rows] = parent
        if self._swing is not None:
            swing = self._swing_poses
            swing[rows] = poses[self._swing.name]
            self._place_base(swing)
        heads = poses[self.ik.base][:, :3, 3]
        middles = poses[self.ik.result[1]][:, :3, 3]
        seen = two_bone.figure(self._frames[rows], heads, middles)
        error = np.linalg.norm(middles - self.middles[rows], axis=1) / self.total[rows]
        self.shape.saw(rows, seen.along / self.total[rows], seen.across / self.total[rows], error)
        self._turn(rows, seen)
        # with a pole nothing moves the middle joint along the chord: a rest there is not waited for
        rest = np.where(self._poled[rows], np.abs(seen.along - self._wanted.along[rows]) / self.total[rows], 0)
        self.error[rows] = np.sqrt(np.maximum(error**2 - rest**2, 0))
        self.waiting[rows] = self.error[rows] > _CLOSE

    def _turn(self, rows: Rows, seen: two_bone.Figure) -> None:
        """Learn how the figure lies about the chord, and turn it to where it shall be."""
        clear = seen.across > 1e-5 * self.total[rows]
        free, poled = rows[clear & ~self._poled[rows]], rows[clear & self._poled[rows]]
        angle = np.zeros(self.count)
        angle[rows] = seen.angle
        self._offset[free] = two_bone.wrapped(angle[free] - self.turns[free])
        self._aim()
        self.turns[free] += two_bone.wrapped(self._goal[free] - angle[free])
        self.pole_angles[poled] += two_bone.wrapped(self._goal[poled] - angle[poled])

    def try_out(self, step: int, rows: Rows) -> bool:
        """Prepare the next evaluation of the probed frames `rows`; False when enough is known for all frames.

        Size and bend are moved one after the other, to see the slopes; then they are corrected.
        """
        if step == 0:
            self.shape.nudge(rows, 0, 0.5)
        elif step == 1:
            self.shape.nudge(rows, 1, 1.0)
        elif step < _PROBE_STEPS:
            self.shape.correct(rows)
        else:
            self.shape.settle()
            self.shape.spread(rows, self._wanted.across / self.total)
            return False
        return True

    def correct(self) -> None:
        """Choose the next size and bend of all frames that are not there yet."""
        self.shape.correct(np.flatnonzero(self.waiting))

    def settle(self) -> None:
        """Go back to the best that was seen."""
        self.shape.settle()
