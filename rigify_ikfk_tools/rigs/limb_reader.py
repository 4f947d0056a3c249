# SPDX-License-Identifier: GPL-3.0-or-later
"""Which limbs a rig has, read from its structure and not from its names.

A limb of a generated Rigify rig is a chain of bones that each carry two Copy Transforms constraints: the first to a
control of the FK side, the second to a bone of the IK side, with its influence driven by ``1 - slider``. All else is
found by following constraints, drivers and parents from there.

A finger with an IK control is a chain of bones that each carry one Copy Transforms constraint; the last has an Inverse
Kinematics constraint besides, with its influence driven by the slider.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import bpy

from ..errors import ToolError
from .limbs import Finger, IkSide, Limb, Setting

CopyTransforms = bpy.types.CopyTransformsConstraint
InverseKinematics = bpy.types.KinematicConstraint

_BONE_PROPERTY = re.compile(r'^pose\.bones\["(?P<bone>(?:[^"\\]|\\.)+)"\]\["(?P<name>(?:[^"\\]|\\.)+)"\]$')
_CONSTRAINT = re.compile(r'^pose\.bones\["(?P<bone>.+)"\]\.constraints\["(?P<constraint>.+)"\]\.(?P<what>\w+)$')


def read_limbs(rig: bpy.types.Object) -> tuple[list[Limb], dict[str, str]]:
    """The limbs of a rig that can be served, and the reason for each that can't, by name.

    `rig` is an armature object. Scripts of the file need not have run: the pose bones, their constraints and the
    drivers say it all.
    """
    structure = _Structure(rig)
    limbs, unserved = [], {}
    for slider, switched in structure.switched_chains():
        chain = structure.with_lost_bones(slider, switched)
        name = _without_prefix(chain[min(2, len(chain) - 1)])
        try:
            structure.refuse_losses(slider, chain, switched)
            limbs.append(structure.limb(name, slider, chain))
        except _NotServed as reason:
            unserved[name] = str(reason)
    for name, solved, solver in structure.corrected_chains():
        try:
            limbs.append(structure.finger(solved, solver))
        except _NotServed as reason:
            unserved[name] = str(reason)
    return limbs, unserved


def pick_limbs(rig: bpy.types.Object, names: Sequence[str] | None = None) -> list[Limb]:
    """The limbs of the rig with the given names, in that order, or all of them.

    ``hand.L`` and ``arm.L`` both name the left arm. Raises ToolError when the rig has no limb or not that one.
    """
    limbs, unserved = read_limbs(rig)
    if not limbs:
        reasons = " ".join(f"{name}: {reason}." for name, reason in unserved.items())
        raise ToolError(f"{rig.name!r} has no limb with an IK and an FK side. {reasons}".strip())
    if names is None:
        return limbs
    by_name = {limb.alias: limb for limb in limbs} | {limb.name: limb for limb in limbs}
    picked: list[Limb] = []
    for name in names:
        if name not in by_name:
            if name in unserved:
                raise ToolError(f"The limb {name!r} of {rig.name!r} can't be served: {unserved[name]}.")
            exist = ", ".join(limb.name for limb in limbs)
            raise ToolError(f"{rig.name!r} has no limb {name!r}. It has {exist}.")
        if by_name[name] not in picked:
            picked.append(by_name[name])
    if not picked:
        raise ToolError("No limb was named.")
    return picked


def read_setting(rig: bpy.types.Object, driver: bpy.types.FCurve) -> Setting | None:
    """The one property of a bone of the rig that a driver reads, or None where it reads anything else."""
    variables = driver.driver.variables
    if len(variables) != 1 or variables[0].type != "SINGLE_PROP" or variables[0].targets[0].id != rig:
        return None
    found = _BONE_PROPERTY.match(variables[0].targets[0].data_path)
    if not found or _unescape(found["bone"]) not in rig.pose.bones:
        return None
    return Setting(_unescape(found["bone"]), _unescape(found["name"]))


class _NotServed(Exception):
    """The text says why a limb can't be served."""


class _Structure:
    """The drivers and constraints of one rig, indexed for reading."""

    def __init__(self, rig: bpy.types.Object) -> None:
        self.rig = rig
        self.bones = rig.pose.bones
        self.settings: dict[tuple[str, str, str], Setting] = {}
        self.driven_paths: set[str] = set()
        drivers = rig.animation_data.drivers if rig.animation_data else ()
        for curve in drivers:
            if curve.mute:
                continue
            self.driven_paths.add(curve.data_path)
            place = _CONSTRAINT.match(curve.data_path)
            setting = read_setting(rig, curve)
            if place and setting:
                self.settings[place["bone"], place["constraint"], place["what"]] = setting

    def _driven(self, bone: str, constraint: bpy.types.Constraint, what: str) -> Setting | None:
        return self.settings.get((_escape(bone), _escape(constraint.name), what))

    def switched_chains(self) -> Iterator[tuple[Setting, list[str]]]:
        """Each slider with the bones that it switches, root first."""
        chains: dict[Setting, list[str]] = {}
        for bone in self.bones:
            pair = self._copied(bone)
            if pair is not None:
                slider = self._driven(bone.name, pair[1], "influence")
                if slider is not None:
                    chains.setdefault(slider, []).append(bone.name)
        for slider, chain in chains.items():
            chain.sort(key=self._depth)
            if all(upper in lower.parent_recursive for upper, lower in pairwise(self.bones[name] for name in chain)):
                yield slider, chain  # a jaw's bones lie side by side

    def _depth(self, name: str) -> int:
        return len(self.bones[name].parent_recursive)

    def _copies(self, bone: bpy.types.PoseBone) -> list[CopyTransforms]:
        return [
            c
            for c in bone.constraints
            if isinstance(c, CopyTransforms) and c.target == self.rig and c.subtarget in self.bones
        ]

    def _copied(self, bone: bpy.types.PoseBone) -> tuple[CopyTransforms, CopyTransforms] | None:
        copies = self._copies(bone)
        return (copies[0], copies[1]) if len(copies) == 2 else None

    def _copied_surely(self, name: str) -> tuple[CopyTransforms, CopyTransforms]:
        pair = self._copied(self.bones[name])
        assert pair is not None
        return pair

    def with_lost_bones(self, slider: Setting, chain: list[str]) -> list[str]:
        """The chain with those of its bones that the slider has ceased to switch, since something was removed."""
        whole = chain[:1]
        for name in chain[1:]:
            upper = [bone.name for bone in self.bones[name].parent_recursive]
            whole += [*reversed(upper[: upper.index(whole[-1])]), name]
        (_, first), (fk, result) = (self._copied_surely(name) for name in (chain[0], chain[-1]))
        above = self.bones[chain[0]].parent
        if above is not None and any(isinstance(c, InverseKinematics) for c in self.bones[first.subtarget].constraints):
            whole.insert(0, above.name)  # the solver is on the second bone
        shared = [name for name, _ in self._shared(chain[-1], slider)]
        ends = {fk.subtarget, result.subtarget}
        for child in self.bones[chain[-1]].children:
            copies = self._copies(child)
            hang = any(ends & {bone.name for bone in self.bones[c.subtarget].parent_recursive} for c in copies)
            switched = any(self._driven(child.name, copy, "influence") == slider for copy in copies)
            if (hang or (switched and len(whole) < 3)) and child.name not in shared:
                whole.append(child.name)
        return whole

    def refuse_losses(self, slider: Setting, chain: Sequence[str], switched: Sequence[str]) -> None:
        """Raise _NotServed when a part of the limb, which was there when Rigify made it, is gone or switched off."""
        for name in chain:
            copies = self._copies(self.bones[name])
            if len(copies) != 2:
                raise _NotServed(
                    f"{name!r} has {len(copies)} Copy Transforms constraints instead of two, for FK and for IK"
                )
            if name not in switched:
                raise _NotServed(f"the slider does not drive the influence of {copies[1].name!r} on {name!r}")
            self._refuse_idle(name, *copies)
        if slider.name not in self.bones[slider.bone].keys():  # noqa: SIM118 - a pose bone has no other way to ask
            raise _NotServed(f"{slider.bone!r} has no property {slider.name!r}")

    def _refuse_idle(self, bone: str, *constraints: bpy.types.Constraint) -> None:
        """Raise _NotServed when a constraint is muted or has no full influence, and no driver says so."""
        for constraint in constraints:
            path = f'pose.bones["{_escape(bone)}"].constraints["{_escape(constraint.name)}"]'
            if constraint.mute and f"{path}.mute" not in self.driven_paths:
                raise _NotServed(f"the constraint {constraint.name!r} on {bone!r} is muted")
            if constraint.influence < 1 and f"{path}.influence" not in self.driven_paths:
                raise _NotServed(f"{constraint.name!r} on {bone!r} has an influence of {constraint.influence:.2g}")

    def limb(self, name: str, slider: Setting, chain: list[str]) -> Limb:
        """The limb that `slider` switches on `chain`. Raises _NotServed."""
        pairs = [self._copied(self.bones[bone]) for bone in chain]
        fk = tuple(pair[0].subtarget for pair in pairs if pair)
        result = tuple(pair[1].subtarget for pair in pairs if pair)
        if len(chain) < 3:
            raise _NotServed(f"its chain has {len(chain)} bones, three are needed")
        socket = None
        for visible, control in self._shared(chain[-1], slider):
            chain, fk, result = [*chain, visible], (*fk, control), (*result, control)
            socket = self._leader(self.bones[control].parent)
        ik = self._ik_side(result, socket)
        kind = "paw" if ik.pivots else "leg" if len(chain) > 3 else "arm"  # a leg has a toe
        return Limb(name, kind, tuple(chain), fk, ik, slider)

    def _shared(self, end: str, slider: Setting) -> Iterator[tuple[str, str]]:
        """Visible bones beyond the end whose one control serves both sides, since its parent follows the slider.

        The toe of a leg that was generated without a toe of its own for IK.
        """
        for bone in self.bones[end].children:
            copies = [c for c in bone.constraints if isinstance(c, CopyTransforms) and c.target == self.rig]
            control = self.bones.get(copies[0].subtarget) if len(copies) == 1 else None
            if control is not None and control.parent is not None:
                settings = [self._driven(control.parent.name, c, "influence") for c in control.parent.constraints]
                if slider in settings:
                    yield bone.name, control.name

    def _leader(self, bone: bpy.types.PoseBone) -> bpy.types.PoseBone:
        """What a bone copies, or itself."""
        return self._source(bone) or bone

    def _ik_side(self, result: tuple[str, ...], socket: bpy.types.PoseBone | None) -> IkSide:
        """The IK side whose bones are `result`; `socket` carries the control of the last, where that serves FK too."""
        first, middle, target = (self.bones[name] for name in result[:3])
        solvers = [c for c in middle.constraints if isinstance(c, InverseKinematics) and c.target == self.rig]
        if not solvers:
            raise _NotServed(f"its IK side has no Inverse Kinematics constraint on the second bone, {middle.name!r}")
        solver = solvers[0]
        if solver.chain_count != 2 or solver.subtarget != target.name or middle.parent != first:
            raise _NotServed(f"{solver.name!r} on {middle.name!r} does not bend two bones toward the end of the chain")
        self._refuse_idle(middle.name, *solvers)
        if all(c.pole_subtarget for c in solvers):
            raise _NotServed(f"{middle.name!r} has no Inverse Kinematics constraint for the time without pole")
        hinges = [axis for axis in range(3) if not (middle.lock_ik_x, middle.lock_ik_y, middle.lock_ik_z)[axis]]
        poled = next((c for c in solvers if c.pole_target == self.rig and c.pole_subtarget in self.bones), None)
        pivots = tuple(self._pivots(result, socket))
        end, rolls, heel = self._end_control(socket if pivots and socket is not None else target)
        tail = tuple(name for place, name in enumerate(result) if place > 2 and place not in dict(pivots).values())
        if any(_is_mechanism(self.bones[name]) for name in tail):
            raise _NotServed("a bone beyond its end has no control on the IK side")
        return IkSide(
            result=result,
            base=self._base_control(first),
            end=end,
            pole=poled.pole_subtarget if poled else None,
            tail=tail,
            rolls=rolls,
            pivots=pivots,
            heel=heel,
            hinge=hinges[0] if len(hinges) == 1 else 0,
            pole_switch=self._driven(middle.name, poled, "mute") if poled else None,
            stretch=self._reach(target),
        )

    def _base_control(self, first: bpy.types.PoseBone) -> str:
        """The first bone of the solver's chain, or the control that carries the bone that aims it at the target."""
        if not _is_mechanism(first):
            return first.name
        swing = first.parent
        if swing is None or swing.parent is None or _is_mechanism(swing.parent):
            raise _NotServed(f"no control turns {first.name!r}, the first bone of its IK chain")
        return swing.parent.name

    def _pivots(self, result: tuple[str, ...], socket: bpy.types.PoseBone | None) -> Iterator[tuple[str, int]]:
        heel = self.bones[result[2]].parent
        if socket is None or heel is None or _is_mechanism(heel) or heel in socket.parent_recursive:
            return
        for place in range(len(result) - 2, 2, -1):
            control = self.bones[result[place]].parent
            if control is None or _is_mechanism(control):
                raise _NotServed(f"no control turns {result[place]!r} on the IK side")
            yield control.name, place
        yield heel.name, 2

    def _reach(self, target: bpy.types.PoseBone) -> Setting | None:
        """The setting that drives how far the target may be away."""
        limits = (c for c in target.constraints if isinstance(c, bpy.types.LimitDistanceConstraint))
        return next(filter(None, (self._driven(target.name, limit, "influence") for limit in limits)), None)

    def _end_control(self, carried: bpy.types.PoseBone) -> tuple[str, tuple[str, ...], str | None]:
        """The control that carries the end of a limb, the controls between the two, and which of them is the heel."""
        line = []
        bone = carried.parent
        while bone is not None and not any(c.type == "ARMATURE" for c in bone.constraints):
            line.append(bone)
            bone = bone.parent
        free = [bone for bone in line if not _is_mechanism(bone)]
        if not free:
            raise _NotServed("no control moves the target of its IK solver")
        end = free[-1]
        between = {bone.name for bone in line[: line.index(end)]}
        heels = []
        for bone in list(line[: line.index(end)]):  # a roll may be copied from a control beside the line
            for constraint in bone.constraints:
                subtarget = getattr(constraint, "subtarget", "")
                if subtarget in self.bones and end in self.bones[subtarget].parent_recursive:
                    between.add(subtarget)
                    bone = self.bones[subtarget]
                    if constraint.type == "COPY_ROTATION" and bone.rotation_mode not in ("QUATERNION", "AXIS_ANGLE"):
                        heels.append(subtarget)
        rolls = [name for name in between if not _is_mechanism(self.bones[name])]
        heel = heels[0] if len(set(heels)) == 1 else None
        return end.name, tuple(sorted(rolls, key=self._depth)), heel

    def corrected_chains(self) -> Iterator[tuple[str, list[str], InverseKinematics]]:
        """Each chain of visible bones that IK bends on top of what they copy, with its name: root first."""
        for bone in self.bones:
            solvers = [c for c in bone.constraints if isinstance(c, InverseKinematics) and c.target == self.rig]
            if len(solvers) == 1 and self._source(bone):
                count = solvers[0].chain_count or len(bone.parent_recursive) + 1
                chain = [bone, *bone.parent_recursive][:count][::-1]
                aims = [self._aim_of(source) for source in map(self._source, chain) if source]
                # an IK constraint that somebody has put on a bone for another purpose makes no limb of it
                if all(aims) and len(aims) == len(chain) > 1:
                    yield _without_prefix(chain[0].name), [link.name for link in chain], solvers[0]

    def finger(self, chain: Sequence[str], solver: InverseKinematics) -> Finger:
        """The finger whose visible bones, root first, `solver` bends. Raises _NotServed."""
        last = chain[-1]
        slider = self._driven(last, solver, "influence")
        if slider is None:
            raise _NotServed(f"no property drives the influence of {solver.name!r} on {last!r}")
        end: bpy.types.PoseBone | None = self.bones.get(solver.subtarget)
        if end is None or not solver.use_tail:
            raise _NotServed(f"{solver.name!r} on {last!r} does not bring the tip to a control")
        sources = [source for name in chain if (source := self._source(self.bones[name]))]
        *following, tip = [aim for source in sources if (aim := self._aim_of(source))]
        for name in chain:
            self._refuse_idle(name, *self._copies(self.bones[name]))
        self._refuse_idle(last, solver)
        for source in sources:
            self._refuse_idle(source.name, *source.constraints)
        if slider.name not in self.bones[slider.bone].keys():  # noqa: SIM118
            raise _NotServed(f"{slider.bone!r} has no property {slider.name!r}")
        placed = [c for c in sources[0].constraints if isinstance(c, bpy.types.CopyLocationConstraint)]
        if len(placed) != 1 or placed[0].subtarget not in self.bones:
            raise _NotServed(f"{sources[0].name!r} does not start at a control, as in Rigify's fingers")
        fk = [self.bones[placed[0].subtarget], *following]
        for source, control in zip([*sources[1:], tip], [*fk[1:], fk[-1]], strict=True):
            if source.parent != control:
                raise _NotServed(f"{source.name!r} does not hang on {control.name!r}, as in Rigify's fingers")
        return Finger(
            name=fk[0].name,
            kind="finger",
            visible=tuple(chain),
            fk=tuple(control.name for control in fk),
            ik=IkSide(
                result=tuple(chain),
                base=chain[0],
                end=end.name,
                pole=None,
                tail=(),
                rolls=(),
                pivots=(),
                heel=None,
                hinge=0,
                pole_switch=None,
                stretch=None,
            ),
            slider=slider,
            followed=tuple(source.name for source in sources),
            tip=tip.name,
            master=self._master(fk[0]),
        )

    def _source(self, bone: bpy.types.PoseBone) -> bpy.types.PoseBone | None:
        """The bone that another copies, where it is one only."""
        copies = [c for c in bone.constraints if isinstance(c, CopyTransforms) and c.target == self.rig]
        return self.bones.get(copies[0].subtarget) if len(copies) == 1 else None

    def _aim_of(self, bone: bpy.types.PoseBone) -> bpy.types.PoseBone | None:
        """The control that a bone stretches to."""
        stretches = [c for c in bone.constraints if isinstance(c, bpy.types.StretchToConstraint)]
        aimed = len(stretches) == 1 and stretches[0].target == self.rig
        return self.bones.get(stretches[0].subtarget) if aimed else None

    def _master(self, first: bpy.types.PoseBone) -> str | None:
        """The control whose place and rotation the parent of the first FK control takes over."""
        constraints = first.parent.constraints if first.parent else ()
        copies = [c for c in constraints if isinstance(c, bpy.types.CopyLocationConstraint) and c.target == self.rig]
        return copies[0].subtarget if len(copies) == 1 and copies[0].subtarget in self.bones else None


def _is_mechanism(bone: bpy.types.PoseBone) -> bool:
    """Whether each channel is locked, as Rigify does with bones that nobody is to move.

    A control is not told by less: an animator may have locked all rotations of one.
    """
    locks: list[Any] = [bone.lock_location, bone.lock_rotation, bone.lock_scale, [bone.lock_rotation_w]]
    return all(all(axes) for axes in locks)


def _without_prefix(name: str) -> str:
    return name.removeprefix("ORG-")


def _escape(name: str) -> str:
    return bpy.utils.escape_identifier(name)


def _unescape(name: str) -> str:
    return bpy.utils.unescape_identifier(name)
