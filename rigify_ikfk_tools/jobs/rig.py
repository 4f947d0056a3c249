# SPDX-License-Identifier: GPL-3.0-or-later
"""The one click: fit a meta-rig to a mesh, generate the rig, bind the mesh."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import bpy

from ..report import Report
from ..rigs.leftovers import Leftovers
from .bind import BindReport, bind
from .fit import FitReport, fit
from .generate import GenerateReport, generate


@dataclass
class RigReport(Report):
    """The reports of the three steps."""

    fit: FitReport | None = None
    generate: GenerateReport | None = None
    bind: BindReport | None = None

    def lines(self) -> list[str]:
        steps = [step for step in (self.fit, self.generate, self.bind) if step]
        return [*(line for step in steps for line in step.lines()), *self.notes]


def rig(
    meshes: Sequence[bpy.types.Object],
    *,
    preset: str | Path = "human",
    landmarks: Mapping[str, Sequence[float]] | None = None,
    most_influences: int = 4,
    replace: bool = False,
) -> RigReport:
    """Fit, generate and bind; the meta-rig stays in the scene, hidden.

    For the options see `fit` and `bind`. Raises ToolError, and leaves nothing behind, when a step can't be done.
    """
    started = time.perf_counter()
    report = RigReport(job="rig")
    leftovers = Leftovers()
    try:
        report.fit = fit(meshes, preset=preset, landmarks=landmarks)
        report.generate = generate(report.fit.metarig)
        report.bind = bind(report.generate.rig, meshes, most_influences=most_influences, replace=replace)
    except BaseException:
        leftovers.remove()
        raise
    report.fit.metarig.hide_set(True)
    report.seconds = time.perf_counter() - started
    return report
