# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher over the bpy wheel passes for Blender: in what it runs, and above all in how it ends."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

LAUNCHER = Path(__file__).resolve().parents[2] / "tools" / "blender_launcher.py"


def launch(*arguments):
    return subprocess.run([sys.executable, str(LAUNCHER), *map(str, arguments)], capture_output=True, text=True)


def test_version_is_that_of_bpy():
    ended = launch("--version")
    assert ended.returncode == 0
    assert re.search(r"^Blender \d+\.\d+\.\d+", ended.stdout, re.MULTILINE)


def test_runs_scripts_in_order_and_hands_on_what_follows_the_dashes(tmp_path):
    script = tmp_path / "a script.py"
    script.write_text("import sys; print(__name__, __file__ == sys.argv[-2], sys.argv[-1])", encoding="utf-8")
    ended = launch("-b", "--python-expr", "print('first')", "--python", script, "--", script, "--python")
    assert ended.stdout.splitlines()[-2:] == ["first", "__main__ True --python"]
    assert ended.returncode == 0


@pytest.mark.parametrize(("exit_call", "code"), [("sys.exit(7)", 7), ("sys.exit()", 0), ("sys.exit('a reason')", 1)])
def test_exit_code_of_the_script_is_passed_through(exit_call, code):
    ended = launch("-b", "--python-expr", f"import atexit, sys; atexit.register(print, 'the end'); {exit_call}")
    assert ended.returncode == code
    assert "the end" in ended.stdout
    assert ("a reason" in ended.stderr) is ("reason" in exit_call)


def test_ends_in_peace_with_rigify_on():
    """The bpy 4.2 module by itself crashes after Python's end, and passes that on as its exit code."""
    expression = "import addon_utils; addon_utils.enable('rigify', default_set=True)"
    assert launch("-b", "--python-expr", expression).returncode == 0


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--python-exit-code", "3"), 3)])
def test_an_error_is_printed_and_ends_as_blender_is_told(options, code):
    ended = launch("-b", *options, "--python-expr", "raise ValueError('the reason')")
    assert "the reason" in ended.stderr
    assert ended.returncode == code


def test_opens_a_file_first(tmp_path):
    blend = tmp_path / "a file.blend"
    launch("-b", "--python-expr", f"import bpy; bpy.ops.wm.save_as_mainfile(filepath={str(blend)!r})")
    ended = launch("-b", blend, "--python-expr", "import bpy; print('open:', bpy.data.filepath)")
    assert f"open: {blend}" in ended.stdout


@pytest.mark.parametrize("arguments", [("--no-such-option",), ("missing.blend",), ("--python",)])
def test_what_it_does_not_know_is_refused(arguments):
    ended = launch("-b", *arguments)
    assert ended.returncode == 2
    assert arguments[0] in ended.stderr
