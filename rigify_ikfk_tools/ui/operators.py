# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators: what the user has selected goes to a job, what the job tells goes to the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty

from ..errors import ToolError
from ..jobs.bake import bake
from ..jobs.blend import blend
from ..jobs.parent import END, POLE, change_parent
from ..jobs.rig import rig as rig_character
from ..jobs.switch import switch
from ..rigs.limb_reader import read_limbs
from ..rigs.limbs import Finger
from ..rigs.parent_switches import NONE, parent_switch
from ..rigs.rigify import is_generated_rig
from . import results

if TYPE_CHECKING:
    from ..report import Report

    OperatorPart = bpy.types.Operator
else:
    OperatorPart = object  # Blender reads properties from a base only when that is no operator itself


_BLEND_FRAMES = 10
"""How long a blend is when nobody has said so."""
_SIDE_ITEMS = [("ik", "IK", "The IK controls"), ("fk", "FK", "The FK controls")]


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


def _keep_roll() -> Any:
    return BoolProperty(
        name="Keep Foot Roll",
        description="To IK, foot controls keep their orientation, and heels roll the foot from it; otherwise heels get "
        "neutral and foot controls turn with the foot",
    )


class _OnShot(OperatorPart):
    """What bake, switch and blend share: they work on the animation of a generated rig, on limbs of the selection."""

    bl_options = {"REGISTER", "UNDO"}

    selected_only: BoolProperty(
        name="Selected Limbs",
        description="Only limbs of which a bone is selected; all limbs where none is",
        default=True,
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

    def arguments(self, context: bpy.types.Context) -> dict[str, Any]:
        """What every job on a shot is given."""
        limbs = limbs_of_selection(context) if self.selected_only else None
        return {"limbs": limbs or None, "scene": context.scene, "tolerance_mm": self.tolerance}


class _OnFrames(_OnShot):
    """What bake and blend share: a range of frames."""

    frame_start: IntProperty(name="Start", description="First frame")
    frame_end: IntProperty(name="End", description="Last frame")

    def arguments(self, context: bpy.types.Context) -> dict[str, Any]:
        return super().arguments(context) | {"frames": range(self.frame_start, self.frame_end + 1)}


class _Bake(_OnFrames):
    """What both directions of a bake share."""

    to = ""

    set_slider: BoolProperty(
        name="Set Slider", description="Key the IK-FK slider to this side inside the range", default=True
    )

    keys: EnumProperty(
        name="Keys",
        description="The frames that get a key",
        items=[
            ("every", "Every Frame", "Each frame, or each n-th by Step"),
            ("source", "As Source", "The frames on which the other side has keys"),
            ("fewest", "Fewest", "As few as keep the motion within the tolerances on every frame"),
        ],
    )
    step: IntProperty(name="Step", description="With Every Frame, key each n-th", default=1, min=1, soft_max=10)
    turn_tolerance: FloatProperty(
        name="Turn Tolerance",
        description="With Fewest, how far hands and feet may be turned, in degrees",
        default=0.5,
        min=0.001,
    )

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        scene = context.scene
        preview = scene.use_preview_range
        self.frame_start = scene.frame_preview_start if preview else scene.frame_start
        self.frame_end = scene.frame_preview_end if preview else scene.frame_end
        return self.execute(context)

    def arguments(self, context: bpy.types.Context) -> dict[str, Any]:
        return super().arguments(context) | {
            "to": self.to,
            "set_slider": self.set_slider,
            "keys": self.step if self.keys == "every" else self.keys,
            "tolerance_deg": self.turn_tolerance,
        }

    def execute(self, context: bpy.types.Context) -> set[Any]:
        rig, arguments = context.object, self.arguments(context)
        return _do(self, lambda: bake(rig, **arguments))


class POSE_OT_rigify_ikfk_bake_to_ik(_Bake, bpy.types.Operator):
    """Key the IK controls so that the pose stays as it is seen"""

    bl_idname = "pose.rigify_ikfk_bake_to_ik"
    bl_label = "Bake to IK"
    to = "ik"

    keep_roll: _keep_roll()

    def arguments(self, context: bpy.types.Context) -> dict[str, Any]:
        return super().arguments(context) | {"keep_roll": self.keep_roll}


class POSE_OT_rigify_ikfk_bake_to_fk(_Bake, bpy.types.Operator):
    """Key the FK controls so that the pose stays as it is seen"""

    bl_idname = "pose.rigify_ikfk_bake_to_fk"
    bl_label = "Bake to FK"
    to = "fk"


class _AtFrame(_OnShot):
    """What switch and change of parent share: they begin at a frame."""

    frame: IntProperty(name="Frame", description="The first frame of the change")
    guard: BoolProperty(
        name="Guard Keys", description="Key the frame before, so that nothing changes up to there", default=True
    )

    def arguments(self, context: bpy.types.Context) -> dict[str, Any]:
        return super().arguments(context) | {"frame": self.frame, "guard": self.guard}


class POSE_OT_rigify_ikfk_switch(_AtFrame, bpy.types.Operator):
    """Switch limbs to the other side at the current frame; the pose stays as it is seen, and all before it"""

    bl_idname = "pose.rigify_ikfk_switch"
    bl_label = "Switch Here"

    to: EnumProperty(name="To", description="The side that the limbs go to", items=_SIDE_ITEMS)
    keep_roll: _keep_roll()

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        self.frame = context.scene.frame_current
        return self.execute(context)

    def arguments(self, context: bpy.types.Context) -> dict[str, Any]:
        return super().arguments(context) | {"to": self.to, "keep_roll": self.keep_roll}

    def execute(self, context: bpy.types.Context) -> set[Any]:
        rig, arguments = context.object, self.arguments(context)
        return _do(self, lambda: switch(rig, **arguments))


class POSE_OT_rigify_ikfk_blend(_OnFrames, bpy.types.Operator):
    """Ease the IK-FK sliders of limbs to the other side over a range of frames"""

    bl_idname = "pose.rigify_ikfk_blend"
    bl_label = "Blend"

    to: EnumProperty(name="To", description="The side that the limbs go to", items=_SIDE_ITEMS)
    keep: EnumProperty(
        name="Keep",
        items=[
            ("pose", "Pose", "Key both sides with what is seen, so that every value of the slider shows it"),
            ("motion", "Motion", "Leave both sides as they are; the pose goes over from one to the other"),
        ],
    )
    ease: EnumProperty(
        name="Ease",
        items=[
            ("smooth", "Smooth", "Slowly at first and at last"),
            ("linear", "Linear", "Evenly"),
            ("in", "Ease In", "Slowly at first"),
            ("out", "Ease Out", "Slowly at last"),
        ],
    )

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        self.frame_start = context.scene.frame_current
        self.frame_end = self.frame_start + _BLEND_FRAMES
        return context.window_manager.invoke_props_dialog(self)

    def arguments(self, context: bpy.types.Context) -> dict[str, Any]:
        return super().arguments(context) | {"to": self.to, "keep": self.keep, "ease": self.ease}

    def execute(self, context: bpy.types.Context) -> set[Any]:
        rig, arguments = context.object, self.arguments(context)
        return _do(self, lambda: blend(rig, **arguments))


_parent_items: list[tuple[str, str, str, int]] = []
"""What the menu below shows now: Blender's menus need their strings kept."""


def _list_parents(operator: Any, context: bpy.types.Context | None) -> list[tuple[str, str, str, int]]:
    """Whom the first of the limbs that are meant can follow."""
    _parent_items[:] = [(NONE, "None", "Follow nothing", 0)]
    if context is not None and is_generated_rig(context.object):
        limbs = [limb for limb in read_limbs(context.object)[0] if not isinstance(limb, Finger)]
        chosen = set(limbs_of_selection(context)) if operator.selected_only else set()
        first = next((limb for limb in limbs if limb.name in chosen), limbs[0] if limbs else None)
        if first is not None:
            control = first.ik.end if operator.of == END else first.ik.pole
            names = parent_switch(context.object, first, control).parents
            _parent_items[1:] = [(name, name.removeprefix("ORG-"), "", place) for place, name in enumerate(names, 1)]
    return _parent_items


class POSE_OT_rigify_ikfk_parent(_AtFrame, bpy.types.Operator):
    """Let IK controls or poles follow another parent from the current frame on; they stay where they are seen"""

    bl_idname = "pose.rigify_ikfk_parent"
    bl_label = "Change Parent"

    of: EnumProperty(
        name="Of",
        items=[(END, "IK Control", "Hands and feet"), (POLE, "Pole", "Pole targets")],
        description="What gets another parent",
    )
    parent: EnumProperty(name="Parent", description="The bone to follow", items=_list_parents)

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        self.frame = context.scene.frame_current
        return context.window_manager.invoke_props_dialog(self)

    def execute(self, context: bpy.types.Context) -> set[Any]:
        rig, arguments = context.object, self.arguments(context)
        arguments.pop("tolerance_mm")
        return _do(self, lambda: change_parent(rig, **arguments, parent=self.parent, of=self.of))


def limbs_of_selection(context: bpy.types.Context) -> list[str]:
    """Names of the limbs of which a control or the settings bone is selected, in pose mode."""
    selected = {bone.name for bone in context.selected_pose_bones or ()}
    limbs, _ = read_limbs(context.object)
    return [limb.name for limb in limbs if selected & {*limb.handles}]


CLASSES = (
    OBJECT_OT_rigify_ikfk_generate_and_bind,
    POSE_OT_rigify_ikfk_bake_to_ik,
    POSE_OT_rigify_ikfk_bake_to_fk,
    POSE_OT_rigify_ikfk_switch,
    POSE_OT_rigify_ikfk_blend,
    POSE_OT_rigify_ikfk_parent,
)
