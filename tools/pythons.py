# SPDX-License-Identifier: GPL-3.0-or-later
"""Finding a Python of a wanted version somewhere on this machine, on the PATH or not."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Iterable, Iterator, Mapping

from .console import CommandError

_WINDOWS = sys.platform == "win32"
_PROBE = Path(__file__).with_name("probe.py")


@dataclasses.dataclass(frozen=True)
class Python:
    """A Python that has answered: where it is, its version, and why it can't serve (None when it can)."""

    executable: str
    version: tuple[int, ...]
    problem: str | None = None

    @property
    def minor(self) -> str:
        """The version as the requirement files name it, such as ``3.13``."""
        return "{}.{}".format(*self.version)


@dataclasses.dataclass(frozen=True)
class Place:
    """Somewhere Pythons are kept: what a person calls it, and the commands found there, best first."""

    name: str
    commands: tuple[tuple[str, ...], ...]


def clean_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without what the user's shell says about other Pythons, for every program that is started."""
    environ = os.environ if environ is None else environ
    ours = {
        name: value
        for name, value in environ.items()
        if not (name.startswith("PYTHON") or name in ("VIRTUAL_ENV", "CONDA_PREFIX", "__PYVENV_LAUNCHER__"))
        and name not in ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_PYTHON")
    }
    ours.update(PIP_USER="0", PYTHONNOUSERSITE="1", PYTHONUTF8="1")
    return ours


def probe(command: tuple[str, ...]) -> Python | None:
    """Start a candidate and let it tell what it is; None when it does not start or is no Python 3."""
    try:
        ended = subprocess.run(
            [*command, "-I", str(_PROBE)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=30,
            env=clean_environment(),
        )
        told = json.loads(ended.stdout.decode("utf-8")) if ended.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None
    return told and Python(told["executable"], tuple(told["version"]), told["problem"])


def find_python(version: str, places: Iterable[Place] | None = None) -> Python:
    """The first Python of a version such as ``3.13`` that can serve.

    Raises
    ------
    CommandError
        There is none; the text names the places that were searched and what was wrong with those that came close.
    """
    places = list(machine_places(version) if places is None else places)
    unfit: dict[str, str] = {}
    for place in places:
        for command in place.commands:
            python = probe(command)
            if python is None or python.minor != version:
                continue
            if python.problem is None:
                return python
            unfit.setdefault(
                os.path.realpath(python.executable),
                f"  {python.executable} is Python {python.minor}, but {python.problem}",
            )
    looked = [f"  {place.name}" for place in places]
    close = ["These can't serve:", *unfit.values()] if unfit else []
    raise CommandError("\n".join([f"No usable Python {version} was found. Looked at:", *looked, *close]))


def machine_places(version: str, environ: Mapping[str, str] | None = None) -> Iterator[Place]:
    """All places on this machine where a Python of this version may be, the nearest first."""
    environ = os.environ if environ is None else environ
    homes = _homes(environ)
    yield Place(f"the Python that runs dev.py ({sys.executable})", ((sys.executable,),) if sys.executable else ())
    yield on_path(version, environ.get("PATH", ""))
    yield in_folders(version, "pyenv", _pyenv_folders(environ, homes))
    yield in_folders(version, "uv", _uv_folders(environ, homes))
    yield in_folders(
        version,
        "asdf, mise and conda",
        [home / part for home in homes for part in (".asdf/installs/python", ".local/share/mise/installs/python")]
        + [home / name for home in homes for name in ("miniforge3", "miniconda3", "anaconda3")],
    )
    yield in_folders(version, "the system's folders", _system_folders(version, environ, homes))
    if _WINDOWS:
        yield Place("the Windows launcher (py)", (("py", f"-{version}"),))


def on_path(version: str, path: str) -> Place:
    """Every command on a PATH that may be this Python, not only the first of each name."""
    names = (f"python{version}", "python3", "python")
    found = [shutil.which(name, path=folder) for folder in path.split(os.pathsep) if folder for name in names]
    return Place("the PATH", tuple((command,) for command in dict.fromkeys(found) if command))


def in_folders(version: str, name: str, folders: Iterable[Path]) -> Place:
    """The Pythons in folders, and in the installations that lie side by side in such folders, newest first.

    An installation whose own name tells another version, such as ``3.12.1`` or ``cpython-3.10.4-linux``, is left out
    without being started.
    """
    folders = list(dict.fromkeys(folders))
    commands = []
    for folder in folders:
        for root in [folder, *sorted(_subfolders(folder), key=_newest_first)]:
            if root != folder and _names_other_version(root.name, version):
                continue
            for relative in (f"bin/python{version}", "bin/python3", "python.exe", f"python{version}", "python3"):
                if (root / relative).is_file():
                    commands.append((str(root / relative),))
                    break
    where = ", ".join(str(folder) for folder in folders)
    return Place(f"{name} ({where})", tuple(commands))


def _homes(environ: Mapping[str, str]) -> list[Path]:
    """The home that the shell names, and the one that the system knows where that is another."""
    homes = [Path(environ[name]) for name in ("HOME", "USERPROFILE") if environ.get(name)]
    if not _WINDOWS:
        import pwd

        with contextlib.suppress(KeyError):  # a user without an entry, as in some containers
            homes.append(Path(pwd.getpwuid(os.getuid()).pw_dir))
    return list(dict.fromkeys(homes))


def _pyenv_folders(environ: Mapping[str, str], homes: list[Path]) -> list[Path]:
    roots = [Path(environ[name]) for name in ("PYENV_ROOT", "PYENV_HOME", "PYENV") if environ.get(name)]
    roots += [home / part for home in homes for part in (".pyenv", ".pyenv/pyenv-win")]
    return [root / "versions" for root in roots]


def _uv_folders(environ: Mapping[str, str], homes: list[Path]) -> list[Path]:
    folders = [Path(environ["UV_PYTHON_INSTALL_DIR"])] if environ.get("UV_PYTHON_INSTALL_DIR") else []
    folders += [Path(environ["XDG_DATA_HOME"]) / "uv/python"] if environ.get("XDG_DATA_HOME") else []
    folders += [Path(environ["APPDATA"]) / "uv" / part for part in ("python", "data/python") if environ.get("APPDATA")]
    return folders + [home / ".local/share/uv/python" for home in homes]


def _system_folders(version: str, environ: Mapping[str, str], homes: list[Path]) -> list[Path]:
    if _WINDOWS:
        short = "Python" + version.replace(".", "")
        bases = [environ.get(name) for name in ("LOCALAPPDATA", "ProgramFiles", "SystemDrive")]
        inside = ("Programs/Python", "", "/")
        return [Path(base + os.sep + part) / short for base, part in zip(bases, inside) if base]
    folders = [Path(folder) for folder in ("/usr/bin", "/usr/local", "/opt/homebrew", "/opt/local", "/opt/python")]
    return [
        *folders,
        Path("/Library/Frameworks/Python.framework/Versions") / version,
        *(home / ".local" for home in homes),
    ]


def _subfolders(folder: Path) -> list[Path]:
    try:
        return [entry for entry in folder.iterdir() if entry.is_dir()]
    except OSError:
        return []


def _version_in(name: str) -> tuple[int, ...]:
    match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", name)
    return tuple(int(part) for part in match.groups(default="0")) if match else ()


def _newest_first(folder: Path) -> tuple[int, ...]:
    return tuple(-part for part in _version_in(folder.name))


def _names_other_version(name: str, version: str) -> bool:
    named = _version_in(name)
    return bool(named) and "{}.{}".format(*named) != version
