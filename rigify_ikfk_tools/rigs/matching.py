# SPDX-License-Identifier: GPL-3.0-or-later
"""Many limbs made to show what was seen, in one pass over the shot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..errors import ToolError
from .fcurves import Rewrite
from .limbs import FK, Finger, Limb
from .match_finger import FingerMatch
from .match_fk import FkMatch
from .match_ik import IkMatch
from .stage import Played, Poses, Stage
from .tracks import Tracks, whole

Match = FkMatch | IkMatch | FingerMatch
Places = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]
Kept = dict[str, NDArray[np.float32]]
"""Pose matrices by bone name, without their last row (n, 3, 4), in single precision as Blender has them."""

_BLOCK = 256
"""Frames that are held in memory with all that is read of them."""
_CORRECTIONS = 4
"""How often controls are corrected at most after they were first written."""


class Matching:
    """Limbs and the sides that shall show what is visible now, on all frames of a shot.

    With `visible` the visible bones will show that; without, for sliders that are left alone, the bones that they would
    follow on the side of each limb. `keep_roll` is as `IkMatch` has it.

    First `look`, which changes nothing; then `carry_over`, which keys the controls, plays the shot, and corrects what
    is not there yet. To be used in a ``with`` statement.
    """

    def __init__(
        self,
        stage: Stage,
        rig: bpy.types.Object,
        sides: Sequence[tuple[Limb, str]],
        frames: range,
        *,
        visible: bool = True,
        keep_roll: bool = False,
    ) -> None:
        self._stage, self._rig, self._frames = stage, rig, frames
        self._benches = ExitStack()
        self._matches = list(_matches(rig, sides, self._benches, keep_roll))
        self._tracks = Tracks(rig, len(frames))
        self._visible = list(dict.fromkeys(name for limb, _ in sides for name in limb.visible))
        self._shows = {limb.name: limb.visible if visible else limb.result(side) for limb, side in sides}
        self._before: Kept = _room(self._visible, len(frames))
        self._after: Kept = {}

    def __enter__(self) -> Matching:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._benches.close()

    def look(self, *, live: bool = False) -> None:
        """See what is visible, and find what the controls must be.

        With `live`, where there is one frame only, that is what the user sees now, poses without keys included.
        """
        for match in self._matches:
            match.begin(len(self._frames))
        for places in _blocks(np.arange(len(self._frames))):
            played = self._play(places, live=live)
            for name in self._visible:
                self._before[name][places] = played.poses[name][:, :3]
                self._refuse_numberless(name, places)
            wanted = {name: played.poses[name] for name in self._visible}
            for match in self._matches:
                self._tracks.put(places, match.first(places, wanted, played))

    def carry_over(self, rewrite: Rewrite) -> None:
        """Key the controls and correct them, until nothing is left to correct when the frames are played."""
        self._after = _room({name for names in self._shows.values() for name in names}, len(self._frames))
        waiting: Places = np.arange(len(self._frames))
        for turn in range(_CORRECTIONS + 1):
            self._tracks.write(rewrite)
            touched = [self._compare(places, correct=turn < _CORRECTIONS) for places in _blocks(waiting)]
            waiting = np.concatenate(touched)
            if not len(waiting):
                break

    def replay(self) -> None:
        """Play all frames once more, as their keys are now."""
        for places in _blocks(np.arange(len(self._frames))):
            self._compare(places, correct=False)

    def seen(self, limb: Limb) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """Pose matrices (n, 3, 4) of each visible bone before, and what was shown when each frame was last played."""
        for name, shown in zip(limb.visible, self._shows[limb.name], strict=True):
            yield self._before[name], self._after[shown]

    def out_of_reach(self, limb: Limb) -> Mask:
        """The frames (n,) on which a constraint holds back the target of the limb's IK side."""
        return self._any_match(limb, lambda match: match.held_back)

    def uneven(self, limb: Limb) -> Mask:
        """The frames (n,) on which the limb's visible bones are not stretched alike, as IK would stretch them."""
        return self._any_match(limb, lambda match: match.uneven)

    def _any_match(self, limb: Limb, which: Callable[[IkMatch], Mask]) -> Mask:
        masks = [which(match) for match in self._matches if isinstance(match, IkMatch) and match.limb == limb]
        return np.logical_or.reduce([np.zeros(len(self._frames), bool), *masks])

    def _refuse_numberless(self, name: str, places: Places) -> None:
        lost = places[~np.isfinite(self._before[name][places]).all(axis=(1, 2))]
        if len(lost):
            raise ToolError(
                f"{name!r} has no pose on frame {self._frames[lost[0]]}: a key, a driver or a property that moves it "
                "holds a value that is no number. Mend that first."
            )

    def _compare(self, places: Places, *, correct: bool) -> Places:
        """Play some frames; those of them on which a control was corrected."""
        played = self._play(places)
        for name in self._after:
            self._after[name][places] = played.poses[name][:, :3]
        if not correct:
            return places[:0]
        wanted: Poses = {name: whole(self._before[name][places]) for name in self._visible}
        touched = [self._tracks.put(places, match.again(places, wanted, played)) for match in self._matches]
        return np.unique(np.concatenate(touched))

    def _play(self, places: Places, *, live: bool = False) -> Played:
        reads, bases, values = (
            sorted({name for match in self._matches for name in names(match)})
            for names in (lambda match: match.reads, lambda match: match.bases, lambda match: match.values)
        )
        if live:
            return self._stage.seen_now(reads, bases=bases, values=values)
        return self._stage.play((self._frames[place] for place in places), reads, bases=bases, values=values)


def _blocks(places: Places) -> Iterator[Places]:
    for first in range(0, len(places), _BLOCK):
        yield places[first : first + _BLOCK]


def _room(names: Iterable[str], count: int) -> Kept:
    return {name: np.empty((count, 3, 4), np.float32) for name in names}


def _matches(
    rig: bpy.types.Object, sides: Sequence[tuple[Limb, str]], benches: ExitStack, keep_roll: bool
) -> Iterator[Match]:
    fingers: dict[Finger, set[str]] = {}
    for limb, side in sides:
        if isinstance(limb, Finger):
            fingers.setdefault(limb, set()).add(side)
        else:
            yield FkMatch(rig, limb) if side == FK else IkMatch(rig, limb, benches, keep_roll=keep_roll)
    for finger, wanted in fingers.items():
        yield FingerMatch(rig, finger, wanted)
