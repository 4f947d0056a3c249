# SPDX-License-Identifier: GPL-3.0-or-later
"""The IK side of a limb made to show wanted poses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ..geometry import two_bone
from ..geometry.rotations import about_axis, shortest_arc, split_scale, to_eulers
from ..geometry.search import Rows, Search
from ..geometry.two_bone import FOLDED, FREE, POLED
from .bench import Bench
from .controls import LOCATION, basis_from_pose, carried, pose_from_basis, rest_offset
from .limbs import Limb
from .stage import Played, Poses
from .tracks import Change, apart, still

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_CLOSE = 4e-5
"""A middle joint nearer than this to its place, in lengths of the limb, is there already."""
_ACCEPTED = 1.6e-4
"""A middle joint nearer than this to its place is not corrected again after it was solved."""
_UNEVEN = 1e-3
"""By how much the first bone's share of the limb's length may differ from that at rest without a word."""
_STRAIGHT = 2e-3
"""A middle joint nearer to the chord than this, in lengths of the limb, may be reached from either side."""
_END_COUNTS = 3.0
"""Where not both can be had, the end of the chain is worth more than the middle joint."""
_SOLVER_TOLERANCE = 5e-4
"""How far the solver may leave the end of the chain from its target, in lengths of the limb."""


@dataclass
class _Scene:
    """What is known of n frames before the solver is asked, all in armature space."""

    heads: Array
    middles: Array
    targets: Array
    swing: Array | None
    frames: Array
    wanted: two_bone.Figure
    forward: Array
    """Where (n,) about the chord the hinge of the visible limb would bend it to."""
    size: Array
    """The scale (n,) that the base control inherits."""
    poled: Mask
    total: Array
    """Length (n,) of the visible limb."""

    def pick(self, rows: Mask | Rows | slice) -> _Scene:
        """The same for some of the frames."""
        figure = (self.wanted.along[rows], self.wanted.across[rows], self.wanted.angle[rows])
        return _Scene(
            heads=self.heads[rows],
            middles=self.middles[rows],
            targets=self.targets[rows],
            swing=None if self.swing is None else self.swing[rows],
            frames=self.frames[rows],
            wanted=two_bone.Figure(*figure),
            forward=self.forward[rows],
            size=self.size[rows],
            poled=self.poled[rows],
            total=self.total[rows],
        )


@dataclass
class _Solved:
    """What base control and pole must be on m frames, in armature space."""

    bases: Array
    poles: Array
    stretches: Array
    shifts: Array
    """How far (m,) the target is moved along the chord."""


class IkMatch:
    """IK controls that bring the middle and the end joint to where they were seen.

    The end control follows from the wanted end at once. The base control has three free parameters without a pole:
    turn about the chord, size, and the bend to start from. With a pole the pole makes the turn, the start does not
    count, and the base's share of the stretching stands in for it. They are found by asking the solver on a bench.
    The visible end hangs on the second bone, which ends beside the target: the target makes up for that. Roll controls
    are neutral, unless the roll shall be kept.
    """

    def __init__(self, rig: bpy.types.Object, limb: Limb, benches: ExitStack, *, keep_roll: bool = False) -> None:
        """With `keep_roll` the end control keeps its orientation, as far as the heel can roll the foot from it."""
        self.limb, self.ik = limb, limb.ik
        self._rig, self._bones, self._benches = rig, rig.pose.bones, benches
        base, middle, target = (self._bones[name] for name in self.ik.result[:3])
        self._swing = base.parent
        self._tracks = self._swing is not None and any(
            isinstance(c, bpy.types.DampedTrackConstraint) and c.subtarget == target.name
            for c in self._swing.constraints
        )
        controls = [self.ik.end, *self.ik.rolls, *self.ik.tail, *filter(None, [self.ik.pole])]
        parents = {self._bones[name].parent for name in controls} | {self._swing, target.parent}
        if self._tracks:
            parents.add(self._swing.parent)
        self.reads = {*limb.visible, *self.ik.result, *controls, *(bone.name for bone in parents if bone)}
        self.bases = {self.ik.base, *self.ik.rolls, *filter(None, [self.ik.pole])}
        self._stretch_path = f"{base.path_from_id()}.ik_stretch"
        self.values = {self.ik.pole_switch.path, self._stretch_path} if self.ik.pole_switch else set()
        first = (middle.bone.head_local - base.bone.head_local).length
        self._rest_length = first + (target.bone.head_local - middle.bone.head_local).length
        self._first_share = first / self._rest_length
        to_end = np.array(target.bone.head_local - middle.bone.head_local)
        self._offset = two_bone.bend_angle_at_rest(np.array(base.bone.matrix_local)[:3, :3], to_end)
        self._heel = self.ik.heel if keep_roll else None
        self._hangs = self._bones[limb.visible[2]].bone.use_connect
        self._made: dict[bool, Bench] = {}
        self._searches = {kind: Search(kind) for kind in (FREE, FOLDED, POLED)}

    def begin(self, count: int) -> None:
        """Be ready for so many frames."""
        self._kept = np.zeros(count, bool)
        self._planes = np.zeros(count)
        self._shifts = np.zeros((count, 3))
        self._expected = np.zeros(count)
        self.held_back, self.uneven = np.zeros(count, bool), np.zeros(count, bool)

    held_back: Mask
    """The frames (n,) on which a constraint keeps the target from where the controls carry it: out of reach."""
    uneven: Mask
    """The frames (n,) on which the visible bones are not stretched alike: IK can scale a limb as a whole only."""

    def first(self, rows: Rows, wanted: Poses, played: Played) -> Iterator[Change]:
        """All controls on the next frames `rows`, from what was seen on them before any was changed."""
        poses = played.poses
        kept = self._kept[rows] = self._fitting(wanted, poses)
        everywhere = np.ones(len(rows), bool)
        for name in self.ik.rolls:
            basis = self._rolled(name, wanted, poses) if name == self._heel else still(len(rows))
            if self._heel:
                basis[kept] = played.bases[name][kept]
            yield Change(name, everywhere, basis)
        if self.ik.pole:
            yield Change(self.ik.pole, everywhere, played.bases[self.ik.pole], (LOCATION,), passive=True)
        if self._stretch_path in self.values:
            yield Change(self._stretch_path, everywhere, played.values[self._stretch_path], passive=True)
        yield Change(self.ik.base, kept, played.bases[self.ik.base][kept])

        goal = self._target(rows, wanted, poses)[:, :3, 3]
        scene = self._scene(wanted, played, goal, self._foreseen_swing(poses, goal))
        self._choose_planes(rows, scene)
        yield from self._solve(rows, scene, ~kept, played)

        target = self._target(rows, wanted, poses)  # the solving has shifted it
        to_target = rest_offset(self._bone(self.ik.end), self._bone(self.ik.result[2]))
        end = target @ np.linalg.inv(to_target)
        if self._heel:
            end[kept] = poses[self.ik.end][kept]
        yield self._change(self.ik.end, everywhere, end, self._parent(poses, self.ik.end))
        for name, pose in self._tail(wanted):
            yield self._change(name, everywhere, pose, self._foreseen_parent(name, poses, end, target))

    def again(self, rows: Rows, wanted: Poses, played: Played) -> Iterator[Change]:
        """What is to be changed on the frames `rows`, from what is seen now that controls were written."""
        poses = played.poses
        now = self._carried(poses)
        target = self._target(rows, wanted, poses)
        moved = apart(target, now)
        self.held_back[rows] = apart(now, poses[self.ik.result[2]])
        goal = np.where(moved[:, None], target[:, :3, 3], poses[self.ik.result[2]][:, :3, 3]) - self._shifts[rows]
        swing = self._foreseen_swing(poses, goal)
        if swing is not None:
            swing = np.where(moved[:, None, None], swing, poses[self._swing.name])
        scene = self._scene(wanted, played, goal, swing)
        off = np.linalg.norm(poses[self.ik.result[1]][:, :3, 3] - scene.middles, axis=1) / scene.total
        wrong = moved | (off > np.maximum(_ACCEPTED, 1.1 * self._expected[rows]))
        yield from self._solve(rows, scene, wrong, played, ~moved)

        target = self._target(rows, wanted, poses)
        moved = apart(target, now)
        end = target @ np.linalg.inv(now) @ poses[self.ik.end]
        yield self._change(self.ik.end, moved, end, self._parent(poses, self.ik.end))
        for name, pose in self._tail(wanted):
            parents = self._parent(poses, name)
            if parents is not None:
                parents = np.where(moved[:, None, None], carried(parents, now, target), parents)
            yield self._change(name, moved | apart(pose, poses[name]), pose, parents)

    def _target(self, rows: Rows, wanted: Poses, poses: Poses) -> Array:
        """Where (n, 4, 4) the solver's target shall be: on frames that are kept as they are, where it is carried to."""
        end = wanted[self.limb.visible[2]].copy()
        end[:, :3, 3] += self._shifts[rows]
        return np.where(self._kept[rows][:, None, None], self._carried(poses), end)

    def _rolled(self, heel: str, wanted: Poses, poses: Poses) -> Array:
        """Basis matrices (n, 4, 4) of the heel that turn the foot, less its yaw, from where the end control has it."""
        bone, end = self._bones[heel], self._bone(self.ik.end)
        now = poses[self.ik.end] @ rest_offset(end, bone.bone)
        then = wanted[self.limb.visible[2]] @ rest_offset(self._bone(self.ik.result[2]), bone.bone)
        turn = split_scale((np.linalg.inv(now) @ then)[:, :3, :3])[0]
        order = (
            bone.rotation_mode[1:] + bone.rotation_mode[0]
        )  # the yaw, about which Rigify's heels turn first, comes last
        angles = to_eulers(turn, order)
        basis = still(len(turn))
        for axis in ("XYZ".index(letter) for letter in order[:2]):
            basis[:, :3, :3] = about_axis(axis, angles[:, axis]) @ basis[:, :3, :3]
        return basis

    def _fitting(self, wanted: Poses, poses: Poses) -> Mask:
        """The frames (n,) on which the IK side shows the visible pose already."""
        pairs = list(zip(self.limb.visible, self.ik.result, strict=True))[:3]
        off = [np.linalg.norm(wanted[seen][:, :3, 3] - poses[result][:, :3, 3], axis=1) for seen, result in pairs]
        joints = np.max(off[:2], axis=0) < _CLOSE * self._rest_length
        return joints & (off[2] < _SOLVER_TOLERANCE * self._rest_length)

    # Poses of bones

    def _bone(self, name: str) -> bpy.types.Bone:
        return self._bones[name].bone

    def _parent(self, poses: Poses, name: str) -> Array | None:
        parent = self._bones[name].parent
        return poses[parent.name] if parent else None

    def _tail(self, wanted: Poses) -> Iterator[tuple[str, Array]]:
        yield from zip(self.ik.tail, (wanted[name] for name in self.limb.visible[3:]), strict=True)

    def _carried(self, poses: Poses) -> Array:
        """Where the controls carry the target to, before a constraint holds it back from out of reach."""
        target = self._bones[self.ik.result[2]]
        return poses[target.parent.name] @ rest_offset(target.parent.bone, target.bone)

    def _change(self, name: str, rows: Mask, poses: Array, parents: Array | None) -> Change:
        parents = None if parents is None else parents[rows]
        return Change(name, rows, basis_from_pose(self._bone(name), poses[rows], parents))

    def _foreseen_swing(self, poses: Poses, targets: Array) -> Array | None:
        """Where the base control's parent will be once the target is at `targets` (n, 3)."""
        if self._swing is None:
            return None
        if not self._tracks:
            return poses[self._swing.name]
        pose = pose_from_basis(self._swing.bone, still(len(targets)), self._parent(poses, self._swing.name))
        turn = shortest_arc(pose[:, :3, 1], targets - pose[:, :3, 3])
        pose[:, :3, :3] = turn @ pose[:, :3, :3]
        return pose

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

    def _scene(self, wanted: Poses, played: Played, targets: Array, swing: Array | None) -> _Scene:
        upper, middle = (wanted[name] for name in self.limb.visible[:2])
        heads, middles = upper[:, :3, 3], middle[:, :3, 3]
        rest = pose_from_basis(self._bone(self.ik.base), still(len(heads)), swing)
        _, scale = split_scale(rest[:, :3, :3])
        frames = two_bone.chord_frames(rest[:, :3, :3], heads, targets)
        total = np.linalg.norm(middles - heads, axis=1) + np.linalg.norm(targets - middles, axis=1)
        poled = np.zeros(len(heads), bool)
        if self.ik.pole_switch:
            poled = played.values[self.ik.pole_switch.path] > 0.5
        hinges = two_bone.hinge_angles(frames, upper[:, :3, self.ik.hinge], self.ik.hinge)
        return _Scene(
            heads,
            middles,
            targets,
            swing,
            frames,
            two_bone.figure(frames, heads, middles),
            hinges + self._offset,
            np.abs(scale).prod(axis=1) ** (1 / 3),
            poled,
            np.maximum(total, 1e-9),
        )

    def _choose_planes(self, rows: Rows, scene: _Scene) -> None:
        last = float(self._planes[rows[0] - 1]) if rows[0] else None
        first = np.linalg.norm(scene.middles - scene.heads, axis=1) / scene.total
        self.uneven[rows] = np.abs(first - self._first_share) > _UNEVEN
        off = two_bone.wrapped(scene.wanted.angle - scene.forward)
        self._planes[rows] = two_bone.bend_planes(off, scene.wanted.across / scene.total, last, folds=~scene.poled)

    # Solving

    def _solve(
        self, rows: Rows, scene: _Scene, which: Mask, played: Played, seen: Mask | None = None
    ) -> Iterator[Change]:
        """The base control, and the pole, on the frames `which` of a scene, found on the bench.

        On the frames `seen` it was played with the present controls: what it differs by from the bench is made up for.
        """
        if not which.any():
            return
        places = rows[which]
        part = scene.pick(which)
        goal = part.forward + self._planes[places]
        across = part.wanted.across * np.cos(part.wanted.angle - goal)  # to the other side in a limb that has folded
        wanted = np.stack([part.wanted.along, across, 0 * goal], axis=1)
        wanted /= part.total[:, None]
        if seen is not None:
            differs = self._difference(part, goal, played, which) * seen[which][:, None]
            wanted, goal = wanted - differs[:, :3], goal - differs[:, 3]
        whole = _Solved(still(len(goal)), np.zeros((len(goal), 3)), np.zeros(len(goal)), np.zeros(len(goal)))
        error = np.full(len(goal), np.inf)
        folded = wanted[:, 1] < 0
        stubborn = ~part.poled & (np.abs(wanted[:, 1]) < _STRAIGHT)
        for kind, mine in (
            (FREE, ~part.poled & ~folded),
            (FOLDED, ~part.poled & folded),
            (POLED, part.poled),
            (FREE, stubborn & folded),  # what is nearly straight may be reached from the other side
            (FOLDED, stubborn & ~folded),
        ):
            asked = np.flatnonzero(mine & (error > _ACCEPTED))
            if len(asked):
                solved, off = self._ask_solver(part.pick(asked), kind, wanted[asked], goal[asked])
                better = off < error[asked]
                error[asked[better]] = off[better]
                for name in ("bases", "poles", "stretches", "shifts"):
                    getattr(whole, name)[asked[better]] = getattr(solved, name)[better]
        self._expected[places] = error
        self._shifts[places] = part.frames[:, :, 1] * whole.shifts[:, None]
        yield Change(self.ik.base, which, basis_from_pose(self._bone(self.ik.base), whole.bases, part.swing))
        if self.ik.pole and part.poled.any():
            yield self._pole_change(which & scene.poled, whole.poles[part.poled], played.poses)
            yield Change(self._stretch_path, which & scene.poled, whole.stretches[part.poled])

    def _ask_solver(self, scene: _Scene, kind: two_bone.Unknowns, wanted: Array, goal: Array) -> tuple[_Solved, Array]:
        """The controls for which the bench shows what is wanted (m, 3), and how far (m,) the middle joint is off."""
        turns = two_bone.wrapped(goal - self._offset)
        usual = self._bones[self.ik.base].ik_stretch

        def controls(rows: Rows | slice, x: Array, turned: Array, poles: Array) -> _Solved:
            part = scene.pick(rows)
            bends = np.zeros(len(x)) if kind is POLED else x[:, 1]
            shares = two_bone.stretch_of(x[:, 1], usual) if kind is POLED else np.full(len(x), usual)
            bases = self._base_poses(part, x[:, 0], turned[rows], bends)
            return _Solved(bases, self._pole_places(part, poles[rows]), shares, x[:, 2] * part.total)

        def ask(rows: Rows, x: Array) -> Array:
            part, given = scene.pick(rows), controls(rows, x, turns, goal)
            targets = part.targets + part.frames[:, :, 1] * given.shifts[:, None]
            shown = self._shown(part, goal[rows], *self._on_bench(kind is POLED, given, targets))
            if not self._hangs:
                shown[:, 2] = x[:, 2]
            return shown

        x, shown = self._searches[kind].solve(wanted, ask)
        error = np.linalg.norm(shown[:, :2] - wanted[:, :2], axis=1)
        return controls(slice(None), x, turns - shown[:, 3], goal - shown[:, 3]), error

    def _on_bench(self, poled: bool, given: _Solved, targets: Array) -> tuple[Array, Array]:
        return self._bench(poled).ask(given.bases, targets, *((given.poles, given.stretches) if poled else ()))

    def _shown(self, scene: _Scene, goal: Array, middles: Array, ends: Array) -> Array:
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

    def _difference(self, part: _Scene, goal: Array, played: Played, which: Mask) -> Array:
        """By how much (m, 4) the rig shows something else than the bench, with the controls that it has now."""
        base, (_, middle, target) = self.ik.base, self.ik.result[:3]
        poses, count = {name: pose[which] for name, pose in played.poses.items()}, len(goal)
        given = _Solved(
            pose_from_basis(self._bone(base), played.bases[base][which], part.swing),
            poses[self.ik.pole][:, :3, 3] if self.ik.pole else np.zeros((count, 3)),
            played.values[self._stretch_path][which] if self.ik.pole_switch else np.zeros(count),
            np.zeros(count),
        )
        ends = poses[middle][:, :3, 3] + self._bone(middle).length * poses[middle][:, :3, 1]
        rig = self._shown(part, goal, poses[middle][:, :3, 3], ends)
        bench = np.zeros_like(rig)
        for poled in (False, True):
            mine = part.poled == poled
            if mine.any():
                some = _Solved(*(getattr(given, name)[mine] for name in ("bases", "poles", "stretches", "shifts")))
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

    def _base_poses(self, scene: _Scene, sizes: Array, turns: Array, bends: Array) -> Array:
        """Poses (n, 4, 4) of the base control before solving."""
        poses = still(len(sizes))
        turn = two_bone.base_rotations(scene.frames, turns, bends, self.ik.hinge)
        poses[:, :3, :3] = turn * (sizes * scene.total / self._rest_length)[:, None, None]
        poses[:, :3, 3] = scene.heads
        return poses

    def _pole_places(self, scene: _Scene, angles: Array) -> Array:
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
        head = np.array(self._bone(self.ik.base).head_local)
        tip = np.array(self._bone(self.ik.result[2]).head_local)
        to_pole = np.array(self._bone(self.ik.pole).head_local) - head
        chord = (tip - head) / np.linalg.norm(tip - head)
        return float(np.linalg.norm(to_pole - (to_pole @ chord) * chord)) or self._rest_length
