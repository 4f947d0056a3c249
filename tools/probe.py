# SPDX-License-Identifier: GPL-3.0-or-later
"""Run by a candidate Python: print as JSON what it is and whether it can make an environment that bpy runs in."""

import json
import platform
import sys
import sysconfig


def problem() -> "str | None":
    """Say why this Python can't serve, if so."""
    if platform.python_implementation() != "CPython":
        return "it is " + platform.python_implementation() + ", and bpy runs in CPython only"
    if sys.maxsize <= 2**32:
        return "it is a 32-bit Python, and bpy needs 64 bits"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "it is a free-threaded build, which bpy does not support"
    if sys.version_info[3] != "final":
        return "it is a pre-release"
    try:
        import ensurepip
        import venv  # noqa: F401

        ensurepip.version()
    except Exception:
        package = "python{}.{}-venv".format(*sys.version_info)
        return "it can't make an environment with pip (on Debian and Ubuntu: apt install " + package + ")"
    return None


print(json.dumps({"version": list(sys.version_info[:3]), "executable": sys.executable, "problem": problem()}))
