# SPDX-License-Identifier: GPL-3.0-or-later
"""Binding to the deform bones of a generated rig."""

import bpy
import numpy as np
import pytest

from demo.body import make_body
from rigify_ikfk_tools.errors import ToolError
from rigify_ikfk_tools.jobs import bind as bind_job
from rigify_ikfk_tools.jobs.bind import bind
from rigify_ikfk_tools.jobs.rig import rig as rig_character
from rigify_ikfk_tools.rigs.rigify import deform_bones


@pytest.fixture
def stage(generate_stock):
    """The stock basic rig and a body of about its size."""
    rig = generate_stock("basic_human")
    body = make_body()
    body.scale = (1.12, 1.12, 1.12)
    bpy.context.view_layer.update()
    return rig, body


def weights_of(thing):
    names = [group.name for group in thing.vertex_groups]
    rows = [{names[m.group]: m.weight for m in vertex.groups} for vertex in thing.data.vertices]
    return names, rows


def test_every_vertex_gets_at_most_four_deform_bones_that_sum_to_one(stage):
    rig, body = stage
    report = bind(rig, [body])
    names, rows = weights_of(body)
    assert set(names) <= {bone.name for bone in deform_bones(rig)}
    assert all(abs(sum(row.values()) - 1) < 1e-5 for row in rows)
    assert max(len(row) for row in rows) == 4
    assert report.meshes[0].method == "bone heat"
    assert report.meshes[0].influences == 4


def test_the_mesh_moves_with_the_rig_and_stays_where_it_is_at_rest(stage):
    rig, body = stage
    before = np.array([body.matrix_world @ v.co for v in body.data.vertices])
    bind(rig, [body])

    def seen():
        bpy.context.view_layer.update()
        posed = body.evaluated_get(bpy.context.evaluated_depsgraph_get())
        return np.array([posed.matrix_world @ v.co for v in posed.data.vertices])

    np.testing.assert_allclose(seen(), before, atol=1e-4)
    rig.pose.bones["torso"].location.z = 0.2
    moved = seen() - before
    waist = (before[:, 2] > 1.15) & (before[:, 2] < 1.4) & (np.abs(before[:, 0]) < 0.1)
    np.testing.assert_allclose(moved[waist][:, 2], 0.2, atol=0.01)


def test_one_armature_modifier_after_mirror_and_before_subdivision(stage):
    rig, body = stage
    body.modifiers.new("Mirror", "MIRROR")
    body.modifiers.new("Subdivision", "SUBSURF")
    for _ in range(2):
        bind(rig, [body])
    assert [m.type for m in body.modifiers] == ["MIRROR", "ARMATURE", "SUBSURF"]
    assert body.parent == rig


def test_loose_specks_degenerate_faces_and_nan_do_not_stop_it(stage):
    import bmesh

    rig, body = stage
    edit = bmesh.new()
    edit.from_mesh(body.data)
    for n in range(6):
        bmesh.ops.create_cube(edit, size=0.005, matrix=__import__("mathutils").Matrix.Translation((0.3, 0.02 * n, 1.5)))
    corner = edit.verts.new((0, 0, 1))
    edit.faces.new([corner, edit.verts.new((0, 0, 1.1)), edit.verts.new((0, 0, 1.2))])
    edit.verts.new((float("nan"), 0, 0))
    edit.to_mesh(body.data)
    edit.free()
    report = bind(rig, [body])
    _, rows = weights_of(body)
    assert all(abs(sum(row.values()) - 1) < 1e-5 for row in rows)
    assert report.meshes[0].carried >= 48
    assert report.meshes[0].method == "bone heat"


@pytest.mark.parametrize("size", [0.01, 100])
def test_the_size_of_the_character_does_not_matter(generate_stock, size):
    generate_stock("basic_human")
    for thing in list(bpy.data.objects):
        bpy.data.objects.remove(thing)
    body = make_body()
    body.scale = (size, size, size)
    bpy.context.view_layer.update()
    report = rig_character([body], preset="basic_human")
    assert report.bind.meshes[0].method == "bone heat"
    assert report.bind.meshes[0].carried == 0


def test_locked_and_other_groups_shape_keys_and_materials_stay(stage):
    rig, body = stage
    body.shape_key_add(name="Basis")
    body.shape_key_add(name="smile")
    body.vertex_groups.new(name="cloth pins").add([0, 1], 0.3, "REPLACE")
    locked = body.vertex_groups.new(name="DEF-spine")
    locked.add([5], 0.7, "REPLACE")
    locked.lock_weight = True
    report = bind(rig, [body])
    names, rows = weights_of(body)
    assert "cloth pins" in names
    assert [n for n, row in enumerate(rows) if "DEF-spine" in row] == [5]
    assert "DEF-spine" in report.notes[0]
    assert list(body.data.shape_keys.key_blocks.keys()) == ["Basis", "smile"]


def test_another_armature_is_replaced_only_when_asked(stage):
    rig, body = stage
    other = bpy.data.objects.new("old rig", bpy.data.armatures.new("old"))
    bpy.context.scene.collection.objects.link(other)
    body.modifiers.new("Armature", "ARMATURE").object = other
    with pytest.raises(ToolError, match="'body' hangs on another armature, old rig"):
        bind(rig, [body])
    assert body.modifiers[0].object == other
    assert not body.vertex_groups
    bind(rig, [body], replace=True)
    assert [m.object for m in body.modifiers] == [rig]


def test_what_can_not_be_bound_is_named(stage):
    rig, body = stage
    body.location.x = 5
    bpy.context.view_layer.update()
    with pytest.raises(ToolError, match="does not touch the rig"):
        bind(rig, [body])
    empty = bpy.data.objects.new("nothing", bpy.data.meshes.new("nothing"))
    with pytest.raises(ToolError, match="has no vertices"):
        bind(rig, [empty])
    with pytest.raises(ToolError, match="No mesh was given"):
        bind(rig, [])
    with pytest.raises(ToolError, match="is not a mesh"):
        bind(rig, [rig])


@pytest.mark.parametrize("count", [1, 2])
def test_single_points_and_edges_are_bound(stage, count):
    rig, _ = stage
    mesh = bpy.data.meshes.new("dust")
    mesh.from_pydata([(0, 0, 1), (0.1, 0, 1.2)][:count], [(0, 1)][: count - 1], [])
    dust = bpy.data.objects.new("dust", mesh)
    bpy.context.scene.collection.objects.link(dust)
    report = bind(rig, [dust])
    assert report.meshes[0].method == "nearest bones"
    _, rows = weights_of(dust)
    assert all(abs(sum(row.values()) - 1) < 1e-5 for row in rows)


def test_a_failure_changes_no_mesh_and_leaves_nothing(stage, monkeypatch):
    rig, body = stage
    before = set(bpy.data.objects), set(bpy.data.meshes), set(bpy.data.armatures)
    heat, calls = bind_job.heat_weights, []

    def failing(*args):
        if calls:
            raise RuntimeError("out of memory")
        calls.append(1)
        return heat(*args)

    monkeypatch.setattr(bind_job, "heat_weights", failing)
    twin = bpy.data.objects.new("twin", body.data)
    bpy.context.scene.collection.objects.link(twin)
    with pytest.raises(RuntimeError):
        bind(rig, [body, twin])
    bpy.data.objects.remove(twin)
    assert not body.vertex_groups
    assert not body.modifiers
    assert (set(bpy.data.objects), set(bpy.data.meshes), set(bpy.data.armatures)) == before
