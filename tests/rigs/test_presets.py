# SPDX-License-Identifier: GPL-3.0-or-later
"""Presets are data: good ones are read, others are refused with the place at fault."""

import json
from pathlib import Path

import pytest

from rigify_ikfk_tools.errors import ToolError
from rigify_ikfk_tools.rigs.presets import FOLDER, load_preset, preset_names


@pytest.fixture
def changed(tmp_path):
    """A function that saves the preset Basic Human with a change and gives the file."""

    def change(act) -> Path:
        data = json.loads((FOLDER / "basic_human.json").read_text())
        act(data)
        path = tmp_path / "mine.json"
        path.write_text(json.dumps(data))
        return path

    return change


def test_the_presets_that_come_along_spell_out_both_sides():
    assert preset_names() == ["basic_human", "human"]
    human = load_preset("human")
    assert human.bones["shin.R"] == ("knee.R", "ankle.R")
    assert human.bones["shoulder.R"] == ("clavicle.R", ("clavicle.R", "shoulder.R", 0.9))
    assert human.landmarks["wrist.R"] == ("hand.R", "head")
    assert {bend.joint: bend.toward for bend in human.bends} == {
        "knee.L": "front",
        "knee.R": "front",
        "elbow.L": "back",
        "elbow.R": "back",
    }
    assert min(bend.degrees for bend in human.bends) >= 3


def test_a_preset_of_ones_own_is_read_from_its_path(changed):
    assert load_preset(changed(lambda data: data.update(name="Mine"))).name == "Mine"


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda d: d.pop("bones"), "lacks bones"),
        (lambda d: d.update(script="import os"), "unknown fields script"),
        (lambda d: d.update(schema=2), "schema must be 1"),
        (lambda d: d.update(metarig="__import__('os')"), "metarig must be one of human, basic_human"),
        (lambda d: d["bones"].update({"shin.L": ["knee.L"]}), "'shin.L': must have a head and a tail"),
        (lambda d: d["bones"].update({"shin.L": ["a", ["a", "b", 1e30]]}), "a share that is no number from -2 to 3"),
        (lambda d: d["bones"].update({"shin.L": ["a", ["a", "b", float("nan")]]}), "a share that is no number"),
        (lambda d: d["bends"][0].update(degrees=0.5), "bend 1: 'degrees' must be a number from 3 to 45"),
        (lambda d: d["bends"][0].update(toward="up"), "bend 1: 'toward' must be"),
        (lambda d: d["frames"][0].update(across="right"), "frame 1: 'across' must be"),
        (lambda d: d["frames"].append(5), "frame 2: must be an object"),
        (lambda d: d["landmarks"].update(pelvis="spine"), "'pelvis': must be 'bone:head' or 'bone:tail'"),
    ],
)
def test_a_fault_is_named_with_its_place(changed, act, message):
    with pytest.raises(ToolError, match=r"The preset 'mine\.json' can't be used: ") as caught:
        load_preset(changed(act))
    assert message in str(caught.value)


def test_files_that_are_no_presets(tmp_path):
    with pytest.raises(ToolError, match=r"no preset 'humen'.*basic_human, human"):
        load_preset("humen")
    for text in ("{", "[" * 100_000, ""):
        path = tmp_path / "broken.json"
        path.write_text(text)
        with pytest.raises(ToolError, match="is not a JSON file"):
            load_preset(path)
    path.write_text(" " * 1_100_000)
    with pytest.raises(ToolError, match="too large"):
        load_preset(path)
