# SPDX-License-Identifier: GPL-3.0-or-later
"""A control's pose as the channels that an animator keys: basis matrices, rotation modes, and what needs a key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ..geometry import rotations
from .fcurves import Rewrite

Array = NDArray[np.float64]

LOCATION, ROTATION, SCALE = "location", "rotation", "scale"
EVERYTHING = (LOCATION, ROTATION, SCALE)
_UNMOVED = 1e-6
"""Channels that differ less than this from what they show without a key need none (metres, radians, shares)."""


def basis_from_pose(bone: bpy.types.Bone, poses: Array, parent_poses: Array | None) -> Array:
    """Basis matrices (n, 4, 4) that give a bone the pose matrices `poses` (n, 4, 4), in armature space.

    `parent_poses` (n, 4, 4) are those of its parent, None for a bone without one. Constraints are not considered.
    """
    rest = np.array(bone.matrix_local)
    if bone.parent is None or parent_poses is None:
        if bone.use_local_location:
            return np.linalg.inv(rest) @ poses
        return _converted(bone, poses, None, invert=True)
    if _passes_on_all(bone) and _keeps_angles(parent_poses):
        return np.linalg.inv(parent_poses @ _offset(bone)) @ poses
    return _converted(bone, poses, parent_poses, invert=True)


def pose_from_basis(bone: bpy.types.Bone, basis: Array, parent_poses: Array | None) -> Array:
    """The opposite of `basis_from_pose`."""
    if bone.parent is not None and parent_poses is not None and _passes_on_all(bone) and _keeps_angles(parent_poses):
        return parent_poses @ _offset(bone) @ basis
    return _converted(bone, basis, parent_poses, invert=False)


def carried(poses: Array, before: Array, after: Array) -> Array:
    """Where poses (n, 4, 4) go with what they hang on, when that moves; they keep their scale, as in Rigify's rigs."""
    moved = after @ np.linalg.inv(before) @ poses
    directions = moved[:, :3, :3] / np.linalg.norm(moved[:, :3, :3], axis=1, keepdims=True)
    moved[:, :3, :3] = directions * np.linalg.norm(poses[:, :3, :3], axis=1, keepdims=True)
    return moved


def rest_offset(bone: bpy.types.Bone, other: bpy.types.Bone) -> Array:
    """The rest pose (4, 4) of `other` as seen from the rest pose of `bone`."""
    return np.linalg.inv(np.array(bone.matrix_local)) @ np.array(other.matrix_local)


def _offset(bone: bpy.types.Bone) -> Array:
    return rest_offset(bone.parent, bone)


def _passes_on_all(bone: bpy.types.Bone) -> bool:
    inherits = bone.inherit_scale in {"FULL", "ALIGNED", "AVERAGE", "FIX_SHEAR"}
    return inherits and bone.use_inherit_rotation and bone.use_local_location


def _keeps_angles(poses: Array) -> bool:
    """Whether all matrices scale evenly, so that every way to inherit scale gives the same."""
    linear = poses[:, :3, :3]
    gram = np.swapaxes(linear, 1, 2) @ linear
    size = np.trace(gram, axis1=1, axis2=2) / 3
    if not len(size):
        return True
    return bool(np.abs(gram - size[:, None, None] * np.eye(3)).max() <= 1e-6 * size.max()) and bool(
        (np.linalg.det(linear) > 0).all()
    )


def _converted(bone: bpy.types.Bone, matrices: Array, parents: Array | None, *, invert: bool) -> Array:
    out: Any = np.empty_like(matrices)
    rest = bone.matrix_local
    for n, matrix in enumerate(matrices):
        if bone.parent is None or parents is None:
            out[n] = bone.convert_local_to_pose(Matrix(matrix), rest, invert=invert)
        else:
            out[n] = bone.convert_local_to_pose(
                Matrix(matrix),
                rest,
                parent_matrix=Matrix(parents[n]),
                parent_matrix_local=bone.parent.matrix_local,
                invert=invert,
            )
    return out


def key_basis(rewrite: Rewrite, bone: bpy.types.PoseBone, basis: Array, parts: tuple[str, ...] = EVERYTHING) -> None:
    """Key basis matrices (n, 4, 4), one for each frame of `rewrite`, on the channels of a control.

    The control keeps its rotation mode; angles and quaternion signs follow the keys before the range. A part
    (location, rotation, scale) that has no F-curve and would not move gets no keys.
    """
    for path, values, static in _channels(rewrite, bone, basis, parts):
        data_path = f"{bone.path_from_id()}.{path}"
        channels = [(data_path, index) for index in range(values.shape[1])]
        values, idle = rewrite.needed(data_path, values)
        static = static if idle is None else idle
        moves = np.abs(values - static).max() > _UNMOVED
        if moves or any(rewrite.curves.find(channel) for channel in channels):
            for channel, column, still in zip(channels, values.T, static, strict=True):
                rewrite.set(channel, column, static=float(still), group=bone.name)


def _channels(
    rewrite: Rewrite, bone: bpy.types.PoseBone, basis: Array, parts: tuple[str, ...]
) -> Iterator[tuple[str, Array, Array]]:
    turn, scale = rotations.split_scale(basis[:, :3, :3])
    if LOCATION in parts:
        yield "location", basis[:, :3, 3], np.array(bone.location)
    if ROTATION in parts:
        path = rotation_path(bone)
        static = np.array(getattr(bone, path))
        before = np.array(
            [rewrite.value_before((f"{bone.path_from_id()}.{path}", n), still) for n, still in enumerate(static)]
        )
        if path == "rotation_quaternion":
            yield path, rotations.continuous_quaternions(rotations.to_quaternions(turn), before), static
        elif path == "rotation_axis_angle":
            yield path, rotations.to_axis_angles(turn, before), static
        else:
            yield path, rotations.to_eulers(turn, bone.rotation_mode, before), static
    if SCALE in parts:
        yield "scale", scale, np.array(bone.scale)


def rotation_path(bone: bpy.types.PoseBone) -> str:
    """The property that holds the rotation in the bone's rotation mode."""
    return {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}.get(
        bone.rotation_mode, "rotation_euler"
    )
