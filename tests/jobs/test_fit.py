# SPDX-License-Identifier: GPL-3.0-or-later
"""The fit on a body of the demo, and the rig that Rigify makes of it."""

from math import pi

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from demo.body import make_body
from rigify_ikfk_tools.errors import ToolError
from rigify_ikfk_tools.jobs.fit import fit
from rigify_ikfk_tools.jobs.generate import generate

TRUE = {  # where the lines run that the body is grown around, in metres; radius of what a rigger would accept
    "shoulder.L": ((0.165, 0.02, 1.4), 0.06),
    "elbow.L": ((0.36, 0.03, 1.165), 0.06),
    "wrist.L": ((0.495, -0.035, 0.98), 0.04),
    "hip.L": ((0.1, 0.02, 0.93), 0.07),
    "knee.L": ((0.12, -0.005, 0.49), 0.06),
    "ankle.L": ((0.13, 0.03, 0.1), 0.05),
    "toe_ball.L": ((0.14, -0.1, 0.03), 0.05),
}


@pytest.fixture
def body(empty_scene):
    return make_body()


def test_joints_lie_where_the_body_was_grown_around_them(body):
    report = fit([body], preset="human")
    for name, (place, radius) in TRUE.items():
        found = np.array(report.landmarks[name])
        assert np.linalg.norm(found - place) < radius, (name, found)
        mirrored = np.array(report.landmarks[name[:-1] + "R"])
        np.testing.assert_allclose(mirrored * [-1, 1, 1], found, atol=2e-3)
    for name, level in (("neck_base", 1.44), ("chin", 1.5), ("head_base", 1.55), ("head_top", 1.76), ("pelvis", 0.95)):
        assert abs(report.landmarks[name][0]) < 5e-3
        assert report.landmarks[name][2] == pytest.approx(level, abs=0.04), name
    assert (report.facing, report.up, report.symmetric) == ("-Y", "+Z", True)


@pytest.mark.parametrize(
    "matrix",
    [
        Matrix.Translation((3, -2, 0.5)) @ Matrix.Rotation(pi, 4, "Z"),
        Matrix.Rotation(pi / 2, 4, "Z") @ Matrix.Scale(100, 4),
        Matrix.Scale(0.01, 4),
        Matrix.Scale(-1, 4, (1, 0, 0)),
    ],
    ids=["moved and turned", "centimetres", "tiny", "mirrored"],
)
def test_place_size_and_facing_do_not_matter(body, matrix):
    straight = fit([body], preset="basic_human").landmarks
    body.matrix_world = matrix
    bpy.context.view_layer.update()
    moved = fit([body], preset="basic_human").landmarks
    mirrored = matrix.determinant() < 0
    size = abs(matrix.determinant()) ** (1 / 3)
    for name, place in straight.items():
        if mirrored:
            name = name.replace(".L", ".X").replace(".R", ".L").replace(".X", ".R")
        gap = np.linalg.norm(np.array(moved[name]) - np.array(matrix @ __import__("mathutils").Vector(place)))
        assert gap < 0.01 * size, name


@pytest.mark.parametrize("preset", ["human", "basic_human"])
def test_the_rig_lifts_knees_forward_and_elbows_back(body, preset):
    report = fit([body], preset=preset)
    assert min(report.bends_deg.values()) >= 3
    rig = generate(report.metarig).rig
    view_layer = bpy.context.view_layer
    for control, joint, lift, forward in (
        ("foot_ik.L", "ORG-shin.L", (0, 0, 0.35), True),
        ("foot_ik.R", "ORG-shin.R", (0, 0, 0.35), True),
        ("hand_ik.L", "ORG-forearm.L", (-0.25, 0, 0.1), False),
        ("hand_ik.R", "ORG-forearm.R", (0.25, 0, 0.1), False),
    ):
        before = rig.pose.bones[joint].head.y
        rig.pose.bones[control].matrix = Matrix.Translation(lift) @ rig.pose.bones[control].matrix
        view_layer.update()
        moved = rig.pose.bones[joint].head.y - before
        assert (moved < -0.1) if forward else (moved > 0.05), (joint, moved)


def test_straight_limbs_are_bent_the_right_way(body):
    given = {}
    for side, sign in (("L", 1), ("R", -1)):
        given[f"hip.{side}"], given[f"knee.{side}"] = (sign * 0.1, 0, 0.93), (sign * 0.1, 0, 0.5)
        given[f"ankle.{side}"] = sign * 0.1, 0, 0.1
        given[f"shoulder.{side}"], given[f"wrist.{side}"] = (sign * 0.17, 0, 1.4), (sign * 0.7, 0, 1.4)
        given[f"elbow.{side}"] = sign * 0.43, 0, 1.4
    report = fit([body], preset="basic_human", landmarks=given)
    assert min(report.bends_deg.values()) >= 3
    bones = report.metarig.data.bones
    assert bones["shin.L"].head_local.y < -0.005
    assert bones["forearm.R"].head_local.y > 0.004
    assert bones["forearm.R"].head_local.z == pytest.approx(1.4, abs=1e-5)
    generate(report.metarig)


def test_chains_are_exact_and_the_meta_rig_is_at_the_origin(body):
    metarig = fit([body], preset="human").metarig
    assert metarig.matrix_world == Matrix()
    bones = metarig.data.bones
    for upper, lower in (("spine", "spine.001"), ("spine.003", "spine.004"), ("thigh.L", "shin.L"), ("hand.R", None)):
        if lower:
            assert (bones[upper].tail_local - bones[lower].head_local).length < 1e-6
    assert bones["heel.02.L"].head_local.z == pytest.approx(0, abs=1e-3)


def test_given_landmarks_replace_found_ones(body):
    report = fit([body], preset="basic_human", landmarks={"head_top": [0, 0, 1.9]})
    assert report.landmarks["head_top"] == [0, 0, 1.9]
    assert report.given == ["head_top"]
    assert report.metarig.data.bones["spine.006"].tail_local.z == pytest.approx(1.9)


@pytest.mark.parametrize(
    ("landmarks", "message"),
    [
        ({"tail": [0, 0, 0]}, "no landmark 'tail'"),
        ({"knee.L": [0, float("nan"), 0]}, "'knee.L' must be three finite numbers"),
        ({"knee.L": [0, 1]}, "three finite numbers"),
        ({"knee.L": "left"}, "three finite numbers"),
    ],
)
def test_landmarks_that_can_not_be_used_are_named(body, landmarks, message):
    with pytest.raises(ToolError, match=message):
        fit([body], landmarks=landmarks)
    assert [thing.type for thing in bpy.data.objects] == ["MESH"]


def _mesh_object(name, points, faces):
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points, [], faces)
    thing = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(thing)
    return thing


def test_what_is_no_humanoid_is_refused_with_the_reason(empty_scene):
    bpy.ops.mesh.primitive_cube_add()
    with pytest.raises(ToolError, match="'Cube' can't be read as a standing humanoid: "):
        fit([bpy.context.object])
    with pytest.raises(ToolError, match="'line' has no faces"):
        fit([_mesh_object("line", [(0, 0, 0), (0, 0, 1)], [])])
    with pytest.raises(ToolError, match="No mesh was given"):
        fit([])
    empty = bpy.data.objects.new("empty", None)
    with pytest.raises(ToolError, match="'empty' is not a mesh"):
        fit([empty])
    assert not bpy.data.armatures


def test_a_body_in_pieces_is_read_as_one(body):
    whole = fit([body], preset="basic_human").landmarks
    levels = np.array([vertex.co.z for vertex in body.data.vertices])
    head = bpy.data.objects.new("head", body.data.copy())
    bpy.context.scene.collection.objects.link(head)
    import bmesh

    for thing, keep in ((head, levels > 1.44), (body, levels <= 1.5)):
        edit = bmesh.new()
        edit.from_mesh(thing.data)
        edit.verts.ensure_lookup_table()
        bmesh.ops.delete(edit, geom=[v for v in edit.verts if not keep[v.index]], context="VERTS")
        edit.to_mesh(thing.data)
        edit.free()
    pieces = fit([body, head], preset="basic_human").landmarks
    for name, place in whole.items():
        assert np.linalg.norm(np.array(place) - pieces[name]) < 0.04, name
