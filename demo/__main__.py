# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m demo`: from nothing to a walking, baked character; writes demo.blend and demo.png."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import bpy

from rigify_ikfk_tools.jobs.bake import bake
from rigify_ikfk_tools.jobs.bind import bind
from rigify_ikfk_tools.jobs.blend import blend
from rigify_ikfk_tools.jobs.fit import fit
from rigify_ikfk_tools.jobs.generate import generate
from rigify_ikfk_tools.report import Report

from .body import make_body
from .strip import render_strip
from .walk import greet, walk


def main() -> None:
    """The whole way, each step's report printed as it ends."""
    started = time.perf_counter()
    folder = Path.cwd()
    with _quiet_blender():
        bpy.ops.wm.read_factory_settings(use_empty=True)
        body = make_body()
    _say(f"body: {len(body.data.vertices)} vertices, {body.dimensions.z:.2f} m, grown by the Skin modifier")
    with _quiet_blender():
        fitted = fit([body], preset="human")
    _tell(fitted)
    with _quiet_blender():
        generated = generate(fitted.metarig)
    _tell(generated)
    rig = generated.rig
    with _quiet_blender():
        bound = bind(rig, [body])
    _tell(bound)
    fitted.metarig.hide_set(True)
    scene = bpy.context.scene
    frames = walk(rig, scene)
    _say(f"walk: {len(frames)} frames on the IK controls")
    third = len(frames) // 3
    with _quiet_blender():
        to_fk = bake(rig, to="fk", scene=scene)
    _tell(to_fk)
    middle = frames[third : 2 * third]
    greet(rig, scene, middle)
    _say(f"greet: the left elbow bends on its FK control, frames {middle[0]} to {middle[-1]}")
    with _quiet_blender():
        to_ik = bake(rig, to="ik", frames=middle, scene=scene)
    _tell(to_ik)
    with _quiet_blender():
        blended = blend(rig, to="ik", frames=frames[2 * third + 2 : 2 * third + 12], scene=scene)
    _tell(blended)
    with _quiet_blender():
        render_strip(body, rig, frames[: len(frames) // 2 : 4], folder / "demo.png")
        bpy.ops.wm.save_as_mainfile(filepath=str(folder / "demo.blend"), compress=True)
    _say(f"saved demo.blend and demo.png in {folder}, {time.perf_counter() - started:.0f} s in all")


def _tell(report: Report) -> None:
    _say("\n    ".join(report.lines()))


def _say(text: str) -> None:
    print(text, flush=True)


@contextmanager
def _quiet_blender() -> Iterator[None]:
    """Blender's and Rigify's own messages are left out, so that the reports can be read."""
    sys.stdout.flush()
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # some versions of bpy crash when Python takes them down, after all work is done
