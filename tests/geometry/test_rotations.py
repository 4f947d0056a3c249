# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotations over time, against products of elementary rotations."""

from __future__ import annotations

import numpy as np
import pytest

from rigify_ikfk_tools.geometry import rotations


def from_eulers(eulers: np.ndarray, order: str) -> np.ndarray:
    out = np.tile(np.eye(3), (len(eulers), 1, 1))
    for letter in order:
        axis = "XYZ".index(letter)
        out = rotations.about_axis(axis, eulers[:, axis]) @ out
    return out


def from_quaternions(quaternions: np.ndarray) -> np.ndarray:
    w, vector = quaternions[:, :1, None], quaternions[:, 1:]
    cross = rotations.skew(vector)
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def from_axis_angles(values: np.ndarray) -> np.ndarray:
    """As Blender does it: the axis is normed first."""
    axis = values[:, 1:] / np.linalg.norm(values[:, 1:], axis=1, keepdims=True)
    half = values[:, :1] / 2
    return from_quaternions(np.concatenate([np.cos(half), np.sin(half) * axis], axis=1))


def half_way(rotation: np.ndarray) -> np.ndarray:
    quaternions = rotations.continuous_quaternions(rotations.to_quaternions(rotation))
    between = quaternions[1:] + quaternions[:-1]
    return from_quaternions(between / np.linalg.norm(between, axis=1, keepdims=True))


def spin(seed: int, step: float, frames: int = 120) -> np.ndarray:
    """A spin about a fixed axis that is none of X, Y, Z: some turns, `step` radians a frame."""
    axis = np.random.default_rng(seed).normal(size=3)
    return from_axis_angles(np.stack([step * np.arange(frames), *(np.full(frames, part) for part in axis)], axis=1))


def wobble(seed: int, size: float, frames: int = 120) -> np.ndarray:
    a, b, c = np.random.default_rng(seed).uniform(0, 6, 3)
    time = np.arange(frames) / 8
    return from_eulers(size * np.stack([np.sin(time + a), np.sin(1.3 * time + b), np.sin(0.7 * time + c)], 1), "XYZ")


def test_elementary_rotation_is_right_handed() -> None:
    turned = rotations.about_axis(2, np.array([np.pi / 2]))[0] @ [1, 0, 0]
    np.testing.assert_allclose(turned, [0, 1, 0], atol=1e-12)


@pytest.mark.parametrize("order", rotations.EULER_ORDERS)
def test_euler_angles_give_the_rotation_back_and_never_jump(order: str) -> None:
    time = np.linspace(0, 1, 400)
    smooth = np.stack([9 * time, 1.4 * np.sin(5 * time), -7 * time + np.cos(3 * time)], axis=1)
    got = rotations.to_eulers(from_eulers(smooth, order), order, before=smooth[0])
    np.testing.assert_allclose(from_eulers(got, order), from_eulers(smooth, order), atol=1e-9)
    assert np.abs(np.diff(got, axis=0)).max() < 0.2


@pytest.mark.parametrize("order", rotations.EULER_ORDERS)
@pytest.mark.parametrize("middle", [np.pi / 2, -np.pi / 2])
def test_gimbal_lock_keeps_the_last_angle(order: str, middle: float) -> None:
    eulers = np.zeros((5, 3))
    first, second, last = ("XYZ".index(letter) for letter in order)
    eulers[:, first], eulers[:, second], eulers[:, last] = 0.3, middle, 0.7
    before = eulers[0]
    got = rotations.to_eulers(from_eulers(eulers, order), order, before=before)
    np.testing.assert_allclose(got, eulers, atol=1e-6)


def test_quaternions_of_random_rotations() -> None:
    quaternions = np.random.default_rng(3).normal(size=(500, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    got = rotations.to_quaternions(from_quaternions(quaternions))
    np.testing.assert_allclose(np.abs(np.einsum("ni,ni->n", got, quaternions)), 1, atol=1e-12)


def test_quaternion_signs_follow_a_double_spin() -> None:
    angle = np.linspace(0, 4 * np.pi, 97)
    spin = rotations.to_quaternions(rotations.about_axis(2, angle))
    got = rotations.continuous_quaternions(spin, before=np.array([-1.0, 0, 0, 0]))
    assert (np.einsum("ni,ni->n", got[1:], got[:-1]) > 0.9).all()
    assert got[0, 0] < 0
    np.testing.assert_allclose(got[:, 0], -np.cos(angle / 2), atol=1e-12)


def test_axis_angle_runs_through_full_turns() -> None:
    angle = np.linspace(-1, 9, 200)
    got = rotations.to_axis_angles(rotations.about_axis(0, angle), before=np.array([-1.0, 1, 0, 0]))
    np.testing.assert_allclose(got[:, 0], angle, atol=1e-9)
    np.testing.assert_allclose(got[:, 1:], np.tile([1.0, 0, 0], (200, 1)), atol=1e-6)


def test_shortest_arc_turns_onto_the_goal_also_when_opposite() -> None:
    rng = np.random.default_rng(5)
    start, end = rng.normal(size=(50, 3)), rng.normal(size=(50, 3))
    end[0] = -2 * start[0]
    turn = rotations.shortest_arc(start, end)
    got = np.einsum("nij,nj->ni", turn, start / np.linalg.norm(start, axis=1, keepdims=True))
    np.testing.assert_allclose(got, end / np.linalg.norm(end, axis=1, keepdims=True), atol=1e-9)
    np.testing.assert_allclose(np.linalg.det(turn), 1, atol=1e-9)


def test_scale_and_mirror_come_apart_from_the_rotation() -> None:
    turn = rotations.about_axis(1, np.array([0.4, 2.0]))
    got, scale = rotations.split_scale(turn * np.array([[2.0, 3.0, 0.5], [-1.0, -1.0, -1.0]])[:, None, :])
    np.testing.assert_allclose(got, turn, atol=1e-12)
    np.testing.assert_allclose(scale, [[2, 3, 0.5], [-1, -1, -1]], atol=1e-12)


def test_angles_between_rotations_are_exact_when_small() -> None:
    small = np.array([1e-7, 0.5, 3.1])
    got = rotations.angle_between(np.tile(np.eye(3), (3, 1, 1)), rotations.about_axis(1, small))
    np.testing.assert_allclose(got, small, rtol=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("step", [0.1, 0.5])
def test_long_spins_run_on_in_every_mode(seed: int, step: float) -> None:
    for wobbling in (0.0, 0.4):
        wanted = wobble(seed, wobbling) @ spin(seed, step)
        steps = rotations.angle_between(wanted[1:], wanted[:-1])
        quaternions = rotations.continuous_quaternions(rotations.to_quaternions(wanted))
        assert (np.einsum("ni,ni->n", quaternions[1:], quaternions[:-1]) >= 0).all()
        np.testing.assert_allclose(from_quaternions(quaternions), wanted, atol=1e-9)
        for order in rotations.EULER_ORDERS:
            eulers = rotations.to_eulers(wanted, order)
            np.testing.assert_allclose(from_eulers(eulers, order), wanted, atol=1e-9)
            # the outer angles run as much faster than the body as the middle one is near 90 degrees
            slow = np.abs(np.cos(eulers[:, "XYZ".index(order[1])]))
            slow = np.minimum(slow[1:], slow[:-1])
            clear = slow > 0.6
            assert clear.mean() > 0.3
            assert (np.abs(np.diff(eulers, axis=0)).max(axis=1)[clear] < 1.7 * steps[clear] / slow[clear]).all()
        values = rotations.to_axis_angles(wanted)
        np.testing.assert_allclose(from_axis_angles(values), wanted, atol=1e-9)
        assert (np.abs(np.diff(values[:, 0])) < 1.6 * steps + 1e-6).all()
        off = rotations.angle_between(from_axis_angles((values[1:] + values[:-1]) / 2), half_way(wanted))
        assert off.max() < (2e-3 if wobbling == 0 else 0.3 * step)


def test_axis_angle_does_not_swing_when_a_spin_begins_or_passes_a_full_turn() -> None:
    noise = np.random.default_rng(2).normal(size=(20, 3, 3)) * 1e-7
    still = np.tile(np.eye(3), (20, 1, 1)) + noise  # as single precision leaves it
    for seed in range(4):
        wanted = np.concatenate([still, spin(seed, 0.5), wobble(seed, 0.005) @ spin(seed, 0.5)[::-1], still])
        values = rotations.to_axis_angles(wanted)
        off = rotations.angle_between(from_axis_angles((values[1:] + values[:-1]) / 2), half_way(wanted))
        assert off.max() < 0.01


def test_axis_angle_of_rest_stays_as_it_was_before() -> None:
    noise = np.random.default_rng(2).normal(size=(20, 3, 3)) * 1e-7
    before = np.array([2 * np.pi, 0, 0, 1])
    got = rotations.to_axis_angles(np.tile(np.eye(3), (20, 1, 1)) + noise, before=before)
    np.testing.assert_allclose(got, np.tile(before, (20, 1)), atol=1e-9)


def test_a_steady_axis_is_of_length_one() -> None:
    np.testing.assert_allclose(np.linalg.norm(rotations.to_axis_angles(spin(1, 0.3)[1:])[:, 1:], axis=1), 1)
