# SPDX-License-Identifier: GPL-3.0-or-later
"""The search for what a solver needs, against solvers of our own making."""

from __future__ import annotations

import numpy as np
import pytest

from rigify_ikfk_tools.geometry.search import Search, Unknowns

KIND = Unknowns(
    unit=(0.02, 0.3, 0.001),
    low=(0.5, -2.0, -0.003),
    high=(3.0, 1.3, 0.003),
    trial=(0.2, 0.5, 0.3),
    guess=lambda across: np.stack([np.full(len(across), 1.01), np.full(len(across), -0.9), 0 * across], axis=1),
)
REACH = np.linspace(0.5, 0.97, 60)


def solver(reach, x):
    """Something as crooked as Blender's solver: both lengths depend on all unknowns and on the reach."""
    size, bend, shift = x[:, 0] - 1, x[:, 1], x[:, 2]
    along = 0.5 * (reach + shift) + 0.04 * size + 0.001 * bend + 0.0004 * bend**2
    across = np.sqrt(np.maximum(0, 0.25 - along**2 + 0.6 * size - 0.004 * bend * reach))
    return np.stack([along, across, shift - 0.0004 * reach], axis=1)


def truth():
    return np.stack([1 + 0.04 * (1 - REACH), -0.3 - 0.6 * REACH, 0.0004 * REACH], axis=1)


def test_what_the_solver_needs_is_found():
    wanted = solver(REACH, truth())
    x, shown = Search(KIND).solve(wanted, lambda rows, x: solver(REACH[rows], x))
    np.testing.assert_allclose(shown, wanted, atol=1.5e-4)
    np.testing.assert_allclose(solver(REACH, x), shown, atol=1e-12)


def test_what_was_found_once_is_nearly_right_for_others_at_once():
    search, asked = Search(KIND), []

    def ask(reach, rows, x):
        asked.append(len(rows))
        return solver(reach[rows], x)

    search.solve(solver(REACH, truth()), lambda rows, x: ask(REACH, rows, x))
    asked.clear()
    between = (REACH[1:] + REACH[:-1]) / 2
    wanted = solver(between, (truth()[1:] + truth()[:-1]) / 2)
    _, shown = search.solve(wanted, lambda rows, x: ask(between, rows, x))
    assert np.linalg.norm(shown - wanted, axis=1).max() < 1.5e-4
    assert sum(asked) <= 2 * len(between)


def test_frames_that_want_the_same_are_asked_once_and_get_the_same():
    reach = np.repeat([0.6, 0.8, 0.9], 20)
    wanted = solver(reach, np.repeat(truth()[[0, 30, 50]], 20, axis=0))
    rows_asked = set()

    def ask(rows, x):
        rows_asked.update(rows.tolist())
        return solver(reach[rows], x)

    x, _ = Search(KIND).solve(wanted, ask)
    assert len(rows_asked) == 3
    assert (np.ptp(x.reshape(3, 20, 3), axis=1) == 0).all()


def test_an_unknown_at_its_bound_stays_there_and_the_others_make_up_for_it():
    kind = Unknowns(KIND.unit, (0.5, -0.5, -0.003), KIND.high, KIND.trial, KIND.guess)
    wanted = solver(REACH, truth())
    x, shown = Search(kind).solve(wanted, lambda rows, x: solver(REACH[rows], x))
    assert x[:, 1].min() >= -0.5
    np.testing.assert_allclose(shown[:, 1:], wanted[:, 1:], atol=3e-4)
    assert np.abs(shown[:, 0] - wanted[:, 0]).max() < 1e-3


@pytest.mark.parametrize("count", [1, 2])
def test_few_frames(count):
    rows = slice(0, count)
    wanted = solver(REACH[rows], truth()[rows])
    _, shown = Search(KIND).solve(wanted, lambda rows, x: solver(REACH[rows], x))
    np.testing.assert_allclose(shown, wanted, atol=1.5e-4)
