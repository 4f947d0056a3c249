# SPDX-License-Identifier: GPL-3.0-or-later
"""The last report, kept for the panel until Blender ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..report import Report

_last: list[Report] = []


def keep(report: Report) -> None:
    """Remember a report as the last one."""
    _last[:] = [report]


def last_lines() -> list[str]:
    """The lines of the last report, none before the first."""
    return _last[0].lines() if _last else []
