# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's bone heat, run on clean copies of a normal size, so that it does not fail on what is odd in a mesh."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from mathutils.kdtree import KDTree
from numpy.typing import NDArray

from ..geometry.surface import islands
from ..geometry.weights import nearest_bone_weights
from .context import kept_context, select_only
from .meshes import local_vertices, triangles

Array = NDArray[np.float64]

_SIZE = 2.0
"""Bone heat clamps distances below a tenth of a millimetre and wants characters of about this many metres."""
_SMALL = 0.02
"""Loose islands with less of the area than this follow their neighbours instead of being solved."""
_DENSE = 60_000
"""Points above which the solver itself would take longer than the detour over a proxy."""
_VOXELS = 160
"""Voxels of the proxy along the body's longest side."""


@dataclass(frozen=True)
class Skeleton:
    """Deform bones in world space: names (b), heads and tails (b, 3)."""

    names: list[str]
    heads: Array
    tails: Array

    @staticmethod
    def of(rig: bpy.types.Object, bones: Sequence[bpy.types.Bone]) -> Skeleton:
        """The rest of these bones of a rig."""
        matrix = np.array(rig.matrix_world)
        heads, tails = (
            np.array([getattr(bone, end) for bone in bones]) @ matrix[:3, :3].T + matrix[:3, 3]
            for end in ("head_local", "tail_local")
        )
        return Skeleton([bone.name for bone in bones], heads, tails)


@dataclass(frozen=True)
class Heated:
    """Weights (n, b) of the vertices, how they came about, and which vertices took those of a neighbour."""

    weights: Array
    method: str
    carried: NDArray[np.bool_]


def heat_weights(points: Array, corners: NDArray[np.int64], skeleton: Skeleton) -> Heated:
    """Skin weights of world points (n, 3) with triangles `corners` (m, 3).

    Bone heat on the larger islands; where it finds nothing, and on dense meshes, bone heat on a voxel proxy; where that
    fails too, the nearest bones. Small islands, loose points and what no bone sees take the weights of the nearest
    weighted point.
    """
    finite = np.isfinite(points).all(axis=1)
    middle = (skeleton.heads.min(axis=0) + skeleton.tails.max(axis=0)) / 2
    size = float(np.ptp(np.concatenate([skeleton.heads, skeleton.tails]), axis=0).max())
    scale = _SIZE / size if size > 0 else 1.0
    clean = np.where(finite[:, None], (points - middle) * scale, 0.0)
    bones = Skeleton(skeleton.names, (skeleton.heads - middle) * scale, (skeleton.tails - middle) * scale)
    faces = _solid_faces(clean, corners, finite)
    method = "bone heat"
    weights = np.zeros((len(points), len(bones.names)))
    if len(faces):
        if len(points) <= _DENSE:
            weights = _solved(clean, faces, bones)
        if weights[np.unique(faces)].any(axis=1).mean() < 0.9:
            method = "bone heat on a voxel proxy"
            weights = _by_proxy(clean, faces, bones, np.unique(faces))
    if not weights.any():
        method = "nearest bones"
        weights = nearest_bone_weights(clean, bones.heads, bones.tails)
        return Heated(weights, method, np.zeros(len(points), bool))
    bare = ~weights.any(axis=1)
    weights[bare] = weights[_nearest(clean[bare], clean, np.flatnonzero(~bare))]
    return Heated(weights, method, bare)


def _solid_faces(points: Array, triangles: NDArray[np.int64], finite: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The triangles that have an area and belong to an island that is not small."""
    triangles = triangles[finite[triangles].all(axis=1)] if len(triangles) else triangles
    if not len(triangles):
        return triangles
    a, b, c = (points[triangles[:, corner]] for corner in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    triangles, area = triangles[area > 1e-12], area[area > 1e-12]
    if not len(triangles):
        return triangles
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]]])
    label = islands(len(points), edges)[triangles[:, 0]]
    total = np.bincount(label, weights=area, minlength=len(points))
    return triangles[total[label] >= _SMALL * area.sum()]


def _solved(points: Array, faces: NDArray[np.int64], bones: Skeleton) -> Array:
    """Bone heat's weights (n, b); zero everywhere when the solver fails."""
    used, local = np.unique(faces, return_inverse=True)
    mesh = bpy.data.meshes.new("heat")
    corners: list[list[int]] = local.reshape(-1, 3).tolist()
    mesh.from_pydata(points[used].tolist(), [], corners)
    weights = np.zeros((len(points), len(bones.names)))
    weights[used] = _automatic(mesh, bones)
    return weights


def _by_proxy(points: Array, faces: NDArray[np.int64], bones: Skeleton, wanted: NDArray[np.int64]) -> Array:
    """Weights (n, b) of the points `wanted`, from bone heat on a closed surface of voxels around the mesh."""
    mesh = bpy.data.meshes.new("proxy")
    mesh.from_pydata(points.tolist(), [], faces.tolist())
    thing = bpy.data.objects.new("proxy", mesh)
    bpy.context.scene.collection.objects.link(thing)
    remesh: Any = thing.modifiers.new("Remesh", "REMESH")
    remesh.mode, remesh.voxel_size = "VOXEL", float(np.ptp(points, axis=0).max()) / _VOXELS
    voxels = bpy.data.meshes.new_from_object(thing.evaluated_get(bpy.context.evaluated_depsgraph_get()))
    bpy.data.objects.remove(thing)
    bpy.data.meshes.remove(mesh)
    places, corners = local_vertices(voxels), triangles(voxels)
    bpy.data.meshes.remove(voxels)
    outside = _solid_faces(places, corners, np.ones(len(places), bool))  # cavities are islands that no bone sees
    found = _solved(places, outside, bones) if len(outside) else np.zeros((len(places), len(bones.names)))
    weights = np.zeros((len(points), len(bones.names)))
    warm = np.flatnonzero(found.any(axis=1))
    if len(warm):
        tree = _tree(places, warm)
        for index in wanted:
            for _, near, distance in tree.find_n(points[index], 4):
                weights[index] += found[near] / (distance + 1e-6)
        weights[wanted] /= weights[wanted].sum(axis=1, keepdims=True)
    return weights


def _nearest(points: Array, others: Array, allowed: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each point (k, 3) the index of the nearest of the `allowed` ones among `others` (n, 3)."""
    tree = _tree(others, allowed)
    return np.array([tree.find(point)[1] for point in points], int)


def _tree(points: Array, allowed: NDArray[np.int64]) -> KDTree:
    tree = KDTree(len(allowed))
    for index in allowed:
        tree.insert(points[index], int(index))
    tree.balance()
    return tree


def _automatic(mesh: bpy.types.Mesh, bones: Skeleton) -> Array:
    """Weights (n, b) that Blender gives a mesh; the mesh is used up."""
    with kept_context(), _armature(bones) as armature:
        thing = bpy.data.objects.new("heat", mesh)
        bpy.context.scene.collection.objects.link(thing)
        try:
            select_only([thing, armature], armature)
            bpy.ops.object.parent_set(type="ARMATURE_AUTO")
            return _group_weights(thing, bones.names)
        finally:
            bpy.data.objects.remove(thing)
            bpy.data.meshes.remove(mesh)


@contextmanager
def _armature(bones: Skeleton) -> Iterator[bpy.types.Object]:
    """An armature of these bones alone, each of one segment."""
    data = bpy.data.armatures.new("heat")
    armature = bpy.data.objects.new("heat", data)
    bpy.context.scene.collection.objects.link(armature)
    try:
        select_only([armature], armature)
        bpy.ops.object.mode_set(mode="EDIT")
        for name, head, tail in zip(bones.names, bones.heads, bones.tails, strict=True):
            bone = data.edit_bones.new(name)
            bone.head, bone.tail = head, tail
        bpy.ops.object.mode_set(mode="OBJECT")
        yield armature
    finally:
        if bpy.context.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        bpy.data.objects.remove(armature)
        bpy.data.armatures.remove(data)


def _group_weights(thing: bpy.types.Object, names: Sequence[str]) -> Array:
    column = {group.index: names.index(group.name) for group in thing.vertex_groups if group.name in names}
    weights = np.zeros((len(thing.data.vertices), len(names)))
    for vertex in thing.data.vertices:
        for member in vertex.groups:
            if member.group in column:
                weights[vertex.index, column[member.group]] = member.weight
    return weights
