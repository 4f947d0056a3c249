# SPDX-License-Identifier: GPL-3.0-or-later
"""The one kind of error that a user is meant to read."""


class ToolError(Exception):
    """A job could not be done, and the text says so to a person.

    The text is one or two plain sentences: what failed, on which object, bone or frame, and what to do next. The
    command line prints it and ends with status 1, an operator reports it. A job that raises it has left the scene
    as it was.
    """
