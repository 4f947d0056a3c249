# SPDX-License-Identifier: GPL-3.0-or-later
"""Mesh objects as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import bpy
import numpy as np
from numpy.typing import NDArray


def mesh_of(thing: bpy.types.Object) -> bpy.types.Mesh:
    """The mesh that a mesh object shows."""
    return cast("bpy.types.Mesh", thing.data)


def local_vertices(mesh: bpy.types.Mesh) -> NDArray[np.float64]:
    """The vertices (n, 3) of a mesh in its own space."""
    places = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", places)
    return places.reshape(-1, 3).astype(float)


def world_vertices(thing: bpy.types.Object) -> NDArray[np.float64]:
    """The vertices (n, 3) of a mesh object in world space, without its modifiers."""
    matrix = np.array(thing.matrix_world)
    return local_vertices(mesh_of(thing)) @ matrix[:3, :3].T + matrix[:3, 3]


def armature_modifiers(thing: bpy.types.Object) -> list[bpy.types.ArmatureModifier]:
    """The Armature modifiers of an object, in their order."""
    return [modifier for modifier in thing.modifiers if isinstance(modifier, bpy.types.ArmatureModifier)]


def triangles(mesh: bpy.types.Mesh) -> NDArray[np.int64]:
    """The faces of a mesh as triangles (m, 3)."""
    mesh.calc_loop_triangles()
    corners = np.empty(3 * len(mesh.loop_triangles), np.int32)
    mesh.loop_triangles.foreach_get("vertices", corners)
    return corners.reshape(-1, 3).astype(np.int64)


def joined_surface(things: Sequence[bpy.types.Object]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """World vertices (n, 3) and triangles (m, 3) of several mesh objects as one."""
    vertices, faces, count = [np.empty((0, 3))], [np.empty((0, 3), np.int64)], 0
    for thing in things:
        points = world_vertices(thing)
        vertices.append(points)
        faces.append(triangles(mesh_of(thing)) + count)
        count += len(points)
    return np.concatenate(vertices), np.concatenate(faces)
