# SPDX-License-Identifier: GPL-3.0-or-later
"""What a job tells when it is done: data first, sentences made from it."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any


@dataclasses.dataclass
class Report:
    """What every report holds; each job adds its own fields.

    Lengths are millimetres and angles degrees wherever a field's name says ``_mm`` or ``_deg``. A field may hold a
    Blender object: in JSON it becomes the object's name.
    """

    job: str
    seconds: float = 0.0
    notes: list[str] = dataclasses.field(default_factory=list)
    """Plain sentences on what the user should know though the job was done."""

    def as_dict(self) -> dict[str, Any]:
        """Everything in the report, ready for `json.dump`: only dicts, lists, strings, numbers and None."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

    def headline(self) -> str:
        """The report in one line, for the status bar."""
        return self.lines()[0]

    def lines(self) -> list[str]:
        """The report for a person to read, a few lines."""
        return [f"{self.job}: done in {self.seconds:.1f} s", *self.notes]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return _plain(value.tolist())
    if hasattr(value, "name"):  # a Blender object
        return value.name
    raise TypeError(f"a report can't hold {type(value).__name__}")
