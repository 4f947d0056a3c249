# SPDX-License-Identifier: GPL-3.0-or-later
"""Files in and out: opened without running what they hold, saved whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import bpy

from ..errors import ToolError

_BLEND_STARTS = (b"BLENDER", b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
"""A .blend file as it is, or compressed with gzip or zstd."""
BODY_ENDINGS = (".blend", ".obj", ".glb", ".gltf", ".fbx")


def open_blend(path: Path) -> None:
    """Open a .blend file, its scripts off. Raises ToolError when it is not there or no Blender file."""
    _check_there(path)
    if path.suffix.lower() != ".blend":
        raise ToolError(f"{path} is no .blend file.")
    with path.open("rb") as file:
        if not file.read(8).startswith(_BLEND_STARTS):
            raise ToolError(f"{path} is named .blend but is not a Blender file.")
    try:
        bpy.ops.wm.open_mainfile(filepath=str(path.resolve()), load_ui=False, use_scripts=False)
    except RuntimeError as error:
        raise ToolError(f"Blender can't open {path}: {_reason(error)}.") from error


def open_body(path: Path) -> None:
    """Open a .blend file, or import a mesh file into an empty scene. Raises ToolError."""
    ending = path.suffix.lower()
    if ending == ".blend":
        open_blend(path)
        return
    _check_there(path)
    if ending not in BODY_ENDINGS:
        raise ToolError(f"{path} can't be read: a body is one of {', '.join(BODY_ENDINGS)}.")
    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True, load_ui=False)
    importers: dict[str, Callable[..., object]] = {
        ".obj": bpy.ops.wm.obj_import,
        ".fbx": bpy.ops.import_scene.fbx,
        ".glb": bpy.ops.import_scene.gltf,
        ".gltf": bpy.ops.import_scene.gltf,
    }
    try:
        importers[ending](filepath=str(path.resolve()))
    except (RuntimeError, AttributeError) as error:
        raise ToolError(f"Blender can't import {path}: {_reason(error)}.") from error


def check_output(path: Path, inputs: Sequence[Path]) -> None:
    """Raise ToolError when `path` can't be written, or is one of the inputs, before any work is done."""
    try:
        if path.is_dir():
            raise ToolError(f"{path} is a folder, and no file can be written there. Name a file in it.")
        if path.exists() and any(other.exists() and path.samefile(other) for other in inputs):
            raise ToolError(f"{path} is an input itself, which is never changed. Choose another name.")
        if not path.parent.is_dir():
            raise ToolError(f"The folder {path.parent} does not exist. Make it first.")
        probe = _beside(path)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ToolError(f"{path} can't be written: {error.strerror}.") from error


def save_blend(path: Path) -> None:
    """Save the open file to `path`, which holds the whole of it or what it held before.

    Raises ToolError, also when `path` is a library that the open file links to: it would be its own library then.
    """
    libraries = [Path(bpy.path.abspath(library.filepath, library=library.parent)) for library in bpy.data.libraries]
    if path.exists() and any(library.exists() and path.samefile(library) for library in libraries):
        raise ToolError(f"{path} is a library that the input links to, which is never changed. Choose another name.")

    def save(partial: Path) -> None:
        bpy.ops.wm.save_as_mainfile(filepath=str(partial.resolve()), copy=True, compress=True, relative_remap=True)

    _written_whole(path, save)


def save_text(path: Path, text: str) -> None:
    """Write a text file, which is whole or not there. Raises ToolError."""
    _written_whole(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def _written_whole(path: Path, write: Callable[[Path], object]) -> None:
    partial = _beside(path)
    try:
        write(partial)
        partial.replace(path)
    except (OSError, RuntimeError) as error:
        raise ToolError(f"{path} can't be written: {_reason(error)}.") from error
    finally:
        partial.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.stem}.{os.getpid()}.partial{path.suffix}")


def _check_there(path: Path) -> None:
    if not path.exists():
        raise ToolError(f"{path} does not exist.")
    if not path.is_file():
        raise ToolError(f"{path} is not a file.")


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__).removeprefix("Error: ").rstrip(".")
