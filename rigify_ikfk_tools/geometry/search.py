# SPDX-License-Identifier: GPL-3.0-or-later
"""What a black box must be given to show wanted numbers, found for many frames at once.

The black box is Blender's IK solver: it is given three unknowns for each frame and shows three numbers: where the
middle joint comes out along and across the chord, and where the chain ends. What is wanted lies close to one curve,
since bones keep their lengths: what was found for some frames is where the search begins for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]
"""Some of the frames, by their place among all."""

Ask = Callable[[Rows, Array], Array]
"""Given rows (m,) and their unknowns (m, k): the k numbers that the black box shows, and what it tells beside."""


@dataclass(frozen=True)
class Unknowns:
    """What k unknowns are like: a step of each that moves the result by about the same, bounds, a first guess."""

    unit: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    trial: tuple[float, ...]
    """Steps, in units, from which the first slopes are taken."""
    guess: Callable[[Array], Array]
    """From the second wanted numbers (n,), by which frames are ordered, to unknowns (n, k)."""


_NODES = 8
"""So many frames, spread over all, are searched first."""
_NODE_ROUNDS, _ROUNDS = 8, 6
_MOST = 3.0
"""Longest change in one round, in units."""
_NOISE = 1e-4
"""How far the solver's own tolerance may move what it shows."""
_CLOSE, _NEAR = 6e-5, 1.5e-4
"""A frame is done when it is closer than this; after the third round the second will do."""
_HARD = (2e-4, 1.5e-3)
"""Frames that are left with such an error are tried from other starts; with a larger one they are out of reach."""
_FEW, _STARTS = 16, 7
"""At most so many of them, from so many starts."""
_ALIKE = 1e-5
"""Wanted numbers that differ less are searched once."""
_REMEMBERED = 64


class Search:
    """A secant method (Broyden 1965) on all frames at once, which remembers what it has found."""

    def __init__(self, unknowns: Unknowns) -> None:
        self._kind = unknowns
        self._unit = np.array(unknowns.unit)
        self._trial = np.array(unknowns.trial)
        self._low, self._high = np.array(unknowns.low) / self._unit, np.array(unknowns.high) / self._unit
        self._count = len(self._unit)
        self._places = np.empty(0)
        self._found = np.empty((0, self._count))
        self._slope_places = np.empty(0)
        self._slopes = np.empty((0, self._count**2))

    def solve(self, wanted: Array, ask: Ask) -> tuple[Array, Array]:
        """Unknowns (n, k) for which the black box shows `wanted` (n, k) as nearly as was found, and all it shows then.

        There is at least one frame. Frames that want the same share their answer.
        """
        picked, same = _distinct(wanted)
        goals = wanted[picked]
        nodes = self._new_nodes(goals[:, 1])
        if len(nodes):
            self._learn(goals[nodes], lambda rows, x: ask(picked[nodes[rows]], x))
        x, slopes = self._guess(goals[:, 1])
        best, shown = self._approach(x, slopes, goals, lambda rows, x: ask(picked[rows], x), _ROUNDS)
        error = self._error(shown, goals)
        hard = np.flatnonzero((error > _HARD[0]) & (error < _HARD[1]))[:_FEW]
        if len(hard):
            anew = self._try_anew(goals[hard], lambda rows, x: ask(picked[hard[rows]], x))
            better = self._error(anew[1], goals[hard]) < error[hard]
            best[hard[better]], shown[hard[better]] = anew[0][better], anew[1][better]
        near = self._error(shown, goals) < _NEAR
        self._remember(goals[near, 1], best[near])
        return (best * self._unit)[same], shown[same]

    def _new_nodes(self, places: Array) -> Rows:
        """Frames to be searched first, from end to end of what has not been searched before."""
        low, high = places.min(), places.max()
        if len(self._slope_places):
            span = 0.02 + 0.1 * np.ptp(self._slope_places)
            if low > self._slope_places[0] - span and high < self._slope_places[-1] + span:
                return np.empty(0, int)
        ideal = low + (high - low) * np.linspace(0, 1, _NODES) ** 1.5  # a limb changes fastest where it is straight
        if abs(low) > abs(high):
            ideal = high - (high - low) * np.linspace(0, 1, _NODES) ** 1.5
        return np.unique(np.abs(places[None] - ideal[:, None]).argmin(axis=1))

    def _learn(self, goals: Array, ask: Ask) -> None:
        rows = np.arange(len(goals))
        x = self._bounded(self._kind.guess(goals[:, 1]) / self._unit)
        if len(self._places):
            x = self._guess(goals[:, 1])[0]
        x, shown = self._approach(x, self._try_slopes(x, rows, ask), goals, ask, _NODE_ROUNDS)
        error = self._error(shown, goals)
        slopes = self._try_slopes(x, rows, ask).reshape(len(x), -1)
        order = np.argsort(np.concatenate([self._slope_places, goals[:, 1]]), kind="stable")
        self._slopes = np.concatenate([self._slopes, slopes])[order]
        self._slope_places = np.concatenate([self._slope_places, goals[:, 1]])[order]
        good = error < 10 * _NEAR
        if not good.any() and not len(self._places):
            good[np.argmin(error)] = True
        self._remember(goals[good, 1], x[good])

    def _try_anew(self, goals: Array, ask: Ask) -> tuple[Array, Array]:
        """The same as `_approach` from many starts, which the second unknown tells apart."""
        starts = np.linspace(self._low[1], self._high[1], _STARTS)
        rows = np.repeat(np.arange(len(goals)), _STARTS)
        x = self._bounded(self._kind.guess(goals[rows, 1]) / self._unit)
        x[:, 1] = np.tile(starts, len(goals))

        def ask_all(places: Rows, x: Array) -> Array:
            return ask(rows[places], x)

        slopes = self._try_slopes(x, np.arange(len(x)), ask_all)
        best, shown = self._approach(x, slopes, goals[rows], ask_all, _ROUNDS)
        error = self._error(shown, goals[rows]).reshape(-1, _STARTS)
        picked = np.arange(len(goals)) * _STARTS + error.argmin(axis=1)
        return best[picked], shown[picked]

    def _error(self, shown: Array, goals: Array) -> Array:
        return np.linalg.norm(shown[:, : self._count] - goals, axis=1)

    def _try_slopes(self, x: Array, rows: Rows, ask: Ask) -> Array:
        """Slopes (m, k, k) by moving one unknown after the other."""
        still = ask(rows, x * self._unit)[:, : self._count]
        columns = []
        for which in range(self._count):
            moved = x.copy()
            sign = np.where(x[:, which] + self._trial[which] > self._high[which], -1.0, 1.0)
            moved[:, which] += sign * self._trial[which]
            columns.append(
                (ask(rows, moved * self._unit)[:, : self._count] - still) / (sign * self._trial[which])[:, None]
            )
        return np.stack(columns, axis=2)

    def _guess(self, places: Array) -> tuple[Array, Array]:
        x = np.stack([np.interp(places, self._places, column) for column in self._found.T], axis=1)
        slopes = np.stack([np.interp(places, self._slope_places, column) for column in self._slopes.T], axis=1)
        return x, slopes.reshape(-1, self._count, self._count)

    def _remember(self, places: Array, found: Array) -> None:
        places, found = np.concatenate([self._places, places]), np.concatenate([self._found, found])
        order = np.argsort(places, kind="stable")
        if len(order) > _REMEMBERED:
            order = order[np.linspace(0, len(order) - 1, _REMEMBERED).astype(int)]
        self._places, self._found = places[order], found[order]

    def _approach(self, x: Array, slopes: Array, goals: Array, ask: Ask, rounds: int) -> tuple[Array, Array]:
        """The best unknowns (m, k) that were met in so many rounds, and what was shown with them (m, k or more)."""
        best, error = x.copy(), np.full(len(x), np.inf)
        shown = np.empty((0, 0))
        last, residuals = np.full_like(x, np.nan), np.zeros_like(x)
        rows = np.arange(len(x))
        for turn in range(rounds):
            answer = ask(rows, x[rows] * self._unit)
            residual = answer[:, : self._count] - goals[rows]
            slopes[rows] = _corrected(slopes[rows], x[rows] - last[rows], residual - residuals[rows])
            residuals[rows], last[rows] = residual, x[rows]
            off = np.linalg.norm(residual, axis=1)
            improved = off < error[rows]
            better = rows[improved]
            if turn == 0:
                shown = answer.copy()
            best[better], shown[better], error[better] = x[better], answer[improved], off[improved]
            rows = rows[error[rows] > (_CLOSE if turn < 3 else _NEAR)]
            if not len(rows) or turn == rounds - 1:
                break
            x[rows] = self._stepped(x[rows], slopes[rows], residuals[rows])
        return best, shown

    def _stepped(self, x: Array, slopes: Array, residuals: Array) -> Array:
        """The unknowns moved to where the slopes say that the residuals vanish.

        An unknown that would leave its bounds stops there, and the others make up for it.
        """
        free = np.ones_like(x)
        step = np.zeros_like(x)
        for _ in range(self._count):
            left = residuals + np.einsum("nij,nj->ni", slopes, step * (1 - free))
            step = np.where(free > 0, _least_squares(slopes * free[:, None, :], left), step)
            ends = np.clip(x + step, self._low, self._high)
            stopped = (ends != x + step) & (free > 0)
            if not stopped.any():
                break
            step, free = np.where(stopped, ends - x, step), np.where(stopped, 0.0, free)
        return self._bounded(x + step)

    def _bounded(self, x: Array) -> Array:
        return np.clip(x, self._low, self._high)


def _least_squares(slopes: Array, residuals: Array) -> Array:
    """Damped steps (m, k): what the solver's tolerance may have made is not worth more than one unit."""
    turned = np.swapaxes(slopes, 1, 2)
    normal = turned @ slopes + _NOISE**2 * np.eye(slopes.shape[2])
    step = -np.linalg.solve(normal, turned @ residuals[:, :, None])[:, :, 0]
    length = np.linalg.norm(step, axis=1, keepdims=True)
    return step * np.minimum(1, _MOST / np.maximum(length, 1e-30))


def _corrected(slopes: Array, moved: Array, changed: Array) -> Array:
    """Slopes (m, k, k) after the unknowns have moved (m, k) and the result has changed (m, k)."""
    known = np.isfinite(moved).all(axis=1) & (np.linalg.norm(moved, axis=1) > 1e-9)
    moved = np.where(known[:, None], moved, 0)
    surprise = np.where(known[:, None], changed - np.einsum("nij,nj->ni", slopes, moved), 0)
    # a short move tells little of the slopes, least along the chord, where they drown in the solver's tolerance
    length = (moved * moved).sum(axis=1)[:, None, None]
    caution = np.full((slopes.shape[1], 1), 1e-3)
    caution[0] = 0.1
    return slopes + surprise[:, :, None] * moved[:, None, :] / (length + caution)


def _distinct(wanted: Array) -> tuple[Rows, Rows]:
    """The first of each group of frames that want the same, and for each frame the place of its group."""
    _, picked, same = np.unique(np.round(wanted / _ALIKE), axis=0, return_index=True, return_inverse=True)
    return picked, same.reshape(-1)
