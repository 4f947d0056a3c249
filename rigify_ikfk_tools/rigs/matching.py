# SPDX-License-Identifier: GPL-3.0-or-later
"""Many limbs made to show what was seen, in one pass over the shot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import bpy
import numpy as np

from ..geometry.two_bone import Rows
from .fcurves import Rewrite
from .limbs import FK, Finger, Limb
from .match_finger import FingerMatch
from .match_fk import FkMatch
from .match_ik import IkMatch
from .stage import Played, Stage

Match = FkMatch | IkMatch | FingerMatch

_CORRECTIONS = 12
"""How often frames that are not there yet are corrected at most."""
_FULL_ROUNDS, _SHARE = 2, 4
"""After two corrections of all frames, a quarter of them, the worst, is looked at in each round."""
_PLAYBACKS = 2.6
"""What all corrections may cost together."""
_EVALUATIONS = 240
"""So many frames may be evaluated whatever the range: a short one is corrected until it is there."""


def match_sides(
    stage: Stage, rewrite: Rewrite, rig: bpy.types.Object, sides: Sequence[tuple[Limb, str]], seen: Played
) -> None:
    """Key the given side of each limb so that it shows what `look` has `seen` on the frames of `rewrite`."""
    matches = _matches(rig, sides)
    for match in matches:
        match.begin(seen)
    _solve(stage, rewrite, matches)


def look(stage: Stage, frames: Iterable[int], rig: bpy.types.Object, sides: Sequence[tuple[Limb, str]]) -> Played:
    """Play the frames, reading all that the matching of these sides will ask for."""
    return _see(stage, frames, _matches(rig, sides))


def _matches(rig: bpy.types.Object, sides: Sequence[tuple[Limb, str]]) -> list[Match]:
    fingers = {limb: {side for other, side in sides if other == limb} for limb, _ in sides if isinstance(limb, Finger)}
    two_bone = [(limb, side) for limb, side in sides if limb not in fingers]
    matches: list[Match] = [FkMatch(rig, limb) if side == FK else IkMatch(rig, limb) for limb, side in two_bone]
    return matches + [FingerMatch(rig, finger, wanted) for finger, wanted in fingers.items()]


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
        more = [match.try_out(step, probed) for match in matches]  # each takes part, whatever the others say
        if not any(more):
            break
        step += 1
    count = len(rewrite.frames)
    left = max(_PLAYBACKS * count, _EVALUATIONS)
    share = max(-(-count // _SHARE), min(count, _EVALUATIONS // _CORRECTIONS))
    for turn in range(_CORRECTIONS):
        waiting = _worst_waiting(matches, count if turn < _FULL_ROUNDS else share)
        left -= len(waiting)
        if not len(waiting) or left < 0:
            break
        _evaluate(stage, rewrite, matches, waiting)
        for match in matches:
            match.correct()
    for match in matches:
        match.settle()
    _write(rewrite, matches)


def _worst_waiting(matches: Sequence[Match], most: int) -> Rows:
    """The frames that are not there yet, at most so many, those with the largest error."""
    error = np.max([np.where(match.waiting, match.error, 0.0) for match in matches], axis=0).astype(float)
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
