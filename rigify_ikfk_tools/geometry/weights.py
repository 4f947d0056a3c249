# SPDX-License-Identifier: GPL-3.0-or-later
"""Skin weights as arrays: a dense matrix of vertices by bones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def limited(weights: Array, most: int) -> Array:
    """Weights (n, b) with the `most` largest of each vertex kept, summing to 1; vertices without any stay empty."""
    weights = np.where(weights > 0, weights, 0.0)
    if weights.shape[1] > most:
        order = np.argsort(np.argsort(-weights, axis=1, kind="stable"), axis=1, kind="stable")
        weights = np.where(order < most, weights, 0.0)
    total = weights.sum(axis=1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)


def nearest_bone_weights(points: Array, heads: Array, tails: Array) -> Array:
    """Weights (n, b) that give each point (n, 3) to the bones nearest to it, falling off with the square of distance.

    `heads` and `tails` are (b, 3). A last resort where bone heat finds nothing.
    """
    out = np.empty((len(points), len(heads)))
    for column, (head, tail) in enumerate(zip(heads, tails, strict=True)):
        line = tail - head
        share = np.clip((points - head) @ line / max(float(line @ line), 1e-30), 0, 1)
        out[:, column] = np.linalg.norm(points - head - share[:, None] * line, axis=1)
    nearest = out.min(axis=1, keepdims=True)
    out = np.maximum(out, 1e-9)
    return np.where(out < 1.5 * np.maximum(nearest, 1e-9), out**-2.0, 0.0)
