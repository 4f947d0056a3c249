# SPDX-License-Identifier: GPL-3.0-or-later
"""A humanoid mesh grown by Blender's Skin modifier around a few lines; no foreign data."""

from __future__ import annotations

import bpy

HEIGHT = 1.76
Place = tuple[float, float, float]

# name: (place of the left side, radius, the point it hangs on); a name in SIDED has a twin on the right
_TRUNK: dict[str, tuple[Place, float, str | None]] = {
    "hips": ((0, 0.02, 0.98), 0.125, None),
    "waist": ((0, 0.0, 1.12), 0.115, "hips"),
    "chest": ((0, 0.01, 1.28), 0.145, "waist"),
    "collar": ((0, 0.025, 1.42), 0.09, "chest"),
    "neck": ((0, 0.02, 1.46), 0.052, "collar"),
    "jaw": ((0, -0.012, 1.545), 0.07, "neck"),
    "face": ((0, -0.01, 1.62), 0.092, "jaw"),
    "skull": ((0, 0.005, 1.69), 0.094, "face"),
    "crown": ((0, 0.008, 1.745), 0.06, "skull"),
}
_SIDED: dict[str, tuple[Place, float, str]] = {
    "thigh": ((0.1, 0.02, 0.88), 0.088, "hips"),
    "over_knee": ((0.115, 0.0, 0.56), 0.062, "thigh"),
    "knee": ((0.12, -0.005, 0.49), 0.055, "over_knee"),
    "calf": ((0.125, 0.015, 0.36), 0.056, "knee"),
    "ankle": ((0.13, 0.03, 0.1), 0.038, "calf"),
    "sole": ((0.132, 0.01, 0.045), 0.042, "ankle"),
    "ball": ((0.14, -0.1, 0.03), 0.036, "sole"),
    "toes": ((0.143, -0.17, 0.025), 0.025, "ball"),
    "shoulder": ((0.165, 0.02, 1.4), 0.068, "collar"),
    "upper_arm": ((0.26, 0.02, 1.29), 0.05, "shoulder"),
    "elbow": ((0.36, 0.03, 1.165), 0.041, "upper_arm"),
    "forearm": ((0.415, 0.005, 1.09), 0.038, "elbow"),
    "wrist": ((0.495, -0.035, 0.98), 0.025, "forearm"),
    "palm": ((0.53, -0.055, 0.93), 0.034, "wrist"),
}
_FINGERS = {
    "thumb": ((0.502, -0.1, 0.94), (0.508, -0.142, 0.905), 0.015),
    "index": ((0.55, -0.105, 0.87), (0.56, -0.122, 0.805), 0.0125),
    "middle": ((0.56, -0.07, 0.86), (0.573, -0.079, 0.782), 0.0125),
    "ring": ((0.56, -0.035, 0.863), (0.572, -0.036, 0.795), 0.012),
    "pinky": ((0.55, 0.0, 0.88), (0.56, 0.008, 0.828), 0.0115),
}


def make_body(name: str = "body") -> bpy.types.Object:
    """A standing figure of 1.76 m in an A-pose, its feet on the ground, facing -Y, in the current scene."""
    points, radii, edges = _lines()
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points, edges, [])
    body = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(body)
    body.modifiers.new("Skin", "SKIN")
    for corner, radius in zip(mesh.skin_vertices[0].data, radii, strict=True):
        corner.radius = radius, radius
    mesh.skin_vertices[0].data[0].use_root = True
    body.modifiers.new("Subdivision", "SUBSURF").levels = 2
    remesh = body.modifiers.new("One skin", "REMESH")  # the Skin modifier leaves the fingers apart from the hand
    remesh.mode, remesh.voxel_size = "VOXEL", 0.007
    body.modifiers.new("Smooth", "SMOOTH").iterations = 4
    body.modifiers.new("Lighter", "DECIMATE").ratio = 0.12
    grown = bpy.data.meshes.new_from_object(body.evaluated_get(bpy.context.evaluated_depsgraph_get()))
    body.modifiers.clear()
    body.data = grown
    bpy.data.meshes.remove(mesh)
    grown.name = name
    _stand_on_ground(grown)
    for polygon in grown.polygons:
        polygon.use_smooth = True
    return body


def _lines() -> tuple[list[Place], list[float], list[tuple[int, int]]]:
    index: dict[str, int] = {}
    points: list[Place] = []
    radii: list[float] = []
    edges: list[tuple[int, int]] = []

    def add(name: str, place: Place, radius: float, parent: str | None) -> None:
        index[name] = len(points)
        points.append(place)
        radii.append(radius)
        if parent is not None:
            edges.append((index[parent], index[name]))

    for name, (place, radius, parent) in _TRUNK.items():
        add(name, place, radius, parent)
    for side, sign in (("L", 1), ("R", -1)):
        for name, (place, radius, parent) in _SIDED.items():
            hangs_on = parent if parent in _TRUNK else f"{parent}.{side}"
            add(f"{name}.{side}", (sign * place[0], place[1], place[2]), radius, hangs_on)
        for name, (knuckle, tip, radius) in _FINGERS.items():
            add(f"{name}.{side}", (sign * knuckle[0], *knuckle[1:]), radius, f"palm.{side}")
            add(f"{name}_tip.{side}", (sign * tip[0], *tip[1:]), 0.8 * radius, f"{name}.{side}")
    return points, radii, edges


def _stand_on_ground(mesh: bpy.types.Mesh) -> None:
    """Put the soles to Z = 0 and the crown to the height."""
    levels = [vertex.co.z for vertex in mesh.vertices]
    low, high = min(levels), max(levels)
    for vertex in mesh.vertices:
        vertex.co.z = (vertex.co.z - low) * HEIGHT / (high - low)
