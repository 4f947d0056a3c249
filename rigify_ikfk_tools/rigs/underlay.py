# SPDX-License-Identifier: GPL-3.0-or-later
"""NLA strips below an action that is laid over them, and what the action must hold for a wanted value to be seen."""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

from ..geometry.rotations import continuous_quaternions
from .stage import Stage

Array = NDArray[np.float64]

LAID_OVER = ("COMBINE", "ADD", "SUBTRACT")
"""The ways of mixing that are understood, and that leave what lies below alone where the action holds nothing."""


class Underlay:
    """What is seen of the strips below on some frames, and how the action of the rig is laid over it.

    Blender adds or subtracts each value of the action, times its influence. To combine, it does so with the difference
    from a property's default, multiplies scales, and turns by quaternions, each to the power of the influence.
    """

    def __init__(self, stage: Stage, rig: bpy.types.Object, frames: range) -> None:
        self._stage, self._rig, self._frames = stage, rig, frames
        data = rig.animation_data
        self._mode, self._influence = data.action_blend_type, data.action_influence
        self._known: dict[str, Array] = {}

    def needed(self, path: str, values: Array) -> tuple[Array, Array]:
        """What the action must hold (n, c) for `values` (n, c) to be seen, and what it holds to change nothing (c,)."""
        below = self._below(path, values.shape[1])
        if self._mode == "COMBINE" and path.endswith("rotation_quaternion"):
            return self._turn(below, values), np.array([1.0, 0, 0, 0])
        if self._mode == "COMBINE" and path.endswith("scale"):
            return np.abs(values / below) ** (1 / self._influence), np.ones(values.shape[1])
        base = self._default(path) if self._mode == "COMBINE" else 0.0
        sign = -1.0 if self._mode == "SUBTRACT" else 1.0
        return sign * (values - below) / self._influence + base, np.full(values.shape[1], base)

    def _below(self, path: str, count: int) -> Array:
        """What is seen (n, c) of a property when the action counts for nothing."""
        if path in self._known:
            return self._known[path]
        data = self._rig.animation_data
        paths = [path] if count == 1 else [f"{path}[{index}]" for index in range(count)]
        data.action_influence = 0.0
        try:
            played = self._stage.play(self._frames, [], values=paths)
        finally:
            data.action_influence = self._influence
        self._known[path] = np.stack([played.values[name] for name in paths], axis=1)
        return self._known[path]

    def _turn(self, below: Array, wanted: Array) -> Array:
        """Quaternions (n, 4) that turn on from `below` to `wanted`, (n, 4) each, when they get their influence."""
        below = below / np.linalg.norm(below, axis=1, keepdims=True)
        w, vector = -below[:, :1], below[:, 1:]  # the inverse, but for its sign
        rest = np.concatenate(
            [
                w * wanted[:, :1] - np.einsum("ni,ni->n", vector, wanted[:, 1:])[:, None],
                w * wanted[:, 1:] + wanted[:, :1] * vector + np.cross(vector, wanted[:, 1:]),
            ],
            axis=1,
        )
        rest *= np.where(rest[:, :1] < 0, -1.0, 1.0)
        angle = np.arccos(np.clip(rest[:, :1], -1, 1))
        sine = np.linalg.norm(rest[:, 1:], axis=1, keepdims=True)
        axis = rest[:, 1:] / np.maximum(sine, 1e-12)
        more = angle / self._influence
        return continuous_quaternions(np.concatenate([np.cos(more), np.sin(more) * axis], axis=1))

    def _default(self, path: str) -> float:
        """The value of a property that combining leaves out of account."""
        if not path.endswith('"]'):
            return 0.0
        bone, name = path.rpartition("[")[0], path.rpartition('["')[2][:-2]
        shown = self._rig.path_resolve(bone).id_properties_ui(bpy.utils.unescape_identifier(name)).as_dict()
        return float(shown.get("default", 0.0))
