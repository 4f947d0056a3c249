# SPDX-License-Identifier: GPL-3.0-or-later
"""The proof of a job on a shot: played once more, and compared with what was seen before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import bpy
import numpy as np
from numpy.typing import NDArray

from ..geometry.rotations import angle_between, split_scale
from ..report import Report
from ..rigs.limbs import IK, Finger, Limb
from ..rigs.matching import Matching

Array = NDArray[np.float64]
Kept = NDArray[np.float32]
"""Pose matrices (n, 3, 4)."""

_TURNED = 3.0
"""Degrees by which upper and middle bones may turn before a note says so."""
_END_TURNED, _END_SIZE = 0.5, 0.01
"""Degrees by which the hand or the foot may turn, and share by which its size may change, before a note says so."""


@dataclass
class Spread:
    """How far off a limb is over all frames."""

    median: float
    p99: float
    max: float

    @staticmethod
    def of(values: Array) -> Spread:
        """The spread of values (n,)."""
        return Spread(float(np.median(values)), float(np.percentile(values, 99)), float(values.max()))


@dataclass
class LimbError:
    """What the proof found for one limb: the baked pose against the pose that was seen before."""

    limb: str
    to: str
    middle_mm: Spread
    """Elbow or knee, or the joints inside a finger."""
    end_mm: Spread
    """Wrist or ankle, and what lies beyond; the last joint of a finger."""
    end_deg: Spread
    """Rotation of the hand or the foot, and of what lies beyond."""
    chain_deg: Spread
    """Rotation of the upper and the middle bone: of what an IK limb, which bends about one axis, may not show."""
    worst_mm: float
    worst_bone: str
    worst_frame: int
    worst_turn_frame: int
    """Where the upper or the middle bone is turned most."""
    beyond: list[int]
    """Frames on which the middle or the end joint is farther off than the tolerance."""
    end_beyond: list[int]
    """Frames on which the end, or what lies beyond, is turned by more than half a degree or of another size."""

    def line(self) -> str:
        """The limb's result for a person to read."""
        return (
            f"{self.limb} to {self.to.upper()}: largest error {self.worst_mm:.3f} mm at {self.worst_bone}, "
            f"frame {self.worst_frame}; end rotation {self.end_deg.max:.3f} degrees"
        )


@dataclass
class ShotReport(Report):
    """What a job on a shot has done, and how exactly, from playing the shot once more after it."""

    rig: str = ""
    first_frame: int = 0
    last_frame: int = 0
    limbs: list[LimbError] = field(default_factory=list)

    def what(self) -> str:
        """What was done to which rig."""
        raise NotImplementedError

    def lines(self) -> list[str]:
        head = f"{self.what()}, frames {self.first_frame} to {self.last_frame}, in {self.seconds:.1f} s"
        return [head, *(limb.line() for limb in self.limbs), *self.notes]


def prove(
    rig: bpy.types.Object, sides: Sequence[tuple[Limb, str]], matching: Matching, frames: range, *, tolerance_mm: float
) -> list[LimbError]:
    """Compare for each limb what was seen when its frames were last played with what was seen before."""
    linear = np.array(rig.matrix_world)[:3, :3]
    size = float(np.cbrt(abs(np.linalg.det(linear))))
    return [_limb_error(limb, side, list(matching.seen(limb)), frames, size, tolerance_mm) for limb, side in sides]


def notes_beyond(
    rig: bpy.types.Object, sides: Sequence[tuple[Limb, str]], errors: Sequence[LimbError], tolerance_mm: float
) -> Iterator[str]:
    """A sentence for each limb with frames beyond the tolerance, and what holds its controls back."""
    for (limb, side), error in zip(sides, errors, strict=True):
        told = []
        if error.beyond:
            told.append(f"{_frames(error.beyond)} more than {tolerance_mm:g} mm off, the first is {error.beyond[0]}.")
        if error.end_beyond:
            told.append(
                f"{_frames(error.end_beyond)} turned by more than {_END_TURNED:g} degrees at the end, or it is of "
                f"another size, the first is {error.end_beyond[0]}."
            )
        if told:
            held = ", ".join(_holding(rig, limb.controls(side)))
            reason = (
                f"Constraints hold it back: {held}."
                if held
                else f"The {side.upper()} side was not brought nearer; look there."
            )
            if side == IK and limb.ik.pole_switch and limb.ik.pole_switch.value(rig) > 0.5:
                reason += " The pole is on: without it the middle joint comes nearer."
            yield f"{error.limb}: {' '.join(told)} {reason}"
        if error.chain_deg.max > _TURNED and isinstance(limb, Finger):
            yield (
                f"{error.limb}: its first bone is rolled by up to {error.chain_deg.max:.0f} degrees from what was "
                f"seen, most at frame {error.worst_turn_frame}: only IK rolls it, no FK control can."
            )
        elif side == IK and error.chain_deg.max > _TURNED:
            yield (
                f"{error.limb}: upper and middle bone are turned by up to {error.chain_deg.max:.0f} degrees from what "
                f"was seen, most at frame {error.worst_turn_frame}: IK bends a limb about one axis only."
            )


def _frames(frames: Sequence[int]) -> str:
    return "1 frame is" if len(frames) == 1 else f"{len(frames)} frames are"


def _holding(rig: bpy.types.Object, controls: Sequence[str]) -> Iterator[str]:
    for name in controls:
        for constraint in rig.pose.bones[name].constraints:
            if not constraint.mute and constraint.influence > 0:
                yield f"{constraint.name!r} on {name!r}"


def _limb_error(
    limb: Limb,
    side: str,
    pairs: Sequence[tuple[Kept, Kept]],
    frames: range,
    size: float,
    tolerance_mm: float,
) -> LimbError:
    places = np.stack([1e3 * size * np.linalg.norm(a[:, :3, 3] - b[:, :3, 3], axis=1) for a, b in pairs])
    parts = [tuple(split_scale(pose[:, :3, :3].astype(float)) for pose in pair) for pair in pairs]
    turns = np.stack([np.degrees(angle_between(a, b)) for (a, _), (b, _) in parts])
    sizes = np.stack([(np.abs(b - a) / np.abs(a)).max(axis=1) for (_, a), (_, b) in parts[limb.end_index :]])
    chain, end = turns[: limb.end_index].max(axis=0), turns[limb.end_index :].max(axis=0)
    bone, row = np.unravel_index(np.argmax(places), places.shape)
    beyond = np.flatnonzero((places[1:] > tolerance_mm).any(axis=0))
    end_beyond = np.flatnonzero((end > _END_TURNED) | (sizes > _END_SIZE).any(axis=0))
    return LimbError(
        limb=limb.name,
        to=side,
        middle_mm=Spread.of(places[1 : max(limb.end_index, 2)].max(axis=0)),
        end_mm=Spread.of(places[limb.end_index :].max(axis=0)),
        end_deg=Spread.of(end),
        chain_deg=Spread.of(chain),
        worst_turn_frame=frames[int(np.argmax(chain))],
        worst_mm=float(places[bone, row]),
        worst_bone=limb.visible[bone],
        worst_frame=frames[row],
        beyond=[frames[row] for row in beyond],
        end_beyond=[frames[row] for row in end_beyond],
    )
