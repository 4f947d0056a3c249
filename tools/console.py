# SPDX-License-Identifier: GPL-3.0-or-later
"""Talking to the person at the terminal."""

from __future__ import annotations


class CommandError(Exception):
    """Nothing more can be done; the text says in plain sentences why, and what to do about it."""


def say(text: str) -> None:
    """Print a line at once, in order with what the started programs print."""
    print(text, flush=True)
