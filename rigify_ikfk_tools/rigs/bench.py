# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's own IK solver, asked without the rest of the rig: many frames of one limb in one evaluation."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..geometry.rotations import split_scale, to_quaternions

Array = NDArray[np.float64]

_SLOTS = 32
"""Copies of the limb that are solved at once: each costs some time to make."""
_OF_BONES = ("ik_stretch",) + tuple(
    f"{name}_{axis}" for name in ("lock_ik", "ik_stiffness", "use_ik_limit", "ik_min", "ik_max") for axis in "xyz"
)
_OF_SOLVER = ("use_tail", "use_stretch", "iterations", "chain_count", "weight", "pole_angle", "influence")


class Bench:
    """Copies of the two bones of a limb, with its IK constraint, in a scene of their own.

    The copies have no parents: they are given the pose, in armature space of the rig, that the first bone has before
    solving, and show where the solver would put the middle joint on the rig. To be used in a ``with`` statement.
    """

    def __init__(self, rig: bpy.types.Object, solver_bone: str, solver: bpy.types.KinematicConstraint) -> None:
        """A bench for the IK constraint `solver` of the bone `solver_bone`, with or without its pole."""
        self._rig, self._solver = rig, solver
        self._middle = rig.pose.bones[solver_bone]
        self._base = self._middle.parent
        self._poled = solver.pole_target is not None

    def __enter__(self) -> Bench:
        self._scene = bpy.data.scenes.new("Rigify IK/FK bench")
        self._data = bpy.data.armatures.new("Rigify IK/FK bench")
        self._object = bpy.data.objects.new("Rigify IK/FK bench", self._data)
        try:
            self._build()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        bpy.data.objects.remove(self._object)
        bpy.data.armatures.remove(self._data)
        bpy.data.scenes.remove(self._scene)

    def _build(self) -> None:
        scene, bench = self._scene, self._object
        scene.collection.objects.link(bench)
        layer = scene.view_layers[0]
        layer.objects.active = bench
        lent: Any = bpy.context.temp_override(scene=scene, view_layer=layer, active_object=bench, object=bench)
        with lent:
            bpy.ops.object.mode_set(mode="EDIT")
            for slot in range(_SLOTS):
                self._add_slot(str(slot))
            bpy.ops.object.mode_set(mode="OBJECT")
        for slot in range(_SLOTS):
            self._set_up_slot(str(slot))
        bones = bench.pose.bones
        place = {bone.name: number for number, bone in enumerate(bones)}
        self._count = len(place)
        self._bases, self._middles, self._targets, self._poles = (
            np.array([place[f"{part}{slot}"] for slot in range(_SLOTS)])
            for part in ("base", "middle", "target", "pole")
        )
        rests = np.array([np.array(bone.bone.matrix_local) for bone in bones])
        self._to_base = np.linalg.inv(rests[self._bases[0]])
        self._shown = np.empty(self._count * 16, np.float32)
        self._active = _SLOTS

    def _add_slot(self, slot: str) -> None:
        copies: list[Any] = []
        for part, model in (("base", self._base), ("middle", self._middle), ("target", None), ("pole", None)):
            copy = self._data.edit_bones.new(part + slot)
            copy.tail = 0, 1, 0
            if model is not None:
                copy.matrix = model.bone.matrix_local
                copy.length = model.bone.length
                copy.inherit_scale = model.bone.inherit_scale
                copy.use_inherit_rotation = model.bone.use_inherit_rotation
            copies.append(copy)
        copies[1].parent = copies[0]

    def _set_up_slot(self, slot: str) -> None:
        bones = self._object.pose.bones
        for part, model in (("base", self._base), ("middle", self._middle)):
            for name in _OF_BONES:
                setattr(bones[part + slot], name, getattr(model, name))
        constraint: Any = bones["middle" + slot].constraints.new("IK")
        constraint.target, constraint.subtarget = self._object, "target" + slot
        if self._poled:
            constraint.pole_target, constraint.pole_subtarget = self._object, "pole" + slot
        for name in _OF_SOLVER:
            setattr(constraint, name, getattr(self._solver, name))

    def ask(
        self, bases: Array, targets: Array, poles: Array | None = None, stretches: Array | None = None
    ) -> tuple[Array, Array]:
        """Where the solver puts the middle joint and the end of the chain, (n, 3) each.

        `bases` (n, 4, 4) are poses of the first bone before solving, `targets` and `poles` (n, 3) where the chain
        shall end and bend to, all in armature space; `stretches` (n, 2) are IK stretches of the two bones.
        """
        out = np.empty((len(bases), 2, 3))
        for first in range(0, len(bases), _SLOTS):
            rows = slice(first, first + _SLOTS)
            further = (None if array is None else array[rows] for array in (poles, stretches))
            out[rows] = self._ask(bases[rows], targets[rows], *further)
        return out[:, 0], out[:, 1]

    def _ask(self, bases: Array, targets: Array, poles: Array | None, stretches: Array | None) -> Array:
        count = len(bases)
        self._activate(count)
        basis = self._to_base @ bases
        turn, scale = split_scale(basis[:, :3, :3])
        location = np.zeros((self._count, 3), np.float32)
        rotation = np.tile(np.array([1, 0, 0, 0], np.float32), (self._count, 1))
        scales = np.ones((self._count, 3), np.float32)
        location[self._bases[:count]] = basis[:, :3, 3]
        rotation[self._bases[:count]] = to_quaternions(turn)
        scales[self._bases[:count]] = scale
        location[self._targets[:count]] = targets
        if poles is not None:
            location[self._poles[:count]] = poles
        bones: Any = self._object.pose.bones
        if stretches is not None:
            for slot, (first, second) in enumerate(stretches.tolist()):
                bones[int(self._bases[slot])].ik_stretch = first
                bones[int(self._middles[slot])].ik_stretch = second
        bones.foreach_set("location", location.ravel())
        bones.foreach_set("rotation_quaternion", rotation.ravel())
        bones.foreach_set("scale", scales.ravel())
        self._object.update_tag()
        layer = self._scene.view_layers[0]
        layer.update()
        seen: Any = self._object.evaluated_get(layer.depsgraph)
        seen.pose.bones.foreach_get("matrix", self._shown)
        middles = self._shown.reshape(-1, 4, 4)[self._middles[:count], :, :3].astype(float)  # rows are axes and head
        return np.stack([middles[:, 3], middles[:, 3] + self._middle.bone.length * middles[:, 1]], axis=1)

    def _activate(self, count: int) -> None:
        """Let so many slots be solved: the others would cost as much for nothing."""
        bones = self._object.pose.bones
        for slot in range(min(count, self._active), max(count, self._active)):
            constraint = bones[int(self._middles[slot])].constraints[0]
            constraint.influence = self._solver.influence if slot < count else 0.0
        self._active = count
