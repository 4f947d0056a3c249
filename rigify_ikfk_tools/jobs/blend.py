# SPDX-License-Identifier: GPL-3.0-or-later
"""Blend limbs from one side to the other over a range of frames."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import bpy
import numpy as np
from numpy.typing import NDArray

from ..errors import ToolError
from ..rigs.fcurves import EASES, Rewrite
from ..rigs.limbs import FK, IK, Limb
from ..rigs.locks import LockedChannels
from ..rigs.matching import Matching
from ..rigs.stage import Stage
from .proof import ShotReport, notes_beyond, prove
from .shot import checked_shot, chosen_sides, left_out

POSE, MOTION = "pose", "motion"
KEEPS = (POSE, MOTION)


@dataclass
class BorderStep:
    """How far the joints of a limb move from frame to frame where a blend begins and where it has ended."""

    limb: str
    into_mm: float
    """From the frame before the blend to its first: the middle joint, the end or what lies beyond."""
    out_mm: float
    """From its last frame to the one after it."""

    def line(self) -> str:
        """For a person to read."""
        return f"{self.limb}: moves {self.into_mm:.1f} mm into the first frame, {self.out_mm:.1f} mm out of the last"


@dataclass
class BlendReport(ShotReport):
    """How the limbs went from one side to the other."""

    to: str = ""
    keep: str = POSE
    ease: str = "smooth"
    borders: list[BorderStep] = field(default_factory=list)

    def what(self) -> str:
        """The job, the rig and the side."""
        return f"{self.job} the sliders of {self.rig} to {self.to.upper()}, {self.keep} kept"

    def lines(self) -> list[str]:
        head, *rest = super().lines()
        return [head, *(border.line() for border in self.borders), *rest]


def blend(
    rig: bpy.types.Object,
    *,
    to: str,
    frames: range,
    limbs: Sequence[str] | None = None,
    scene: bpy.types.Scene | None = None,
    keep: str = POSE,
    ease: str = "smooth",
    tolerance_mm: float = 1.0,
) -> BlendReport:
    """Ease the IK-FK sliders of limbs to the side `to` over `frames`, from the other side.

    To `keep` the ``"pose"``, both sides are keyed on each frame with the pose that was visible, so that every value of
    the slider shows it. To keep the ``"motion"``, both sides stay as they are, and the pose goes over from one to the
    other. The slider gets a key on the first frame and one on the last; between them it runs by `ease`: ``"linear"``,
    ``"smooth"``, ``"in"`` (slowly at first) or ``"out"`` (slowly at last), to be edited like any other curve. Beyond
    the frames keys and pose stay as they are. For the other arguments see `bake`.

    Raises ToolError, and leaves everything as it was, when the rig, a limb, the frames or an F-curve can't be served.
    """
    started = time.perf_counter()
    for name, value, known in (("keep", keep, KEEPS), ("ease", ease, EASES)):
        if value not in known:
            raise ToolError(f"A blend can't {name} {value!r}: it knows {', '.join(known)}.")
    scene, frames = checked_shot(rig, frames, scene)
    goal = chosen_sides(rig, to, limbs)
    both = [(limb, side) for limb, _ in goal for side in (FK, IK)] if keep == POSE else []
    other = FK if to == IK else IK
    with (
        Stage(rig, scene) as stage,
        Rewrite(rig, frames, stage) as rewrite,
        Matching(stage, rig, both, frames) as matching,
    ):
        if both:
            matching.look()
        locked = LockedChannels(rewrite, rig, both)
        for limb, side in goal:
            rewrite.ease(limb.slider, limb.slider_value(other), limb.slider_value(side), EASES[ease])
        if both:
            matching.carry_over(rewrite)
        rewrite.curves.changed()
        errors = prove(rig, goal, matching, frames, tolerance_mm=tolerance_mm) if both else []
        borders = list(_borders(stage, rig, goal, frames))
        notes = [*left_out(rig, to, limbs), *notes_beyond(rig, goal[: len(errors)], errors, tolerance_mm)]
        notes += locked.notes()
    return BlendReport(
        job="blend",
        seconds=time.perf_counter() - started,
        notes=notes,
        rig=rig.name,
        to=to,
        keep=keep,
        ease=ease,
        first_frame=frames[0],
        last_frame=frames[-1],
        limbs=errors,
        borders=borders,
    )


def _borders(stage: Stage, rig: bpy.types.Object, goal: Sequence[tuple[Limb, str]], frames: range) -> list[BorderStep]:
    names = sorted({name for limb, _ in goal for name in limb.visible[1:]})
    poses = stage.play([frames[0] - 1, frames[0], frames[-1], frames[-1] + 1], names).poses
    world = np.array(rig.matrix_world)[:3, :3]
    steps = {name: 1e3 * np.linalg.norm(_steps(poses[name]) @ world.T, axis=1) for name in names}
    return [
        BorderStep(limb.name, *(max(float(steps[name][row]) for name in limb.visible[1:]) for row in (0, 1)))
        for limb, _ in goal
    ]


def _steps(poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """How the heads move (2, 3) between the first two and the last two of four frames."""
    heads = poses[:, :3, 3]
    return np.stack([heads[1] - heads[0], heads[3] - heads[2]])
