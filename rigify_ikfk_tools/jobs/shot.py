# SPDX-License-Identifier: GPL-3.0-or-later
"""What bake and blend ask of a shot: a rig, limbs, frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import bpy

from ..errors import ToolError
from ..rigs.limb_reader import pick_limbs, read_limbs
from ..rigs.limbs import SIDES, Finger, Limb

_LAST_FRAME = 1048574


def chosen_sides(
    rig: bpy.types.Object, to: str | Mapping[str, str], names: Sequence[str] | None
) -> list[tuple[Limb, str]]:
    """The limbs of a rig by their names, each with the side that `to` says. Raises ToolError."""
    if isinstance(to, str):
        sides = [(limb, to) for limb in pick_limbs(rig, names)]
    else:
        picked = pick_limbs(rig, list(to) if names is None else names)
        sides = [(limb, to.get(limb.name, to.get(limb.alias, ""))) for limb in picked]
    for limb, side in sides:
        if side not in SIDES:
            raise ToolError(f"A limb is baked to 'ik' or to 'fk', not to {side!r} ({limb.name}).")
    return sides


def chosen_limbs(rig: bpy.types.Object, names: Sequence[str] | None) -> list[Limb]:
    """The limbs of a rig by their names, or those of all that have an IK side of their own: fingers share FK's."""
    picked = pick_limbs(rig, names)
    return picked if names is not None else [limb for limb in picked if not isinstance(limb, Finger)]


def left_out(rig: bpy.types.Object, to: str | Mapping[str, str], names: Sequence[str] | None) -> list[str]:
    """A sentence for each limb that `chosen_sides` has left out although all were meant."""
    if names is not None or not isinstance(to, str):
        return []
    return [f"{name} was left out: {reason}." for name, reason in read_limbs(rig)[1].items()]


def checked_shot(
    rig: bpy.types.Object, frames: range | None, scene: bpy.types.Scene | None
) -> tuple[bpy.types.Scene, range]:
    """The scene and the frames to work on: by default the rig's own or the current scene, and its range.

    Raises ToolError when there are no frames or the rig can't be posed.
    """
    scene = scene or _scene_of(rig)
    frames = _checked_frames(frames, scene)
    _check_rig(rig)
    return scene, frames


def _checked_frames(frames: range | None, scene: bpy.types.Scene) -> range:
    if frames is None:
        frames = range(scene.frame_start, scene.frame_end + 1)
    if len(frames) == 0:
        raise ToolError("The frame range is empty: its end lies before its start.")
    if frames.step != 1:
        raise ToolError("The frame range must hold every frame; steps are not supported.")
    if frames[0] < -_LAST_FRAME or frames[-1] > _LAST_FRAME:
        raise ToolError(f"Blender has frames from {-_LAST_FRAME} to {_LAST_FRAME} only.")
    return frames


def _check_rig(rig: bpy.types.Object) -> None:
    if rig.type != "ARMATURE" or rig.pose is None:
        raise ToolError(f"{rig.name!r} is not an armature. Choose a rig that Rigify has generated.")
    if rig.data.is_editmode:  # be it by way of another object that shares the armature
        raise ToolError(f"{rig.name!r} is in edit mode. Leave edit mode first.")
    if rig.data.pose_position == "REST":
        raise ToolError(f"{rig.name!r} shows its rest position. Set it to pose position first.")
    size = abs(rig.matrix_world.determinant())
    if not 0 < size < float("inf"):
        raise ToolError(f"{rig.name!r} is scaled to nothing. Give it a scale on each axis first.")


def _scene_of(rig: bpy.types.Object) -> bpy.types.Scene:
    """The scene that a rig is in: the current one where it can be."""
    scenes = list(rig.users_scene)
    return bpy.context.scene if not scenes or bpy.context.scene in scenes else scenes[0]
