# SPDX-License-Identifier: GPL-3.0-or-later
"""Few keys: what runs between them is near what was wanted."""

import numpy as np
import pytest

from rigify_ikfk_tools.geometry import few_keys

FRAMES = np.arange(101)
WALK = np.stack([np.sin(FRAMES / 8), 0.3 * np.cos(FRAMES / 5), 0.01 * FRAMES], axis=1)
NONE = np.empty(0, np.int64)


def test_a_cubic_is_shown_by_its_ends():
    t = np.linspace(0, 1, 41)[:, None]
    cubic = 2 * t**3 - t**2 + 0.5 * t + 1
    shown = few_keys.interpolated(cubic, np.array([0, 40]))
    assert np.abs(shown - cubic).max() < 4e-3  # its slopes at the ends are told by single steps


def test_on_the_keys_and_with_all_keys_it_is_exact():
    rows = np.array([0, 7, 8, 30, 100])
    np.testing.assert_allclose(few_keys.interpolated(WALK, rows)[rows], WALK[rows], atol=1e-12)
    np.testing.assert_allclose(few_keys.interpolated(WALK, FRAMES), WALK, atol=1e-12)


@pytest.mark.parametrize("tolerance", [0.05, 1e-3])
def test_few_keys_are_near_enough_and_none_can_be_left_out(tolerance):
    tolerances = np.full(3, tolerance)
    rows = few_keys.fewest_rows(WALK, tolerances, NONE)
    off = np.abs(few_keys.interpolated(WALK, rows) - WALK)
    assert off.max() <= tolerance
    for place in range(1, len(rows) - 1):
        fewer = np.delete(rows, place)
        assert np.abs(few_keys.interpolated(WALK, fewer) - WALK).max() > tolerance
    assert len(rows) < {0.05: 15, 1e-3: 35}[tolerance]


def test_a_jump_gets_keys_on_both_sides_of_it():
    values = np.where(FRAMES < 50, 0.0, 1.0)[:, None]
    rows = few_keys.fewest_rows(values, np.array([1e-3]), NONE)
    assert {49, 50} <= set(rows)
    assert len(rows) < 9


def test_frames_that_must_be_keyed_are_and_single_frames_are_served():
    assert {3, 77} <= set(few_keys.fewest_rows(WALK * 0, np.ones(3), np.array([3, 77])))
    np.testing.assert_array_equal(few_keys.fewest_rows(WALK[:1], np.ones(3), NONE), [0])
    np.testing.assert_array_equal(few_keys.fewest_rows(WALK[:2], np.ones(3), NONE), [0, 1])
