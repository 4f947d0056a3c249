# SPDX-License-Identifier: GPL-3.0-or-later
"""What the last report said, kept for the panel until Blender ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..report import Report

_last: list[str] = []


def keep(report: Report) -> None:
    """Remember the lines of a report; its objects may be gone with the next undo."""
    _last[:] = report.lines()


def last_lines() -> list[str]:
    """The lines of the last report, none before the first."""
    return list(_last)
