# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole way from mesh to bound rig on a folder of bodies with known joints, scored by the folder's own scripts.

    python benchmarks/bodies.py [--bodies ../shared/bodies] [--preset basic_human] [--out OUT] [--ids a,b]

Prints a line a body: seconds of each step, least bend of knees and elbows, how it was bound. Writes `OUT/fit/ID.json`
and `OUT/bind/ID.npz`, which `score_fit.py` and `score_bind.py` of that folder read, and runs both. Needs bpy.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import bpy
import numpy as np
from mathutils import Matrix

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from rigify_ikfk_tools.errors import ToolError  # noqa: E402
from rigify_ikfk_tools.jobs.rig import rig as rig_character  # noqa: E402


def main() -> None:
    """Rig all bodies and score them."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--bodies", type=Path, default=ROOT.parent / "shared" / "bodies")
    ask.add_argument("--preset", default="basic_human")
    ask.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "rigify_ikfk_bodies")
    ask.add_argument("--ids", help="only these, by name")
    options = ask.parse_args()
    sys.path.insert(0, str(options.bodies))
    from bodylib import load_all

    for kind in ("fit", "bind"):
        (options.out / kind).mkdir(parents=True, exist_ok=True)
    failed = 0
    for body in load_all(str(options.bodies / "dev"), set(options.ids.split(",")) if options.ids else None):
        bpy.ops.wm.read_factory_settings(use_empty=True)
        thing = _mesh_object(body)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                report = rig_character([thing], preset=options.preset)
        except ToolError as problem:
            failed += 1
            print(f"{body.id:24s}refused: {problem}", flush=True)
            continue
        seconds = [step.seconds for step in (report.fit, report.generate, report.bind)]
        bend = min(report.fit.bends_deg.values())
        told = report.bind.meshes[0].line().partition(": ")[2]
        print(f"{body.id:24s}{'{:6.1f}{:6.1f}{:6.1f} s'.format(*seconds)}   bend {bend:4.1f}   {told}", flush=True)
        (options.out / "fit" / f"{body.id}.json").write_text(json.dumps(report.fit.landmarks))
        np.savez_compressed(options.out / "bind" / f"{body.id}.npz", **_weights(thing))
    print(f"refused: {failed}\n")
    for script, kind in (("score_fit.py", "fit"), ("score_bind.py", "bind")):
        command = [sys.executable, options.bodies / script, "--bodies", options.bodies / "dev"]
        subprocess.run([*command, "--pred", options.out / kind], check=False)


def _mesh_object(body: object) -> bpy.types.Object:
    mesh = bpy.data.meshes.new(body.id)
    mesh.from_pydata(body.local.tolist(), [], body.faces())
    thing = bpy.data.objects.new(body.id, mesh)
    thing.matrix_world = Matrix(body.matrix.tolist())
    bpy.context.scene.collection.objects.link(thing)
    bpy.context.view_layer.update()
    return thing


def _weights(thing: bpy.types.Object) -> dict[str, np.ndarray]:
    rows = [(vertex.index, m.group, m.weight) for vertex in thing.data.vertices for m in vertex.groups]
    vertices, groups, weights = zip(*rows, strict=True)
    return {
        "bone_names": np.array([group.name for group in thing.vertex_groups]),
        "w_vertex": np.array(vertices, np.int32),
        "w_bone": np.array(groups, np.int32),
        "w_value": np.array(weights, np.float32),
        "layout": np.array("rigify"),
    }


if __name__ == "__main__":
    main()
