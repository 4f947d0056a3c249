# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotations over time: matrices to channels of every rotation mode, without jumps from frame to frame.

Matrices act on column vectors. Quaternions are (w, x, y, z). An Euler order "XYZ" turns about X first, as in Blender,
so its matrix is ``Rz @ Ry @ Rx``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

EULER_ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
_GIMBAL = 1e-6
_STILL = 2e-6
"""Sine of half an angle below which a rotation is none, and its axis an error of rounding."""
_SHORTEST = 1e-3
"""The least length of an axis."""
_STEADY = 0.9998
"""Cosine of the angle, 1.1 degrees, by which a steady axis may turn from frame to frame."""
_AS_GOOD = 2e-3
"""Rotations that are off by this much more (radians) are as good as others."""


def about_axis(axis: int, angles: Array) -> Array:
    """Rotation matrices (n, 3, 3) about a coordinate axis (0, 1, 2) by `angles` (n,) in radians."""
    angles = np.asarray(angles, float)
    out = np.tile(np.eye(3), (*angles.shape, 1, 1))
    j, k = (axis + 1) % 3, (axis + 2) % 3
    out[..., j, j] = out[..., k, k] = np.cos(angles)
    out[..., k, j] = np.sin(angles)
    out[..., j, k] = -out[..., k, j]
    return out


def shortest_arc(start: Array, end: Array) -> Array:
    """Smallest rotations (n, 3, 3) that turn the directions `start` (n, 3) onto `end` (n, 3).

    Rodrigues' formula with the unnormalised axis ``start x end``. For opposite directions any axis across will do.
    """
    a = start / np.linalg.norm(start, axis=-1, keepdims=True)
    b = end / np.linalg.norm(end, axis=-1, keepdims=True)
    cosine = np.einsum("...i,...i->...", a, b)
    cross = skew(np.cross(a, b))
    opposite = cosine < -1 + 1e-12
    with np.errstate(divide="ignore"):
        factor = np.where(opposite, 0.0, 1 / (1 + cosine))
    out = np.eye(3) + cross + factor[..., None, None] * (cross @ cross)
    if opposite.any():
        away = np.eye(3)[np.argmin(np.abs(a[opposite]), axis=-1)]
        across = np.cross(a[opposite], away)
        across /= np.linalg.norm(across, axis=-1, keepdims=True)
        out[opposite] = 2 * across[:, :, None] * across[:, None, :] - np.eye(3)
    return out


def skew(vectors: Array) -> Array:
    """Matrices (n, 3, 3) with ``skew(a) @ b == cross(a, b)``."""
    out = np.zeros((*vectors.shape, 3))
    out[..., 2, 1], out[..., 0, 2], out[..., 1, 0] = vectors[..., 0], vectors[..., 1], vectors[..., 2]
    return out - np.swapaxes(out, -1, -2)


def split_scale(matrices: Array) -> tuple[Array, Array]:
    """Rotations (n, 3, 3) and scales (n, 3) of linear maps (n, 3, 3); a mirrored map gets three negative scales.

    The scales are the lengths of the columns; shear is dropped by Gram-Schmidt, beginning with the Y column, since the
    Y axis of a bone is the one that is seen.
    """
    scale = np.linalg.norm(matrices, axis=-2)
    scale = np.where(scale == 0, 1.0, scale)
    mirrored = np.linalg.det(matrices) < 0
    scale = np.where(mirrored[..., None], -scale, scale)
    axes = matrices / scale[..., None, :]
    y = _unit(axes[..., 1])
    x = _unit(axes[..., 0] - np.einsum("...i,...i->...", axes[..., 0], y)[..., None] * y)
    return np.stack([x, y, np.cross(x, y)], axis=-1), scale


def _unit(vectors: Array) -> Array:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-30)


def angle_between(first: Array, second: Array) -> Array:
    """Angles (n,) in radians between rotations (n, 3, 3), exact also near 0 and 180 degrees."""
    turn = np.swapaxes(first, -1, -2) @ second
    axis = np.stack(
        [turn[..., 2, 1] - turn[..., 1, 2], turn[..., 0, 2] - turn[..., 2, 0], turn[..., 1, 0] - turn[..., 0, 1]], -1
    )
    return np.arctan2(np.linalg.norm(axis, axis=-1), np.trace(turn, axis1=-2, axis2=-1) - 1)


def to_quaternions(rotations: Array) -> Array:
    """Unit quaternions (n, 4) of rotations (n, 3, 3), any sign.

    Each component is taken from the largest of the four squares, so that no division is by a small number
    (Shepperd 1978).
    """
    m = rotations
    trace = np.trace(m, axis1=-2, axis2=-1)
    diagonal = np.diagonal(m, axis1=-2, axis2=-1)
    squares = np.concatenate([(1 + trace)[..., None], 1 + 2 * diagonal - trace[..., None]], axis=-1)
    best = np.argmax(squares, axis=-1)
    candidates = np.empty((*trace.shape, 4, 4))
    for row in range(4):
        candidates[..., row, row] = squares[..., row]
    for axis in range(3):
        j, k = (axis + 1) % 3, (axis + 2) % 3
        candidates[..., 0, axis + 1] = candidates[..., axis + 1, 0] = m[..., k, j] - m[..., j, k]
        candidates[..., j + 1, k + 1] = candidates[..., k + 1, j + 1] = m[..., k, j] + m[..., j, k]
    picked = np.take_along_axis(candidates, best[..., None, None], axis=-2)[..., 0, :]
    return _unit(picked)


def continuous_quaternions(quaternions: Array, before: Array | None = None) -> Array:
    """The same rotations (n, 4) with signs chosen so that each lies on the side of the one before it.

    `before` (4,) is the quaternion that the first one follows, where there is one.
    """
    chain = quaternions if before is None else np.concatenate([before[None], quaternions])
    dots = np.einsum("ni,ni->n", chain[1:], chain[:-1])
    signs = np.cumprod(np.where(dots < 0, -1.0, 1.0))
    if before is None:
        signs = np.concatenate([[1.0], signs])
    return quaternions * signs[:, None]


def to_eulers(rotations: Array, order: str, before: Array | None = None) -> Array:
    """Euler angles (n, 3), as (x, y, z) in radians, of rotations (n, 3, 3), each the nearest to the one before it.

    Of the two triples of angles that make a rotation, and of all their full turns, the one nearest to the previous
    frame is taken; at gimbal lock the last angle keeps its value. `before` (3,) is what the first frame follows.
    """
    i, j, k = ("XYZ".index(letter) for letter in order)
    sign = 1.0 if order in ("XYZ", "YZX", "ZXY") else -1.0
    m = rotations
    across = np.hypot(m[:, i, i], m[:, j, i])
    first = np.zeros((len(m), 3))
    first[:, i] = sign * np.arctan2(m[:, k, j], m[:, k, k])
    first[:, j] = sign * np.arctan2(-m[:, k, i], across)
    first[:, k] = sign * np.arctan2(m[:, j, i], m[:, i, i])
    second = first + np.pi
    second[:, j] = np.pi - first[:, j]
    # at gimbal lock only the sum or difference of the outer angles is known: this is the first one with the last at 0
    locked_first = sign * np.arctan2(-m[:, j, k], m[:, j, j])
    lock_sign = np.where(first[:, j] > 0, 1.0, -1.0) * sign

    start = np.zeros(3) if before is None else np.asarray(before, float)
    if (across < _GIMBAL).any():
        return _one_by_one(first, second, across < _GIMBAL, (i, k), (locked_first, lock_sign), start)
    candidates = np.stack([first, second])
    steps = candidates[None, :, 1:] - candidates[:, None, :-1]  # from candidate, to candidate, frame, axis
    cost = np.abs(_near(steps, np.zeros(3))).sum(axis=-1).transpose(2, 0, 1).tolist()
    choice = [int(np.argmin(np.abs(_near(candidates[:, 0] - start, np.zeros(3))).sum(axis=-1)))]
    for row in cost:
        stay, change = row[choice[-1]][choice[-1]], row[choice[-1]][1 - choice[-1]]
        choice.append(choice[-1] if stay <= change else 1 - choice[-1])
    chosen = candidates[choice, np.arange(len(m))]
    return np.unwrap(np.concatenate([start[None], chosen]), axis=0)[1:]


def _one_by_one(
    first: Array,
    second: Array,
    locked: NDArray[np.bool_],
    axes: tuple[int, int],
    sums: tuple[Array, Array],
    last: Array,
) -> Array:
    """The nearest angles frame by frame, where some frames are at gimbal lock and depend on the one before."""
    i, k = axes
    out = np.empty_like(first)
    for n in range(len(first)):
        if locked[n]:
            angles = first[n].copy()
            angles[k] = last[k]
            angles[i] = sums[0][n] + sums[1][n] * last[k]
            last = _near(angles, last)
        else:
            one, two = _near(first[n], last), _near(second[n], last)
            last = one if np.abs(one - last).sum() <= np.abs(two - last).sum() else two
        out[n] = last
    return out


def _near(angles: Array, last: Array) -> Array:
    return angles - 2 * np.pi * np.round((angles - last) / (2 * np.pi))


def to_axis_angles(rotations: Array, before: Array | None = None) -> Array:
    """Angle and axis (n, 4), as (angle, x, y, z), of rotations (n, 3, 3), without jumps of the angle or the axis.

    `before` (4,) is what the first frame follows. Blender draws straight lines between the four values and norms the
    axis then. A unit axis would swing there where one of two frames hardly turns, and its axis says next to nothing. So
    an axis that is not steady gets the length that it has in a quaternion, the sine of half the angle. Of the two ways
    to write a rotation the one is taken that shows the better rotation half-way from the frame before.
    """
    angle, axis = 0.0, np.array([0.0, 1.0, 0.0])
    if before is not None and np.linalg.norm(before[1:]) > 1e-9:
        angle, axis = float(before[0]), np.asarray(before[1:], float)
    last = _quaternion(angle, axis)
    out = np.empty((len(rotations), 4))
    for n, quaternion in enumerate(to_quaternions(rotations)):
        length = float(np.linalg.norm(quaternion[1:]))
        way = quaternion[1:] / length if length > _STILL else axis / np.linalg.norm(axis)
        turn = 2 * np.arctan2(length if length > _STILL else 0.0, quaternion[0])
        half_way = _unit(last + (quaternion if last @ quaternion >= 0 else -quaternion))
        ways = []
        for sign in (1.0, -1.0):
            to_angle = sign * turn - 2 * np.pi * round((sign * turn - angle) / (2 * np.pi))
            to_axis = sign * max(length, _SHORTEST) * way
            shown = _quaternion((angle + to_angle) / 2, axis + to_axis)
            off = 2 * np.arccos(min(1.0, abs(float(shown @ half_way))))
            ways.append((round(off / _AS_GOOD), -float(axis @ to_axis), to_angle, to_axis))
        _, _, angle, axis = min(ways, key=lambda choice: choice[:2])
        last = quaternion
        out[n, 0], out[n, 1:] = angle, axis
    unit = _unit(out[:, 1:])
    if (np.einsum("ni,ni->n", unit[1:], unit[:-1]) > _STEADY).all():
        out[:, 1:] = unit
    return out


def _quaternion(angle: float, axis: Array) -> Array:
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * _unit(axis))])
