# SPDX-License-Identifier: GPL-3.0-or-later
"""The zip that users install holds the extension and nothing else."""

import sys
import zipfile
from pathlib import Path

from tools import package
from tools.environment import Environment


def test_the_official_builder_packs_the_extension_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(package, "DIST", tmp_path)
    archive = package.build(Environment("of this test", Path(sys.prefix)))
    assert archive.parent == tmp_path
    names = set(zipfile.ZipFile(archive).namelist())
    assert {"blender_manifest.toml", "__init__.py", "LICENSE", "rigify_ikfk_tools/__init__.py"} <= names
    assert "metarig_presets/human.json" in names
    assert not [name for name in names if name.endswith(".pyc")]


def test_a_stranger_in_the_zip_is_named(tmp_path):
    archive = tmp_path / "extension.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for name in ("blender_manifest.toml", "rigify_ikfk_tools/__init__.py", "notes.txt", "tests/test_one.py"):
            file.writestr(name, "")
    assert package.strangers_in(archive) == ["notes.txt", "tests"]
