# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a hand ends, and where its fingers lie."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .extremities import Limb
from .sections import girth
from .surface import Surface
from .symmetry import SIDES, Points

Array = NDArray[np.float64]

# Shares of the way from hand to hand: of the wrist, and of the wrist less that of the thinnest place of the forearm.
_WRIST, _BEYOND_THINNEST = 0.114, -0.009
_FROM_PALM = 1.37
"""The wrist lies so much farther from the fingertips than the thickest place of the palm."""
# Hand, in lengths from wrist to the middle finger's tip: along the hand, toward the thumb, toward the palm.
_HAND = {
    "thumb": ((0.194, 0.135, -0.03), (0.543, 0.417, 0.19)),
    "f_index": ((0.545, 0.161, -0.09), (0.929, 0.233, 0.02)),
    "f_middle": ((0.541, 0.016, -0.11), (1.0, 0.0, 0.02)),
    "f_ring": ((0.516, -0.091, -0.10), (0.93, -0.182, 0.02)),
    "f_pinky": ((0.474, -0.192, -0.06), (0.749, -0.284, 0.045)),
}


def wrist_share(surface: Surface, hand: Limb, other: Limb) -> float:
    """How far the wrist lies from the tip of the hand, in shares of the way to the tip of the other hand.

    Three guesses, the middle one counts: before the thinnest place of the forearm, behind the thickest place of the
    palm, and by proportion. A sleeve or a bracelet spoils one of them, a large hand another.
    """
    span = float(hand.ways[other.tip])
    shares = np.linspace(0.05, 0.22, 50)
    girths = np.array([girth(surface, hand.ways, other.ways, hand.tip, share * span) for share in shares])
    smooth = np.convolve(np.pad(girths, 2, mode="edge"), np.ones(5) / 5, "valid")
    begin = int(np.searchsorted(shares, 0.08))
    thinnest = begin + int(np.argmin(smooth[begin:]))
    thickest = int(np.argmax(smooth[: thinnest + 1]))
    return float(np.median([shares[thinnest] + _BEYOND_THINNEST, _FROM_PALM * shares[thickest], _WRIST]))


def fingers_by_proportion(points: Array, wrist: Array, tip: Array, side: str) -> Points:
    """Bases and tips of the fingers in the plane in which the hand is flat.

    `points` (n, 3) are those of the hand, in the body's own axes (left, back, up). Wrist and tip are
    places apart.
    """
    length = float(np.linalg.norm(tip - wrist))
    along = (tip - wrist) / length
    flat = points - points.mean(axis=0)
    flat = flat - np.outer(flat @ along, along)
    thin = np.linalg.eigh(flat.T @ flat)[1][:, 1] if len(points) > 3 else np.array([0, 0, 1.0])
    thumb = np.cross(along, thin)
    thumb = thumb * (-1 if thumb[1] > 0 else 1) / np.linalg.norm(thumb)  # toward the front
    palm = np.cross(along, thumb) * SIDES[side]
    frame = np.stack([along, thumb, palm]) * length
    return {
        f"{finger}_{end}.{side}": wrist + np.array(place) @ frame
        for finger, places in _HAND.items()
        for end, place in zip(("base", "tip"), places, strict=True)
    }
