# SPDX-License-Identifier: GPL-3.0-or-later
"""What a limb is: the bones that are seen, the controls of both sides, and the slider between them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import bpy

IK, FK = "ik", "fk"
SIDES = (IK, FK)


@dataclass(frozen=True)
class Setting:
    """A custom property on a pose bone, such as the IK-FK slider."""

    bone: str
    name: str

    @property
    def path(self) -> str:
        """The data path of the property, as an F-curve of the rig object has it."""
        return f'pose.bones["{bpy.utils.escape_identifier(self.bone)}"]["{bpy.utils.escape_identifier(self.name)}"]'

    def value(self, rig: bpy.types.Object) -> float:
        """The value now, on `rig` or on an evaluated copy of it."""
        return float(rig.pose.bones[self.bone][self.name])


@dataclass(frozen=True)
class IkSide:
    """The IK side of a limb: two bones bent by an IK constraint toward a target."""

    result: tuple[str, ...]
    """The bones that the visible chain follows when the slider is at IK; the third is the target of the solver."""
    base: str
    """The control that is the first bone of the solver's chain, or turns it."""
    end: str
    """The control that the animator moves: the hand or the foot."""
    pole: str | None
    tail: tuple[str, ...]
    """Controls of the last visible bones, beyond the end, such as the toe."""
    rolls: tuple[str, ...]
    """Controls between the end control and the target, such as heel and spin; neutral after a bake."""
    pivots: tuple[tuple[str, int], ...]
    """Of paws, whose end control carries the last visible bone: the controls that turn the bones before it, the
    farthest first, each with the place of its bone in the visible chain."""
    heel: str | None
    """The one of them whose rotation rolls the foot, copied by bones that carry the target."""
    hinge: int
    """The axis (0 for X, 2 for Z) about which the second bone may bend."""
    pole_switch: Setting | None
    stretch: Setting | None
    """Below 1 it holds the target back where the limb would have to be longer than it is at rest."""


@dataclass(frozen=True)
class Limb:
    """What Rigify's arms, legs and paws have in common."""

    name: str
    """As Rigify's panel has it: ``hand.L``, ``foot.R``, ``f_index.01.L``."""
    kind: str
    """``arm``, ``leg``, ``paw`` or ``finger``."""
    visible: tuple[str, ...]
    """The bones that the viewer sees, root first: the second begins at the middle joint, the third at the end joint."""
    fk: tuple[str, ...]
    """The FK control of each visible bone."""
    ik: IkSide
    slider: Setting

    @property
    def alias(self) -> str:
        """The everyday name, where a body has but one: ``arm.L`` for ``hand.L``."""
        return self.kind + _side_suffix(self.name) if self.kind in {"arm", "leg"} else self.name

    @property
    def end_index(self) -> int:
        """Which visible bone is the end: the hand, the foot, the last bone of a finger."""
        return 2

    @property
    def handles(self) -> tuple[str, ...]:
        """Bones that an animator may have selected to mean this limb."""
        return (self.slider.bone, *self.controls(FK), *self.controls(IK), *self.visible)

    def slider_value(self, side: str) -> float:
        """What the slider's property holds when the limb is at `side`."""
        return 1.0 if side == FK else 0.0

    def result(self, side: str) -> tuple[str, ...]:
        """The bone that each visible bone follows when the slider is at `side`."""
        return self.fk if side == FK else self.ik.result

    def controls(self, side: str) -> tuple[str, ...]:
        """The controls that a bake to `side` writes."""
        if side == FK:
            return self.fk
        pole = () if self.ik.pole is None else (self.ik.pole,)
        pivots = (name for name, _ in self.ik.pivots)
        return (self.ik.end, *self.ik.rolls, *pivots, self.ik.base, *pole, *self.ik.tail)


@dataclass(frozen=True)
class Finger(Limb):
    """A finger with an IK control: there IK bends what FK shows, and the slider's property is 1 at IK."""

    followed: tuple[str, ...]
    """What each visible bone copies before IK: it points from one FK control to the next."""
    tip: str
    """The control at the end of the FK chain, to which the last bone stretches."""
    master: str | None
    """The control that moves all FK controls; a bake leaves it as it is."""

    @property
    def end_index(self) -> int:
        """The last bone."""
        return len(self.visible) - 1

    @property
    def handles(self) -> tuple[str, ...]:
        """As of every limb, and the master control."""
        return super().handles if self.master is None else (*super().handles, self.master)

    def slider_value(self, side: str) -> float:
        """The opposite of what arms and legs have."""
        return 0.0 if side == FK else 1.0

    def result(self, side: str) -> tuple[str, ...]:
        """What the visible bones copy; IK acts on themselves."""
        return self.followed if side == FK else self.visible

    def controls(self, side: str) -> tuple[str, ...]:
        """The FK controls for both sides, since IK starts from what they show."""
        fk = (*self.fk, self.tip)
        return fk if side == FK else (self.ik.end, *fk)


def _side_suffix(name: str) -> str:
    found = re.search(r"[._-][LRlr](?=\.\d+$|$)", name)
    return found.group() if found else ""
