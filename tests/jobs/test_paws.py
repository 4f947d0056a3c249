# SPDX-License-Identifier: GPL-3.0-or-later
"""Paws: of the wolf, whose heels follow IK of their own, of the horse with a second heel, of the plain bird."""

import random
from math import sin

import bpy
import numpy as np
import pytest

from rigify_ikfk_tools.geometry.rotations import angle_between, split_scale
from rigify_ikfk_tools.jobs.bake import bake
from rigify_ikfk_tools.jobs.blend import blend
from rigify_ikfk_tools.rigs.limb_reader import read_limbs

FRAMES = range(1, 22)
ANIMALS = ("wolf", "horse", "bird")


@pytest.fixture
def shot(generate_stock, shots):
    """An animal whose paws move on one side, the sliders there."""

    def make(animal, side, *, pole=False):
        rig = generate_stock(animal)
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = FRAMES[0], FRAMES[-1]
        rnd = random.Random(3)
        for limb in read_limbs(rig)[0]:
            gear = rig.pose.bones[limb.slider.bone]
            gear["pole_vector"] = pole
            gear["IK_FK"] = limb.slider_value(side)
            pivots = [name for name, _ in limb.ik.pivots]
            for name in limb.fk if side == "fk" else (limb.ik.end, *pivots, *limb.ik.tail):
                phases = [rnd.uniform(0, 6) for _ in range(3)]
                size = (0.2, 0, 0) if name == limb.fk[1] else (0.3, 0.15, 0.15)
                for frame in range(1, 22, 5):
                    turn = [amount * sin(frame / 7 + phase) for amount, phase in zip(size, phases, strict=True)]
                    shots._turn(rig.pose.bones[name], turn, frame)
            if side == "ik":
                end = rig.pose.bones[limb.ik.end]
                for frame in range(1, 22, 5):
                    end.location = 0.03 * sin(frame / 6), 0.05 * sin(frame / 5 + phases[0]), 0.02
                    end.keyframe_insert("location", frame=frame)
        rig.update_tag()
        return rig

    return make


def seen(rig):
    """World matrices (n, limbs, bones, 4, 4) of all limbs, which have as many visible bones each."""
    limbs, out = read_limbs(rig)[0], []
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        out.append([[np.array(rig.matrix_world @ rig.pose.bones[n].matrix) for n in limb.visible] for limb in limbs])
    return np.array(out)


def errors(before, after):
    """Distances (n, limbs, bones) in millimetres and angles (n, limbs, bones) in degrees."""
    places = 1e3 * np.linalg.norm(before[..., :3, 3] - after[..., :3, 3], axis=-1)
    turns = [split_scale(poses[..., :3, :3].reshape(-1, 3, 3))[0] for poses in (before, after)]
    return places, np.degrees(angle_between(*turns)).reshape(places.shape)


@pytest.mark.parametrize("side", ["fk", "ik"])
@pytest.mark.parametrize("animal", ANIMALS)
def test_to_fk_it_is_exact(shot, animal, side):
    rig = shot(animal, side)
    before = seen(rig)
    report = bake(rig, to="fk")
    places, turns = errors(before, seen(rig))
    assert places.max() < 0.01
    assert turns.max() < 0.08
    assert report.notes == []
    assert {limb.to for limb in report.limbs} == {"fk"}


@pytest.mark.parametrize("pole", [False, True], ids=["", "poles on"])
@pytest.mark.parametrize("animal", ANIMALS)
def test_to_ik_every_joint_stays(shot, animal, pole):
    rig = shot(animal, "fk", pole=pole)
    before = seen(rig)
    report = bake(rig, to="ik")
    places, turns = errors(before, seen(rig))
    assert np.median(places[:, :, 1]) < 0.05
    assert places[:, :, 1].max() < 0.3
    assert places[:, :, 2:].max() < 0.25
    assert turns[:, :, 2:].max() < 0.08
    assert turns.max() < 3
    assert report.notes == []


@pytest.mark.parametrize("animal", ANIMALS)
def test_the_end_control_carries_the_last_bone_whose_own_control_becomes_neutral(shot, animal):
    rig = shot(animal, "fk")
    bake(rig, to="ik")
    for frame in FRAMES[::5]:
        bpy.context.scene.frame_set(frame)
        for limb in read_limbs(rig)[0]:
            basis = np.array(rig.pose.bones[limb.ik.tail[0]].matrix_basis)
            np.testing.assert_allclose(basis, np.eye(4), atol=1e-3)


@pytest.mark.parametrize("animal", ANIMALS)
def test_ik_with_turned_heels_and_toes_baked_to_ik_stays(shot, animal):
    rig = shot(animal, "ik")
    before = seen(rig)
    bake(rig, to="ik")
    places, turns = errors(before, seen(rig))
    assert places.max() < 0.1
    assert turns.max() < 0.08


def test_blend_keeps_the_pose_at_any_value_of_the_slider(shot):
    rig = shot("wolf", "fk")
    before = seen(rig)
    blend(rig, to="ik", frames=FRAMES)
    places, _ = errors(before, seen(rig))
    assert places.max() < 0.3
    bpy.context.scene.frame_set(11)
    assert 0 < rig.pose.bones["thigh_parent.L"]["IK_FK"] < 1


def test_a_gap_that_the_ik_side_of_a_second_heel_can_not_show_is_told(shot):
    rig = shot("horse", "fk")
    toe = rig.pose.bones["r_toe_fk.L"]
    for frame, aside in ((1, 0), (5, 0), (6, 0.1), (9, 0.1), (10, 0), (21, 0)):
        toe.location = aside, 0, 0
        toe.keyframe_insert("location", frame=frame)
    report = bake(rig, to="ik")
    (error,) = [limb for limb in report.limbs if limb.beyond]
    assert error.limb == "hind_foot.L"
    assert error.beyond == error.uneven == [6, 7, 8, 9]
    (note,) = report.notes
    assert note.startswith("hind_foot.L: 4 frames are more than 1 mm off: 6 to 9. Its bones were not stretched alike")
