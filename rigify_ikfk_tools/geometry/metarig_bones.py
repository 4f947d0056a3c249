# SPDX-License-Identifier: GPL-3.0-or-later
"""From landmarks to the bones of a meta-rig, as a preset says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .rotations import shortest_arc
from .symmetry import Points, mirrored_name

Array = NDArray[np.float64]
Point = str | tuple[str, str, float]
"""A landmark, or a share of the way from one to another."""


@dataclass(frozen=True)
class Frame:
    """Bones that keep their stock place relative to two landmarks."""

    start: str
    end: str
    across: tuple[str, str] | None
    """The way between two landmarks that fixes the turn about start-end; None for the body's left."""
    bones: tuple[str, ...]
    children_of: str | None


@dataclass(frozen=True)
class Bend:
    """A joint that must bend to the front or to the back, by at least so many degrees."""

    joint: str
    start: str
    end: str
    toward: str
    degrees: float


@dataclass(frozen=True)
class Preset:
    """Which meta-rig is placed, and which of its bones follow which landmarks. Both sides are spelled out."""

    name: str
    metarig: str
    bones: Mapping[str, tuple[Point, Point]]
    landmarks: Mapping[str, tuple[str, str]]
    """Where the stock meta-rig has a landmark: bone, and ``head`` or ``tail``."""
    frames: tuple[Frame, ...]
    bends: tuple[Bend, ...]


@dataclass(frozen=True)
class BoneRest:
    """The rest of one bone: two places (3,) and the direction (3,) of its Z axis."""

    head: Array
    tail: Array
    z_axis: Array


class MissingLandmark(KeyError):
    """The preset asks for a landmark that is not there; the text is its name."""


def bent(preset: Preset, landmarks: Points, axes: Array) -> tuple[Points, dict[str, float]]:
    """The landmarks with each joint of the preset's bends moved so that it bends the right way, by enough.

    `axes` (3, 3) has rows left, back, up. Returns the landmarks and the bend of each joint in degrees. A joint that
    already bends clearly to that side stays; else it is moved at right angles to the line of its neighbours.
    """
    landmarks = dict(landmarks)
    bends = {}
    for bend in preset.bends:
        start, joint, end = (_landmark(landmarks, name) for name in (bend.start, bend.joint, bend.end))
        wanted = _wanted_side(bend, landmarks, axes)
        line = (end - start) / max(float(np.linalg.norm(end - start)), 1e-12)
        wanted = wanted - (wanted @ line) * line
        if np.linalg.norm(wanted) < 0.2:  # the limb itself points to the front or back: bend it downward
            wanted = -axes[2] + (axes[2] @ line) * line
        wanted = wanted / np.linalg.norm(wanted)
        along = float((joint - start) @ line)
        aside: Array = joint - start - along * line
        upper, lower = along, float(np.linalg.norm(end - start)) - along
        least = np.radians(bend.degrees) / (1 / max(upper, 1e-9) + 1 / max(lower, 1e-9))
        clear = 2 * least
        if aside @ wanted < 0.7 * np.linalg.norm(aside) or np.linalg.norm(aside) < clear:
            aside = wanted * max(float(aside @ wanted), 1.05 * least)
        landmarks[bend.joint] = start + along * line + aside
        bends[bend.joint] = bend_degrees(start, landmarks[bend.joint], end)
    return landmarks, bends


def _wanted_side(bend: Bend, landmarks: Points, axes: Array) -> Array:
    """A knee bends where its foot points; else the body's own front or back counts."""
    if bend.toward == "back":
        return axes[1]
    side = bend.joint[-2:]
    foot = [landmarks.get(name + side) for name in ("ankle", "toe_ball")]
    if foot[0] is None or foot[1] is None:
        return -axes[1]
    ahead = foot[1] - foot[0]
    ahead = ahead - (ahead @ axes[2]) * axes[2]
    return ahead / np.linalg.norm(ahead) if np.linalg.norm(ahead) > 1e-9 else -axes[1]


def bend_degrees(start: Array, joint: Array, end: Array) -> float:
    """How far a chain of three places (3,) is from straight."""
    a, b = joint - start, end - joint
    return float(np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b)))


def placed_bones(
    preset: Preset, landmarks: Points, axes: Array, stock: Mapping[str, BoneRest], parents: Mapping[str, str]
) -> dict[str, BoneRest]:
    """Where the bones of the meta-rig go, by name; bones that the preset does not name stay away.

    `landmarks` and the result share one space; `stock` is Rigify's own meta-rig, facing -Y with Z up. `parents` gives
    the parent of each bone. Z axes are turned along with the bones, so that rolls stay as clean as in the stock.
    Raises MissingLandmark.
    """
    placed: dict[str, BoneRest] = {}
    stock_marks = {name: getattr(stock[bone], end) for name, (bone, end) in preset.landmarks.items() if bone in stock}
    for frame in preset.frames:
        names = [name for name in frame.bones if name in stock]
        if frame.children_of:
            names += [name for name in stock if frame.children_of in _line(name, parents)]
        source = _frame(frame, stock_marks, np.eye(3))
        goal = _frame(frame, landmarks, axes)
        for name in names:
            placed[name] = _carried(stock[name], source, goal)
    for name, (head, tail) in preset.bones.items():
        if name in stock:
            ends = _point(landmarks, head), _point(landmarks, tail)
            placed[name] = _turned(stock[name], *ends, axes)
    return placed


def _line(name: str, parents: Mapping[str, str]) -> list[str]:
    line = [name]
    while line[-1] in parents:
        line.append(parents[line[-1]])
    return line


def _landmark(landmarks: Points, name: str) -> Array:
    if name not in landmarks:
        raise MissingLandmark(name)
    return landmarks[name]


def _point(landmarks: Points, point: Point) -> Array:
    if isinstance(point, str):
        return _landmark(landmarks, point)
    start, end, share = point
    return _landmark(landmarks, start) * (1 - share) + _landmark(landmarks, end) * share


def _frame(frame: Frame, landmarks: Points, axes: Array) -> tuple[Array, Array]:
    """Origin (3,) and scaled axes (3, 3), in rows, of a frame."""
    start, end = _landmark(landmarks, frame.start), _landmark(landmarks, frame.end)
    across = (
        axes[0]
        if frame.across is None
        else _landmark(landmarks, frame.across[1]) - _landmark(landmarks, frame.across[0])
    )
    length = max(float(np.linalg.norm(end - start)), 1e-12)
    along = (end - start) / length
    across = across - (across @ along) * along
    across = across / max(float(np.linalg.norm(across)), 1e-12)
    return start, np.stack([along, across, np.cross(along, across)]) * length


def _carried(rest: BoneRest, source: tuple[Array, Array], goal: tuple[Array, Array]) -> BoneRest:
    change = np.linalg.inv(source[1]) @ goal[1]
    moved = [(place - source[0]) @ change + goal[0] for place in (rest.head, rest.tail)]
    axis = rest.z_axis @ change
    return BoneRest(moved[0], moved[1], axis / np.linalg.norm(axis))


def _turned(rest: BoneRest, head: Array, tail: Array, axes: Array) -> BoneRest:
    stock = (rest.tail - rest.head) @ axes
    turn = shortest_arc(stock[None], (tail - head)[None])[0]
    return BoneRest(head, tail, turn @ (rest.z_axis @ axes))


def both_sides(name: str) -> tuple[str, ...]:
    """The name itself and, where it ends in .L, the one of the right side."""
    return (name, mirrored_name(name)) if name.endswith(".L") else (name,)
