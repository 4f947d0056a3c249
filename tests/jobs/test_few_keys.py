# SPDX-License-Identifier: GPL-3.0-or-later
"""Few keys: each n-th frame, those of the source, or the fewest that keep the motion."""

import bpy
import numpy as np
import pytest

from rigify_ikfk_tools.errors import ToolError
from rigify_ikfk_tools.geometry.rotations import angle_between, split_scale
from rigify_ikfk_tools.jobs.bake import bake

FRAMES = range(1, 102)


@pytest.fixture
def walk(generate_stock, shots):
    """A shot of 101 frames that is keyed each five frames."""

    def make(animate):
        rig = generate_stock("basic_human")
        animate(rig, frames=FRAMES)
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = FRAMES[0], FRAMES[-1]
        return rig

    return make


def times_of_keys(rig, shots, name):
    curves = [curve for curve in shots.curves(rig) if f'"{name}"' in curve.data_path]
    return [sorted(key.co.x for key in curve.keyframe_points if 1 <= key.co.x <= 101) for curve in curves]


def errors(before, after, names):
    """Distances in millimetres, and turns of hands and feet in degrees."""
    ends = [place for place, name in enumerate(names) if name.startswith(("ORG-hand", "ORG-foot"))]
    turns = [split_scale(poses[:, ends, :3, :3].reshape(-1, 3, 3))[0] for poses in (before, after)]
    return 1e3 * np.linalg.norm((before - after)[..., :3, 3], axis=-1), np.degrees(angle_between(*turns))


@pytest.mark.parametrize("to", ["ik", "fk"])
def test_the_fewest_keys_stay_within_tolerance_and_are_few(walk, shots, to):
    rig = walk(shots.animate_fk if to == "ik" else shots.animate_ik)
    before, names = shots.visible_poses(rig, FRAMES)
    report = bake(rig, to=to, keys="fewest")
    after, _ = shots.visible_poses(rig, FRAMES)
    places, turns = errors(before, after, names)
    assert places.max() < 1
    assert turns.max() < 0.5
    assert max(report.keys.values()) <= 3 * 21
    for name, control in (("hand.L", "hand_ik.L" if to == "ik" else "hand_fk.L"),):
        counts = {len(times) for times in times_of_keys(rig, shots, control)}
        assert counts == {report.keys[name]}
    assert report.notes == []
    assert report.lines()[-1].endswith(" of 101 frames.")


def test_a_wider_tolerance_takes_fewer_keys(walk, shots):
    rig = walk(shots.animate_fk)
    before, names = shots.visible_poses(rig, FRAMES)
    few = bake(rig, to="ik", keys="fewest", tolerance_mm=10, tolerance_deg=5, limbs=["hand.L"]).keys["hand.L"]
    after, _ = shots.visible_poses(rig, FRAMES)
    places, turns = errors(before, after, names)
    assert 0.3 < places.max() < 10
    assert turns.max() < 5
    assert few < bake(walk(shots.animate_fk), to="ik", keys="fewest", limbs=["hand.L"]).keys["hand.L"]


def test_keys_on_twos(walk, shots):
    rig = walk(shots.animate_fk)
    before, _ = shots.visible_poses(rig, FRAMES)
    report = bake(rig, to="ik", keys=2, frames=range(1, 99))
    after, _ = shots.visible_poses(rig, FRAMES)
    off = shots.millimetres(before, after)
    assert off[0:98:2].max() < 0.3
    assert off[98:].max() < 1e-4
    assert set(report.keys.values()) == {50}
    (times, *_) = times_of_keys(rig, shots, "hand_ik.L")
    assert [time for time in times if time < 99] == [*range(1, 98, 2), 98]


def test_keys_where_the_source_has_them(walk, shots):
    rig = walk(shots.animate_fk)
    hand = rig.pose.bones["hand_fk.L"]
    hand.keyframe_insert("rotation_quaternion", frame=33)
    before, _ = shots.visible_poses(rig, FRAMES)
    report = bake(rig, to="ik", keys="source", limbs=["hand.L", "foot.L"])
    after, _ = shots.visible_poses(rig, FRAMES)
    (times, *_) = times_of_keys(rig, shots, "hand_ik.L")
    assert times == sorted([*range(1, 102, 5), 33])
    assert report.keys == {"hand.L": 22, "foot.L": 21}
    off = shots.millimetres(before, after)
    assert off[::5].max() < 0.3
    assert off.max() < 15  # the curves run on as the motion does


def test_new_keys_are_told_apart_and_lead_where_the_motion_goes(walk, shots):
    rig = walk(shots.animate_fk)
    bake(rig, to="ik", keys=5, limbs=["hand.L"])
    curve = next(c for c in shots.curves(rig) if c.data_path == 'pose.bones["hand_ik.L"].location')
    inner = [key for key in curve.keyframe_points if 1 < key.co.x < 101]
    assert {(key.type, key.interpolation, key.handle_right_type) for key in inner} == {
        ("GENERATED", "BEZIER", "ALIGNED")
    }
    for key in inner:
        left, right = key.co - key.handle_left, key.handle_right - key.co
        assert left.y / left.x == pytest.approx(right.y / right.x, abs=1e-4)


def test_outside_the_frames_nothing_changes(walk, shots):
    rig = walk(shots.animate_fk)
    shots.animate_ik(rig, frames=FRAMES)
    shots.set_sliders(rig, 1.0, 1)
    old = shots.all_curves(rig.animation_data.action)
    outside = [*range(1, 40), *range(61, 102)]
    calm, _ = shots.visible_poses(rig, outside)
    bake(rig, to="ik", frames=range(40, 61), keys="fewest")
    still, _ = shots.visible_poses(rig, outside)
    assert shots.millimetres(calm, still).max() < 1e-4
    new = shots.all_curves(rig.animation_data.action)
    for channel, keys in old.items():
        kept = [key for key in keys if not 40 <= key[0] <= 60]
        assert [key for key in new[channel] if key in kept] == kept


def test_a_failure_while_keys_are_made_fewer_takes_all_back(walk, shots, monkeypatch):
    from rigify_ikfk_tools.rigs.matching import Matching

    rig = walk(shots.animate_fk)
    old = shots.all_curves(rig.animation_data.action)

    def fails(self):
        raise RuntimeError("on purpose")

    monkeypatch.setattr(Matching, "replay", fails)
    with pytest.raises(RuntimeError, match="on purpose"):
        bake(rig, to="ik", keys="fewest")
    assert shots.all_curves(rig.animation_data.action) == old


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keys": 0}, "not on 0"),
        ({"keys": "some"}, "not on 'some'"),
        ({"keys": "fewest", "tolerance_mm": 0}, "must be more than nothing"),
        ({"keys": "fewest", "tolerance_deg": -1}, "must be more than nothing"),
    ],
)
def test_what_can_not_be_asked_is_told(fk_shot, options, message):
    with pytest.raises(ToolError, match=message):
        bake(fk_shot, to="ik", **options)
