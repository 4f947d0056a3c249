# SPDX-License-Identifier: GPL-3.0-or-later
"""Parents that change during a shot, and limbs that follow the root: what is seen stays."""

import pytest

from rigify_ikfk_tools.jobs.bake import bake

SETTINGS = {
    "IK parent": ("IK_parent", {1: 1, 8: 0, 15: 3}),
    "pole parent": ("pole_parent", {1: 3, 8: 1, 15: 0}),
    "FK limb follow": ("FK_limb_follow", {1: 0.0, 10: 1.0, 16: 0.3}),
}


@pytest.mark.parametrize("to", ["ik", "fk"])
@pytest.mark.parametrize("pole", [False, True], ids=["", "poles on"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_that_change_during_the_shot(fk_shot, shots, to, pole, setting):
    rig = fk_shot
    shots.animate_ik(rig)
    shots.set_sliders(rig, 0.0 if to == "fk" else 1.0, 1)
    name, values = SETTINGS[setting]
    rig.pose.bones["root"].rotation_euler = 0.1, 0.2, 0.3
    rig.pose.bones["root"].rotation_mode = "XYZ"
    rig.pose.bones["root"].keyframe_insert("rotation_euler", frame=1)
    rig.pose.bones["root"].rotation_euler = -0.2, 0.1, 1.3
    rig.pose.bones["root"].keyframe_insert("rotation_euler", frame=21)
    for gear in shots.SLIDERS:
        bone = rig.pose.bones[gear]
        bone["pole_vector"] = pole
        for frame, value in values.items():
            bone[name] = value
            bone.keyframe_insert(f'["{name}"]', frame=frame)
    for curve in shots.curves(rig):
        if curve.data_path.endswith(f'["{name}"]') and name != "FK_limb_follow":
            for key in curve.keyframe_points:
                key.interpolation = "CONSTANT"
    before, _ = shots.visible_poses(rig)
    report = bake(rig, to=to)
    after, _ = shots.visible_poses(rig)
    off = shots.millimetres(before, after)
    assert off.max() < (0.3 if to == "ik" else 0.01)
    assert [note for note in report.notes if " off" in note] == []
