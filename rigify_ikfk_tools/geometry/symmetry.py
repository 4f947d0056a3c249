# SPDX-License-Identifier: GPL-3.0-or-later
"""Landmarks by name, and their left and right."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .rotations import about_axis

Array = NDArray[np.float64]
Points = dict[str, Array]

SIDES = {"L": 1.0, "R": -1.0}


def mirrored_name(name: str) -> str:
    """The landmark or bone on the other side; the same name in the middle."""
    stem, _, side = name.rpartition(".")
    return f"{stem}.{'R' if side == 'L' else 'L'}" if side in SIDES and stem else name


def _middle_x(marks: Points) -> float:
    return float(np.mean([place[0] for name, place in marks.items() if mirrored_name(name) == name]))


def straightening_turn(marks: Points) -> Array:
    """The turn (3, 3) about Z after which the right side lies straight across from the left."""
    pairs = [place - marks[mirrored_name(name)] for name, place in marks.items() if name.endswith(".L")]
    across = np.sum(pairs, axis=0)
    return about_axis(2, np.array([-np.arctan2(across[1], across[0])]))[0]


def is_symmetric(marks: Points, tolerance: float) -> bool:
    """Whether left and right are mirror images in X, but for the tolerance."""
    middle = 2 * _middle_x(marks)
    gaps = [
        np.linalg.norm(place - (marks[mirrored_name(name)] * [-1, 1, 1] + [middle, 0, 0]))
        for name, place in marks.items()
        if name.endswith(".L")
    ]
    return bool(max(gaps) < tolerance)


def symmetrised(marks: Points) -> Points:
    """The mean of landmarks and their mirror images in X."""
    middle = 2 * _middle_x(marks)
    return {
        name: (place + marks[mirrored_name(name)] * [-1, 1, 1] + [middle, 0, 0]) / 2 for name, place in marks.items()
    }
