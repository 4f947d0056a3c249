# SPDX-License-Identifier: GPL-3.0-or-later
"""A rig is played on a stage of its own, and nothing of it is seen outside."""

import bpy
import numpy as np
import pytest

from rigify_ikfk_tools.rigs.stage import Stage


def test_poses_are_those_of_the_scene_and_the_scene_stays(generate_stock):
    rig = generate_stock("basic_human")
    scene = bpy.context.scene
    bone = rig.pose.bones["torso"]
    for frame, x in ((1, 0.0), (11, 1.0)):
        bone.location.x = x
        bone.keyframe_insert("location", frame=frame)
    wanted = []
    for frame in (3, 8):
        scene.frame_set(frame)
        wanted.append(np.array(rig.pose.bones["ORG-hand.L"].matrix))
    scene.frame_set(5)
    rig.pose.bones["head"].location.y = 0.25
    with Stage(rig, scene) as stage:
        slider = 'pose.bones["thigh_parent.L"]["IK_FK"]'
        played = stage.play((3, 8), ["ORG-hand.L"], bases=["torso"], values=[slider])
    np.testing.assert_array_equal(played.poses["ORG-hand.L"], wanted)
    assert played.bases["torso"].shape == (2, 4, 4)
    np.testing.assert_array_equal(played.values[slider], [0, 0])
    assert scene.frame_current == 5
    assert rig.pose.bones["head"].location.y == 0.25
    assert len(bpy.data.scenes) == 1


def test_the_stage_is_gone_after_an_error(generate_stock):
    rig = generate_stock("basic_human")
    with pytest.raises(KeyError), Stage(rig, bpy.context.scene) as stage:
        stage.play((1,), ["no such bone"])
    assert len(bpy.data.scenes) == 1
