# SPDX-License-Identifier: GPL-3.0-or-later
"""The blend: the pose stays at every value of the slider."""

import numpy as np
import pytest

from rigify_ikfk_tools.errors import ToolError
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
    values = shots.slider_values(fk_shot, frames)
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


@pytest.mark.parametrize(
    ("ease", "shares"),
    [
        ("linear", [0, 0.25, 0.5, 0.75, 1]),
        ("smooth", [0, 0.15625, 0.5, 0.84375, 1]),
        ("in", [0, 0.0625, 0.25, 0.5625, 1]),
        ("out", [0, 0.4375, 0.75, 0.9375, 1]),
    ],
)
def test_with_the_motion_kept_only_the_slider_is_keyed(fk_shot, shots, ease, shares):
    shots.animate_ik(fk_shot)
    shots.set_sliders(fk_shot, 1.0, 1)
    old = shots.all_curves(fk_shot.animation_data.action)
    report = blend(fk_shot, to="ik", frames=range(6, 11), keep="motion", ease=ease)
    np.testing.assert_allclose(shots.slider_values(fk_shot, range(6, 11)), 1 - np.array(shares), atol=2e-3)
    assert shots.slider_values(fk_shot, [5, 11]) == [1.0, 1.0]  # beyond the frames it is as before
    new = shots.all_curves(fk_shot.animation_data.action)
    assert {channel: keys for channel, keys in new.items() if "IK_FK" not in channel[1]} == {
        channel: keys for channel, keys in old.items() if "IK_FK" not in channel[1]
    }
    inside = [key for key in new[next(c for c in new if "IK_FK" in c[1])] if 6 <= key[0] <= 10]
    assert [key[0] for key in inside] == [6.0, 10.0]
    assert report.limbs == []


def test_the_steps_at_the_borders_are_reported(fk_shot, shots):
    shots.animate_ik(fk_shot)
    shots.set_sliders(fk_shot, 1.0, 1)
    report = blend(fk_shot, to="ik", frames=range(6, 11), keep="motion", limbs=["hand.L"])
    seen, names = shots.visible_poses(fk_shot, [5, 6, 10, 11])
    arm = [names.index(f"ORG-{name}.L") for name in ("forearm", "hand")]
    moved = shots.millimetres(seen[1:], seen[:-1])[:, arm].max(axis=1)
    (border,) = report.borders
    assert (border.into_mm, border.out_mm) == pytest.approx((moved[0], moved[2]), abs=0.01)
    assert border.out_mm > 10 * border.into_mm  # back at FK from one frame to the next
    assert f"hand.L: moves {border.into_mm:.1f} mm into the first frame" in report.lines()[1]


def test_with_the_pose_kept_the_steps_at_the_borders_are_those_of_the_shot(fk_shot, shots):
    seen, names = shots.visible_poses(fk_shot, [5, 6, 16, 17])
    arm = [names.index(f"ORG-{name}.L") for name in ("forearm", "hand")]
    moved = shots.millimetres(seen[1:], seen[:-1])[:, arm].max(axis=1)
    report = blend(fk_shot, to="ik", frames=range(6, 17), ease="linear")
    (border,) = [border for border in report.borders if border.limb == "hand.L"]
    assert (border.into_mm, border.out_mm) == pytest.approx((moved[0], moved[2]), abs=0.3)


@pytest.mark.parametrize(
    ("option", "message"), [({"keep": "all"}, "can't keep 'all'"), ({"ease": "x"}, "can't ease 'x'")]
)
def test_what_a_blend_does_not_know_is_told(fk_shot, option, message):
    with pytest.raises(ToolError, match=message):
        blend(fk_shot, to="ik", frames=range(6, 11), **option)
