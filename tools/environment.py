# SPDX-License-Identifier: GPL-3.0-or-later
"""The environments in the project folder: one for each bpy, pinned, and made anew when it is not as it should be."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

from .console import CommandError, say
from .pythons import Python, clean_environment, find_python

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = Path(__file__).with_name("requirements")
PYTHON_OF_BPY = {"4.2": "3.11", "4.5": "3.11", "5.0": "3.11", "5.2": "3.13", "5.3": "3.13"}
"""Which Python each supported bpy runs in; its pins are in ``requirements/bpy-<version>.txt``."""
DEFAULT_BPYS = ("5.2", "5.0")
"""What is taken when nobody asks for a bpy: the LTS on Python 3.13, else the newest that Python 3.11 can run."""

_WINDOWS = sys.platform == "win32"


@dataclasses.dataclass(frozen=True)
class Environment:
    """A virtual environment with one bpy in it."""

    bpy: str
    folder: Path

    @property
    def python(self) -> Path:
        """Its own Python."""
        return self.folder / ("Scripts/python.exe" if _WINDOWS else "bin/python")

    @property
    def blender(self) -> Path:
        """A command that behaves as ``blender`` and runs the bpy of this environment."""
        return self.folder / ("blender.cmd" if _WINDOWS else "blender")

    @property
    def pytest_folder(self) -> Path:
        """A folder with pytest alone, for a real Blender whose Python has none."""
        return self.folder / "pytest-for-blender"

    @property
    def stamp(self) -> Path:
        """Written when all is installed, and telling what: without it the environment is half-made."""
        return self.folder / "complete.json"

    def requirements(self) -> list[Path]:
        """The files that pin everything in it."""
        return [REQUIREMENTS / name for name in (f"bpy-{self.bpy}.txt", "pytest.txt", "checks.txt")]

    def is_complete(self) -> bool:
        """Whether it holds what the requirement files say today, lies where it was made, and starts."""
        try:
            if json.loads(self.stamp.read_text(encoding="utf-8")) != self._wanted():
                return False
            return run([str(self.python), "-c", ""], quiet=True) == 0
        except (OSError, ValueError, CommandError):
            return False

    def make(self, python: Python) -> None:
        """Make it from nothing; what was there before goes first. Interrupted, it is made anew the next time."""
        say(f"Making {self.folder.name} with Python {'.'.join(map(str, python.version))} ({python.executable})")
        _remove(self)
        if run([python.executable, "-m", "venv", str(self.folder)]) != 0:
            raise CommandError(
                f"{python.executable} could not make an environment in {self.folder}; its words are above."
            )
        say(f"Installing bpy {self.bpy} and the tools: some minutes, once.")
        files = [part for file in self.requirements() for part in ("-r", str(file))]
        _pip(self, *files)
        _pip(self, "--no-deps", "--target", str(self.pytest_folder), "-r", str(REQUIREMENTS / "pytest.txt"))
        _write_launcher(self)
        unfinished = self.stamp.with_suffix(".part")
        unfinished.write_text(json.dumps(self._wanted(), indent=1), encoding="utf-8")
        unfinished.replace(self.stamp)

    def _wanted(self) -> dict[str, str]:
        contents = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in self.requirements()}
        return {**contents, "project": str(ROOT)}


def ready_environment(bpy: str | None = None) -> Environment:
    """The environment of a bpy such as ``4.2``, or of the newest that a Python here can run; made where it is missing.

    Raises
    ------
    CommandError
        No Python on this machine can run that bpy, or the installation failed.
    """
    wanted = (bpy,) if bpy else DEFAULT_BPYS
    refused = []
    for version in wanted:
        environment = Environment(version, ROOT / f".venv-bpy{version}")
        if environment.is_complete():
            return environment
        try:
            python = find_python(PYTHON_OF_BPY[version])
        except CommandError as nowhere:
            refused.append(str(nowhere))
            continue
        environment.make(python)
        return environment
    pythons = " or ".join(PYTHON_OF_BPY[version] for version in wanted)
    refused.append(f"Install Python {pythons}, from python.org or with pyenv, uv or the system, and try again.")
    raise CommandError("\n".join(refused))


def run(command: list[str], more: dict[str, str] | None = None, quiet: bool = False) -> int:
    """Run a program in the project folder, free of what the user's shell says about Pythons; its exit code.

    `more` are environment variables to add.
    """
    silent = subprocess.DEVNULL if quiet else None
    try:
        return subprocess.call(
            command, cwd=str(ROOT), env={**clean_environment(), **(more or {})}, stdout=silent, stderr=silent
        )
    except OSError as error:
        raise CommandError(f"{command[0]} could not be started: {error.strerror}.") from error


def _pip(environment: Environment, *what: str) -> None:
    talk = [] if sys.stderr.isatty() else ["--quiet"]
    command = [str(environment.python), "-m", "pip", "install", "--disable-pip-version-check", *talk, *what]
    if run(command) != 0:
        raise CommandError(f"pip could not install the pinned packages into {environment.folder}; its words are above.")


def _remove(environment: Environment) -> None:
    """Take an old or half-made environment away, the stamp first, so that no half of it is ever taken for whole."""
    try:
        if environment.stamp.exists():
            environment.stamp.unlink()
        if environment.folder.exists():
            shutil.rmtree(str(environment.folder))
    except OSError as error:
        raise CommandError(
            f"{environment.folder} is out of date and could not be removed: {error.strerror}."
        ) from error


def _write_launcher(environment: Environment) -> None:
    if _WINDOWS:
        text = '@"%~dp0Scripts\\python.exe" "%~dp0..\\tools\\blender_launcher.py" %*\n'
    else:
        text = '#!/bin/sh\nhere=$(dirname "$0")\nexec "$here/bin/python" "$here/../tools/blender_launcher.py" "$@"\n'
    environment.blender.write_text(text, encoding="utf-8")
    environment.blender.chmod(0o755)
