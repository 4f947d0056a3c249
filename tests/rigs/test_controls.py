# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses and basis matrices against what Blender makes of them."""

import bpy
import numpy as np
import pytest
from mathutils import Euler, Matrix, Vector

from rigify_ikfk_tools.rigs.controls import basis_from_pose, pose_from_basis


@pytest.fixture
def arm(empty_scene):
    data = bpy.data.armatures.new("arm")
    rig = bpy.data.objects.new("arm", data)
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    parent, child = data.edit_bones.new("parent"), data.edit_bones.new("child")
    parent.head, parent.tail, parent.roll = (0, 0, 1), (0.3, 0.1, 1.4), 0.4
    child.head, child.tail, child.roll = (0.3, 0.2, 1.5), (0.6, -0.2, 1.2), -1.1
    child.parent = parent
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig


@pytest.mark.parametrize("inherit", ["FULL", "ALIGNED", "AVERAGE", "NONE", "FIX_SHEAR"])
@pytest.mark.parametrize("scale", [(1, 1, 1), (2, 2, 2), (1, 1.5, 0.7)], ids=["plain", "even", "uneven"])
@pytest.mark.parametrize("local", [True, False], ids=["local location", "parent's axes"])
def test_there_and_back_for_every_way_to_inherit(arm, inherit, scale, local):
    bones, pose = arm.data.bones, arm.pose.bones
    bones["child"].inherit_scale, bones["child"].use_local_location = inherit, local
    basis = Matrix.Translation((0.1, -0.2, 0.05)) @ Euler((0.3, -0.8, 1.2)).to_matrix().to_4x4()
    pose["child"].matrix_basis = basis
    pose["parent"].matrix_basis = Matrix.LocRotScale(Vector((0.2, 0, 0)), Euler((0.5, 0.1, -0.4)), Vector(scale))
    bpy.context.view_layer.update()
    seen, parents = (np.array(pose[name].matrix)[None] for name in ("child", "parent"))
    np.testing.assert_allclose(basis_from_pose(bones["child"], seen, parents)[0], basis, atol=1e-5)
    np.testing.assert_allclose(pose_from_basis(bones["child"], np.array(basis)[None], parents)[0], seen[0], atol=1e-5)


def test_a_bone_without_parent(arm):
    basis = Matrix.Translation((0.1, -0.2, 0.05)) @ Euler((0.3, -0.8, 1.2)).to_matrix().to_4x4()
    arm.pose.bones["parent"].matrix_basis = basis
    bpy.context.view_layer.update()
    seen = np.array(arm.pose.bones["parent"].matrix)[None]
    np.testing.assert_allclose(basis_from_pose(arm.data.bones["parent"], seen, None)[0], basis, atol=1e-6)
