# SPDX-License-Identifier: GPL-3.0-or-later
"""Call Rigify's Generate Rig on a meta-rig, and say in plain words what is in its way."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import bpy
from mathutils import Matrix

from ..errors import ToolError
from ..report import Report
from ..rigs.context import kept_context, select_only
from ..rigs.leftovers import Leftovers
from ..rigs.rigify import deform_bones, ensure_enabled, is_metarig

_STRAIGHT_DEGREES = 0.6
"""Below this bend Rigify takes the hinge axis from the old bone roll, or fails."""


@dataclass
class GenerateReport(Report):
    """The rig that was generated."""

    rig: Any = None
    """The generated rig object."""
    metarig: str = ""
    bones: int = 0
    deform_bones: int = 0
    again: bool = False
    """Whether a rig that was there already was generated again."""

    def lines(self) -> list[str]:
        again = "again " if self.again else ""
        bones = f"{self.bones} bones, {self.deform_bones} of them deform"
        return [f"generate {again}{self.rig.name} from {self.metarig}: {bones}, in {self.seconds:.1f} s", *self.notes]


def generate(metarig: bpy.types.Object) -> GenerateReport:
    """Generate the rig of a meta-rig, or generate it again where it exists.

    The object transform of the meta-rig goes into the rig object, since Rigify itself drops it. Mode, selection and
    active object come back.

    Raises ToolError that lists everything found in the way; nothing half-built stays.
    """
    started = time.perf_counter()
    ensure_enabled()
    if not is_metarig(metarig):
        raise ToolError(f"{metarig.name!r} is no meta-rig. Add one with Add > Armature, or fit one to a mesh.")
    if faults := list(_faults(metarig)):
        raise ToolError(f"{metarig.name!r} can't be generated yet. " + " ".join(faults))
    before = metarig.data.rigify_target_rig
    with kept_context():
        _run_rigify(metarig)
    rig = metarig.data.rigify_target_rig
    if before is None and metarig.matrix_world != Matrix():
        rig.matrix_world = metarig.matrix_world
    report = GenerateReport(
        job="generate",
        rig=rig,
        metarig=metarig.name,
        bones=len(rig.data.bones),
        deform_bones=len(deform_bones(rig)),
        again=before is not None,
    )
    report.seconds = time.perf_counter() - started
    return report


def _faults(metarig: bpy.types.Object) -> Iterator[str]:
    """What is known to make Rigify fail, a sentence each."""
    if metarig.library or metarig.data.library or metarig.override_library:
        yield "It is linked from another file: make it local first."
        return
    if metarig.name not in bpy.context.view_layer.objects:
        yield "It is not in the current view layer: include its collection first."
    elif not metarig.visible_get() or metarig.hide_select:
        yield "It is hidden or can't be selected: show it and make it selectable first."
    target = metarig.data.rigify_target_rig
    if target is not None:
        owners = [
            o.name
            for o in bpy.data.objects
            if o.type == "ARMATURE" and o != metarig and o.data.rigify_target_rig == target
        ]
        if owners:
            yield (
                f"It would overwrite {target.name!r}, the rig of {owners[0]!r}: clear its target rig in Rigify's panel."
            )
        if target.library:
            yield f"Its rig {target.name!r} is linked from another file."
        elif target.name in bpy.context.view_layer.objects and target.hide_select:
            yield f"Its rig {target.name!r} can't be selected: make it selectable first."
    bones = metarig.data.bones
    if "root" in bones:
        yield "It has a bone named 'root', which Rigify makes itself: rename it."
    if not any(getattr(collection, "rigify_ui_row", 0) > 0 for collection in metarig.data.collections_all):
        yield "None of its bone collections has a row in Rigify's interface: give one a row."
    for bone in metarig.pose.bones:
        kind = getattr(bone, "rigify_type", "")
        if kind in ("limbs.arm", "limbs.leg", "limbs.super_limb"):
            yield from _limb_faults(bone, 4 if kind == "limbs.leg" else 3)


def _limb_faults(bone: bpy.types.PoseBone, wanted: int) -> Iterator[str]:
    chain = [bone.bone]
    while len(chain) < wanted:
        joined = [child for child in chain[-1].children if child.use_connect]
        if not joined:
            loose = next(iter(chain[-1].children), None)
            hint = f"connect {loose.name!r} to it" if loose else "its next bone is missing"
            yield f"The limb of {bone.name!r} breaks off after {chain[-1].name!r}: {hint}."
            return
        chain.append(joined[0])
    if wanted == 4 and not any(not child.use_connect and not child.children for child in chain[2].children):
        yield f"The foot {chain[2].name!r} has no heel: an unconnected bone without children below it."
    upper, lower = (b.tail_local - b.head_local for b in chain[:2])
    if min(upper.length, lower.length) < 1e-9 or upper.angle(lower) < _STRAIGHT_DEGREES * 0.01745:
        yield f"{chain[0].name!r} and {chain[1].name!r} are in one line: bend the joint between them a little."


def _run_rigify(metarig: bpy.types.Object) -> None:
    leftovers = Leftovers()
    target = metarig.data.rigify_target_rig
    select_only([metarig], metarig)
    try:
        operators: Any = bpy.ops.pose
        operators.rigify_generate()
        failed = metarig.data.rigify_target_rig is None
        reason = "it gave no reason"
    except RuntimeError as error:
        failed, reason = True, _plain_reason(str(error))
    if failed:
        if target is None:
            leftovers.remove()
            metarig.data.rigify_target_rig = None
        raise ToolError(f"Rigify could not generate {metarig.name!r}: {reason}.")


def _plain_reason(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    reason = (lines[0] if lines else "it gave no reason").removeprefix("Error: ").removeprefix("RIGIFY ERROR: ")
    return reason.rstrip(".")
