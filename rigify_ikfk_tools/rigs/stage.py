# SPDX-License-Identifier: GPL-3.0-or-later
"""Playing a rig without the rest of the scene, and reading its pose on each frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

Poses = dict[str, NDArray[np.float64]]
"""Pose matrices (n, 4, 4) in armature space by bone name, one for each frame."""


@dataclass(frozen=True)
class Played:
    """What a rig showed on n frames."""

    poses: Poses
    bases: Poses
    """Basis matrices (n, 4, 4), before constraints and IK, by bone name."""
    values: dict[str, NDArray[np.float64]]
    """Properties (n,) by data path."""


class Stage:
    """A scene of its own that holds one rig only, so that a playback does not pay for the meshes.

    What the rig depends on (parents, targets of its constraints and drivers) is evaluated along with it. Nothing that
    is played here is seen in the user's scene: its frame and the rig's unkeyed pose stay as they are. To be used in a
    ``with`` statement; the scene is gone afterwards.
    """

    def __init__(self, rig: bpy.types.Object, scene: bpy.types.Scene) -> None:
        self.rig = rig
        self._like = scene

    def __enter__(self) -> Stage:
        scene = bpy.data.scenes.new("Rigify IK/FK stage")
        self._scene = scene
        scene.render.fps, scene.render.fps_base = self._like.render.fps, self._like.render.fps_base
        scene.render.frame_map_old = self._like.render.frame_map_old
        scene.render.frame_map_new = self._like.render.frame_map_new
        scene.collection.objects.link(self.rig)
        self._disabled = self.rig.hide_viewport
        if self._disabled:  # in viewports, where it would not be evaluated at all
            self.rig.hide_viewport = False
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._disabled:
            self.rig.hide_viewport = True
        bpy.data.scenes.remove(self._scene)

    def play(
        self, frames: Iterable[int], bones: Sequence[str], *, bases: Sequence[str] = (), values: Sequence[str] = ()
    ) -> Played:
        """Evaluate the rig on `frames`; read the pose of `bones`, the basis of `bases`, the properties at `values`."""
        frames = list(frames)
        reading = _Reading(self.rig, len(frames), bones, bases, values)
        for row, frame in enumerate(frames):
            self._scene.frame_set(frame)
            reading.take(row, self.rig.evaluated_get(self._scene.view_layers[0].depsgraph))
        return reading.played()

    def seen_now(self, bones: Sequence[str], *, bases: Sequence[str] = (), values: Sequence[str] = ()) -> Played:
        """The same of the rig as the user sees it in the current scene, poses that have no keys included (n = 1)."""
        reading = _Reading(self.rig, 1, bones, bases, values)
        reading.take(0, self.rig.evaluated_get(bpy.context.evaluated_depsgraph_get()))
        return reading.played()


class _Reading:
    """What is read of a rig on n frames."""

    def __init__(
        self, rig: bpy.types.Object, count: int, bones: Sequence[str], bases: Sequence[str], values: Sequence[str]
    ) -> None:
        self._poses = _Matrices(rig, "matrix", bones, count)
        self._bases = _Matrices(rig, "matrix_basis", bases, count)
        self._paths, self._numbers = values, np.empty((count, len(values)))

    def take(self, row: int, rig: Any) -> None:
        """Read an evaluated rig."""
        self._poses.read(row, rig)
        self._bases.read(row, rig)
        for column, path in enumerate(self._paths):
            self._numbers[row, column] = _number(rig, path)

    def played(self) -> Played:
        """All of it."""
        numbers = dict(zip(self._paths, self._numbers.T, strict=True))
        return Played(self._poses.by_bone(), self._bases.by_bone(), numbers)


def _number(rig: Any, path: str) -> float:
    """The value at a data path; of a custom property with named values, what it holds and not the name."""
    owner, bracket, name = path.rpartition('["')
    if bracket and name.endswith('"]'):
        return float(rig.path_resolve(owner)[bpy.utils.unescape_identifier(name[:-2])])
    return float(rig.path_resolve(path))


class _Matrices:
    """A matrix of some bones, read on n frames: of all bones at once, which is the fastest way to any."""

    def __init__(self, rig: bpy.types.Object, what: str, bones: Sequence[str], count: int) -> None:
        places = {bone.name: place for place, bone in enumerate(rig.pose.bones)}
        self._what, self._bones = what, bones
        self._places = [places[name] for name in bones]
        self._all = np.empty(len(places) * 16, np.float32)
        self._read = np.empty((count, len(bones), 4, 4))

    def read(self, row: int, rig: bpy.types.Object) -> None:
        """Take them from an evaluated rig."""
        if self._bones:
            rig.pose.bones.foreach_get(self._what, self._all)
            self._read[row] = self._all.reshape(-1, 4, 4)[self._places].swapaxes(1, 2)  # column by column in Blender

    def by_bone(self) -> Poses:
        """What was read (n, 4, 4), by bone name."""
        return {name: self._read[:, column] for column, name in enumerate(self._bones)}
