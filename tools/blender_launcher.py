# SPDX-License-Identifier: GPL-3.0-or-later
"""The bpy module under the command line of ``blender``: what pytest-blender starts where there is no real Blender.

It knows the options that a script in the background needs, acts on them in the order given as Blender does, and refuses
any other. The exit code is that of the script.
"""

import atexit
import os
import runpy
import sys
import traceback
from pathlib import Path

USAGE = """usage: blender -b [FILE] [--factory-startup] [--python-exit-code N] [--python FILE] [--python-expr TEXT]
       blender --version"""


def main(arguments: list[str]) -> int:
    """Act on Blender's arguments one after the other."""
    import bpy

    exit_code_of_errors = 0
    waiting = list(arguments)
    while waiting:
        option = waiting.pop(0)
        if option == "--":
            break
        if option in ("-b", "--background", "--factory-startup"):
            continue  # the bpy module has no window and reads no user's settings anyway
        if option in ("-v", "--version"):
            print(f"Blender {bpy.app.version_string}")
            return 0
        if option in ("-P", "--python", "--python-expr", "--python-exit-code"):
            if not waiting:
                return _refuse(f"{option} needs a value")
            value = waiting.pop(0)
            if option == "--python-exit-code":
                exit_code_of_errors = int(value)
            elif not _ran(value, is_file=option != "--python-expr") and exit_code_of_errors:
                return exit_code_of_errors
        elif option.startswith("-"):
            return _refuse(f"{option} is not an option of Blender that this launcher knows")
        elif Path(option).is_file():
            bpy.ops.wm.open_mainfile(filepath=str(Path(option).absolute()))
        else:
            return _refuse(f"the file {option} does not exist")
    return 0


def _ran(script: str, is_file: bool) -> bool:
    """Run a script as Blender does: it may exit by itself, and an error is printed and does not end Blender."""
    try:
        if is_file:
            runpy.run_path(script, run_name="__main__")
        else:
            exec(compile(script, "<string>", "exec"), {"__name__": "__main__"})
    except Exception:
        traceback.print_exc()
        return False
    return True


def _refuse(sentence: str) -> int:
    print(f"blender: {sentence}\n{USAGE}", file=sys.stderr)
    return 2


def _exit_code(leaving: SystemExit) -> int:
    if isinstance(leaving.code, str):
        print(leaving.code, file=sys.stderr)
    return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)


def _leave() -> None:
    """End at once when Python's own exit functions are through.

    bpy 4.2 crashes in the C++ clean-up that would follow, after Python is gone, once an add-on with panels has been on.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    del sys.path[0]  # this folder: Blender's Python does not have it either
    code = 1
    atexit.register(_leave)  # first, so that it runs last
    try:
        code = main(sys.argv[1:])
    except SystemExit as leaving:
        code = _exit_code(leaving)
