#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The project's commands, for any Python from 3.8 on; each sees to the environment it needs by itself.

python3 dev.py demo     make a body, rig it, let it walk, bake it both ways; writes demo.blend and demo.png
python3 dev.py test     style, types and all tests; further arguments go to pytest
python3 dev.py build    the extension's zip in dist/
"""

from __future__ import annotations

import argparse
import sys

from tools.console import CommandError, say
from tools.environment import PYTHON_OF_BPY, ROOT, ready_environment, run


def main(arguments: list[str]) -> int:
    """Carry out one command; its exit code."""
    parser = argparse.ArgumentParser(
        prog="dev.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("command", choices=("demo", "test", "build"))
    parser.add_argument("--bpy", choices=tuple(PYTHON_OF_BPY), help="the bpy to use (default: 5.2, or 5.0 on 3.11)")
    parser.add_argument("--blender-executable", metavar="PATH", help="test, or try the built zip, in this Blender")
    asked, rest = parser.parse_known_args(arguments)
    try:
        return COMMANDS[asked.command](asked, rest)
    except CommandError as stop:
        print(f"dev.py: {stop}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ndev.py: stopped", file=sys.stderr)
        return 130


def demo(asked: argparse.Namespace, rest: list[str]) -> int:
    """Run the package `demo` with bpy."""
    if not (ROOT / "demo" / "__main__.py").is_file():
        raise CommandError("this checkout has no demo (demo/__main__.py is missing).")
    environment = ready_environment(asked.bpy)
    return run([str(environment.python), "-m", "demo", *rest])


def test(asked: argparse.Namespace, rest: list[str]) -> int:
    """Run every check."""
    from tools.checks import run_checks

    return run_checks(ready_environment(asked.bpy), asked.blender_executable, rest)


def build(asked: argparse.Namespace, rest: list[str]) -> int:
    """Build the zip, and try it in a real Blender where one is named."""
    from tools.package import build, check_installed

    if rest:
        raise CommandError(f"build knows no {' '.join(rest)}.")
    archive = build(ready_environment(asked.bpy))
    if asked.blender_executable:
        check_installed(archive, asked.blender_executable)
    say("Done")
    return 0


COMMANDS = {"demo": demo, "test": test, "build": build}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
