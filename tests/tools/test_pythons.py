# SPDX-License-Identifier: GPL-3.0-or-later
"""Pythons are found where people keep them; what does not start, or can't serve, does not count.

The machine is a tree of real scripts that answer as a Python would.
"""

import json
import os
import sys

import pytest

from tools import pythons
from tools.console import CommandError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-ins are shell scripts")


@pytest.fixture
def install(tmp_path):
    """A function that puts a Python of some version at a path below `tmp_path`."""

    def put(relative, version, problem=None):
        path = tmp_path / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        told = {"version": [int(part) for part in version.split(".")], "executable": str(path), "problem": problem}
        path.write_text(f"#!/bin/sh\necho '{json.dumps(told)}'\n")
        path.chmod(0o755)
        return str(path)

    return put


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A function that gives the places of a machine that holds nothing but what lies below `tmp_path`."""

    def look(version, **environ):
        monkeypatch.setattr(sys, "executable", "")
        monkeypatch.setattr(pythons, "_homes", lambda _: [tmp_path / "home"])
        monkeypatch.setattr(pythons, "_system_folders", lambda *_: [tmp_path / "usr/bin"])
        return list(pythons.machine_places(version, {"PATH": str(tmp_path / "bin"), **environ}))

    return look


@pytest.mark.parametrize(
    "where",
    [
        "bin/python3",
        "bin/python3.13",
        "home/.pyenv/versions/3.13.2/bin/python3.13",
        "home/.pyenv/pyenv-win/versions/3.13.2/python.exe",
        "home/.local/share/uv/python/cpython-3.13.1-linux-x86_64-gnu/bin/python3.13",
        "home/.asdf/installs/python/3.13.0/bin/python3",
        "usr/bin/python3.13",
    ],
)
def test_found_where_people_keep_them(install, places, where):
    path = install(where, "3.13.2")
    assert pythons.find_python("3.13", places("3.13")).executable == path


def test_pyenv_root_and_uv_folder_of_the_shell_are_heeded(install, places, tmp_path):
    one = install("elsewhere/versions/3.13.0/bin/python", "3.13.0")
    (tmp_path / "elsewhere/versions/3.13.0/bin/python").rename(tmp_path / "elsewhere/versions/3.13.0/bin/python3")
    assert pythons.find_python("3.13", places("3.13", PYENV_ROOT=str(tmp_path / "elsewhere"))).executable == one
    two = install("uv here/cpython-3.11.9-linux/bin/python3.11", "3.11.9")
    found = pythons.find_python("3.11", places("3.11", UV_PYTHON_INSTALL_DIR=str(tmp_path / "uv here")))
    assert found.executable == two


def test_the_newest_of_several_is_taken(install, places):
    install("home/.pyenv/versions/3.13.2/bin/python3.13", "3.13.2")
    newest = install("home/.pyenv/versions/3.13.11/bin/python3.13", "3.13.11")
    assert pythons.find_python("3.13", places("3.13")).executable == newest


def test_a_shim_that_does_not_resolve_is_passed_over(install, places, tmp_path):
    shim = tmp_path / "bin" / "python3.13"
    shim.parent.mkdir()
    shim.write_text("#!/bin/sh\necho 'pyenv: python3.13: command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    real = install("home/.pyenv/versions/3.13.0/bin/python3.13", "3.13.0")
    assert pythons.find_python("3.13", places("3.13")).executable == real


def test_a_name_on_the_path_may_hold_another_version(install, places):
    install("bin/python3", "3.12.1")
    with pytest.raises(CommandError, match=r"No usable Python 3\.13"):
        pythons.find_python("3.13", places("3.13"))


def test_later_folders_of_the_path_are_searched_too(install, tmp_path):
    install("one/python3", "3.12.1")
    second = install("two/python3", "3.13.1")
    path = os.pathsep.join([str(tmp_path / "one"), "", str(tmp_path / "two")])
    assert pythons.find_python("3.13", [pythons.on_path("3.13", path)]).executable == second


def test_one_that_cannot_serve_is_named_with_its_reason(install, places, tmp_path):
    unfit = install("bin/python3.13", "3.13.0", problem="it is a free-threaded build")
    with pytest.raises(CommandError) as failed:
        pythons.find_python("3.13", places("3.13"))
    assert f"{unfit} is Python 3.13, but it is a free-threaded build" in str(failed.value)
    assert str(tmp_path / "home/.pyenv/versions") in str(failed.value)


def test_other_versions_in_pyenv_are_not_even_started(install, places, tmp_path):
    install("home/.pyenv/versions/3.10.4/bin/python3", "3.10.4")
    started = tmp_path / "started"
    (tmp_path / "home/.pyenv/versions/3.10.4/bin/python3").write_text(f"#!/bin/sh\ntouch '{started}'\n")
    with pytest.raises(CommandError):
        pythons.find_python("3.13", places("3.13"))
    assert not started.exists()


def test_the_real_probe_tells_of_the_python_that_runs_this():
    told = pythons.probe((sys.executable,))
    assert told.version == sys.version_info[:3]
    assert told.problem is None


def test_what_the_shell_says_about_pythons_is_left_out():
    shell = {"PATH": "/bin", "PYTHONPATH": "/x", "PYTHONHOME": "/y", "VIRTUAL_ENV": "/z", "PIP_INDEX_URL": "mirror"}
    ours = pythons.clean_environment(shell)
    assert not {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"} & set(ours)
    assert (ours["PATH"], ours["PIP_INDEX_URL"], ours["PIP_USER"]) == ("/bin", "mirror", "0")
