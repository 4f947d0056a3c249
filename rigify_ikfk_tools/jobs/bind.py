# SPDX-License-Identifier: GPL-3.0-or-later
"""Bind meshes to the deform bones of a rig, and to no others."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..errors import ToolError
from ..geometry.weights import limited
from ..report import Report
from ..rigs.heat import Heated, Skeleton, heat_weights
from ..rigs.meshes import armature_modifiers, mesh_of, triangles, world_vertices
from ..rigs.rigify import deform_bones

_BEFORE = {"MIRROR", "ARRAY", "MULTIRES", "DATA_TRANSFER"}
"""Modifiers that an Armature modifier comes after; all others come after it."""


@dataclass
class MeshBinding:
    """How one mesh was bound."""

    mesh: str
    method: str
    vertices: int
    carried: int
    """Vertices that took the weights of their nearest neighbour, since no bone sees them."""
    influences: int
    """The most bones that move one vertex."""
    groups: int

    def line(self) -> str:
        """The mesh's result for a person to read."""
        carried = f", {self.carried} carried from neighbours" if self.carried else ""
        bones = f"{self.vertices} vertices on {self.groups} bones, at most {self.influences} each"
        return f"{self.mesh}: {self.method}, {bones}{carried}"


@dataclass
class BindReport(Report):
    """What was bound, and how."""

    rig: str = ""
    meshes: list[MeshBinding] = field(default_factory=list)

    def lines(self) -> list[str]:
        return [f"bind to {self.rig} in {self.seconds:.1f} s", *(mesh.line() for mesh in self.meshes), *self.notes]


def bind(
    rig: bpy.types.Object, meshes: Sequence[bpy.types.Object], *, most_influences: int = 4, replace: bool = False
) -> BindReport:
    """Weight meshes to the bones of the rig's DEF collection and give each one Armature modifier.

    Every vertex gets weight; at most `most_influences` bones move it, with a sum of 1. A mesh that hangs on another
    armature is refused unless `replace` is set. Vertex groups of other names, locked groups, shape keys and materials
    stay as they are.

    Raises ToolError, and changes no mesh, when one of them can't be bound.
    """
    started = time.perf_counter()
    bones = deform_bones(rig) if rig.type == "ARMATURE" else []
    if not bones:
        raise ToolError(f"{rig.name!r} has no deform bones to bind to. Generate the rig first.")
    skeleton = Skeleton.of(rig, bones)
    if not meshes:
        raise ToolError("No mesh was given to bind. Select the character's mesh.")
    for thing in meshes:
        _check(thing, rig, skeleton, replace)
    bound = []
    for thing in meshes:
        heated = heat_weights(world_vertices(thing), triangles(mesh_of(thing)), skeleton)
        bound.append((thing, heated, limited(heated.weights, most_influences)))
    report = BindReport(job="bind", rig=rig.name)
    for thing, heated, weights in bound:
        locked = _write_groups(thing, weights, skeleton.names)
        _hang(thing, rig)
        report.meshes.append(_told(thing, heated, weights))
        if locked:
            report.notes.append(f"{thing.name}: the locked groups {', '.join(locked)} were left as they are.")
    report.seconds = time.perf_counter() - started
    return report


def _check(thing: bpy.types.Object, rig: bpy.types.Object, skeleton: Skeleton, replace: bool) -> None:
    if thing.type != "MESH":
        raise ToolError(f"{thing.name!r} is not a mesh.")
    if thing.library or thing.data.library:
        raise ToolError(f"{thing.name!r} is linked from another file and can't be bound here. Make it local first.")
    if thing.mode == "EDIT":
        raise ToolError(f"{thing.name!r} is in edit mode. Leave edit mode first.")
    if not thing.data.vertices:
        raise ToolError(f"{thing.name!r} has no vertices: there is nothing to bind.")
    others = {m.object.name for m in armature_modifiers(thing) if m.object not in (None, rig)}
    if others and not replace:
        raise ToolError(
            f"{thing.name!r} hangs on another armature, {', '.join(sorted(others))}. "
            "Unbind it, or ask for its replacement."
        )
    points = world_vertices(thing)
    points = points[np.isfinite(points).all(axis=1)]
    ends = np.concatenate([skeleton.heads, skeleton.tails])
    margin = 0.1 * np.ptp(ends, axis=0).max()
    apart = (
        len(points) == 0
        or (points.max(axis=0) < ends.min(axis=0) - margin).any()
        or (points.min(axis=0) > ends.max(axis=0) + margin).any()
    )
    if apart:
        raise ToolError(
            f"{thing.name!r} does not touch the rig {rig.name!r}. Move the mesh or fit the meta-rig to it first."
        )


def _write_groups(thing: bpy.types.Object, weights: NDArray[np.float64], names: Sequence[str]) -> list[str]:
    """Fill the vertex groups of the bones that move something; the names of locked groups, which stay, are returned."""
    groups = thing.vertex_groups
    locked = [name for name in names if name in groups and groups[name].lock_weight]
    for column, name in enumerate(names):
        if name in locked:
            continue
        if name in groups:
            groups.remove(groups[name])
        moved = np.flatnonzero(weights[:, column])
        if len(moved):
            group = groups.new(name=name)
            for vertex in moved.tolist():
                group.add([vertex], weights[vertex, column], "REPLACE")
    return locked


def _hang(thing: bpy.types.Object, rig: bpy.types.Object) -> None:
    """One Armature modifier at the right place, and the rig as parent, without the mesh moving."""
    modifiers = thing.modifiers
    armatures = armature_modifiers(thing)
    for spare in armatures[1:]:
        modifiers.remove(spare)
    modifier: Any = armatures[0] if armatures else modifiers.new("Armature", "ARMATURE")
    modifier.object, modifier.use_vertex_groups, modifier.use_bone_envelopes = rig, True, False
    if not armatures:
        place = max((index + 1 for index, other in enumerate(modifiers) if other.type in _BEFORE), default=0)
        modifiers.move(len(modifiers) - 1, min(place, len(modifiers) - 1))
    if thing.parent != rig or thing.parent_type not in {"OBJECT", "ARMATURE"}:
        world = thing.matrix_world.copy()
        thing.parent, thing.parent_type, thing.parent_bone = rig, "OBJECT", ""
        thing.matrix_parent_inverse = rig.matrix_world.inverted()
        thing.matrix_basis = world


def _told(thing: bpy.types.Object, heated: Heated, weights: NDArray[np.float64]) -> MeshBinding:
    return MeshBinding(
        mesh=thing.name,
        method=heated.method,
        vertices=len(weights),
        carried=int(heated.carried.sum()),
        influences=int((weights > 0).sum(axis=1).max()),
        groups=int((weights > 0).any(axis=0).sum()),
    )
