# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests command itself: a test that fails must make it fail, wherever it ran."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import checks
from tools.console import CommandError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def blender(tmp_path):
    """The launcher as a command in a folder with a blank in its name."""
    if sys.platform == "win32":
        pytest.skip("the command that stands for blender is a shell script here")
    command = tmp_path / "the tools" / "blender"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ROOT / "tools" / "blender_launcher.py"}" "$@"\n')
    command.chmod(0o755)
    return command


@pytest.mark.parametrize(("body", "code"), [("assert bpy.app.version", 0), ("assert not bpy.app.version", 1)])
def test_pytest_blender_ends_as_the_tests_inside_do(tmp_path, blender, body, code):
    (tmp_path / "test_one.py").write_text(f"import bpy\n\ndef test_one():\n    {body}\n")
    command = [sys.executable, "-m", "pytest", "--blender-executable", str(blender), "test_one.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ("1 passed" if code == 0 else "1 failed") in ended.stdout
    assert ended.returncode == code


def test_a_named_file_runs_only_where_it_belongs():
    assert checks._split(["-x", "tests/tools/test_checks.py"]) == (["-x", "tests/tools/test_checks.py"], [])
    plain, inside = checks._split(["tests/test_fixtures.py::test_empty_scene_is_empty", "-x"])
    assert not plain
    assert inside == ["-x", "tests/test_fixtures.py::test_empty_scene_is_empty"]


def test_without_names_each_test_runs_in_exactly_one_place():
    plain, inside = checks._split(["-k", "tools"])  # a folder's name, but not one of tests
    assert plain == ["-k", "tools", *checks.PLAIN]
    assert inside == ["-k", "tools", "tests", *(f"--ignore={path}" for path in checks.PLAIN)]
    assert all((ROOT / path).exists() for path in checks.PLAIN)


@pytest.mark.parametrize(
    ("plain", "inside", "chosen", "code"),
    [(0, 0, False, 0), (1, 0, False, 1), (0, 1, False, 1), (0, 5, False, 1), (0, 5, True, 0), (5, 5, True, 1)],
)
def test_the_end_tells_whether_all_went_well(capsys, plain, inside, chosen, code):
    codes = {"mypy": 0, "tests without Blender": plain, "tests in bpy 5.2": inside}
    assert checks._conclude(codes, some_tests_chosen=chosen) == code
    assert capsys.readouterr().out.strip().startswith("Not all" if code else "All checks passed")


def test_a_failing_linter_fails_the_command(capsys):
    assert checks._conclude({"mypy": 1, "tests in bpy 5.2": 0}, some_tests_chosen=False) == 1
    assert "mypy FAILED (1)" in capsys.readouterr().out


def test_a_blender_that_is_none_is_refused(tmp_path):
    with pytest.raises(CommandError, match="no program"):
        checks.find_blender(str(tmp_path / "blender"))
    if os.name == "posix":
        with pytest.raises(CommandError, match="does not answer as Blender"):
            checks.blender_version("/bin/true")
