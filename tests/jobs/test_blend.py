# SPDX-License-Identifier: GPL-3.0-or-later
"""The blend: the pose stays at every value of the slider."""

import bpy
import numpy as np

from rigify_ikfk_tools.jobs.blend import blend


def test_the_slider_eases_and_the_pose_stays(fk_shot, shots):
    outside = [*range(1, 6), *range(17, 22)]
    frames = range(6, 17)
    before, _ = shots.visible_poses(fk_shot, frames)
    calm, _ = shots.visible_poses(fk_shot, outside)
    report = blend(fk_shot, to="ik", frames=frames, limbs=["hand.L", "foot.R"])
    after, _ = shots.visible_poses(fk_shot, frames)
    assert shots.millimetres(before, after).max() < 0.3
    assert report.limbs[0].worst_mm < 0.3
    still, _ = shots.visible_poses(fk_shot, outside)
    assert shots.millimetres(calm, still).max() < 1e-4
    values = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        values.append(fk_shot.pose.bones["upper_arm_parent.L"]["IK_FK"])
    assert values[0] == 1
    assert values[-1] == 0
    assert np.all(np.diff(values) < 0)


def test_any_slider_value_shows_the_same_pose_inside(fk_shot, shots):
    frames = range(6, 17)
    before, _ = shots.visible_poses(fk_shot, frames)
    blend(fk_shot, to="ik", frames=frames)
    action = fk_shot.animation_data.action
    bag = action if not hasattr(action, "layers") else action.layers[0].strips[0].channelbag(action.slots[0])
    for curve in [c for c in bag.fcurves if "IK_FK" in c.data_path]:
        bag.fcurves.remove(curve)
    for value in (0.0, 0.35, 1.0):
        shots.set_sliders(fk_shot, value)
        after, _ = shots.visible_poses(fk_shot, frames)
        assert shots.millimetres(before, after).max() < 0.3
