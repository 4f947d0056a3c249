# SPDX-License-Identifier: GPL-3.0-or-later
"""What controls shall be on every frame, gathered frame by frame and keyed in one go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from .controls import EVERYTHING, key_basis
from .fcurves import Rewrite

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_SAME, _SAME_TURN = 2e-6, 4e-5
"""Poses that differ less than this (metres, and entries of rotations) are the same to single precision, and to the
shear that a rig's mechanism adds in single precision."""


@dataclass
class Change:
    """What a control shall be on some of the frames that were looked at."""

    what: str
    """A bone, or the data path of a number."""
    rows: Mask
    """On which of the n frames."""
    values: Array
    """Basis matrices (m, 4, 4), one for each of these frames; or numbers (m,)."""
    parts: tuple[str, ...] = EVERYTHING
    passive: bool = False
    """Whether this is how it is already: not to be keyed unless another change moves it."""


class Tracks:
    """The changes of all controls over n frames, in single precision as Blender keeps them."""

    def __init__(self, rig: bpy.types.Object, count: int) -> None:
        self._rig = rig
        self._count = count
        self._values: dict[str, NDArray[np.float32]] = {}
        self._parts: dict[str, tuple[str, ...]] = {}
        self._active: set[str] = set()
        self._unwritten: set[str] = set()

    def put(self, places: NDArray[np.integer[Any]], changes: Iterable[Change]) -> NDArray[np.integer[Any]]:
        """Take in changes on the frames at `places` (n,); those of them on which something is to be keyed anew."""
        touched = np.zeros(len(places), bool)
        for change in changes:
            if not change.rows.any():
                continue
            values = change.values[:, :3] if change.values.ndim == 3 else change.values
            self._track(change)[places[change.rows]] = values
            if not change.passive:
                touched |= change.rows
                self._active.add(change.what)
            if change.what in self._active:
                self._unwritten.add(change.what)
        return places[touched]

    def _track(self, change: Change) -> NDArray[np.float32]:
        if change.what not in self._values:
            if change.values.ndim == 3:
                start: Any = np.tile(np.eye(3, 4, dtype=np.float32), (self._count, 1, 1))
            else:
                start = np.full(self._count, self._rig.path_resolve(change.what), np.float32)
            self._values[change.what], self._parts[change.what] = start, change.parts
        return self._values[change.what]

    def write(self, rewrite: Rewrite) -> None:
        """Key all that has changed since the last time."""
        for what in sorted(self._unwritten):
            values = self._values[what]
            if values.ndim == 3:
                key_basis(rewrite, self._rig.pose.bones[what], whole(values), self._parts[what])
            else:
                rewrite.set_number(what, values.astype(float))
        self._unwritten.clear()
        rewrite.curves.changed()


def still(count: int) -> Array:
    """Identity matrices (n, 4, 4)."""
    return np.tile(np.eye(4), (count, 1, 1))


def whole(kept: NDArray[np.float32]) -> Array:
    """Matrices (n, 4, 4) of which the last row (n, 3, 4) was left out."""
    out = still(len(kept))
    out[:, :3] = kept
    return out


def apart(first: Array, second: Array) -> Mask:
    """Where (n,) two arrays of pose matrices (n, 4, 4) differ by more than single precision."""
    off = np.abs(first - second)[:, :3]
    place, turn = np.abs(second)[:, :3, 3], np.abs(second)[:, :3, :3]
    moved = off[:, :, 3].max(axis=1) > _SAME * np.maximum(1, place.max(axis=1))
    return moved | (off[:, :, :3].max(axis=(1, 2)) > _SAME_TURN * turn.max(axis=(1, 2)))
