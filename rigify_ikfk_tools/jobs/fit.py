# SPDX-License-Identifier: GPL-3.0-or-later
"""Fit a meta-rig into a character's mesh."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from ..errors import ToolError
from ..geometry.landmarks import Body, UnreadableBody, read_body
from ..geometry.metarig_bones import MissingLandmark, Preset, bent, placed_bones
from ..geometry.symmetry import Points
from ..report import Report
from ..rigs.meshes import joined_surface
from ..rigs.metarig import add_metarig, place_bones, read_bones
from ..rigs.presets import load_preset
from ..rigs.rigify import ensure_enabled

_AXES = "XYZ"


@dataclass
class FitReport(Report):
    """Where the joints were found, and how the limbs of the meta-rig bend."""

    metarig: Any = None
    """The new meta-rig object."""
    preset: str = ""
    height: float = 0.0
    """From the ground to the crown, in world units."""
    facing: str = ""
    up: str = ""
    symmetric: bool = False
    bends_deg: dict[str, float] = field(default_factory=dict)
    """How far each knee and elbow is from straight."""
    given: list[str] = field(default_factory=list)
    """Landmarks that the user gave."""
    landmarks: dict[str, list[float]] = field(default_factory=dict)
    """Place of each landmark in world space."""

    def lines(self) -> list[str]:
        least = min(self.bends_deg, key=self.bends_deg.__getitem__)
        return [
            f"fit {self.preset} into a body {self.height:.3g} units high, up {self.up}, facing {self.facing}, "
            f"in {self.seconds:.1f} s",
            f"least bend of knees and elbows: {self.bends_deg[least]:.1f} degrees at {least}",
            *self.notes,
        ]


def fit(
    meshes: Sequence[bpy.types.Object],
    *,
    preset: str | Path = "human",
    landmarks: Mapping[str, Sequence[float]] | None = None,
) -> FitReport:
    """Add a meta-rig to the scene whose joints lie inside the meshes, with knees and elbows bent the right way.

    `meshes` are one character together. `preset` is ``human``, ``basic_human`` or a preset file. `landmarks` gives
    places in world space by name; they replace what is found.

    Raises ToolError, and adds nothing, when the meshes are no standing humanoid or a landmark can't be used.
    """
    started = time.perf_counter()
    ensure_enabled()
    plan = load_preset(preset)
    body = _read(meshes)
    marks, given = _with_given(body.landmarks, landmarks)
    try:
        marks, bends = bent(plan, marks, body.axes)
        metarig = _placed_metarig(plan, marks, body)
    except MissingLandmark as missing:
        raise ToolError(
            f"The preset {plan.name!r} needs the landmark {missing.args[0]!r}, which was not found. "
            "Give it in a landmark file."
        ) from None
    report = FitReport(
        job="fit",
        metarig=metarig,
        preset=plan.name,
        height=body.height,
        facing=_direction(-body.axes[1]),
        up=_direction(body.axes[2]),
        symmetric=body.symmetric,
        bends_deg=bends,
        given=given,
        landmarks={name: place.tolist() for name, place in marks.items()},
    )
    report.notes += [f"Look at the fit: {doubt}." for doubt in body.doubts]
    report.seconds = time.perf_counter() - started
    return report


def _read(meshes: Sequence[bpy.types.Object]) -> Body:
    if not meshes:
        raise ToolError("No mesh was given. Select the character's mesh.")
    for thing in meshes:
        if thing.type != "MESH":
            raise ToolError(f"{thing.name!r} is not a mesh.")
    vertices, faces = joined_surface(meshes)
    names = ", ".join(repr(thing.name) for thing in meshes)
    if not len(faces):
        raise ToolError(f"{names} has no faces: there is no body to fit a meta-rig into.")
    try:
        return read_body(vertices, faces)
    except UnreadableBody as problem:
        raise ToolError(
            f"{names} can't be read as a standing humanoid: {problem}. "
            "Stand it up in a T-pose or A-pose, or place a meta-rig by hand."
        ) from None


def _with_given(found: Points, given: Mapping[str, Sequence[float]] | None) -> tuple[Points, list[str]]:
    marks = dict(found)
    for name, place in (given or {}).items():
        if name not in found:
            raise ToolError(f"There is no landmark {name!r}. The landmarks are {', '.join(sorted(found))}.")
        try:
            point = np.array(place, float)
        except (TypeError, ValueError):
            point = np.empty(0)
        if point.shape != (3,) or not np.isfinite(point).all() or np.abs(point).max() > 1e9:
            raise ToolError(f"The landmark {name!r} must be three finite numbers.")
        marks[name] = point
    return marks, sorted(given or {})


def _placed_metarig(plan: Preset, marks: Points, body: Body) -> bpy.types.Object:
    metarig = add_metarig(plan.metarig)
    try:
        stock, parents = read_bones(metarig)
        place_bones(metarig, placed_bones(plan, marks, body.axes, stock, parents))
    except BaseException:
        data: Any = metarig.data
        bpy.data.objects.remove(metarig)
        bpy.data.armatures.remove(data)
        raise
    return metarig


def _direction(vector: np.ndarray) -> str:
    axis = int(np.argmax(np.abs(vector)))
    name = ("-" if vector[axis] < 0 else "+") + _AXES[axis]
    return name if abs(vector[axis]) > 0.99 else f"about {name}"
