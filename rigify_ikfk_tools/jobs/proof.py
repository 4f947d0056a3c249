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

_TURNED = 3.0
"""Degrees by which upper and middle bones may turn before a note says so."""
_FINEST = 3e-4
"""How near Blender's IK comes at best, in lengths of a limb."""
_SPANS = 6
"""Spans of frames that a note lists; a report holds all."""
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
    turned: list[int]
    """Frames on which the upper or the middle bone is turned by more than three degrees."""
    beyond: list[int]
    """Frames on which the middle or the end joint is farther off than the tolerance."""
    out_of_reach: list[int]
    """Those of them on which a constraint holds the target of the IK side back."""
    uneven: list[int]
    """Those of them on which the bones were seen stretched unlike each other or apart, as between IK and FK."""
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
    return [_limb_error(limb, side, matching, frames, size, tolerance_mm) for limb, side in sides]


def notes_beyond(
    rig: bpy.types.Object, sides: Sequence[tuple[Limb, str]], errors: Sequence[LimbError], tolerance_mm: float
) -> Iterator[str]:
    """What is not as it was seen, a sentence or two for each limb: the frames, and the reason where one is known."""
    for (limb, side), error in zip(sides, errors, strict=True):
        told = []
        if error.beyond:
            told.append(f"{_count(error.beyond)} more than {tolerance_mm:g} mm off: {_listed(error.beyond)}.")
        if error.end_beyond:
            told.append(
                f"{_count(error.end_beyond)} turned by more than {_END_TURNED:g} degrees at the end, or it is of "
                f"another size: {_listed(error.end_beyond)}."
            )
        if told:
            yield f"{error.limb}: {' '.join([*told, *_reasons(rig, limb, side, error)])}"
        if error.turned and isinstance(limb, Finger):
            yield (
                f"{error.limb}: its first bone is rolled by up to {error.chain_deg.max:.0f} degrees from what was "
                f"seen, most at frame {error.worst_turn_frame}: only IK rolls it, no FK control can."
            )
        elif error.turned and side == IK:
            yield (
                f"{error.limb}: upper and middle bone are turned by up to {error.chain_deg.max:.0f} degrees from what "
                f"was seen, most at frame {error.worst_turn_frame}: IK bends a limb about one axis only. "
                f"By more than {_TURNED:g} degrees on frames {_listed(error.turned)}."
            )


def _reasons(rig: bpy.types.Object, limb: Limb, side: str, error: LimbError) -> Iterator[str]:
    known = {*error.out_of_reach, *error.uneven}
    if error.out_of_reach:
        yield f"Out of reach of the IK side: {_listed(error.out_of_reach)}."
        if limb.ik.stretch:
            yield f"Set {limb.ik.stretch.name!r} on {limb.ik.stretch.bone!r} to 1 to let it stretch, and bake again."
    if error.uneven:
        yield f"Its bones were not stretched alike, as IK would stretch them, on frames {_listed(error.uneven)}."
    if held := ", ".join(_holding(rig, limb.controls(side))):
        yield f"Constraints hold it back: {held}."
    elif _is_uneven(rig):
        yield f"{rig.name!r} is scaled unevenly, which its own constraints do not follow: apply its scale first."
    elif error.worst_mm < _FINEST * _length_mm(rig, limb):
        yield "At this size Blender's own IK comes no nearer."
    elif {*error.beyond, *error.end_beyond} - known:
        yield f"Something else than the keys moves it: look at {error.worst_bone!r} at frame {error.worst_frame}."


def _is_uneven(rig: bpy.types.Object) -> bool:
    _, sizes = split_scale(np.array(rig.matrix_world)[None, :3, :3])
    return bool(np.ptp(np.abs(sizes)) > _END_SIZE * np.abs(sizes).max())


def _length_mm(rig: bpy.types.Object, limb: Limb) -> float:
    length = sum(rig.pose.bones[name].bone.length for name in limb.visible)
    return float(1e3 * length * np.cbrt(abs(np.linalg.det(np.array(rig.matrix_world)[:3, :3]))))


def _count(frames: Sequence[int]) -> str:
    return "1 frame is" if len(frames) == 1 else f"{len(frames)} frames are"


def _listed(frames: Sequence[int]) -> str:
    """Frames as a person lists them: ``3, 10 to 24, 31 and 40 more``."""
    numbers = np.asarray(frames)
    spans = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    words = [f"{span[0]}" if len(span) == 1 else f"{span[0]} to {span[-1]}" for span in spans[:_SPANS]]
    more = sum(map(len, spans[_SPANS:]))
    return ", ".join(words) + (f" and {more} more" if more else "")


def _holding(rig: bpy.types.Object, controls: Sequence[str]) -> Iterator[str]:
    for name in controls:
        for constraint in rig.pose.bones[name].constraints:
            if not constraint.mute and constraint.influence > 0:
                yield f"{constraint.name!r} on {name!r}"


def _limb_error(
    limb: Limb, side: str, matching: Matching, frames: range, size: float, tolerance_mm: float
) -> LimbError:
    pairs = list(matching.seen(limb))
    places = np.stack([1e3 * size * np.linalg.norm(a[:, :3, 3] - b[:, :3, 3], axis=1) for a, b in pairs])
    parts = [tuple(split_scale(pose[:, :3, :3].astype(float)) for pose in pair) for pair in pairs]
    turns = np.stack([np.degrees(angle_between(a, b)) for (a, _), (b, _) in parts])
    sizes = np.stack([(np.abs(b - a) / np.abs(a)).max(axis=1) for (_, a), (_, b) in parts[limb.end_index :]])
    chain, end = turns[: limb.end_index].max(axis=0), turns[limb.end_index :].max(axis=0)
    bone, row = np.unravel_index(np.argmax(places), places.shape)
    beyond = (places[1:] > tolerance_mm).any(axis=0)
    end_beyond = (end > _END_TURNED) | (sizes > _END_SIZE).any(axis=0)
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
        turned=_frames_of(chain > _TURNED, frames),
        beyond=_frames_of(beyond, frames),
        out_of_reach=_frames_of(beyond & matching.out_of_reach(limb), frames),
        uneven=_frames_of(beyond & matching.uneven(limb), frames),
        end_beyond=_frames_of(end_beyond, frames),
    )


def _frames_of(mask: NDArray[np.bool_], frames: range) -> list[int]:
    return [frames[row] for row in np.flatnonzero(mask)]
