# SPDX-License-Identifier: GPL-3.0-or-later
"""One file a job: a plain function that takes objects and options, and returns a report or raises `ToolError`."""
