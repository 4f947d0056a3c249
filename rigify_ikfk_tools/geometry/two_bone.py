# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain of two bones bent by Blender's IK solver with stretch, and how to make it show a wanted middle joint.

All is seen in the *chord frame* of each frame: its origin is the head of the first bone, its Y axis points from there
to the target. With the target given, the solver's result is a plane figure: the place of the middle joint *along* the
chord and *across* it, at an *angle* about it. Turning the first bone about the chord before solving turns the figure
and changes nothing else. Its shape depends on the *size* that the first bone is scaled to and on the *bend* about the
hinge that it starts from; how, is learnt from the solver itself (`Shape`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .rotations import about_axis, shortest_arc, split_scale

Array = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]
"""Some of the frames, by their place among all."""

_UNIT = np.array([0.02, 0.3])
"""One step of (size, bend): both then move the middle joint by about the same."""
_MOST = 3.0
"""Longest change in one correction, in steps."""
_NOISE = 1e-4
"""How far, in lengths of the limb, the solver's own tolerance may place the middle joint along the chord."""
_BOUNDS = np.array([[0.5, -2.0], [3.0, 1.2]])
_FIRST_GUESS = (1.01, -0.9)
"""Where a probe begins: near what Human's arms and legs need at middle reach."""


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


def goal_angles(wanted: Figure, hinge_goal: Array, total: Array) -> Array:
    """The angle (n,) that the middle joint shall have about the chord.

    Its own, where it stands off the chord; in a nearly straight limb, whose middle joint says nothing, that of the
    visible hinge axis. Between 1/10,000 and 5/10,000 of the limb's length (`total` (n,)) one passes into the other.
    """
    weight = np.clip((wanted.across / total - 1e-4) / 4e-4, 0, 1)
    weight = weight * weight * (3 - 2 * weight)
    x = weight * np.sin(wanted.angle) + (1 - weight) * np.sin(hinge_goal)
    z = weight * np.cos(wanted.angle) + (1 - weight) * np.cos(hinge_goal)
    torn = np.hypot(x, z) < 1e-3
    return np.where(torn, wanted.angle, np.arctan2(x, z))


def base_rotations(frames: Array, turns: Array, bends: Array, hinge: int) -> Array:
    """Orientations (n, 3, 3) of the base bone before solving: bent about its hinge, then turned about the chord."""
    return frames @ about_axis(1, turns) @ about_axis(hinge, bends)


def turn_and_bend(rotations: Array, hinge: int) -> tuple[Array, Array]:
    """The opposite of `base_rotations` in the chord frame: turns and bends (n,) of orientations (n, 3, 3)."""
    if hinge == 0:
        turns = np.arctan2(-rotations[:, 2, 0], rotations[:, 0, 0])
    else:
        turns = np.arctan2(rotations[:, 0, 2], rotations[:, 2, 2])
    bent = about_axis(1, -turns) @ rotations
    j, k = (hinge + 1) % 3, (hinge + 2) % 3
    return turns, np.arctan2(bent[:, k, j], bent[:, j, j])


def wrapped(angles: Array) -> Array:
    """The same angles (n,) between -pi and pi."""
    return angles - 2 * np.pi * np.round(angles / (2 * np.pi))


class Shape:
    """Finds size and bend for each frame so that the solver puts the middle joint where it is wanted.

    A secant method (Broyden 1965) in two unknowns on all frames at once: each evaluation by the real solver corrects
    the unknowns and the slopes of its own frame. The best values that a frame has had are kept.
    """

    def __init__(self, along: Array, across: Array) -> None:
        """`along`, `across` (n,): the wanted figure, in lengths of the whole chain at rest."""
        self.wanted = np.stack([along, across], axis=1)
        count = len(along)
        self.unknowns = np.tile(np.array(_FIRST_GUESS) / _UNIT, (count, 1))
        self.slopes = np.tile(np.array([[1.2e-3, 4e-4], [2e-2, 2e-3]]), (count, 1, 1))
        self._known = np.zeros(count, bool)
        self._bend_works = np.ones(count, bool)
        self.best = self.unknowns.copy()
        self.best_error = np.full(count, np.inf)
        self.residuals = np.zeros((count, 2))
        self._evaluated = np.full((count, 2), np.nan)

    def start(self, rows: NDArray[np.bool_], sizes: Array, bends: Array) -> None:
        """Begin from known unknowns where `rows` (n,) says so."""
        self.unknowns = np.where(rows[:, None], np.stack([sizes, bends], axis=1) / _UNIT, self.unknowns)
        self._known = rows

    @property
    def size(self) -> Array:
        """Scale (n,) of the first bone, in wanted lengths over lengths at rest."""
        return self.unknowns[:, 0] * _UNIT[0]

    @property
    def bend(self) -> Array:
        """Angle (n,) about the hinge that the first bone starts from, in radians."""
        return self.unknowns[:, 1] * _UNIT[1]

    def fix_bend(self, frames: NDArray[np.bool_]) -> None:
        """Leave the bend as it is on `frames` (n,): with a pole the solver does not start from it."""
        self._bend_works = ~frames

    def saw(self, rows: Rows, along: Array, across: Array, error: Array) -> None:
        """Take in what the solver made of the present unknowns on the frames `rows`, and how far off it was."""
        residual = np.stack([along, across], axis=1) - self.wanted[rows]
        moved = self.unknowns[rows] - self._evaluated[rows]
        known = np.isfinite(moved).all(axis=1) & (np.linalg.norm(moved, axis=1) > 1e-9)
        surprise = residual - self.residuals[rows] - np.einsum("nij,nj->ni", self.slopes[rows], moved)
        # a short move tells little of the slopes, least along the chord, where they drown in the solver's tolerance
        length = (moved * moved).sum(axis=1)[:, None, None]
        update = surprise[:, :, None] * moved[:, None, :] / (length + np.array([[0.1], [1e-3]]))
        self.slopes[rows] += np.where(known[:, None, None], update, 0)
        self.residuals[rows], self._evaluated[rows] = residual, self.unknowns[rows]
        better = error < self.best_error[rows]
        chosen = rows[better]
        self.best[chosen], self.best_error[chosen] = self.unknowns[chosen], error[better]

    def correct(self, rows: Rows) -> None:
        """Move the unknowns of the frames `rows` to where the slopes say that the wanted figure is."""
        slopes, residual = self.slopes[rows].copy(), self.residuals[rows]
        slopes[~self._bend_works[rows], :, 1] = 0
        # damped least squares: what the solver's tolerance may have made is not worth more than one step
        damping = _NOISE**2 * np.eye(2)
        normal = np.swapaxes(slopes, 1, 2) @ slopes + damping
        step = -np.linalg.solve(normal, np.swapaxes(slopes, 1, 2) @ residual[:, :, None])[:, :, 0]
        length = np.linalg.norm(step, axis=1, keepdims=True)
        step *= np.minimum(1, _MOST / np.maximum(length, 1e-30))
        self.unknowns[rows] = np.clip(self.unknowns[rows] + step, *(_BOUNDS / _UNIT))

    def nudge(self, rows: Rows, which: int, amount: float) -> None:
        """Move one unknown (0 size, 1 bend) by `amount` steps, to see what it does."""
        self.unknowns[rows, which] += amount

    def settle(self) -> None:
        """Go back to the best unknowns of each frame."""
        known = np.isfinite(self.best_error)
        self.unknowns[known] = self.best[known]

    def spread(self, probed: Rows, bent: Array) -> None:
        """Give the frames that were not probed what the probed ones found, by how far the limb is bent.

        `probed` are indices of frames, `bent` (n,) is how far the wanted middle joint stands off the chord, in lengths
        of the chain: with the bones' lengths kept, size and bend depend on that number alone.
        """
        order = probed[np.argsort(bent[probed], kind="stable")]
        rest = np.setdiff1d(np.flatnonzero(~self._known), probed)
        for target in (self.unknowns, self.slopes.reshape(len(bent), 4)):
            for column in range(target.shape[1]):
                target[rest, column] = np.interp(bent[rest], bent[order], target[order, column])
