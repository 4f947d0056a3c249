# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain of two bones bent by Blender's IK solver with stretch, and how to make it show a wanted middle joint.

All is seen in the *chord frame* of each frame: its origin is the head of the first bone, its Y axis points from there
to the target. With the target given, the solver's result is a plane figure: the place of the middle joint *along* the
chord and *across* it, at an *angle* about it. Turning the first bone about the chord before solving turns the figure
and changes nothing else. Its shape depends on the *size* that the first bone is scaled to and on the *bend* about the
hinge that it starts from or, where that is not free, on its *share* of the stretching: how, is learnt by asking
(`search`).
The chain ends a little beside the target, within the solver's tolerance: the target is *shifted* to make up for that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .rotations import about_axis, shortest_arc, split_scale
from .search import Unknowns

Array = NDArray[np.float64]
_TELLING = 2.5e-4
"""A middle joint nearer to the chord, in lengths of the limb, does not tell in which plane the limb bends."""
_MOST_FOLDED = 0.12
"""How far a limb may be bent against its hinge, in lengths of the limb: about 28 degrees."""


def _size(across: Array) -> Array:
    return 0.992 + 0.07 * np.abs(across)


def _unknowns(
    unit: float, low: float, high: float, trial: float, size: Callable[[Array], Array], second: Callable[[Array], Array]
) -> Unknowns:
    """The size of the first bone, another unknown, and how far the target is moved along the chord."""
    return Unknowns(
        unit=(0.02, unit, 0.001),
        low=(0.5, low, -0.003),
        high=(3.0, high, 0.003),
        trial=(0.2, trial, 0.3),
        guess=lambda across: np.stack([size(across), second(across), np.zeros(len(across))], axis=1),
    )


FREE = _unknowns(0.3, -2.0, 1.3, 0.5, _size, lambda across: 2.2 * np.exp(-across / 0.06) - 1.1)
"""Size, bend (radians) and shift without a pole. The guess is what Human's arms and legs need, roughly."""
FOLDED = _unknowns(0.1, 2.4, 3.7, 0.5, lambda across: _size(across) + 0.01, lambda across: np.full(len(across), 2.9))
"""Size, bend and shift for a limb that is bent against its hinge: the first bone starts out pointing away."""
SHARED = _unknowns(0.01, -0.15, 0.15, 0.1, _size, np.zeros_like)
"""Size, share and shift where the start is not free: a pole makes the solver forget it, what aims a paw sets it."""


def stretches_of(share: Array, usual: float) -> Array:
    """The IK stretches (n, 2) of first and second bone that give the first a `share` (n,) more of the stretching.

    `usual` is what both have otherwise; a negative share is the second bone's. Blender weighs a bone by the square of
    its IK stretch and takes no less than 0.1 for it.
    """
    more = np.sqrt(max(usual, 0.1) ** 2 + np.abs(share))
    return np.stack([np.where(share > 0, more, usual), np.where(share < 0, more, usual)], axis=1)


@dataclass
class Figure:
    """The middle joint in the chord frame, each (n,): two lengths and an angle in radians."""

    along: Array
    across: Array
    angle: Array


def chord_frames(bases: Array, heads: Array, targets: Array) -> Array:
    """Rotations (n, 3, 3) of the chord frames: the base bone's own, turned by the shortest arc onto the chord.

    `bases` (n, 3, 3) is the base control's orientation with its basis at rest; `heads` and `targets` are (n, 3). A
    target that lies on the head gives the base's own orientation.
    """
    turn, _ = split_scale(bases)
    chord = targets - heads
    chord = np.where(np.linalg.norm(chord, axis=1, keepdims=True) < 1e-12, turn[:, :, 1], chord)
    return shortest_arc(turn[:, :, 1], chord) @ turn


def figure(frames: Array, heads: Array, middles: Array) -> Figure:
    """The middle joints (n, 3) as seen in chord frames (n, 3, 3) at `heads` (n, 3)."""
    x, y, z = np.einsum("nji,nj->in", frames, middles - heads)
    return Figure(y, np.hypot(x, z), np.arctan2(x, z))


def hinge_angles(frames: Array, hinges: Array, hinge: int) -> Array:
    """How far (n,) the base must turn about the chord for its hinge axis to point along `hinges` (n, 3).

    `hinge` is 0 for X, 2 for Z.
    """
    x, _, z = np.einsum("nji,nj->in", frames, hinges)
    return np.arctan2(-z, x) if hinge == 0 else np.arctan2(x, z)


def bend_angle_at_rest(base: Array, middle_direction: Array) -> float:
    """The figure's angle at turn zero, in radians, as the rest pose tells it.

    The first bone starts out along the chord and the second points aside: the solver folds the middle joint to the
    other side. `base` (3, 3) is the base bone's rest orientation, `middle_direction` (3,) that of the second bone.
    """
    aside = base.T @ middle_direction
    return float(np.arctan2(-aside[0], -aside[2]))


def bend_sign_at_rest(base: Array, middle_direction: Array, hinge: int) -> float:
    """1 where the limb bends by turning the second bone on about the hinge axis, -1 where by turning it back.

    The arguments are as `bend_angle_at_rest` and `hinge_angles` have them.
    """
    aside = base.T @ middle_direction
    return -1.0 if (aside[2] < 0 if hinge == 0 else aside[0] > 0) else 1.0


def bend_planes(
    off: Array, reach: Array, last: float | None = None, *, folds: bool | NDArray[np.bool_] = True
) -> Array:
    """The planes (n,) that a limb bends in, as angles in radians that do not jump from frame to frame.

    `off` (n,) is the angle in radians about the chord from where the hinge would bend the limb to where the middle
    joint is, `reach` (n,) how far that stands off the chord, in lengths of the limb. A limb that passes through
    straight keeps its plane and bends to the other side of it, as long as it is nearly straight and where `folds` (n,)
    allows it; else the plane turns. A straight limb says nothing: it takes its plane from its neighbours in time.
    `last` is the plane of the frame before.
    """
    count = len(off)
    telling = np.flatnonzero(reach > _TELLING)
    if not len(telling):
        return np.full(count, last or 0.0)
    two = np.stack([off[telling], off[telling] + np.pi], axis=1)
    forbidden = (reach[telling] > _MOST_FOLDED) | ~np.broadcast_to(folds, (count,))[telling]
    own = np.stack([np.zeros(len(telling)), np.where(forbidden, 1e3, 0.05)], axis=1)
    own += np.where(np.abs(wrapped(two)) > np.pi / 2, 0.02, 0)
    turned = np.abs(wrapped(two[1:, None, :] - two[:-1, :, None]))  # frame, from side, to side
    begin = np.zeros(2) if last is None else np.abs(wrapped(two[0] - last))
    chosen = two[np.arange(len(telling)), _cheapest(own, turned, begin)]
    chosen = np.unwrap(np.concatenate([[last or 0.0], chosen]))[1:]
    if last is None:
        return np.interp(np.arange(count), telling, chosen)
    return np.interp(np.arange(count), [-1, *telling], [last, *chosen])


def _cheapest(own: Array, steps: Array, begin: Array) -> NDArray[np.int64]:
    """The cheapest way (n,) through two states a frame (Viterbi 1967): `own` (n, 2) is the cost of being in a state,
    `steps` (n - 1, 2, 2) of going from one to one, `begin` (2,) of beginning in one.
    """
    cost = begin + own[0]
    came = np.zeros((len(own), 2), np.int64)
    for row in range(1, len(own)):
        total = cost[:, None] + steps[row - 1]
        came[row] = total.argmin(axis=0)
        cost = total.min(axis=0) + own[row]
    way = np.empty(len(own), np.int64)
    way[-1] = cost.argmin()
    for row in range(len(own) - 1, 0, -1):
        way[row - 1] = came[row, way[row]]
    return way


def base_rotations(frames: Array, turns: Array, bends: Array, hinge: int) -> Array:
    """Orientations (n, 3, 3) of the base bone before solving: bent about its hinge, then turned about the chord."""
    return frames @ about_axis(1, turns) @ about_axis(hinge, bends)


def turned(frames: Array, turns: Array, rotations: Array) -> Array:
    """Orientations (n, 3, 3) turned about the chords of chord frames (n, 3, 3) by `turns` (n,)."""
    return frames @ about_axis(1, turns) @ np.swapaxes(frames, 1, 2) @ rotations


def wrapped(angles: Array) -> Array:
    """The same angles (n,) between -pi and pi."""
    return angles - 2 * np.pi * np.round(angles / (2 * np.pi))
