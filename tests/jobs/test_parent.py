# SPDX-License-Identifier: GPL-3.0-or-later
"""Another parent for IK controls and poles: they stay where they are."""

import numpy as np
import pytest

from rigify_ikfk_tools.errors import ToolError
from rigify_ikfk_tools.jobs.parent import change_parent


@pytest.fixture
def moving(ik_shot, shots):
    """The IK shot with a torso and a root that move, and poles on."""
    for name, size in (("torso", 0.2), ("root", 0.3)):
        bone = ik_shot.pose.bones[name]
        bone.rotation_mode = "XYZ"
        for frame in range(1, 22, 5):
            bone.rotation_euler = size * np.sin(frame / 5), size * np.cos(frame / 6), size * frame / 10
            bone.location = size * np.sin(frame / 4), 0, size * np.cos(frame / 5) / 2
            bone.keyframe_insert("rotation_euler", frame=frame)
            bone.keyframe_insert("location", frame=frame)
    for name in shots.SLIDERS:
        ik_shot.pose.bones[name]["pole_vector"] = True
    ik_shot.update_tag()
    return ik_shot


@pytest.mark.parametrize(("of", "name"), [("ik", "IK_parent"), ("pole", "pole_parent")])
@pytest.mark.parametrize("parent", ["spine.003", "root", 0])
def test_over_a_range_every_frame_stays(moving, shots, of, name, parent):
    old = shots.slider_values(moving, [9], setting=name)[0]
    before, _ = shots.visible_poses(moving)
    report = change_parent(moving, parent=parent, of=of, frame=8, until=14)
    after, _ = shots.visible_poses(moving)
    assert shots.millimetres(before, after).max() < 0.02
    value = {"spine.003": 4, "root": 1, 0: 0}[parent]
    assert shots.slider_values(moving, range(7, 16), setting=name) == [old] + [value] * 7 + [old]
    assert len(report.controls) == 4
    assert max(control.worst_mm for control in report.controls) < 0.01
    assert "follows" in report.headline()


def test_from_a_frame_on_the_control_goes_with_its_new_parent(moving, shots):
    before, names = shots.visible_poses(moving)
    change_parent(moving, parent="torso", frame=11, limbs=["hand.L"])
    after, _ = shots.visible_poses(moving)
    off = shots.millimetres(before, after)
    assert off[:11].max() < 0.02
    assert off[12:, names.index("ORG-hand.L")].max() > 10
    assert off[:, names.index("ORG-hand.R")].max() < 0.02
    assert shots.slider_values(moving, [10, 11, 21], setting="IK_parent") == [1, 2, 2]


def test_what_a_control_can_not_follow_is_told(moving, shots):
    old = shots.all_curves(moving.animation_data.action)
    for options, message in (
        ({"parent": "tail"}, r"'foot_ik\.L' can't follow 'tail'\. It can follow 0 none, 1 root, 2 torso"),
        ({"parent": 9}, "can't follow 9"),
        ({"parent": "root", "of": "fk"}, "not of 'fk'"),
        ({"parent": "root", "until": 3}, "can't end at frame 3"),
    ):
        with pytest.raises(ToolError, match=message):
            change_parent(moving, frame=5, **options)
    assert shots.all_curves(moving.animation_data.action) == old
