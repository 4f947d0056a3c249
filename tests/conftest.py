# SPDX-License-Identifier: GPL-3.0-or-later
"""What every test may ask for: an empty scene, and rigs that the real Rigify has made.

Blender is imported inside the fixtures only, so that tests of pure geometry run where there is none.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from math import pi
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import bpy


def _start_empty() -> None:
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)


def _enable_rigify() -> None:
    import addon_utils

    if addon_utils.enable("rigify", default_set=True) is None:
        pytest.fail("this Blender comes without Rigify, which the tests need")


@pytest.fixture
def empty_scene() -> bpy.types.Scene:
    """The scene of a new file under factory settings, nothing in it; Rigify is off, as a new user has it."""
    import bpy

    _start_empty()
    return bpy.context.scene


def _give_left_fingers_ik(metarig: bpy.types.Object) -> None:
    """The option of the stock Human that it has switched off. The face goes: half of its bones are there."""
    import bpy

    bpy.ops.object.mode_set(mode="EDIT")
    for bone in metarig.data.edit_bones["face"].children_recursive:
        metarig.data.edit_bones.remove(bone)
    metarig.data.edit_bones.remove(metarig.data.edit_bones["face"])
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in metarig.pose.bones:
        if bone.rigify_type == "limbs.super_finger" and bone.name.endswith(".L"):
            bone.rigify_parameters.make_extra_ik_control = True
            bone.rigify_parameters.ik_local_location = "index" not in bone.name


def _bend_about_z(metarig: bpy.types.Object) -> None:
    """Elbows and knees whose hinge is the Z axis, pointing to the left of the body: Rigify's pole then pushes."""
    import bpy

    bpy.ops.object.mode_set(mode="EDIT")
    for side in "LR":
        for name in ("upper_arm", "forearm", "thigh", "shin"):
            metarig.data.edit_bones[f"{name}.{side}"].roll -= pi / 2
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in metarig.pose.bones:
        if bone.rigify_type in {"limbs.arm", "limbs.leg"}:
            bone.rigify_parameters.rotation_axis = "z"


_CHANGES = {"fingers": _give_left_fingers_ik, "z": _bend_about_z}


@pytest.fixture(scope="session")
def _stock_files(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Generate each stock rig once in a session: Human costs some seconds, opening the saved file hundredths."""
    folder = tmp_path_factory.mktemp("stock")

    def file_of(kind: str) -> Path:
        import bpy

        path = folder / f"{kind}.blend"
        if not path.exists():
            _start_empty()
            _enable_rigify()
            stock, _, change = kind.partition("+")
            getattr(bpy.ops.object, f"armature_{stock}_metarig_add")()
            if change:
                _CHANGES[change](bpy.context.object)
            bpy.ops.pose.rigify_generate()
            bpy.ops.wm.save_as_mainfile(filepath=str(path))
        return path

    return file_of


@pytest.fixture
def generate_stock(_stock_files: Callable[[str], Path], tmp_path: Path) -> Callable[[str], bpy.types.Object]:
    """A function: `generate_stock("human")`, `("basic_human")`, `("wolf")` gives that stock rig in a scene of its own.

    ``"human+fingers"`` is without a face, and the fingers of its left hand have IK controls. The elbows and knees of
    ``"basic_human+z"`` bend about their Z axes.

    The rig is active and selected in object mode, Rigify is on, and the meta-rig it came from is the object named
    ``metarig``. Each call opens a file of its own in `tmp_path`, so objects from an earlier call are gone.
    """

    def generate(kind: str = "basic_human") -> bpy.types.Object:
        import bpy

        path = shutil.copy(_stock_files(kind), tmp_path)
        _start_empty()
        _enable_rigify()
        bpy.ops.wm.open_mainfile(filepath=str(path), load_ui=False, use_scripts=False)
        return bpy.context.object

    return generate
