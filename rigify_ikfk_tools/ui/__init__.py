# SPDX-License-Identifier: GPL-3.0-or-later
"""Thin doors to the jobs: operators, panels, progress."""


def register() -> None:
    """Nothing to show yet."""


def unregister() -> None:
    """Nothing to take away yet."""
