# SPDX-License-Identifier: GPL-3.0-or-later
"""The build command: the extension's zip by Blender's own builder, checked by Blender's own validator."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

from .checks import blender_version, find_blender
from .console import CommandError, say
from .environment import ROOT, Environment, run

DIST = ROOT / "dist"
BELONGS = {
    "blender_manifest.toml",
    "__init__.py",
    "rigify_ikfk_tools",
    "metarig_presets",
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
}
"""All that may lie at the top of the zip."""
MODULE = "bl_ext.user_default.rigify_ikfk_tools"
"""The extension's name once installed."""

_REGISTERED = f"""
import addon_utils, sys
in_preferences, running = addon_utils.check({MODULE!r})
print("registered:", in_preferences and running)
sys.exit(0 if in_preferences and running else 1)
"""


def build(environment: Environment) -> Path:
    """Build and validate the zip, and look that nothing else has slipped in.

    Raises
    ------
    CommandError
        The builder or the validator refused, or the zip holds a file that does not belong there.
    """
    builder = [str(environment.python), str(_official_builder(environment))]
    with tempfile.TemporaryDirectory(prefix="build-") as folder:
        if run([*builder, "build", "--source-dir", str(ROOT), "--output-dir", folder]) != 0:
            raise CommandError("Blender's builder could not make the zip; its words are above.")
        built = next(Path(folder).glob("*.zip"))
        if run([*builder, "validate", str(built)]) != 0:
            raise CommandError("Blender's validator refused the zip; its words are above.")
        strangers = strangers_in(built)
        if strangers:
            raise CommandError(
                f"The zip holds what does not belong there: {', '.join(strangers)}. Add it to paths_exclude_pattern "
                "in blender_manifest.toml."
            )
        DIST.mkdir(exist_ok=True)
        goal = DIST / built.name
        goal.write_bytes(built.read_bytes())
    say(f"Built {goal}")
    return goal


def strangers_in(archive: Path) -> list[str]:
    """The names at the top of a zip that do not belong to the extension."""
    with zipfile.ZipFile(str(archive)) as file:
        return sorted({name.split("/")[0] for name in file.namelist()} - BELONGS)


def check_installed(archive: Path, blender: str) -> None:
    """Install the zip in a real Blender, with user settings thrown away afterwards, and see that it registers."""
    command = find_blender(blender)
    name = blender_version(command)
    with tempfile.TemporaryDirectory(prefix="blender-user-") as user_folder:
        surroundings = {"BLENDER_USER_RESOURCES": user_folder}
        install = ["--command", "extension", "install-file", "-r", "user_default", "-e", str(archive)]
        if run([command, *install], surroundings) != 0:
            raise CommandError(f"{name} could not install {archive.name}; its words are above.")
        look = ["-b", "--python-exit-code", "1", "--python-expr", _REGISTERED]
        if run([command, *look], surroundings) != 0:
            raise CommandError(f"{archive.name} is installed in {name} but does not register; its words are above.")
    say(f"Installed in {name}, and registered")


def _official_builder(environment: Environment) -> Path:
    inside = "site-packages/bpy/*/scripts/addons_core/bl_pkg/cli/blender_ext.py"
    found = [*environment.folder.glob(f"lib/*/{inside}"), *environment.folder.glob(f"Lib/{inside}")]
    if not found:
        raise CommandError(f"bpy {environment.bpy} comes without Blender's extension builder (blender_ext.py).")
    return found[0]
