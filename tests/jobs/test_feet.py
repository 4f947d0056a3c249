# SPDX-License-Identifier: GPL-3.0-or-later
"""Feet on the IK side: rolls neutral or kept."""

import bpy
import numpy as np
import pytest

from rigify_ikfk_tools.geometry.rotations import about_axis, angle_between, split_scale
from rigify_ikfk_tools.jobs.bake import bake


def control_turns(rig, names, frames):
    """Rotations (n, b, 3, 3) of bones as they are posed."""
    out = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        out.append([np.array(rig.pose.bones[name].matrix)[:3, :3] for name in names])
    return split_scale(np.array(out))[0]


def test_rolls_are_neutral_by_default(ik_shot, shots):
    before, _ = shots.visible_poses(ik_shot)
    bake(ik_shot, to="fk")
    bake(ik_shot, to="ik")
    after, _ = shots.visible_poses(ik_shot)
    assert shots.millimetres(before, after).max() < 0.3
    for frame in shots.FRAMES:
        bpy.context.scene.frame_set(frame)
        for name in ("foot_heel_ik.L", "foot_spin_ik.R"):
            np.testing.assert_allclose(ik_shot.pose.bones[name].matrix_basis, np.eye(4), atol=1e-6)


def test_with_the_roll_kept_the_heel_carries_what_rolls_and_the_control_only_turns(fk_shot, shots):
    before, _ = shots.visible_poses(fk_shot)
    rest = split_scale(np.array(fk_shot.data.bones["foot_ik.L"].matrix_local)[None, :3, :3])[0]
    report = bake(fk_shot, to="ik", limbs=["foot.L"], keep_roll=True)
    after, _ = shots.visible_poses(fk_shot)
    assert shots.millimetres(before, after).max() < 0.3
    assert report.limbs[0].end_deg.max < 0.08
    turn = control_turns(fk_shot, ["foot_ik.L"], shots.FRAMES)[:, 0] @ np.swapaxes(rest, 1, 2)
    yaw = about_axis(2, np.arctan2(turn[:, 1, 0], turn[:, 0, 0]))
    assert np.degrees(angle_between(turn, yaw)).max() < 0.1  # the control stands flat, as it did
    rolled = []
    for frame in shots.FRAMES:
        bpy.context.scene.frame_set(frame)
        rolled.append(fk_shot.pose.bones["foot_heel_ik.L"].rotation_euler[0])
    assert np.ptp(rolled) > 0.2


@pytest.mark.parametrize("keep_roll", [True, False])
def test_feet_that_are_at_ik_already(ik_shot, shots, keep_roll):
    names = ["foot_ik.L", "foot_heel_ik.L", "toe_ik.L"]
    before, _ = shots.visible_poses(ik_shot)
    controls = control_turns(ik_shot, names, shots.FRAMES)
    bake(ik_shot, to="ik", keep_roll=keep_roll)
    after, _ = shots.visible_poses(ik_shot)
    assert shots.millimetres(before, after).max() < 0.02
    kept = np.degrees(angle_between(control_turns(ik_shot, names, shots.FRAMES), controls)).max() < 0.01
    assert bool(kept) is keep_roll
