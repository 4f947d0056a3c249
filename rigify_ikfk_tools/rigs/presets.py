# SPDX-License-Identifier: GPL-3.0-or-later
"""Presets of meta-rigs: read from JSON files that are data and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import ToolError
from ..geometry.metarig_bones import Bend, Frame, Point, Preset, both_sides
from ..geometry.symmetry import mirrored_name

FOLDER = Path(__file__).resolve().parents[2] / "metarig_presets"
METARIGS = ("human", "basic_human")
_LARGEST = 1_000_000
"""Bytes; a preset is a few thousand."""


def preset_names() -> list[str]:
    """The presets that come with the extension."""
    return sorted(path.stem for path in FOLDER.glob("*.json") if path.stem != "schema")


def load_preset(name: str | Path) -> Preset:
    """The preset of that name, or in that file. Raises ToolError that names the file and what is wrong in it."""
    path = FOLDER / f"{name}.json" if str(name) in preset_names() else Path(name)
    if not path.is_file():
        raise ToolError(
            f"There is no preset {str(name)!r}. The presets are {', '.join(preset_names())}; "
            "a path to a JSON file will do too."
        )
    if path.stat().st_size > _LARGEST:
        raise ToolError(f"The preset {path.name!r} is too large to be one.")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ToolError(f"The preset {path.name!r} is not a JSON file: {error}.") from error
    return _Parser(path.name).preset(data)


class _Parser:
    def __init__(self, file: str) -> None:
        self.file = file

    def wrong(self, place: str, what: str) -> ToolError:
        return ToolError(f"The preset {self.file!r} can't be used: {place} {what}.")

    def preset(self, data: Any) -> Preset:
        fields = {"schema", "name", "metarig", "bones", "landmarks", "frames", "bends"}
        self.has_fields("it", data, fields, fields)
        if data["schema"] != 1:
            raise self.wrong("schema", "must be 1")
        if data["metarig"] not in METARIGS:
            raise self.wrong("metarig", f"must be one of {', '.join(METARIGS)}")
        self.is_kind("bones", data["bones"], dict)
        self.is_kind("landmarks", data["landmarks"], dict)
        self.is_kind("frames", data["frames"], list)
        self.is_kind("bends", data["bends"], list)
        bones: dict[str, tuple[Point, Point]] = {}
        for name, ends in data["bones"].items():
            if not isinstance(ends, list) or len(ends) != 2:
                raise self.wrong(f"bones, {name!r}:", "must have a head and a tail")
            head, tail = (self.point(f"bones, {name!r}:", end) for end in ends)
            for side in both_sides(name):
                bones[side] = (head, tail) if side == name else (_mirrored(head), _mirrored(tail))
        landmarks = {}
        for name, place in data["landmarks"].items():
            bone, _, end = self.text(f"landmarks, {name!r}:", place).rpartition(":")
            if not bone or end not in ("head", "tail"):
                raise self.wrong(f"landmarks, {name!r}:", "must be 'bone:head' or 'bone:tail'")
            for side in both_sides(name):
                landmarks[side] = (bone if side == name else mirrored_name(bone), end)
        frames = [
            frame for number, row in enumerate(data["frames"]) for frame in self.frames(f"frame {number + 1}:", row)
        ]
        bends = [bend for number, row in enumerate(data["bends"]) for bend in self.bends(f"bend {number + 1}:", row)]
        return Preset(self.text("name", data["name"]), data["metarig"], bones, landmarks, tuple(frames), tuple(bends))

    def frames(self, place: str, data: Any) -> list[Frame]:
        self.has_fields(place, data, {"from", "to", "across"}, {"from", "to", "across", "bones", "children_of"})
        across = data["across"]
        if across != "left":
            if not isinstance(across, list) or len(across) != 2:
                raise self.wrong(place, "'across' must be \"left\" or two landmarks")
            across = tuple(self.text(place, name) for name in across)
        names = data.get("bones", [])
        self.is_kind(f"{place} bones", names, list)
        frame = Frame(
            self.text(place, data["from"]),
            self.text(place, data["to"]),
            None if across == "left" else across,
            tuple(self.text(place, name) for name in names),
            self.text(place, data["children_of"]) if "children_of" in data else None,
        )
        if not frame.start.endswith(".L"):
            return [frame]
        mirror = mirrored_name
        ways = None if frame.across is None else (mirror(frame.across[0]), mirror(frame.across[1]))
        other = Frame(mirror(frame.start), mirror(frame.end), ways, tuple(map(mirror, frame.bones)), frame.children_of)
        return [frame, other]

    def bends(self, place: str, data: Any) -> list[Bend]:
        fields = {"joint", "from", "to", "toward", "degrees"}
        self.has_fields(place, data, fields, fields)
        names = [self.text(place, data[field]) for field in ("joint", "from", "to")]
        if data["toward"] not in ("front", "back"):
            raise self.wrong(place, '\'toward\' must be "front" or "back"')
        degrees = data["degrees"]
        if isinstance(degrees, bool) or not isinstance(degrees, (int, float)) or not 3 <= degrees <= 45:
            raise self.wrong(place, "'degrees' must be a number from 3 to 45")
        ways = [names if side == names[0] else [mirrored_name(name) for name in names] for side in both_sides(names[0])]
        return [Bend(joint, start, end, data["toward"], float(degrees)) for joint, start, end in ways]

    def point(self, place: str, data: Any) -> Point:
        if isinstance(data, str):
            return data
        if not isinstance(data, list) or len(data) != 3:
            raise self.wrong(place, "has an end that is neither a landmark nor [landmark, landmark, share]")
        share = data[2]
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not -2 <= share <= 3:
            raise self.wrong(place, "has a share that is no number from -2 to 3")
        return self.text(place, data[0]), self.text(place, data[1]), float(share)

    def text(self, place: str, data: Any) -> str:
        if not isinstance(data, str) or not data:
            raise self.wrong(place, "must be a text")
        return data

    def is_kind(self, place: str, data: Any, kind: type) -> None:
        if not isinstance(data, kind):
            raise self.wrong(place, "must be a list" if kind is list else "must be an object")

    def has_fields(self, place: str, data: Any, needed: set[str], known: set[str]) -> None:
        self.is_kind(place, data, dict)
        if missing := sorted(needed - data.keys()):
            raise self.wrong(place, f"lacks {', '.join(missing)}")
        if unknown := sorted(data.keys() - known):
            raise self.wrong(place, f"has unknown fields {', '.join(unknown)}")


def _mirrored(point: Point) -> Point:
    return (
        mirrored_name(point) if isinstance(point, str) else (mirrored_name(point[0]), mirrored_name(point[1]), point[2])
    )
