# SPDX-License-Identifier: GPL-3.0-or-later
"""Rings around limbs and slices through the trunk of a surface."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .surface import Surface

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CentreLine:
    """The middles (n, 3) of rings around a limb and how far (n,) each lies from the tip along the surface."""

    lengths: Array
    middles: Array

    def at(self, length: float) -> Array:
        """The middle (3,) of the limb at a length from its tip."""
        return np.array([np.interp(length, self.lengths, self.middles[:, axis]) for axis in range(3)])


def centre_line(
    surface: Surface, from_tip: Array, from_far: Array, tip: int, upto: float, count: int = 60
) -> CentreLine:
    """The line through the middle of a limb, from its tip to a length `upto` along it.

    Rings are taken where the way to the tip (`from_tip` (n,)) less the way to a far place on the body (`from_far` (n,))
    is the same: unlike rings of equal distance to the tip alone, they do not run into neighbouring fingers or toes.
    """
    field, faces = _rings(surface, from_tip, from_far, tip, 1.3 * upto)
    lengths, middles = [0.0], [surface.points[tip]]
    for length in np.linspace(upto / count, upto, count):
        middle = _middle(*surface.contour(field, float(length), faces))
        if middle is not None:
            lengths.append(float(length))
            middles.append(middle)
    return CentreLine(np.array(lengths), np.array(middles))


def girth(surface: Surface, from_tip: Array, from_far: Array, tip: int, length: float) -> float:
    """The way around a limb at a length from its tip, along a ring as in `centre_line`."""
    field, faces = _rings(surface, from_tip, from_far, tip, 1.6 * length)
    _, pieces = surface.contour(field, length, faces)
    return float(np.linalg.norm(pieces, axis=1).sum())


def _rings(
    surface: Surface, from_tip: Array, from_far: Array, tip: int, reach: float
) -> tuple[Array, NDArray[np.bool_]]:
    """The length (n,) along a limb of each vertex, whose contours are its rings, and the faces (m,) within `reach`."""
    near = np.isfinite(from_tip) & np.isfinite(from_far) & (from_tip < reach)
    field = (np.where(near, from_tip, 0) + from_far[tip] - np.where(near, from_far, 0)) / 2
    return field, near[surface.triangles].all(axis=1)


def _middle(places: Array, pieces: Array) -> Array | None:
    weights = np.linalg.norm(pieces, axis=1)
    if len(places) < 3 or weights.sum() <= 0:
        return None
    return (places * weights[:, None]).sum(axis=0) / weights.sum()


@dataclass(frozen=True)
class Slice:
    """A level cut through the trunk: box of its outline."""

    height: float
    low: Array
    high: Array

    @property
    def middle(self) -> Array:
        """The middle (3,) of the box."""
        return (self.low + self.high) / 2

    @property
    def width(self) -> float:
        """From left to right."""
        return float(self.high[0] - self.low[0])


def slices(surface: Surface, heights: Array, faces: NDArray[np.bool_]) -> list[Slice]:
    """Level cuts at `heights` (n,) through the chosen `faces` (m,); heights where nothing is cut are left out."""
    out = []
    for height in heights:
        places, _ = surface.contour(surface.points[:, 2], float(height), faces)
        if len(places) >= 3:
            out.append(Slice(float(height), places.min(axis=0), places.max(axis=0)))
    return out
