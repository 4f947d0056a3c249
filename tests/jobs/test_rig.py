# SPDX-License-Identifier: GPL-3.0-or-later
"""The one click."""

import bpy
import pytest

from demo.body import make_body
from rigify_ikfk_tools.errors import ToolError
from rigify_ikfk_tools.jobs import rig as rig_job
from rigify_ikfk_tools.jobs.rig import rig as rig_character


def test_from_a_mesh_to_a_bound_character(empty_scene):
    body = make_body()
    body.select_set(True)
    bpy.context.view_layer.objects.active = body
    report = rig_character([body], preset="basic_human")
    rig = report.generate.rig
    assert body.parent == rig
    assert body.modifiers["Armature"].object == rig
    assert not report.fit.metarig.visible_get()
    assert bpy.context.object == body
    assert list(bpy.context.selected_objects) == [body]
    data = report.as_dict()
    assert data["bind"]["meshes"][0]["method"] == "bone heat"
    assert data["generate"]["rig"] == rig.name
    assert len(report.lines()) >= 4


def test_a_failure_at_the_last_step_leaves_the_mesh_alone(empty_scene, monkeypatch):
    body = make_body()
    before = {kind: set(getattr(bpy.data, kind)) for kind in ("objects", "armatures", "meshes", "collections", "texts")}

    def failing(*args, **kwargs):
        raise ToolError("not today")

    monkeypatch.setattr(rig_job, "bind", failing)
    with pytest.raises(ToolError, match="not today"):
        rig_character([body], preset="basic_human")
    assert {kind: set(getattr(bpy.data, kind)) for kind in before} == before
    assert body.parent is None
