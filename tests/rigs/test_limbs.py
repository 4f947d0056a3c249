# SPDX-License-Identifier: GPL-3.0-or-later
"""Limbs are read from the structure of a rig."""

import bpy
import pytest

from rigify_ikfk_tools.errors import ToolError
from rigify_ikfk_tools.rigs.limb_reader import pick_limbs, read_limbs
from rigify_ikfk_tools.rigs.limbs import Finger


@pytest.mark.parametrize("kind", ["basic_human", "human"])
def test_arms_and_legs_of_the_stock_rigs(generate_stock, kind):
    limbs, unserved = read_limbs(generate_stock(kind))
    assert {limb.name: limb.alias for limb in limbs} == {
        "hand.L": "arm.L",
        "hand.R": "arm.R",
        "foot.L": "leg.L",
        "foot.R": "leg.R",
    }
    assert unserved == {}  # the face's jaw has constraints alike, but is no limb
    arm = next(limb for limb in limbs if limb.name == "hand.L")
    assert arm.visible == ("ORG-upper_arm.L", "ORG-forearm.L", "ORG-hand.L")
    assert arm.fk == ("upper_arm_fk.L", "forearm_fk.L", "hand_fk.L")
    assert (arm.ik.base, arm.ik.end, arm.ik.pole) == ("upper_arm_ik.L", "hand_ik.L", "upper_arm_ik_target.L")
    assert (arm.slider.bone, arm.slider.name) == ("upper_arm_parent.L", "IK_FK")
    leg = next(limb for limb in limbs if limb.name == "foot.R")
    assert leg.ik.rolls == ("foot_spin_ik.R", "foot_heel_ik.R")
    assert leg.ik.tail == ("toe_ik.R",)


@pytest.mark.parametrize(
    ("animal", "pivots"),
    [
        ("wolf", {"foot.L": ["foot_heel_ik.L"], "front_foot.L": ["front_foot_heel_ik.L"]}),
        (
            "horse",
            {"hind_foot.L": ["r_toe_ik.L", "hind_foot_heel_ik.L"], "forefoot.L": ["f_toe_ik.L", "forefoot_heel_ik.L"]},
        ),
        ("cat", {"foot.L": ["foot_heel_ik.L"], "hand.L": ["hand_heel_ik.L"]}),
        ("bird", {"foot.L": ["foot_heel_ik.L"]}),
    ],
)
def test_paws_have_pivots_between_the_end_control_and_the_solver(generate_stock, animal, pivots):
    limbs, unserved = read_limbs(generate_stock(animal))
    assert unserved == {}
    assert len(limbs) == 2 * len(pivots)
    left = [limb for limb in limbs if limb.name.endswith(".L")]
    assert {limb.name: [name for name, _ in limb.ik.pivots] for limb in left} == pivots
    for limb in left:
        assert limb.kind == "paw"
        assert limb.alias == limb.name  # a wolf has two left legs
        assert limb.ik.end == limb.name.replace(".L", "_ik.L")
        assert limb.ik.base == limb.visible[0].removeprefix("ORG-").replace(".L", "_ik.L")
        assert limb.ik.tail == limb.fk[-1:]
        assert limb.ik.rolls == ()


def test_what_is_not_served_is_named_with_the_reason(generate_stock):
    rig = generate_stock("wolf")
    for side in "LR":
        for name in ("thigh_ik", "front_foot_heel_ik"):
            bone = rig.pose.bones[f"{name}.{side}"]
            bone.lock_location = bone.lock_rotation = bone.lock_scale = True, True, True
            bone.lock_rotation_w = True
    limbs, unserved = read_limbs(rig)
    assert [limb.name for limb in limbs] == ["front_foot.L", "front_foot.R"]
    assert [limb.ik.pivots for limb in limbs] == [(), ()]  # a heel that nobody is to move is none
    assert unserved["foot.L"] == "no control turns 'MCH-thigh_ik.L', the first bone of its IK chain"
    with pytest.raises(ToolError, match=r"The limb 'foot\.L' of 'rig' can't be served: no control turns"):
        pick_limbs(rig, ["foot.L"])


def test_names_with_quotes_and_brackets_are_read(generate_stock):
    rig = generate_stock("basic_human")
    for old, new in (("upper_arm_parent.L", 'set"ti]ngs.L'), ("ORG-hand.L", 'ORG-h"a[nd.L')):
        rig.data.bones[old].name = new
    limb = pick_limbs(rig, ['h"a[nd.L'])[0]
    assert limb.slider.bone == 'set"ti]ngs.L'
    assert rig.path_resolve(limb.slider.path) == 0.0


def test_limbs_are_picked_by_either_name_once(generate_stock):
    rig = generate_stock("basic_human")
    assert [limb.name for limb in pick_limbs(rig, ["leg.R", "hand.L", "foot.R"])] == ["foot.R", "hand.L"]
    with pytest.raises(ToolError, match="No limb was named"):
        pick_limbs(rig, [])


def test_fingers_with_an_ik_control_are_limbs_and_others_are_not(generate_stock):
    rig = generate_stock("human+fingers")
    limbs, unserved = read_limbs(rig)
    names = [limb.name for limb in limbs]
    assert set(names[:4]) == {"hand.L", "hand.R", "foot.L", "foot.R"}
    assert set(names[4:]) == {f"{finger}.01.L" for finger in ("f_index", "f_middle", "f_ring", "f_pinky", "thumb")}
    assert unserved == {}
    (finger,) = pick_limbs(rig, ["f_index.01.L"])
    assert isinstance(finger, Finger)
    assert finger.visible == ("ORG-f_index.01.L", "ORG-f_index.02.L", "ORG-f_index.03.L")
    assert finger.fk == ("f_index.01.L", "f_index.02.L", "f_index.03.L")
    assert (finger.tip, finger.master, finger.ik.end) == ("f_index.01.L.001", "f_index.01_master.L", "f_index.01_ik.L")
    assert (finger.slider.bone, finger.slider.name) == ("f_index.01_ik.L", "FK_IK")
    assert (finger.slider_value("fk"), finger.slider_value("ik")) == (0, 1)
    arm = pick_limbs(rig, ["arm.L"])[0]
    assert (arm.slider_value("fk"), arm.slider_value("ik")) == (1, 0)


def test_renamed_fingers_are_found_and_what_is_not_served_is_named(generate_stock):
    rig = generate_stock("human+fingers")
    for old, new in (("f_index.01.L", "pointer.L"), ("f_index.01_ik.L", "x"), ("ORG-f_index.03.L", "y")):
        rig.data.bones[old].name = new
    rig.driver_remove('pose.bones["ORG-f_ring.03.L"].constraints["FingerIK"].influence')
    rig.pose.bones["ORG-f_pinky.03.L"].constraints["FingerIK"].use_tail = False
    bpy.context.view_layer.update()
    limbs, unserved = read_limbs(rig)
    assert {limb.name for limb in limbs if isinstance(limb, Finger)} == {"pointer.L", "f_middle.01.L", "thumb.01.L"}
    assert unserved == {
        "f_ring.01.L": "no property drives the influence of 'FingerIK' on 'ORG-f_ring.03.L'",
        "f_pinky.01.L": "'FingerIK' on 'ORG-f_pinky.03.L' does not bring the tip to a control",
    }
