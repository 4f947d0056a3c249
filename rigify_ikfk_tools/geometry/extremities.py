# SPDX-License-Identifier: GPL-3.0-or-later
"""The five ends of a standing humanoid: crown, hands and feet, as the places farthest apart along its surface."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from .surface import Surface

Array = NDArray[np.float64]

_MOST_ENDS = 8
"""So many ends are looked at where the first five are no humanoid: a tail, a cape, a sword."""


class UnreadableBody(ValueError):
    """The surface is no standing humanoid, and the text says what was missed."""


@dataclass(frozen=True)
class Limb:
    """The tip of a head, hand or foot, and the ways (n,) along the surface from it."""

    tip: int
    ways: Array


@dataclass(frozen=True)
class Extremities:
    """Head, feet and hands; which foot or hand is left is not known yet."""

    head: Limb
    feet: tuple[Limb, Limb]
    hands: tuple[Limb, Limb]

    @property
    def span(self) -> float:
        """From hand to hand along the surface."""
        return float(self.hands[0].ways[self.hands[1].tip])

    @property
    def asymmetry(self) -> float:
        """How unlike the two sides are: 0 where all ways on the left are as long as on the right."""
        (foot, other_foot), (hand, other_hand) = self.feet, self.hands
        along = [
            (self.head.ways[foot.tip], self.head.ways[other_foot.tip]),
            (self.head.ways[hand.tip], self.head.ways[other_hand.tip]),
        ]
        straight = [(hand.ways[foot.tip], other_hand.ways[other_foot.tip])]
        crossed = [(hand.ways[other_foot.tip], other_hand.ways[foot.tip])]
        return max(abs(a - b) / (a + b) for a, b in along + straight + crossed)


def find_extremities(surface: Surface) -> Extremities:
    """The five ends of a surface that stands along Z. Raises UnreadableBody where they make no humanoid.

    The crown is the highest place unless a hand is raised above it.
    """
    levels = np.where(surface.used, surface.points[:, 2], -np.inf)
    ends = [_limb(surface, int(np.argmax(levels)))]
    nearest = ends[0].ways
    while len(ends) < 5:
        nearest = _add_end(surface, ends, nearest)
    low_first = sorted(ends[1:], key=lambda limb: surface.points[limb.tip, 2])
    usual = Extremities(ends[0], (low_first[0], low_first[1]), (low_first[2], low_first[3]))
    fault = _fault(surface, usual)
    if fault is None:
        return usual
    while len(ends) < _MOST_ENDS and np.isfinite(nearest).any():
        nearest = _add_end(surface, ends, nearest)
    others = [chosen for chosen in _choices(surface, ends) if _fault(surface, chosen) is None]
    if not others:
        raise UnreadableBody(fault)
    best = min(others, key=lambda chosen: chosen.asymmetry)
    return Extremities(_crown(surface, best.head), best.feet, best.hands)


def _limb(surface: Surface, tip: int) -> Limb:
    return Limb(tip, surface.distances(tip))


def _add_end(surface: Surface, ends: list[Limb], nearest: Array) -> Array:
    """Add the place farthest from all ends so far; how far each place is from its nearest end now."""
    reached = surface.used & np.isfinite(nearest)
    ends.append(_limb(surface, int(np.argmax(np.where(reached, nearest, -1)))))
    return np.minimum(nearest, ends[-1].ways)


def _choices(surface: Surface, ends: list[Limb]) -> Iterator[Extremities]:
    """Every way to call five of the ends head, feet and hands, the feet at the bottom and the head above the middle."""
    levels = [float(surface.points[end.tip, 2]) for end in ends]
    ground, top = min(levels), max(levels)
    for feet in combinations(range(len(ends)), 2):
        if max(levels[foot] for foot in feet) > ground + 0.2 * (top - ground):
            continue
        rest = [n for n in range(len(ends)) if n not in feet]
        for hands in combinations(rest, 2):
            for head in set(rest) - set(hands):
                if levels[head] > ground + 0.6 * (top - ground):
                    yield Extremities(ends[head], (ends[feet[0]], ends[feet[1]]), (ends[hands[0]], ends[hands[1]]))


def _crown(surface: Surface, head: Limb) -> Limb:
    """The highest place near the end of the head."""
    near = head.ways < 0.2 * np.ptp(surface.points[surface.used][:, 2])
    top = int(np.argmax(np.where(near & surface.used, surface.points[:, 2], -np.inf)))
    return head if top == head.tip else _limb(surface, top)


def _fault(surface: Surface, found: Extremities) -> str | None:
    """Why five ends are no humanoid's, if so."""
    ground = surface.points[surface.used][:, 2].min()
    height = float(surface.points[found.head.tip, 2] - ground)
    levels = [(surface.points[limb.tip, 2] - ground) / max(height, 1e-30) for limb in found.feet + found.hands]
    if max(levels[:2]) > 0.2:
        return "no two feet were found near the ground"
    if min(levels[2:]) < 0.15:
        return "no two hands were found above the feet; four limbs reach the ground"
    for what, (one, other) in (("legs", found.feet), ("arms", found.hands)):
        ways = sorted((found.head.ways[one.tip], found.head.ways[other.tip]))
        if ways[0] < 0.75 * ways[1]:
            return f"the two {what} are of very different length"
    if not 0.6 < found.span / height < 1.8:
        return "what looks like arms is too long or too short for the height"
    return None
