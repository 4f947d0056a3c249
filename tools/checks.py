# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests command: style, types, pure tests without Blender, and the rest inside Blender."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from .console import CommandError, say
from .environment import ROOT, Environment, run

PLAIN = ("tests/geometry", "tests/tools", "tests/test_layering.py")
"""Tests that need no Blender."""
NO_TEST_RAN = 5
"""What pytest ends with when it has found nothing to run."""
QUIET = "ignore:config.inicfg is deprecated"
"""pytest-blender 3.0.8, the newest there is, reads its options in a way that pytest 9 warns of."""


def run_checks(environment: Environment, blender: str | None, pytest_arguments: list[str]) -> int:
    """Run every check, also after one has failed, and end with one line on all of them; 0 when all went well."""
    command, options, blender_name = _blender_to_test_in(environment, blender)
    plain, inside = _split(pytest_arguments)
    checks = {
        "ruff check": ["ruff", "check", "."],
        "ruff format": ["ruff", "format", "--check", "."],
        "mypy": ["mypy"],
    }
    if plain:
        checks["tests without Blender"] = ["pytest", "-p", "no:pytest-blender", *plain]
    if inside:
        checks[f"tests in {blender_name}"] = ["pytest", "--blender-executable", command, *inside, "--", *options]
    codes = {}
    with tempfile.TemporaryDirectory(prefix="blender-user-") as user_folder:
        surroundings = {"BLENDER_USER_RESOURCES": user_folder, "PYTHONWARNINGS": QUIET}
        for name, arguments in checks.items():
            say(f"\n== {name}")
            codes[name] = run([str(environment.python), "-m", *arguments], surroundings)
    return _conclude(codes, some_tests_chosen=bool(pytest_arguments))


def _conclude(codes: dict[str, int], some_tests_chosen: bool) -> int:
    tests = [code for name, code in codes.items() if name.startswith("tests")]
    nothing_ran = all(code == NO_TEST_RAN for code in tests)
    forgiven = (0, NO_TEST_RAN) if some_tests_chosen and not nothing_ran else (0,)
    words = {name: "ok" if code in forgiven else f"FAILED ({code})" for name, code in codes.items()}
    passed = all(word == "ok" for word in words.values())
    say("\n" + ("All checks passed: " if passed else "Not all checks passed: ") + describe(words))
    return 0 if passed else 1


def describe(words: dict[str, str]) -> str:
    """One line for several results."""
    return ", ".join(f"{name} {word}" for name, word in words.items())


def _split(pytest_arguments: list[str]) -> tuple[list[str], list[str]]:
    """What each of the two runs is given: options go to both, named test files only where they belong."""
    paths = [argument for argument in pytest_arguments if _lies_in(argument, "tests")]
    options = [argument for argument in pytest_arguments if argument not in paths]
    if not paths:
        return [*options, *PLAIN], [*options, "tests", *(f"--ignore={path}" for path in PLAIN)]
    needs_none = [path for path in paths if any(_lies_in(path, plain) for plain in PLAIN)]
    needs_blender = [path for path in paths if path not in needs_none]
    return needs_none and options + needs_none, needs_blender and options + needs_blender


def _lies_in(argument: str, folder: str) -> bool:
    """Whether an argument, such as ``tests/test_x.py::test_y``, names a test that exists in a folder or file."""
    place = (ROOT / argument.split("::")[0]).resolve()
    return place.exists() and ROOT / folder in (place, *place.parents)


def _blender_to_test_in(environment: Environment, blender: str | None) -> tuple[str, list[str], str]:
    """The command, the options it is started with, and its name with version."""
    options = ["--factory-startup", "--python-exit-code", "1"]
    if blender is None:
        return str(environment.blender), options, f"bpy {environment.bpy}"
    command = find_blender(blender)
    folder = str(environment.pytest_folder)
    return command, [*options, "--python-expr", f"import sys; sys.path.append({folder!r})"], blender_version(command)


def find_blender(blender: str) -> str:
    """The full path of a Blender that the user has named, by path or by a name on the PATH."""
    command = shutil.which(blender)
    if command is None:
        raise CommandError(f"There is no program {blender}: give --blender-executable the path of a Blender.")
    return str(Path(command).absolute())


def blender_version(command: str) -> str:
    """What a Blender says of itself, such as ``Blender 5.2.2 LTS``."""
    ended = subprocess.run([command, "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    lines = ended.stdout.decode("utf-8", "replace").splitlines()
    name = next((line.strip() for line in lines if line.startswith("Blender ")), None)
    if ended.returncode != 0 or name is None:
        raise CommandError(f"{command} does not answer as Blender does when asked for its --version.")
    return name
