# SPDX-License-Identifier: GPL-3.0-or-later
"""The switch: no pop where it is asked for, nothing changed before, and the slider where it belongs after."""

import bpy
import numpy as np
import pytest

from rigify_ikfk_tools.errors import ToolError
from rigify_ikfk_tools.jobs.switch import switch

SLIDER = 'pose.bones["upper_arm_parent.L"]["IK_FK"]'


def key_slider(rig, keys):
    bone = rig.pose.bones["upper_arm_parent.L"]
    for frame, value in keys:
        bone["IK_FK"] = float(value)
        bone.keyframe_insert('["IK_FK"]', frame=frame)


def set_interpolation(rig, shots, path, interpolation):
    for curve in shots.curves(rig):
        if curve.data_path == path:
            for key in curve.keyframe_points:
                key.interpolation = interpolation


def places_of_keys(rig, shots, name):
    return sorted({key.co.x for c in shots.curves(rig) if f'"{name}"' in c.data_path for key in c.keyframe_points})


@pytest.mark.parametrize(("to", "shot"), [("ik", "fk_shot"), ("fk", "ik_shot")])
def test_the_pose_stays_at_the_frame_and_all_before_it(request, shots, to, shot):
    rig = request.getfixturevalue(shot)
    old = shots.all_curves(rig.animation_data.action)
    before, _ = shots.visible_poses(rig, range(1, 12))
    report = switch(rig, to=to, frame=11)
    after, _ = shots.visible_poses(rig, range(1, 12))
    moved = shots.millimetres(before, after)
    assert moved[:10].max() < 1e-4
    assert moved[10].max() < (0.3 if to == "ik" else 0.01)
    values = shots.slider_values(rig, range(1, 22))
    assert values == [float(to == "ik")] * 10 + [float(to == "fk")] * 11
    new = shots.all_curves(rig.animation_data.action)
    source = "_fk" if to == "ik" else "_ik"
    for channel, keys in old.items():  # the side that it comes from is not touched
        if f"{source}." in channel[1]:
            assert new[channel] == keys
    assert (report.first_frame, report.last_frame, report.notes) == (11, 11, [])
    assert "switch rig to" in report.lines()[0]


def test_both_sides_keep_their_animation_outside(fk_shot, shots):
    shots.animate_ik(fk_shot)  # keys on both sides
    shots.set_sliders(fk_shot, 1.0, 1)
    old = shots.all_curves(fk_shot.animation_data.action)
    switch(fk_shot, to="ik", frame=9, limbs=["hand.L"])
    new = shots.all_curves(fk_shot.animation_data.action)
    for channel, keys in old.items():
        times = {key[0] for key in keys} - {9.0}
        assert [key for key in new[channel] if key[0] in times] == [key for key in keys if key[0] in times]
    assert {1.0, 8.0, 9.0, 11.0} <= set(places_of_keys(fk_shot, shots, "hand_ik.L"))


def test_a_slider_that_is_keyed_switches_exactly_there(fk_shot, shots):
    key_slider(fk_shot, [(1, 1), (21, 0.5)])
    set_interpolation(fk_shot, shots, SLIDER, "LINEAR")
    before = shots.slider_values(fk_shot, range(1, 11))
    switch(fk_shot, to="ik", frame=11, limbs=["hand.L"])
    np.testing.assert_allclose(shots.slider_values(fk_shot, range(1, 11)), before, atol=1e-6)
    assert shots.slider_values(fk_shot, range(11, 22)) == [0.0] * 10 + [0.5]


def test_there_and_back_the_slider_is_whole_in_between(fk_shot, shots):
    switch(fk_shot, to="ik", frame=6)
    switch(fk_shot, to="fk", frame=16)
    assert shots.slider_values(fk_shot, range(1, 22)) == [1.0] * 5 + [0.0] * 10 + [1.0] * 6


def test_without_guards_there_is_no_key_on_the_frame_before(fk_shot, shots):
    switch(fk_shot, to="ik", frame=11, limbs=["hand.L"], guard=False)
    assert 10.0 not in places_of_keys(fk_shot, shots, "hand_ik.L")
    assert 11.0 in places_of_keys(fk_shot, shots, "hand_ik.L")
    assert 10.0 not in places_of_keys(fk_shot, shots, "upper_arm_parent.L")


def test_a_foot_that_is_keyed_and_has_moved_since(generate_stock, shots):
    rig = generate_stock("basic_human")
    foot = rig.pose.bones["foot_ik.L"]
    foot.keyframe_insert("location", frame=1)
    foot.location = 0.1, -0.2, 0.15
    foot.keyframe_insert("location", frame=15)
    frames = [*range(1, 15), 15]
    before, _ = shots.visible_poses(rig, frames)
    switch(rig, to="fk", frame=15, limbs=["foot.L"])
    after, _ = shots.visible_poses(rig, frames)
    assert shots.millimetres(before, after).max() < 0.01


def test_what_is_seen_now_counts_though_it_has_no_key(fk_shot, shots):
    bpy.context.scene.frame_set(11)
    fk_shot.pose.bones["hand_fk.L"].rotation_quaternion = 0.8, 0.6, 0, 0
    fk_shot.pose.bones["upper_arm_fk.L"].rotation_quaternion = 0.9, 0.3, 0.3, 0.1
    bpy.context.view_layer.update()
    hand = np.array(fk_shot.pose.bones["ORG-hand.L"].matrix)
    switch(fk_shot, to="ik", frame=11, limbs=["hand.L"])
    bpy.context.scene.frame_set(11)
    np.testing.assert_allclose(np.array(fk_shot.pose.bones["ORG-hand.L"].matrix), hand, atol=3e-4)


def test_until_a_frame_each_is_kept_and_from_then_on_it_is_as_before(fk_shot, shots):
    before, _ = shots.visible_poses(fk_shot)
    report = switch(fk_shot, to="ik", frame=8, until=13)
    after, _ = shots.visible_poses(fk_shot)
    moved = shots.millimetres(before, after)
    assert moved[7:13].max() < 0.3
    assert max(moved[:7].max(), moved[13:].max()) < 1e-4
    assert shots.slider_values(fk_shot, range(1, 22)) == [1.0] * 7 + [0.0] * 6 + [1.0] * 8
    assert (report.first_frame, report.last_frame) == (8, 13)


def test_a_rig_without_an_action(generate_stock, shots):
    rig = generate_stock("basic_human")
    before, _ = shots.visible_poses(rig, [4, 5, 6])
    switch(rig, to="fk", frame=5)
    after, _ = shots.visible_poses(rig, [4, 5, 6])
    assert shots.millimetres(before, after).max() < 0.01
    assert shots.slider_values(rig, range(4, 8)) == [0.0, 1.0, 1.0, 1.0]


def test_its_own_later_keys_are_reached_without_a_jump(fk_shot, shots):
    hand = fk_shot.pose.bones["hand_ik.L"]
    hand.location = 0.2, 0, 0
    hand.keyframe_insert("location", frame=18)
    switch(fk_shot, to="ik", frame=11, limbs=["hand.L"])
    places = []
    for frame in range(11, 19):
        bpy.context.scene.frame_set(frame)
        places.append(list(hand.location))
    np.testing.assert_allclose(places[-1], [0.2, 0, 0], atol=1e-6)
    steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    assert steps.max() < 2.5 * steps.mean()
    assert steps[0] < steps.max()  # it starts out gently


def test_an_end_before_the_beginning_is_refused(fk_shot):
    with pytest.raises(ToolError, match="can't end at frame 3, before it begins at frame 5"):
        switch(fk_shot, to="ik", frame=5, until=3)
