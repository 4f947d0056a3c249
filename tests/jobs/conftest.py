# SPDX-License-Identifier: GPL-3.0-or-later
"""Shots: stock rigs with seeded motion, and what a viewer sees of them."""

from __future__ import annotations

import random
from math import sin

import numpy as np
import pytest

FRAMES = range(1, 22)
FK_BONES = ("upper_arm_fk", "forearm_fk", "hand_fk", "thigh_fk", "shin_fk", "foot_fk", "toe_fk")
HINGES = ("forearm_fk", "shin_fk")
VISIBLE = ("upper_arm", "forearm", "hand", "thigh", "shin", "foot", "toe")
SLIDERS = ("upper_arm_parent.L", "upper_arm_parent.R", "thigh_parent.L", "thigh_parent.R")


def set_sliders(rig, value, frame=None):
    for name in SLIDERS:
        rig.pose.bones[name]["IK_FK"] = float(value)
        if frame is not None:
            rig.pose.bones[name].keyframe_insert('["IK_FK"]', frame=frame)
    rig.update_tag()


def slider_values(rig, frames, name="upper_arm_parent.L", setting="IK_FK"):
    """What a property of a limb's settings bone shows on frames."""
    import bpy

    out = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        out.append(rig.pose.bones[name][setting])
    return out


def override_of_linked_stock(generate_stock, folder):
    """The stock rig linked into an empty file, and a function that makes a library override of it."""
    import bpy

    library = folder / "library.blend"
    generate_stock("basic_human")
    bpy.ops.wm.save_as_mainfile(filepath=str(library))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with bpy.data.libraries.load(str(library), link=True) as (_, wanted):
        wanted.objects = ["rig"]
    (linked,) = wanted.objects
    bpy.context.scene.collection.objects.link(linked)
    return linked, lambda: linked.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)


def _turn(bone, euler, frame):
    from mathutils import Euler

    if bone.rotation_mode == "QUATERNION":
        bone.rotation_quaternion = Euler(euler).to_quaternion()
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    else:
        bone.rotation_euler = euler
        bone.keyframe_insert("rotation_euler", frame=frame)


def animate_fk(rig, seed=1, frames=FRAMES):
    """FK keys each five frames on all limbs, the torso moving; elbows and knees bend about their hinges only."""
    rnd = random.Random(seed)
    waves = {f"{name}.{side}": [rnd.uniform(0, 6) for _ in range(3)] for name in FK_BONES for side in "LR"}
    for frame in range(frames[0], frames[-1] + 1, 5):
        torso = rig.pose.bones["torso"]
        torso.location = 0.1 * sin(frame / 5), 0.05 * sin(frame / 7), 0.04 * sin(frame / 4)
        torso.keyframe_insert("location", frame=frame)
        for name, (a, b, c) in waves.items():
            if name.startswith(HINGES):
                euler = 0.8 + 0.6 * sin(frame / 6 + a), 0, 0
            else:
                euler = 0.4 * sin(frame / 6 + a), 0.3 * sin(frame / 7 + b), 0.4 * sin(frame / 8 + c)
            _turn(rig.pose.bones[name], euler, frame)
    set_sliders(rig, 1.0, frames[0])


def animate_ik(rig, seed=2, frames=FRAMES):
    """IK keys each five frames on hands and feet, the heels rolling."""
    rnd = random.Random(seed)
    for side in "LR":
        for name in ("hand_ik", "foot_ik"):
            a, b, c = (rnd.uniform(0, 6) for _ in range(3))
            bone = rig.pose.bones[f"{name}.{side}"]
            for frame in range(frames[0], frames[-1] + 1, 5):
                bone.location = 0.1 * sin(frame / 6 + a), 0.1 * sin(frame / 7 + b), 0.1 * abs(sin(frame / 8 + c))
                bone.keyframe_insert("location", frame=frame)
                _turn(bone, (0.3 * sin(frame / 9 + a), 0.2 * sin(frame / 6 + b), 0), frame)
        heel = rig.pose.bones[f"foot_heel_ik.{side}"]
        for frame in (frames[0], frames[len(frames) // 2], frames[-1]):
            heel.rotation_euler = 0.4 * sin(frame), 0, 0
            heel.keyframe_insert("rotation_euler", frame=frame)
    set_sliders(rig, 0.0, frames[0])


def visible_poses(rig, frames=FRAMES):
    """World matrices (n, b, 4, 4) of the bones that a viewer sees, and the bones' names."""
    import bpy

    names = [f"ORG-{name}.{side}" for name in VISIBLE for side in "LR"]
    out = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        out.append([np.array(rig.matrix_world @ rig.pose.bones[name].matrix) for name in names])
    return np.array(out), names


def millimetres(before, after):
    """Distances (n, b) between the heads of bones."""
    return 1e3 * np.linalg.norm(before[..., :3, 3] - after[..., :3, 3], axis=-1)


def curves(rig):
    """The F-curves that a rig plays."""
    action = rig.animation_data.action
    if not hasattr(action, "layers"):
        return list(action.fcurves)
    return list(action.layers[0].strips[0].channelbag(rig.animation_data.action_slot).fcurves)


def all_curves(action):
    """Every F-curve of an action of any kind, as (slot, path, index) -> keys."""
    if action is None:
        return {}
    if hasattr(action, "layers"):
        bags = [bag for layer in action.layers for strip in layer.strips for bag in strip.channelbags]
        curves = [(bag.slot.identifier, curve) for bag in bags for curve in bag.fcurves]
    else:
        curves = [("", curve) for curve in action.fcurves]
    return {
        (slot, curve.data_path, curve.array_index): [
            (*k.co, *k.handle_left, *k.handle_right, k.interpolation, k.handle_left_type, k.type)
            for k in curve.keyframe_points
        ]
        for slot, curve in curves
    }


@pytest.fixture
def fk_shot(generate_stock):
    return _shot(generate_stock, animate_fk)


@pytest.fixture
def ik_shot(generate_stock):
    return _shot(generate_stock, animate_ik)


def _shot(generate_stock, animate):
    import bpy

    rig = generate_stock("basic_human")
    animate(rig)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = FRAMES[0], FRAMES[-1]
    return rig


@pytest.fixture
def shots():
    """The helpers of this file, for tests to call."""
    import sys

    return sys.modules[__name__]
