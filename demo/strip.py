# SPDX-License-Identifier: GPL-3.0-or-later
"""A strip of frames as one picture, rendered small with Cycles on the CPU."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from math import radians
from pathlib import Path

import bpy
import numpy as np
from mathutils import Vector

_WIDTH, _HEIGHT = 230, 420
_SAMPLES = 24


def render_strip(body: bpy.types.Object, rig: bpy.types.Object, frames: Sequence[int], path: Path) -> None:
    """Render the body on these frames side by side into a PNG file; the camera goes along with the rig's torso."""
    scene = bpy.context.scene
    _set_stage(scene, body)
    camera = _camera(scene)
    size = body.dimensions.z
    pictures = []
    travel = _travel(rig, scene, frames)
    with tempfile.TemporaryDirectory() as folder:
        for frame, along in zip(frames, travel, strict=True):
            scene.frame_set(frame)
            camera.location = Vector((2.6 * size, along - 1.7 * size, 0.5 * size))
            scene.render.filepath = str(Path(folder) / f"{frame}.png")
            bpy.ops.render.render(write_still=True)
            picture = bpy.data.images.load(scene.render.filepath)
            pictures.append(np.array(picture.pixels[:]).reshape(_HEIGHT, _WIDTH, 4))
            bpy.data.images.remove(picture)
    strip = bpy.data.images.new("strip", _WIDTH * len(pictures), _HEIGHT)
    strip.pixels = np.concatenate(pictures, axis=1).ravel()
    strip.filepath_raw, strip.file_format = str(path), "PNG"
    strip.save()
    bpy.data.images.remove(strip)


def _travel(rig: bpy.types.Object, scene: bpy.types.Scene, frames: Sequence[int]) -> list[float]:
    """How far along Y the body has come on each frame, without the sway of each step."""
    ends = []
    for frame in (frames[0], frames[-1]):
        scene.frame_set(frame)
        ends.append((rig.matrix_world @ rig.pose.bones["torso"].matrix.translation).y)
    return [float(along) for along in np.linspace(*ends, len(frames))]


def _set_stage(scene: bpy.types.Scene, body: bpy.types.Object) -> None:
    render = scene.render
    render.engine, scene.cycles.device, scene.cycles.samples = "CYCLES", "CPU", _SAMPLES
    scene.cycles.use_denoising = False
    render.resolution_x, render.resolution_y, render.resolution_percentage = _WIDTH, _HEIGHT, 100
    render.image_settings.file_format = "PNG"
    scene.view_settings.view_transform = "Standard"
    body.data.materials.append(_material("clay", (0.62, 0.3, 0.18)))
    size = body.dimensions.z
    floor = bpy.data.meshes.new("floor")
    edge = 500 * size
    floor.from_pydata([(-edge, -edge, 0), (edge, -edge, 0), (edge, edge, 0), (-edge, edge, 0)], [], [(0, 1, 2, 3)])
    floor.materials.append(_material("paper", (0.72, 0.74, 0.76)))
    scene.collection.objects.link(bpy.data.objects.new("floor", floor))
    sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
    sun.data.energy, sun.data.angle = 2.6, radians(8)
    sun.rotation_euler = radians(40), radians(18), radians(20)
    scene.collection.objects.link(sun)
    world = bpy.data.worlds.new("sky")
    world.color = 0.55, 0.6, 0.68
    scene.world = world
    if world.node_tree:
        world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.55, 0.6, 0.68, 1)


def _material(name: str, colour: tuple[float, float, float]) -> bpy.types.Material:
    material = bpy.data.materials.new(name)
    material.diffuse_color = (*colour, 1)
    material.use_nodes = True
    surface = material.node_tree.nodes["Principled BSDF"]
    surface.inputs["Base Color"].default_value = (*colour, 1)
    surface.inputs["Roughness"].default_value = 0.6
    return material


def _camera(scene: bpy.types.Scene) -> bpy.types.Object:
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    camera.data.lens = 92
    camera.rotation_euler = radians(90), 0, radians(57)
    scene.collection.objects.link(camera)
    scene.camera = camera
    return camera
