# SPDX-License-Identifier: GPL-3.0-or-later
"""The bench shows what the rig's own solver makes of the same controls."""

import bpy
import numpy as np
import pytest

from rigify_ikfk_tools.rigs.bench import Bench

FRAMES = range(1, 22, 2)


def posed(rig):
    """On each frame: the base's pose before solving, the target, the pole, and the solved middle joint and its end."""
    rows = []
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        bones = rig.pose.bones
        base, middle = bones["thigh_ik.L"], bones["MCH-shin_ik.L"]
        before = base.bone.convert_local_to_pose(
            base.matrix_basis,
            base.bone.matrix_local,
            parent_matrix=base.parent.matrix,
            parent_matrix_local=base.parent.bone.matrix_local,
        )
        heads = [bones[name].head for name in ("MCH-thigh_ik_target.L", "thigh_ik_target.L")]
        rows.append([np.array(before), *map(np.array, heads), np.array(middle.head), np.array(middle.tail)])
    return (np.array(column) for column in zip(*rows, strict=True))


@pytest.fixture
def ik_shot(generate_stock):
    rig = generate_stock("basic_human")
    rig.pose.bones["thigh_parent.L"]["IK_FK"] = 0.0
    foot, torso = rig.pose.bones["foot_ik.L"], rig.pose.bones["torso"]
    for frame in FRAMES:
        foot.location = 0.2 * np.sin(frame / 6), 0.3 * np.sin(frame / 5), 0.25 + 0.25 * np.sin(frame / 3)
        torso.rotation_quaternion = 1, 0.2 * np.sin(frame / 4), 0.2 * np.sin(frame / 7), 0.3
        foot.keyframe_insert("location", frame=frame)
        torso.keyframe_insert("rotation_quaternion", frame=frame)
    return rig


@pytest.mark.parametrize("pole", [False, True])
def test_the_bench_shows_what_the_rig_shows(ik_shot, pole):
    ik_shot.pose.bones["thigh_parent.L"]["pole_vector"] = pole
    base = ik_shot.pose.bones["thigh_ik.L"]
    base.rotation_euler, base.scale = (-0.4, 0.7, 0.1), (1.02, 1.02, 1.02)
    bases, targets, poles, middles, ends = posed(ik_shot)
    solver = ik_shot.pose.bones["MCH-shin_ik.L"].constraints[1 if pole else 0]
    with Bench(ik_shot, "MCH-shin_ik.L", solver) as bench:
        got = bench.ask(bases, targets, poles if pole else None)
        np.testing.assert_allclose(got, [middles, ends], atol=3e-6)
        one = bench.ask(bases[3:4], targets[3:4], poles[3:4] if pole else None)
        np.testing.assert_allclose(one[0], middles[3:4], atol=3e-6)
        many = [np.tile(values, (7,) + (1,) * (values.ndim - 1)) for values in (bases, targets, poles)]
        got = bench.ask(many[0], many[1], many[2] if pole else None)
        np.testing.assert_allclose(got[0], np.tile(middles, (7, 1)), atol=3e-6)


def test_nothing_of_the_bench_is_left(ik_shot):
    bpy.context.view_layer.objects.active = ik_shot
    bpy.ops.object.mode_set(mode="POSE")
    counts = [len(getattr(bpy.data, kind)) for kind in ("scenes", "objects", "armatures", "collections")]
    with Bench(ik_shot, "MCH-shin_ik.L", ik_shot.pose.bones["MCH-shin_ik.L"].constraints[0]):
        assert bpy.context.object == ik_shot
        assert ik_shot.mode == "POSE"
    assert [len(getattr(bpy.data, kind)) for kind in ("scenes", "objects", "armatures", "collections")] == counts
    assert bpy.context.object == ik_shot
    assert ik_shot.mode == "POSE"
