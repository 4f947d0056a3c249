# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake limbs to IK or FK over a range of frames: what the viewer sees stays."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import bpy
import numpy as np
from numpy.typing import NDArray

from ..errors import ToolError
from ..geometry.rotations import angle_between, split_scale
from ..geometry.two_bone import Rows
from ..report import Report
from ..rigs.fcurves import CONSTANT, Rewrite
from ..rigs.limbs import FK, SIDES, SLIDER_VALUE, Limb, pick_limbs
from ..rigs.match_fk import FkMatch
from ..rigs.match_ik import IkMatch
from ..rigs.stage import Played, Poses, Stage

Array = NDArray[np.float64]
Match = FkMatch | IkMatch

_CORRECTIONS = 12
"""How often frames that are not there yet are corrected at most."""
_FULL_ROUNDS, _SHARE = 2, 4
"""After two corrections of all frames, a quarter of them, the worst, is looked at in each round."""
_PLAYBACKS = 3.0
"""What all corrections may cost together."""


@dataclass
class Spread:
    """How far off a limb is over all frames."""

    median: float
    p99: float
    max: float

    @staticmethod
    def of(values: Array) -> Spread:
        return Spread(float(np.median(values)), float(np.percentile(values, 99)), float(values.max()))


@dataclass
class LimbError:
    """What the proof found for one limb: the baked pose against the pose that was seen before."""

    limb: str
    to: str
    middle_mm: Spread
    """Elbow or knee."""
    end_mm: Spread
    """Wrist or ankle, and what lies beyond."""
    end_deg: Spread
    """Rotation of the hand or the foot, and of what lies beyond."""
    worst_mm: float
    worst_bone: str
    worst_frame: int
    beyond: list[int]
    """Frames on which the middle or the end joint is farther off than the tolerance."""

    def line(self) -> str:
        return (
            f"{self.limb} to {self.to.upper()}: largest error {self.worst_mm:.3f} mm at {self.worst_bone}, frame {self.worst_frame}; "
            f"middle joint median {self.middle_mm.median:.3f} mm, end rotation at most {self.end_deg.max:.3f} degrees"
        )


@dataclass
class BakeReport(Report):
    """What a bake has done, and how exactly, from playing the shot once more after it."""

    rig: str = ""
    first_frame: int = 0
    last_frame: int = 0
    limbs: list[LimbError] = field(default_factory=list)
    tolerance_mm: float = 1.0

    @property
    def worst(self) -> LimbError:
        """The limb with the largest error."""
        return max(self.limbs, key=lambda limb: limb.worst_mm)

    def headline(self) -> str:
        """The limb that is farthest off."""
        return self.worst.line()

    def lines(self) -> list[str]:
        frames = f"frames {self.first_frame} to {self.last_frame}"
        return [
            f"{self.job} {self.rig}, {frames}, in {self.seconds:.1f} s",
            *(limb.line() for limb in self.limbs),
            *self.notes,
        ]


def bake(
    rig: bpy.types.Object,
    *,
    to: str | Mapping[str, str],
    limbs: Sequence[str] | None = None,
    frames: range | None = None,
    scene: bpy.types.Scene | None = None,
    set_slider: bool = True,
    tolerance_mm: float = 1.0,
) -> BakeReport:
    """Key the IK or the FK side of limbs so that it shows, on every frame, the pose that was visible before.

    `to` is ``"ik"`` or ``"fk"``, or names the side for each limb. `limbs` are names as in Rigify's panel (``hand.L``;
    ``arm.L`` is understood too), all by default. `frames` has a step of 1 and defaults to the range of `scene`, which
    defaults to the rig's own or the current one. With `set_slider` the IK-FK sliders are keyed to that side inside the
    frames. Keys and pose outside the frames stay as they are. Errors of the report beyond `tolerance_mm` are named.

    Raises ToolError, and leaves everything as it was, when the rig, a limb, the frames or an F-curve can't be served.
    """
    started = time.perf_counter()
    scene = scene or _scene_of(rig)
    frames = _checked_frames(frames, scene)
    _check_rig(rig)
    sides = _sides(rig, to, limbs)
    matches = [FkMatch(rig, limb) if side == FK else IkMatch(rig, limb) for limb, side in sides]

    with Stage(rig, scene) as stage, Rewrite(rig, frames) as rewrite:
        seen = _see(stage, frames, matches)
        for match in matches:
            match.begin(seen)
        if set_slider:
            for limb, side in sides:
                _key_slider(rewrite, rig, limb, side)
        _solve(stage, rewrite, matches)
        report = _prove(stage, sides, seen.poses, frames, set_slider, tolerance_mm)
    report.rig = rig.name
    report.seconds = time.perf_counter() - started
    return report


def _see(stage: Stage, frames: Iterable[int], matches: Sequence[Match]) -> Played:
    reads, bases, values = (
        sorted({name for match in matches for name in names(match)})
        for names in (lambda match: match.reads, lambda match: match.bases, lambda match: match.values)
    )
    return stage.play(frames, reads, bases=bases, values=values)


def _solve(stage: Stage, rewrite: Rewrite, matches: Sequence[Match]) -> None:
    """Write the controls, evaluate, correct; the last keys written are the result."""
    probed = np.array(sorted({row for match in matches for row in match.probes()}), int)
    step = 0
    while len(probed):
        _evaluate(stage, rewrite, matches, probed)
        if not any([match.try_out(step, probed) for match in matches]):
            break
        step += 1
    count = len(rewrite.frames)
    left = _PLAYBACKS * count
    for turn in range(_CORRECTIONS):
        waiting = _worst_waiting(matches, count if turn < _FULL_ROUNDS else -(-count // _SHARE))
        left -= len(waiting)
        if not len(waiting) or left < 0:
            break
        _evaluate(stage, rewrite, matches, waiting)
        for match in matches:
            match.correct()
    for match in matches:
        match.settle()
    _write(rewrite, matches)


def _worst_waiting(matches: Sequence[Match], most: int) -> NDArray[np.int64]:
    """The frames that are not there yet, at most so many, those with the largest error."""
    errors: list[Array] = [np.where(match.waiting, match.error, 0.0) for match in matches]
    error: Array = np.max(errors, axis=0)
    worst = np.argsort(-error, kind="stable")[:most]
    return np.sort(worst[error[worst] > 0])


def _evaluate(stage: Stage, rewrite: Rewrite, matches: Sequence[Match], rows: Rows) -> None:
    _write(rewrite, matches)
    seen = _see(stage, (rewrite.frames[row] for row in rows), matches)
    for match in matches:
        match.saw(rows, seen.poses)


def _write(rewrite: Rewrite, matches: Sequence[Match]) -> None:
    for match in matches:
        match.key(rewrite)
    rewrite.curves.changed()


def _key_slider(rewrite: Rewrite, rig: bpy.types.Object, limb: Limb, side: str) -> None:
    values = np.full(len(rewrite.frames), SLIDER_VALUE[side])
    rewrite.set(
        (limb.slider.path, 0), values, static=limb.slider.value(rig), group=limb.slider.bone, interpolation=CONSTANT
    )


def _prove(
    stage: Stage, sides: Sequence[tuple[Limb, str]], before: Poses, frames: range, switched: bool, tolerance_mm: float
) -> BakeReport:
    """Play the shot once more and compare what is seen now with what was seen before.

    Where the sliders were left alone the baked side may be invisible: then the bones that it would show are compared.
    """
    shown = {limb.name: limb.visible if switched else limb.result(side) for limb, side in sides}
    after = stage.play(frames, [bone for bones in shown.values() for bone in bones]).poses
    report = BakeReport(job="bake", first_frame=frames[0], last_frame=frames[-1], tolerance_mm=tolerance_mm)
    size = np.array(stage.rig.matrix_world)[:3, :3]
    for limb, side in sides:
        report.limbs.append(
            _limb_error(
                limb,
                side,
                before,
                [after[name] for name in shown[limb.name]],
                frames,
                float(np.cbrt(abs(np.linalg.det(size)))),
                tolerance_mm,
            )
        )
    report.notes.extend(_notes(report))
    return report


def _limb_error(
    limb: Limb, side: str, before: Poses, after: Sequence[Array], frames: range, size: float, tolerance_mm: float
) -> LimbError:
    pairs = [(before[name], poses) for name, poses in zip(limb.visible, after, strict=True)]
    places = np.stack([1e3 * size * np.linalg.norm(a[:, :3, 3] - b[:, :3, 3], axis=1) for a, b in pairs])
    turns = np.stack([np.degrees(angle_between(_turn(a), _turn(b))) for a, b in pairs[2:]])
    bone, row = np.unravel_index(np.argmax(places), places.shape)
    beyond = np.flatnonzero((places[1:] > tolerance_mm).any(axis=0))
    return LimbError(
        limb=limb.name,
        to=side,
        middle_mm=Spread.of(places[1]),
        end_mm=Spread.of(places[2:].max(axis=0)),
        end_deg=Spread.of(turns.max(axis=0)),
        worst_mm=float(places[bone, row]),
        worst_bone=limb.visible[bone],
        worst_frame=frames[row],
        beyond=[frames[row] for row in beyond],
    )


def _turn(poses: Array) -> Array:
    return split_scale(poses[:, :3, :3])[0]


def _notes(report: BakeReport) -> Iterator[str]:
    for limb in report.limbs:
        if limb.beyond:
            yield (
                f"{limb.limb}: {len(limb.beyond)} frames are more than {report.tolerance_mm:g} mm off, the first is "
                f"{limb.beyond[0]}: the {limb.to.upper()} side can't show that pose."
            )


def _sides(rig: bpy.types.Object, to: str | Mapping[str, str], names: Sequence[str] | None) -> list[tuple[Limb, str]]:
    if isinstance(to, str):
        sides = [(limb, to) for limb in pick_limbs(rig, names)]
    else:
        picked = pick_limbs(rig, list(to) if names is None else names)
        sides = [(limb, to.get(limb.name, to.get(limb.alias, ""))) for limb in picked]
    for limb, side in sides:
        if side not in SIDES:
            raise ToolError(f"A limb is baked to 'ik' or to 'fk', not to {side!r} ({limb.name}).")
    return sides


def _checked_frames(frames: range | None, scene: bpy.types.Scene) -> range:
    if frames is None:
        frames = range(scene.frame_start, scene.frame_end + 1)
    if len(frames) == 0:
        raise ToolError("The frame range is empty: its end lies before its start.")
    if frames.step != 1:
        raise ToolError("The frame range must hold every frame; steps are not supported.")
    return frames


def _check_rig(rig: bpy.types.Object) -> None:
    if rig.type != "ARMATURE" or rig.pose is None:
        raise ToolError(f"{rig.name!r} is not an armature. Choose a rig that Rigify has generated.")
    if rig.mode == "EDIT":
        raise ToolError(f"{rig.name!r} is in edit mode. Leave edit mode first.")
    if rig.data.pose_position == "REST":
        raise ToolError(f"{rig.name!r} shows its rest position. Set it to pose position first.")


def _scene_of(rig: bpy.types.Object) -> bpy.types.Scene:
    scenes = list(rig.users_scene)
    return bpy.context.scene if not scenes or bpy.context.scene in scenes else scenes[0]
