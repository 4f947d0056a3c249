# SPDX-License-Identifier: GPL-3.0-or-later
"""The fixtures themselves: real rigs, and nothing carried over from one test to the next."""

import pytest


@pytest.mark.parametrize(("kind", "fingers"), [("basic_human", False), ("human", True)])
def test_stock_rig_is_a_generated_rig(generate_stock, kind, fingers):
    rig = generate_stock(kind)
    assert rig.data["rig_id"]
    assert {"hand_ik.L", "foot_ik.R", "upper_arm_parent.L"} <= set(rig.pose.bones.keys())
    assert ("f_index.01_master.L" in rig.pose.bones) is fingers


def test_each_call_gives_an_unchanged_rig(generate_stock):
    rig = generate_stock("basic_human")
    rig.pose.bones["hand_ik.L"].location.x = 1.0
    assert generate_stock("basic_human").pose.bones["hand_ik.L"].location.x == 0.0


def test_empty_scene_is_empty(generate_stock, request):
    generate_stock("basic_human")
    scene = request.getfixturevalue("empty_scene")
    assert not scene.objects
