# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators: what the user has selected goes to a job, what the job tells goes to the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty

from ..errors import ToolError
from ..jobs.bake import bake
from ..jobs.rig import rig as rig_character
from ..rigs.limb_reader import read_limbs
from ..rigs.rigify import is_generated_rig
from . import results

if TYPE_CHECKING:
    from ..report import Report

    OperatorPart = bpy.types.Operator
else:
    OperatorPart = object  # Blender reads properties from a base only when that is no operator itself


def _do(operator: bpy.types.Operator, work: Callable[[], Report]) -> set[Any]:
    """Do the work of a job, and say in plain words how it went."""
    try:
        report = work()
    except ToolError as problem:
        operator.report({"ERROR"}, str(problem))
        return {"CANCELLED"}
    results.keep(report)
    operator.report({"WARNING"} if report.notes else {"INFO"}, report.headline())
    return {"FINISHED"}


def selected_meshes(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The selected mesh objects, the active one first."""
    meshes = [thing for thing in context.selected_objects if thing.type == "MESH"]
    return sorted(meshes, key=lambda thing: thing != context.object)


class OBJECT_OT_rigify_ikfk_generate_and_bind(bpy.types.Operator):
    """Fit a meta-rig to the selected meshes, generate the rig, and bind the meshes to its deform bones"""

    bl_idname = "object.rigify_ikfk_generate_and_bind"
    bl_label = "Generate and Bind"
    bl_options = {"REGISTER", "UNDO"}

    preset: EnumProperty(
        name="Preset",
        description="The meta-rig that is fitted",
        items=[
            ("human", "Human", "Body, fingers and face"),
            ("basic_human", "Basic Human", "Body without fingers and face"),
        ],
    )
    most_influences: IntProperty(
        name="Influences", description="The most bones that may move one vertex", default=4, min=1, max=16
    )
    replace: BoolProperty(
        name="Replace Armature", description="Bind meshes that hang on another armature to the new rig instead"
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if context.mode != "OBJECT":
            cls.poll_message_set("Go to object mode first")
            return False
        if not selected_meshes(context):
            cls.poll_message_set("Select the mesh of a character")
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[Any]:
        meshes = selected_meshes(context)
        options = {"most_influences": self.most_influences, "replace": self.replace}
        return _do(self, lambda: rig_character(meshes, preset=self.preset, **options))


class _Bake(OperatorPart):
    """What both directions of a bake share."""

    bl_options = {"REGISTER", "UNDO"}
    to = ""

    frame_start: IntProperty(name="Start", description="First frame")
    frame_end: IntProperty(name="End", description="Last frame")
    selected_only: BoolProperty(
        name="Selected Limbs",
        description="Bake only limbs of which a bone is selected; all limbs where none is",
        default=True,
    )
    set_slider: BoolProperty(
        name="Set Slider", description="Key the IK-FK slider to this side inside the range", default=True
    )
    tolerance: FloatProperty(
        name="Tolerance", description="Name frames with a larger error, in millimetres", default=1.0, min=0.001
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not is_generated_rig(context.object):
            cls.poll_message_set("Select a rig that Rigify has generated")
            return False
        if context.mode not in {"OBJECT", "POSE"}:
            cls.poll_message_set("Go to pose mode first")
            return False
        return True

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        scene = context.scene
        preview = scene.use_preview_range
        self.frame_start = scene.frame_preview_start if preview else scene.frame_start
        self.frame_end = scene.frame_preview_end if preview else scene.frame_end
        return self.execute(context)

    def job_options(self) -> dict[str, Any]:
        """What the redo panel has for the job, beside limbs and frames."""
        return {"set_slider": self.set_slider, "tolerance_mm": self.tolerance}

    def execute(self, context: bpy.types.Context) -> set[Any]:
        frames = range(self.frame_start, self.frame_end + 1)
        limbs = limbs_of_selection(context) if self.selected_only else None
        rig, scene = context.object, context.scene
        return _do(
            self, lambda: bake(rig, to=self.to, limbs=limbs or None, frames=frames, scene=scene, **self.job_options())
        )


class POSE_OT_rigify_ikfk_bake_to_ik(_Bake, bpy.types.Operator):
    """Key the IK controls so that the pose stays as it is seen"""

    bl_idname = "pose.rigify_ikfk_bake_to_ik"
    bl_label = "Bake to IK"
    to = "ik"

    keep_roll: BoolProperty(
        name="Keep Foot Roll",
        description="Foot controls keep their orientation, and heels roll the foot from it; otherwise heels get "
        "neutral and foot controls turn with the foot",
    )

    def job_options(self) -> dict[str, Any]:
        """As for both directions, and the feet."""
        return super().job_options() | {"keep_roll": self.keep_roll}


class POSE_OT_rigify_ikfk_bake_to_fk(_Bake, bpy.types.Operator):
    """Key the FK controls so that the pose stays as it is seen"""

    bl_idname = "pose.rigify_ikfk_bake_to_fk"
    bl_label = "Bake to FK"
    to = "fk"


def limbs_of_selection(context: bpy.types.Context) -> list[str]:
    """Names of the limbs of which a control or the settings bone is selected, in pose mode."""
    selected = {bone.name for bone in context.selected_pose_bones or ()}
    limbs, _ = read_limbs(context.object)
    return [limb.name for limb in limbs if selected & {*limb.handles}]


CLASSES = (OBJECT_OT_rigify_ikfk_generate_and_bind, POSE_OT_rigify_ikfk_bake_to_ik, POSE_OT_rigify_ikfk_bake_to_fk)
