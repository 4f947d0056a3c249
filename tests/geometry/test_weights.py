# SPDX-License-Identifier: GPL-3.0-or-later
"""Weights as arrays."""

import numpy as np

from rigify_ikfk_tools.geometry.weights import limited, nearest_bone_weights


def test_the_largest_are_kept_and_sum_to_one():
    weights = np.array([[0.4, 0.3, 0.2, 0.1], [0, 0, 0, 0], [0.25, 0.25, 0.25, 0.25], [-1, 0, 2, 0]])
    got = limited(weights, 2)
    np.testing.assert_allclose(got[0], [4 / 7, 3 / 7, 0, 0])
    np.testing.assert_allclose(got[1], 0)
    assert (got[2] > 0).sum() == 2
    np.testing.assert_allclose(got[3], [0, 0, 1, 0])


def test_nearest_bones_share_a_point_between_them():
    heads, tails = np.array([[0.0, 0, 0], [1, 0, 0], [9, 9, 9]]), np.array([[0.0, 0, 1], [1, 0, 1], [9, 9, 8]])
    got = limited(nearest_bone_weights(np.array([[0.1, 0, 0.5], [0.5, 0, 0.5], [0, 0, 0.2]]), heads, tails), 4)
    np.testing.assert_allclose(got, [[1, 0, 0], [0.5, 0.5, 0], [1, 0, 0]], atol=1e-9)
