# SPDX-License-Identifier: GPL-3.0-or-later
"""Many limbs made to show what was seen, in one pass over the shot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from .fcurves import Rewrite
from .limbs import FK, Limb
from .match_fk import FkMatch
from .match_ik import IkMatch
from .stage import Played, Poses, Stage
from .tracks import Tracks

Match = FkMatch | IkMatch
Places = NDArray[np.integer[Any]]
Kept = dict[str, NDArray[np.float32]]
"""Pose matrices (n, 4, 4) by bone name, in single precision as Blender has them."""

_BLOCK = 512
"""Frames that are held in memory with all that is read of them."""
_CORRECTIONS = 4
"""How often controls are corrected at most after they were first written."""


class Matching:
    """Limbs and the sides that shall show what is visible now, on all frames of a shot.

    First `look`, which changes nothing; then `carry_over`, which keys the controls, plays the shot, and corrects what
    is not there yet. To be used in a ``with`` statement.
    """

    def __init__(self, stage: Stage, rig: bpy.types.Object, sides: Sequence[tuple[Limb, str]], frames: range) -> None:
        self._stage, self._rig, self._frames = stage, rig, frames
        self._benches = ExitStack()
        self._matches: list[Match] = [
            FkMatch(rig, limb) if side == FK else IkMatch(rig, limb, self._benches) for limb, side in sides
        ]
        self._tracks = Tracks(rig, len(frames))
        self._visible = sorted({name for limb, _ in sides for name in limb.visible})
        self._shown = sorted({*self._visible, *(name for limb, side in sides for name in limb.result(side))})
        self.before: Kept = _room(self._visible, len(frames))
        """The visible bones as they were seen before."""
        self.after: Kept = {}
        """The visible bones, and those that they follow on the sides asked for, as they are seen now."""

    def __enter__(self) -> Matching:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._benches.close()

    def look(self) -> None:
        """See what is visible, and find what the controls must be."""
        for match in self._matches:
            match.begin(len(self._frames))
        for places in _blocks(np.arange(len(self._frames))):
            played = self._play(places)
            for name in self._visible:
                self.before[name][places] = played.poses[name]
            wanted = {name: played.poses[name] for name in self._visible}
            for match in self._matches:
                self._tracks.put(places, match.first(places, wanted, played))

    def carry_over(self, rewrite: Rewrite) -> None:
        """Key the controls and correct them; `after` is what the last playing of each frame has shown."""
        self.after = _room(self._shown, len(self._frames))
        waiting: Places = np.arange(len(self._frames))
        for turn in range(_CORRECTIONS + 1):
            self._tracks.write(rewrite)
            touched = [self._compare(places, correct=turn < _CORRECTIONS) for places in _blocks(waiting)]
            waiting = np.concatenate(touched)
            if not len(waiting):
                break

    def _compare(self, places: Places, *, correct: bool) -> Places:
        """Play some frames; those of them on which a control was corrected."""
        played = self._play(places)
        for name in self._shown:
            self.after[name][places] = played.poses[name]
        if not correct:
            return places[:0]
        wanted: Poses = {name: self.before[name][places].astype(float) for name in self._visible}
        touched = [self._tracks.put(places, match.again(places, wanted, played)) for match in self._matches]
        return np.unique(np.concatenate(touched))

    def _play(self, places: Places) -> Played:
        reads, bases, values = (
            sorted({name for match in self._matches for name in names(match)})
            for names in (lambda match: match.reads, lambda match: match.bases, lambda match: match.values)
        )
        return self._stage.play((self._frames[place] for place in places), reads, bases=bases, values=values)


def _blocks(places: Places) -> Iterator[Places]:
    for first in range(0, len(places), _BLOCK):
        yield places[first : first + _BLOCK]


def _room(names: Sequence[str], count: int) -> Kept:
    return {name: np.empty((count, 4, 4), np.float32) for name in names}
