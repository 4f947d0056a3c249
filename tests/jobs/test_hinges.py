# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses at and beyond what a hinge can show: straight limbs, bent against the hinge, bent or twisted off it."""

from math import radians

import bpy
import numpy as np
import pytest

from rigify_ikfk_tools.geometry.rotations import angle_between, split_scale
from rigify_ikfk_tools.jobs.bake import bake

HINGES = ("forearm_fk.L", "shin_fk.L")
MIDDLES = ("ORG-forearm.L", "ORG-shin.L")
UPPER = ("ORG-upper_arm.L", "ORG-thigh.L")


@pytest.fixture
def bent(generate_stock, shots):
    """A rig at FK whose left elbow and knee have the Euler angles (degrees) of each frame, and what is seen of it."""

    def pose(angles, *, pole=False, kind="basic_human"):
        from mathutils import Euler

        rig = generate_stock(kind)
        shots.set_sliders(rig, 1.0)
        frames = range(1, len(angles) + 1)
        for name in shots.SLIDERS:
            rig.pose.bones[name]["pole_vector"] = pole
        for frame, euler in zip(frames, angles, strict=True):
            for name in HINGES:
                rig.pose.bones[name].rotation_quaternion = Euler([radians(angle) for angle in euler]).to_quaternion()
                rig.pose.bones[name].keyframe_insert("rotation_quaternion", frame=frame)
        return rig, frames

    return pose


def baked(rig, frames, shots):
    """Errors (n, 2) of the middle joints in mm, turns (n, 2) and steps (n - 1, 2) of the upper bones in degrees."""
    before, names = shots.visible_poses(rig, frames)
    report = bake(rig, to="ik", limbs=["hand.L", "foot.L"], frames=frames)
    after, _ = shots.visible_poses(rig, frames)
    middles, upper = ([names.index(name) for name in part] for part in (MIDDLES, UPPER))
    turn = split_scale(after[:, upper, :3, :3])[0]
    turned = np.degrees(angle_between(turn, split_scale(before[:, upper, :3, :3])[0]))
    stepped = np.degrees(angle_between(turn[1:], turn[:-1]))
    return report, shots.millimetres(before, after)[:, middles], turned, stepped


@pytest.mark.parametrize("hinge", ["x", "z"])
def test_a_limb_that_is_bent_against_its_hinge_is_shown_without_a_flip(bent, shots, hinge):
    angles = (30, 10, 0, -3, -6, -9.5, -10, -10.5, -14, -20, -30, -10, 5)
    if hinge == "x":
        rig, frames = bent([(angle, 0, 0) for angle in angles])
    else:
        rig, frames = bent([(0, 0, -angle) for angle in angles], kind="basic_human+z")
    report, middles, turned, stepped = baked(rig, frames, shots)
    assert middles.max() < 0.3
    sound, bar = (slice(None), 0.5) if hinge == "x" else (1, 3)  # limbs of that rig are not quite on their hinge
    assert turned[:, sound].max() < bar
    assert stepped[:, sound].max() < bar
    assert all(note.startswith("hand.L: upper and middle bone are turned") for note in report.notes)
    assert len(report.notes) == (0 if hinge == "x" else 1)


def test_with_a_pole_such_a_limb_keeps_its_places_and_the_roll_is_told(bent, shots):
    rig, frames = bent([(x, 0, 0) for x in (30, 10, -30, -40)], pole=True)
    report, middles, turned, _ = baked(rig, frames, shots)
    assert middles.max() < 0.3
    assert turned[:2].max() < 0.1
    assert turned[2:].min() > 179
    assert all("turned by up to 180 degrees" in note for note in report.notes)


@pytest.mark.parametrize("pole", [False, True])
def test_a_hinge_about_the_z_axis(bent, shots, pole):
    rig, frames = bent([(0, 0, -angle) for angle in (60, 40, 20, 10, 30, 80)], pole=pole, kind="basic_human+z")
    report, middles, turned, _ = baked(rig, frames, shots)
    assert middles.max() < 0.3
    assert turned.max() < 0.1
    assert report.notes == []


@pytest.mark.parametrize("pole", [False, True])
def test_a_straight_limb_stays_and_does_not_flip(bent, shots, pole):
    rig, frames = bent([(x, 0, 0) for x in (5, 0, -2.9, -2.91, -2.92, -2.91, -2.9, 0, 5)], pole=pole)
    _, middles, _, stepped = baked(rig, frames, shots)
    assert middles.max() < 0.3
    assert stepped.max() < 0.1


@pytest.mark.parametrize("pole", [False, True])
@pytest.mark.parametrize("off", [(40, 0, 30), (40, 40, 0), (70, -30, -30)])
def test_a_limb_off_its_hinge_keeps_its_places_and_the_rest_is_told(bent, shots, off, pole):
    rig, frames = bent([(40, 0, 0), off, off], pole=pole)
    report, middles, turned, _ = baked(rig, frames, shots)
    assert middles.max() < 0.3
    assert turned[0].max() < 0.1
    assert len(report.notes) == 2
    told = {limb.limb: limb.chain_deg.max for limb in report.limbs}
    assert told["hand.L"] >= turned[:, 0].max() - 0.1 > 5
    assert told["foot.L"] >= turned[:, 1].max() - 0.1 > 5


def test_crossed_arms_and_kneeling_with_poles(generate_stock, shots):
    rig = generate_stock("basic_human")
    shots.set_sliders(rig, 1.0)
    for name in shots.SLIDERS:
        rig.pose.bones[name]["pole_vector"] = True
    for side, sign in (("L", 1), ("R", -1)):
        for name, quaternion in (
            ("upper_arm_fk", (0.8, 0.3, 0.2 * sign, 0.45 * sign)),
            ("forearm_fk", (0.6, 0.8, 0, 0)),
            ("thigh_fk", (0.8, -0.6, 0, 0)),
            ("shin_fk", (0.4, 0.9, 0, 0)),
        ):
            bone = rig.pose.bones[f"{name}.{side}"]
            bone.rotation_quaternion = quaternion
    bpy.context.view_layer.update()
    before, _ = shots.visible_poses(rig, range(1, 3))
    bake(rig, to="ik", frames=range(1, 3))
    after, _ = shots.visible_poses(rig, range(1, 3))
    assert shots.millimetres(before, after).max() < 0.3


def test_the_pole_stands_at_a_steady_distance_and_moves_without_jumps(fk_shot, shots):
    for name in shots.SLIDERS:
        fk_shot.pose.bones[name]["pole_vector"] = True
    bake(fk_shot, to="ik")
    places = []
    for frame in shots.FRAMES:
        bpy.context.scene.frame_set(frame)
        bones = fk_shot.pose.bones
        middle = (bones["ORG-thigh.L"].head + bones["ORG-foot.L"].head) / 2
        places.append([np.array(bones["thigh_ik_target.L"].head), np.array(middle)])
    places = np.array(places)
    away = np.linalg.norm(places[:, 0] - places[:, 1], axis=1)
    assert np.ptp(away) < 0.05 * away.mean()
    knee = (fk_shot.data.bones["thigh_ik_target.L"].head_local - fk_shot.data.bones["ORG-shin.L"].head_local).length
    assert away.mean() == pytest.approx(knee, rel=0.15)
    assert np.linalg.norm(np.diff(places[:, 0], axis=0), axis=1).max() < 0.25
