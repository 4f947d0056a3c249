# SPDX-License-Identifier: GPL-3.0-or-later
"""The two bones of a limb that Blender's IK solver bends, and what brings their middle joint to where it was seen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, fields
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..geometry import two_bone
from ..geometry.rotations import shortest_arc, split_scale
from ..geometry.search import Rows, Search, Unknowns
from ..geometry.two_bone import FOLDED, FREE, SHARED
from .bench import Bench
from .controls import LOCATION, basis_from_pose, pose_from_basis, rest_offset
from .limbs import Limb
from .stage import Played, Poses
from .tracks import Change, still

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

ACCEPTED = 1.6e-4
"""A middle joint nearer than this to its place, in lengths of the limb, is not corrected again after it was solved."""
_UNEVEN = 1e-3
"""By how much the first bone's share of the limb's length may differ from that at rest without a word."""
_STRAIGHT = 2e-3
"""A middle joint nearer to the chord than this, in lengths of the limb, may be reached from either side."""
_END_COUNTS = 3.0
"""Where not both can be had, the end of the chain is worth more than the middle joint."""


@dataclass
class Scene:
    """What is known of n frames before the solver is asked, all in armature space."""

    heads: Array
    middles: Array
    targets: Array
    parents: Array | None
    """Poses (n, 4, 4) of the base control's parent, as it will be."""
    rest: Array
    """Orientations (n, 3, 3) of the first bone before solving, were the base control neutral."""
    frames: Array
    """The chord frames (n, 3, 3)."""
    along: Array
    across: Array
    angle: Array
    """The wanted figure in the chord frames, each (n,)."""
    forward: Array
    """Where (n,) about the chord the hinge of the visible limb would bend it to."""
    size: Array
    """The scale (n,) that the base control inherits."""
    poled: Mask
    total: Array
    """Length (n,) of the visible limb."""

    def pick(self, rows: Mask | Rows | slice) -> Scene:
        """The same for some of the frames."""
        mine: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        return Scene(**{name: None if values is None else values[rows] for name, values in mine.items()})


@dataclass
class _Solved:
    """What first bone, pole, IK stretch and target must be on m frames, in armature space."""

    bases: Array
    poles: Array
    stretches: Array
    """IK stretches (m, 2) of first and second bone."""
    shifts: Array
    """How far (m,) the target is moved along the chord."""

    @staticmethod
    def blank(count: int) -> _Solved:
        """To be filled."""
        return _Solved(still(count), np.zeros((count, 3)), np.zeros((count, 2)), np.zeros(count))

    def put(self, rows: Rows, other: _Solved, better: Mask) -> None:
        """Take over what is better on some of the frames `rows`."""
        for field in fields(self):
            getattr(self, field.name)[rows[better]] = getattr(other, field.name)[better]


class IkChain:
    """Base control, pole and IK stretch of a limb, found by asking Blender's solver on a bench.

    The base control has three free parameters without a pole: turn about the chord, size, and the bend to start from.
    With a pole the pole makes the turn, the start does not count, and the first bone's share of the stretching stands
    in for it. So it is with paws, pole or not: there the base control does not touch the first bone itself but what
    aims it at the target.
    """

    def __init__(self, rig: bpy.types.Object, limb: Limb, benches: ExitStack) -> None:
        self.limb, self.ik = limb, limb.ik
        self._rig, self._bones, self._benches = rig, rig.pose.bones, benches
        first, middle, target = (self._bones[name] for name in self.ik.result[:3])
        base = self._bones[self.ik.base]
        self._aimed = first != base
        self._swing = first.parent if self._aimed else base.parent
        self._tracks = self._swing is not None and any(
            isinstance(c, bpy.types.DampedTrackConstraint) and c.subtarget == target.name
            for c in self._swing.constraints
        )
        parents = [self._swing, base.parent]
        if self._tracks and not self._aimed:
            parents.append(self._swing.parent)
        self.reads = {bone.name for bone in parents if bone} | {*filter(None, [self.ik.pole])}
        self.bases = {self.ik.base, *filter(None, [self.ik.pole])}
        self.values = {self.ik.pole_switch.path} if self.ik.pole_switch else set()
        self._stretch_paths = []
        if self._aimed or self.ik.pole_switch:
            self._stretch_paths = [f"{bone.path_from_id()}.ik_stretch" for bone in (first, middle)]
            self.values.update(self._stretch_paths)
        length = (middle.bone.head_local - first.bone.head_local).length
        self._rest_length = length + (target.bone.head_local - middle.bone.head_local).length
        self._first_share = length / self._rest_length
        to_end = np.array(target.bone.head_local - middle.bone.head_local)
        rest = np.array(first.bone.matrix_local)[:3, :3]
        self._offset = two_bone.bend_angle_at_rest(rest, to_end)
        self._sign = two_bone.bend_sign_at_rest(rest, to_end, self.ik.hinge)
        self._hangs = self._bones[limb.visible[2]].bone.use_connect
        self._made: dict[bool, Bench] = {}
        self._lead: float | None = None
        self._searches: dict[tuple[Unknowns, bool], Search] = {}

    @property
    def rest_length(self) -> float:
        """Length of the two bones."""
        return self._rest_length

    def begin(self, count: int) -> None:
        """Be ready for so many frames."""
        self._planes = np.zeros(count)
        self.shifts = np.zeros((count, 3))
        self.expected = np.zeros(count)
        self.uneven = np.zeros(count, bool)

    shifts: Array
    """How far (n, 3) the solver's target stands beside the wanted end, which the chain then reaches."""
    expected: Array
    """How far (n,) the middle joint was off on the bench, in lengths of the limb."""
    uneven: Mask
    """The frames (n,) on which the visible bones are not stretched alike: IK can scale a limb as a whole only."""

    def passive(self, played: Played) -> Iterator[Change]:
        """What base control, pole and IK stretch are, for frames on which nothing has to change."""
        count = len(played.bases[self.ik.base])
        everywhere = np.ones(count, bool)
        if self.ik.pole:
            yield Change(self.ik.pole, everywhere, played.bases[self.ik.pole], (LOCATION,), passive=True)
        for path in self._stretch_paths:
            yield Change(path, everywhere, played.values[path], passive=True)

    def scene(self, wanted: Poses, played: Played, targets: Array, moved: Mask | None = None) -> Scene:
        """What has to be solved, when the solver's target stands at `targets` (n, 3).

        Where the target will have `moved` (n,), by default on all frames, what follows it is foreseen.
        """
        upper, middle = (wanted[name] for name in self.limb.visible[:2])
        heads, middles = upper[:, :3, 3], middle[:, :3, 3]
        parents = self._foreseen_parents(played.poses, targets, moved)
        neutral = pose_from_basis(self._bone(self.ik.base), still(len(heads)), parents)
        rest, scale = split_scale(self._first_bone(neutral, targets)[:, :3, :3])
        frames = two_bone.chord_frames(rest, heads, targets)
        figure = two_bone.figure(frames, heads, middles)
        total = np.linalg.norm(middles - heads, axis=1) + np.linalg.norm(targets - middles, axis=1)
        poled = np.zeros(len(heads), bool)
        if self.ik.pole_switch:
            poled = played.values[self.ik.pole_switch.path] > 0.5
        return Scene(
            heads=heads,
            middles=middles,
            targets=targets,
            parents=parents,
            rest=rest,
            frames=frames,
            along=figure.along,
            across=figure.across,
            angle=figure.angle,
            forward=two_bone.hinge_angles(frames, upper[:, :3, self.ik.hinge], self.ik.hinge) + self._offset,
            size=np.abs(scale).prod(axis=1) ** (1 / 3),
            poled=poled,
            total=np.maximum(total, 1e-9),
        )

    def choose_planes(self, rows: Rows, scene: Scene) -> None:
        """Settle in which plane the limb bends on the next frames `rows`."""
        last = float(self._planes[rows[0] - 1]) if rows[0] else None
        first = np.linalg.norm(scene.middles - scene.heads, axis=1) / scene.total
        self.uneven[rows] = np.abs(first - self._first_share) > _UNEVEN
        off = two_bone.wrapped(scene.angle - scene.forward)
        folds = ~scene.poled & (not self._aimed)
        self._planes[rows] = two_bone.bend_planes(off, scene.across / scene.total, last, folds=folds)

    def solve(
        self, rows: Rows, scene: Scene, which: Mask, played: Played, seen: Mask | None = None
    ) -> Iterator[Change]:
        """The base control, the pole and the IK stretch on the frames `which` of a scene, found on the bench.

        On the frames `seen` it was played with the present controls: what it differs by from the bench is made up for.
        """
        if not which.any():
            return
        places = rows[which]
        part = scene.pick(which)
        goal = part.forward + self._planes[places]
        across = part.across * np.cos(part.angle - goal)  # to the other side in a limb that has folded
        wanted = np.stack([part.along, across, 0 * goal], axis=1)
        wanted /= part.total[:, None]
        if seen is not None:
            differs = self._difference(part, goal, played, which) * seen[which][:, None]
            wanted, goal = wanted - differs[:, :3], goal - differs[:, 3]
        whole, error = _Solved.blank(len(goal)), np.full(len(goal), np.inf)
        for kind, poled, mine in self._ways(part.poled, wanted[:, 1]):
            asked = np.flatnonzero(mine & (error > ACCEPTED))
            if len(asked):
                solved, off = self._ask_solver(part.pick(asked), kind, poled, wanted[asked], goal[asked])
                better = off < error[asked]
                error[asked[better]] = off[better]
                whole.put(asked, solved, better)
        self.expected[places] = error
        self.shifts[places] = part.frames[:, :, 1] * whole.shifts[:, None]
        base = whole.bases @ np.linalg.inv(rest_offset(self._bone(self.ik.base), self._bone(self.ik.result[0])))
        yield Change(self.ik.base, which, basis_from_pose(self._bone(self.ik.base), base, part.parents))
        if self.ik.pole and part.poled.any():
            yield self._pole_change(which & scene.poled, whole.poles[part.poled], played.poses)
        shared = part.poled | self._aimed
        if shared.any():
            for path, stretches in zip(self._stretch_paths, whole.stretches[shared].T, strict=True):
                yield Change(path, which & (scene.poled | self._aimed), stretches)

    def _ways(self, poled: Mask, across: Array) -> Iterator[tuple[Unknowns, bool, Mask]]:
        """What can be asked for, with or without the pole, and on which of the frames; the best first."""
        yield SHARED, True, poled
        if self._aimed:
            yield SHARED, False, ~poled
            return
        folded = across < 0
        yield FREE, False, ~poled & ~folded
        yield FOLDED, False, ~poled & folded
        stubborn = ~poled & (np.abs(across) < _STRAIGHT)  # what is nearly straight may be reached from the other side
        yield FREE, False, stubborn & folded
        yield FOLDED, False, stubborn & ~folded

    def _ask_solver(
        self, scene: Scene, kind: Unknowns, poled: bool, wanted: Array, goal: Array
    ) -> tuple[_Solved, Array]:
        """The controls for which the bench shows what is wanted (m, 3), and how far (m,) the middle joint is off."""
        turns = two_bone.wrapped(goal - self._offset)
        places = goal - self._pole_lead(scene, goal) if poled else goal
        usual = min(self._bones[name].ik_stretch for name in self.ik.result[:2])  # one may be keyed already
        shares = kind is SHARED

        def controls(rows: Rows | slice, x: Array, turned: Array, poles: Array) -> _Solved:
            part = scene.pick(rows)
            bends = np.zeros(len(x)) if shares else x[:, 1]
            stretches = two_bone.stretches_of(x[:, 1] if shares else 0 * x[:, 1], usual)
            bases = self._base_poses(part, x[:, 0], turned[rows], bends)
            return _Solved(bases, self._pole_places(part, poles[rows]), stretches, x[:, 2] * part.total)

        def ask(rows: Rows, x: Array) -> Array:
            part, given = scene.pick(rows), controls(rows, x, turns, places)
            targets = part.targets + part.frames[:, :, 1] * given.shifts[:, None]
            shown = self._shown(part, goal[rows], *self._on_bench(poled, given, targets))
            if not self._hangs:
                shown[:, 2] = x[:, 2]
            return shown

        if (kind, poled) not in self._searches:
            self._searches[kind, poled] = Search(kind)
        x, shown = self._searches[kind, poled].solve(wanted, ask)
        error = np.linalg.norm(shown[:, :2] - wanted[:, :2], axis=1)
        return controls(slice(None), x, turns - shown[:, 3], places - shown[:, 3]), error

    def _pole_lead(self, scene: Scene, goal: Array) -> float:
        """How far about the chord, in radians, the limb bends from where the pole stands: the pole angle tells.

        By Rigify's settings that is nothing, or half a turn where the second bone's Z axis is the hinge and points to
        the other side. It is asked once, on the frame that is bent most.
        """
        if self._lead is None:
            row = np.array([int(np.argmax(scene.across / scene.total))])
            part = scene.pick(row)
            bases = self._base_poses(part, np.ones(1), goal[row] - self._offset, np.zeros(1))
            middles, _ = self._bench(True).ask(bases, part.targets, self._pole_places(part, goal[row]))
            self._lead = float(two_bone.figure(part.frames, part.heads, middles).angle[0] - goal[row][0])
        return self._lead

    def _on_bench(self, poled: bool, given: _Solved, targets: Array) -> tuple[Array, Array]:
        stretches = given.stretches if poled or self._aimed else None
        return self._bench(poled).ask(given.bases, targets, given.poles if poled else None, stretches)

    def _shown(self, scene: Scene, goal: Array, middles: Array, ends: Array) -> Array:
        """Middle joint along and across, end of the chain beyond the target, and angle (n, 4), as the search has them.

        Lengths are in lengths of the limb. The angle is told as its difference from `goal` (n,); the middle joint is
        on the other side of the chord, its across negative, where that would be more than a right angle.
        """
        figure = two_bone.figure(scene.frames, scene.heads, middles)
        off = two_bone.wrapped(figure.angle - goal)
        other = np.abs(off) > np.pi / 2
        across = np.where(other, -figure.across, figure.across)
        beyond = np.einsum("ni,ni->n", scene.frames[:, :, 1], ends - scene.targets)
        lengths = np.stack([figure.along, across, _END_COUNTS * beyond], axis=1) / scene.total[:, None]
        return np.concatenate([lengths, two_bone.wrapped(np.where(other, off + np.pi, off))[:, None]], axis=1)

    def _difference(self, part: Scene, goal: Array, played: Played, which: Mask) -> Array:
        """By how much (m, 4) the rig shows something else than the bench, with the controls that it has now."""
        _, middle, target = self.ik.result[:3]
        poses, count = {name: pose[which] for name, pose in played.poses.items()}, len(goal)
        base = pose_from_basis(self._bone(self.ik.base), played.bases[self.ik.base][which], part.parents)
        stretches = np.zeros((count, 2))
        if self._stretch_paths:
            stretches = np.stack([played.values[path][which] for path in self._stretch_paths], axis=1)
        given = _Solved(
            self._first_bone(base, poses[target][:, :3, 3]),
            poses[self.ik.pole][:, :3, 3] if self.ik.pole else np.zeros((count, 3)),
            stretches,
            np.zeros(count),
        )
        ends = poses[middle][:, :3, 3] + self._bone(middle).length * poses[middle][:, :3, 1]
        rig = self._shown(part, goal, poses[middle][:, :3, 3], ends)
        bench = np.zeros_like(rig)
        for poled in (False, True):
            mine = part.poled == poled
            if mine.any():
                some = _Solved(*(getattr(given, field.name)[mine] for field in fields(given)))
                got = self._on_bench(poled, some, poses[target][mine][:, :3, 3])
                bench[mine] = self._shown(part.pick(mine), goal[mine], *got)
        differs = rig - bench
        differs[:, 3] = two_bone.wrapped(differs[:, 3])
        if not self._hangs:
            differs[:, 2] = 0
        return differs

    def _bench(self, poled: bool) -> Bench:
        if poled not in self._made:
            middle = self._bones[self.ik.result[1]]
            solvers = [c for c in middle.constraints if isinstance(c, bpy.types.KinematicConstraint)]
            solver = next(c for c in solvers if (c.pole_target is not None) == poled)
            self._made[poled] = self._benches.enter_context(Bench(self._rig, middle.name, solver))
        return self._made[poled]

    # Poses of bones

    def _bone(self, name: str) -> bpy.types.Bone:
        return self._bones[name].bone

    def _parent(self, poses: Poses, name: str) -> Array | None:
        parent = self._bones[name].parent
        return poses[parent.name] if parent else None

    def _foreseen_parents(self, poses: Poses, targets: Array, moved: Mask | None) -> Array | None:
        """Where the base control's parent will be once the target is at `targets` (n, 3)."""
        now = self._parent(poses, self.ik.base)
        if now is None or self._aimed or not self._tracks:
            return now
        pose = pose_from_basis(self._swing.bone, still(len(targets)), self._parent(poses, self._swing.name))
        pose = _aimed_at(pose, targets)
        return pose if moved is None else np.where(moved[:, None, None], pose, now)

    def _first_bone(self, bases: Array, targets: Array) -> Array:
        """Poses (n, 4, 4) of the first bone before solving, when the base control has the poses `bases` (n, 4, 4)."""
        if not self._aimed:
            return bases
        base, first = self._bone(self.ik.base), self._bone(self.ik.result[0])
        swing = bases @ rest_offset(base, self._swing.bone)
        return (_aimed_at(swing, targets) if self._tracks else swing) @ rest_offset(self._swing.bone, first)

    def _base_poses(self, scene: Scene, sizes: Array, turns: Array, bends: Array) -> Array:
        """Poses (n, 4, 4) of the first bone before solving."""
        poses = still(len(sizes))
        if self._aimed:
            turn = two_bone.turned(scene.frames, turns, scene.rest)
        else:
            turn = two_bone.base_rotations(scene.frames, turns, self._sign * bends, self.ik.hinge)
        poses[:, :3, :3] = turn * (sizes * scene.total / self._rest_length)[:, None, None]
        poses[:, :3, 3] = scene.heads
        return poses

    def _pole_places(self, scene: Scene, angles: Array) -> Array:
        """Beside the chord's middle (n, 3), as far away as in the rest pose."""
        if not self.ik.pole:
            return np.zeros_like(scene.heads)
        away = np.stack([np.sin(angles), np.zeros(len(angles)), np.cos(angles)], axis=1)
        out = np.einsum("nij,nj->ni", scene.frames, away) * (self._pole_distance() * scene.size)[:, None]
        return (scene.heads + scene.targets) / 2 + out

    def _pole_change(self, which: Mask, places: Array, poses: Poses) -> Change:
        assert self.ik.pole
        bone, parents = self._bone(self.ik.pole), self._parent(poses, self.ik.pole)
        parents = None if parents is None else parents[which]
        pole = pose_from_basis(bone, still(len(places)), parents)
        pole[:, :3, 3] = places
        return Change(self.ik.pole, which, basis_from_pose(bone, pole, parents), (LOCATION,))

    def _pole_distance(self) -> float:
        head = np.array(self._bone(self.ik.result[0]).head_local)
        tip = np.array(self._bone(self.ik.result[2]).head_local)
        to_pole = np.array(self._bone(self.ik.pole).head_local) - head
        chord = (tip - head) / np.linalg.norm(tip - head)
        return float(np.linalg.norm(to_pole - (to_pole @ chord) * chord)) or self._rest_length


def _aimed_at(poses: Array, targets: Array) -> Array:
    """Poses (n, 4, 4) turned by the shortest way so that their Y axes point at targets (n, 3)."""
    out = poses.copy()
    out[:, :3, :3] = shortest_arc(poses[:, :3, 1], targets - poses[:, :3, 3]) @ poses[:, :3, :3]
    return out
