# SPDX-License-Identifier: GPL-3.0-or-later
"""Which frames need a key, so that what runs smoothly between the keys is near what was wanted on every frame.

Between two keys a curve is a cubic that leaves and reaches them with the slopes of the wanted motion (Hermite). That is
what Blender shows of a Bezier curve whose handles reach over a third of the way in time.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


def slopes(values: Array) -> Array:
    """How fast values (n, c), one for each frame, change, by frame (n, c)."""
    if len(values) < 2:
        return np.zeros_like(values)
    return np.gradient(values, axis=0, edge_order=2 if len(values) > 2 else 1)


def eased(count: int, linear: bool) -> Array:
    """Shares (n,) from 0 to 1 over so many frames, evenly or slowly at first and at last."""
    share = np.linspace(0, 1, count) if count > 1 else np.ones(1)
    return share if linear else share * share * (3 - 2 * share)


def interpolated(values: Array, rows: Rows) -> Array:
    """What keys on the frames `rows` (k,) alone would show (n, c) of values (n, c).

    `rows` ascend, from the first frame to the last.
    """
    if len(rows) < 2:
        return values.copy()
    frames = np.arange(len(values))
    segment = np.clip(np.searchsorted(rows, frames, side="right") - 1, 0, len(rows) - 2)
    return _cubic(values, slopes(values), rows[segment], rows[segment + 1], frames)


def fewest_rows(values: Array, tolerances: Array, must: Rows) -> Rows:
    """Few frames (k,) whose keys show values (n, c) on each frame to within `tolerances` (c,).

    `must` are frames that get a key in any case; the first and the last do.
    """
    last = len(values) - 1
    fixed = np.unique(np.concatenate([must, [0, last]]))
    rows, more = fixed[:0], fixed
    while len(more) > len(rows):
        rows, more = more, with_worst(more, _error(values, tolerances, more), 1.0)
    return _without_idle(values, tolerances, rows, fixed)


def with_worst(rows: Rows, error: Array, limit: float | Array) -> Rows:
    """The frames `rows` and, between each two of them, the one on which `error` (n,) is most beyond `limit`."""
    beyond = np.where(error > limit, error / np.maximum(limit, 1e-12), 0)
    more = []
    for start, stop in pairwise(rows):
        if stop > start + 1 and beyond[start + 1 : stop].max() > 0:
            more.append(start + 1 + int(beyond[start + 1 : stop].argmax()))
    return np.unique(np.concatenate([rows, np.array(more, dtype=rows.dtype)]))


def _error(values: Array, tolerances: Array, rows: Rows) -> Array:
    """The largest error (n,) of any channel, in tolerances."""
    return (np.abs(interpolated(values, rows) - values) / tolerances).max(axis=1)


def _without_idle(values: Array, tolerances: Array, rows: Rows, must: Rows) -> Rows:
    """The frames without those that can be left out."""
    kept = list(rows)
    slope = slopes(values)
    place = 1
    while place < len(kept) - 1:
        start, stop = kept[place - 1], kept[place + 1]
        if kept[place] not in must and _spans(values, slope, tolerances, start, stop):
            del kept[place]
            place = max(place - 1, 1)
        else:
            place += 1
    return np.array(kept, dtype=rows.dtype)


def _spans(values: Array, slope: Array, tolerances: Array, start: int, stop: int) -> bool:
    """Whether one cubic from `start` to `stop` is near enough on all frames between."""
    frames = np.arange(start, stop + 1)
    shown = _cubic(values, slope, np.full(len(frames), start), np.full(len(frames), stop), frames)
    return bool((np.abs(shown - values[frames]) <= tolerances).all())


def _cubic(values: Array, slope: Array, start: Rows, stop: Rows, frames: Rows) -> Array:
    """What shows on `frames` (m,) that lie between the keys on frames `start` and `stop`, (m,) each."""
    gap = (stop - start)[:, None].astype(float)
    t = (frames - start)[:, None] / gap
    ends = (1 + 2 * t) * (1 - t) ** 2 * values[start] + t * t * (3 - 2 * t) * values[stop]
    return ends + gap * (t * (1 - t) ** 2 * slope[start] + t * t * (t - 1) * slope[stop])
