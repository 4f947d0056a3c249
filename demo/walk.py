# SPDX-License-Identifier: GPL-3.0-or-later
"""A walk on the IK controls of a generated Rigify rig, and a greeting on its FK controls."""

from __future__ import annotations

from math import cos, pi, sin

import bpy
from mathutils import Euler, Matrix, Vector

CYCLE = 24
"""Frames of two steps."""
FRAMES = range(1, 2 * CYCLE + 2)
_KEY_EACH = 3
_STEP = 0.42
"""Length of a step, in heights of the hips."""


def walk(rig: bpy.types.Object, scene: bpy.types.Scene) -> range:
    """Key a walk toward -Y, two steps each CYCLE frames; returns its frames.

    Torso, hands and feet are keyed each few frames, the feet roll over heel and toes.
    """
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    bones = rig.pose.bones
    hips = bones["torso"].bone.head_local.z
    rest = {bone.name: bone.bone.matrix_local.copy() for bone in bones}
    for frame in range(FRAMES[0], FRAMES[-1] + 1, _KEY_EACH):
        time = (frame - FRAMES[0]) / CYCLE
        travel = Vector((0, -2 * _STEP * hips * time, 0))
        sink = -0.018 * hips - 0.012 * hips * cos(4 * pi * time)
        sway = Euler((0.03, 0.03 * sin(2 * pi * time), 0.09 * sin(2 * pi * time)))
        _key(bones["torso"], rest, travel + Vector((0, 0, sink)), sway, frame)
        for side, sign, phase in (("L", 1, 0.0), ("R", -1, 0.5)):
            place, roll = _foot((time + phase) % 1.0, hips)
            beside = Vector((-0.03 * hips * sign, 0, 0))
            _key(bones[f"foot_ik.{side}"], rest, travel + place + beside, Euler(), frame)
            heel = bones[f"foot_heel_ik.{side}"]
            heel.rotation_euler = roll, 0, 0
            heel.keyframe_insert("rotation_euler", frame=frame)
            swing = sin(2 * pi * (time + phase) + pi / 2)
            hand = Vector((-0.23 * hips * sign, (0.22 * swing + 0.02) * hips, (-0.09 + 0.05 * swing * swing) * hips))
            _key(bones[f"hand_ik.{side}"], rest, travel + hand, Euler((0.45 * swing, 0.6 * sign, 0)), frame)
    return FRAMES


def greet(rig: bpy.types.Object, scene: bpy.types.Scene, frames: range) -> None:
    """Bend the left elbow and let it go again, on top of the FK keys of these frames."""
    forearm = rig.pose.bones["forearm_fk.L"]
    for place, frame in enumerate(frames):
        scene.frame_set(frame)
        bend = 1.2 * sin(pi * place / (len(frames) - 1))
        forearm.matrix_basis = forearm.matrix_basis @ Matrix.Rotation(bend, 4, "X")
        _insert_rotation(forearm, frame)


def _foot(phase: float, hips: float) -> tuple[Vector, float]:
    """Where a foot is, relative to the travelling body, and how far it rolls (radians, to the toes above 0)."""
    step = _STEP * hips
    if phase < 0.5:  # on the ground, from before the body to behind it
        roll = 0.0 if phase < 0.35 else 0.55 * (phase - 0.35) / 0.15
        return Vector((0, -step / 2 + 2 * step * phase, 0)), roll
    swing = (phase - 0.5) * 2
    roll = 0.55 * (1 - swing) ** 2 - 0.25 * swing**3
    return Vector((0, step / 2 - step * swing, 0.09 * hips * sin(pi * swing))), roll


def _key(bone: bpy.types.PoseBone, rest: dict[str, Matrix], shift: Vector, turn: Euler, frame: int) -> None:
    """Key a control moved and turned from its rest, in the rig's own axes."""
    matrix = rest[bone.name]
    head = matrix.translation
    pose = Matrix.Translation(head + shift) @ turn.to_matrix().to_4x4() @ matrix.to_3x3().to_4x4()
    parent = bone.parent
    bone.matrix_basis = bone.bone.convert_local_to_pose(
        pose, matrix, parent_matrix=rest[parent.name], parent_matrix_local=rest[parent.name], invert=True
    )
    bone.keyframe_insert("location", frame=frame)
    _insert_rotation(bone, frame)


def _insert_rotation(bone: bpy.types.PoseBone, frame: int) -> None:
    bone.keyframe_insert("rotation_quaternion" if bone.rotation_mode == "QUATERNION" else "rotation_euler", frame=frame)
