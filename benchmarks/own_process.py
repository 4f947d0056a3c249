# SPDX-License-Identifier: GPL-3.0-or-later
"""A script of a benchmark in a process of its own, ended at once when its work is done.

bpy 4.2 may crash and bpy 4.5 may wait for its own threads for ever in the C++ clean-up after Python's end: a process
that leaves before it tells the truth by its exit code.
"""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import traceback
from pathlib import Path


def run_script(script: Path, *arguments: object) -> str:
    """What a script prints, run by this Python; a script that fails ends the benchmark with its last words."""
    command = [sys.executable, __file__, str(script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{script.name} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def _run_here() -> int:
    sys.argv = sys.argv[1:]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as leaving:
        if isinstance(leaving.code, str):
            print(leaving.code, file=sys.stderr)
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except Exception:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    status = _run_here()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
