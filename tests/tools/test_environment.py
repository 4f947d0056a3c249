# SPDX-License-Identifier: GPL-3.0-or-later
"""Environments are whole or made anew, and the pins stand where the code looks for them."""

import re
import sys

import pytest

from tools import environment
from tools.console import CommandError
from tools.environment import DEFAULT_BPYS, PYTHON_OF_BPY, REQUIREMENTS, Environment
from tools.pythons import Python


def pins(name):
    lines = (REQUIREMENTS / name).read_text(encoding="utf-8").splitlines()
    return [line.split(";")[0].strip() for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("name", sorted(path.name for path in REQUIREMENTS.iterdir()))
def test_every_requirement_is_pinned(name):
    assert pins(name)
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins(name))


@pytest.mark.parametrize("bpy", PYTHON_OF_BPY)
def test_each_supported_bpy_has_its_pins(bpy):
    (pin,) = (pin for pin in pins(f"bpy-{bpy}.txt") if pin.startswith("bpy=="))
    assert pin.startswith(f"bpy=={bpy}.")


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """A real virtual environment in a folder with blanks, pip's part of the work left out; pins of its own."""
    requirements = tmp_path / "pins"
    requirements.mkdir()
    for name in ("bpy-5.2.txt", "pytest.txt", "checks.txt"):
        (requirements / name).write_text("one==1\n")
    monkeypatch.setattr(environment, "REQUIREMENTS", requirements)
    monkeypatch.setattr(environment, "_pip", lambda *_: None)
    return Environment("5.2", tmp_path / "a project" / ".venv-bpy5.2")


@pytest.fixture
def this_python():
    return Python(sys.executable, sys.version_info[:3])


def test_complete_once_made_and_made_anew_when_a_pin_changes(scratch, this_python):
    assert not scratch.is_complete()
    scratch.make(this_python)
    assert scratch.is_complete()
    leftover = scratch.folder / "leftover"
    leftover.touch()
    (environment.REQUIREMENTS / "checks.txt").write_text("one==2\n")
    assert not scratch.is_complete()
    scratch.make(this_python)
    assert scratch.is_complete()
    assert not leftover.exists()


def test_an_interrupted_installation_is_not_taken_for_whole(scratch, this_python, monkeypatch):
    scratch.make(this_python)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(environment, "_pip", interrupted)
    with pytest.raises(KeyboardInterrupt):
        scratch.make(this_python)
    assert scratch.python.exists()
    assert not scratch.is_complete()


def test_not_complete_when_its_python_is_gone(scratch, this_python):
    scratch.make(this_python)
    scratch.python.unlink()
    assert not scratch.is_complete()


def test_falls_back_to_the_bpy_that_the_found_python_can_run(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    monkeypatch.setattr(Environment, "make", lambda self, python: made.append((self.bpy, python.minor)))

    def only(version):
        def find(wanted):
            if wanted != version:
                raise CommandError(f"No usable Python {wanted} was found.")
            return Python("python", tuple(map(int, wanted.split("."))))

        return find

    for version in ("3.13", "3.11"):
        monkeypatch.setattr(environment, "find_python", only(version))
        environment.ready_environment()
    assert made == list(zip(DEFAULT_BPYS, ("3.13", "3.11"), strict=True))
    monkeypatch.setattr(environment, "find_python", only("2.7"))
    with pytest.raises(
        CommandError, match=r"3\.13 was found(.|\n)*3\.11 was found(.|\n)*Install Python 3\.13 or 3\.11"
    ):
        environment.ready_environment()
    with pytest.raises(CommandError, match=r"Install Python 3\.11,"):
        environment.ready_environment("4.2")
