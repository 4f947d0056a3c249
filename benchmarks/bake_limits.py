# SPDX-License-Identifier: GPL-3.0-or-later
"""What the bake costs beyond one shot: long shots, memory, heavy meshes, and baking back and forth.

    python benchmarks/bake_limits.py [--yardsticks ../shared/bake] [long,memory,heavy,rounds]

`long`: time as a ratio to playback at 250, 1,000 and 10,000 frames. `memory`: the most that Python and numpy hold
beside the keys, in bytes for each frame and limb. `heavy`: a shot with a visible mesh of 150,000 vertices, as a ratio
to the same shot without it. `rounds`: how far the pose is from where it was after 50 bakes to FK and to IK, in turn.
Each figure is taken in a process of its own. Needs bpy.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

from own_process import run_script

ROOT = Path(__file__).resolve().parents[1]
SIDES = ("ik", "fk")
LENGTHS = (250, 1000, 10000)
ROUNDS = 50


def main() -> None:
    """Take the figures that were asked for."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("what", nargs="?", default="long,memory,heavy,rounds")
    ask.add_argument("--yardsticks", type=Path, default=ROOT.parent / "shared" / "bake")
    ask.add_argument("--take", nargs=3, metavar=("WHAT", "SHOT", "SIDE"), help=argparse.SUPPRESS)
    options = ask.parse_args()
    if options.take:
        what, shot, side = options.take
        TAKES[what](shot, side)
        return
    with tempfile.TemporaryDirectory() as folder:
        for what in options.what.split(","):
            for variant, frames in SHOTS[what]:
                shot = Path(folder) / f"{variant}{frames}.blend"
                if not shot.exists():
                    run_script(options.yardsticks / "make_shot.py", shot, "--variant", variant, "--frames", frames)
                for side in SIDES:
                    told = run_script(Path(__file__), "--take", what, shot, side)
                    figure = next(line for line in told.splitlines() if line.startswith("figure "))
                    print(f"{what:8s}{variant:8s}{frames:7d} frames to {side}: {figure[7:]}", flush=True)


def _open(shot: str):  # noqa: ANN202
    """Open a shot; its scene, its rig and its frames."""
    import bpy

    sys.path.insert(0, str(ROOT))
    from rigify_ikfk_tools.rigs.rigify import generated_rigs

    bpy.ops.wm.open_mainfile(filepath=shot)
    scene = bpy.context.scene
    (rig,) = generated_rigs(scene.objects)
    return scene, rig, range(scene.frame_start, scene.frame_end + 1)


def _playback(scene, frames: range) -> float:  # noqa: ANN001
    for _ in range(2):  # the first time is for warming up
        start = time.perf_counter()
        for frame in frames:
            scene.frame_set(frame)
    return time.perf_counter() - start


def _bake(rig, side: str) -> float:  # noqa: ANN001
    from rigify_ikfk_tools.jobs.bake import bake

    start = time.perf_counter()
    bake(rig, to=side)
    return time.perf_counter() - start


def _take_long(shot: str, side: str) -> None:
    scene, rig, frames = _open(shot)
    playback = _playback(scene, frames)
    seconds = _bake(rig, side)
    print(f"figure {seconds / playback:.2f} times playback, {1e3 * seconds / len(frames):.2f} ms a frame")


def _take_memory(shot: str, side: str) -> None:
    _, rig, frames = _open(shot)
    from rigify_ikfk_tools.rigs.limb_reader import read_limbs

    limbs = len(read_limbs(rig)[0])
    tracemalloc.start()
    _bake(rig, side)
    peak = tracemalloc.get_traced_memory()[1]
    print(f"figure {peak / len(frames) / limbs:.0f} bytes a frame and limb at most, {peak / 2**20:.1f} MiB in all")


def _take_heavy(shot: str, side: str) -> None:
    import bpy

    scene, rig, frames = _open(shot)
    heavy_playback, heavy = _playback(scene, frames), _bake(rig, side)
    scene, rig, frames = _open(shot)
    for thing in [thing for thing in scene.objects if thing.type == "MESH"]:
        bpy.data.objects.remove(thing)
    playback, light = _playback(scene, frames), _bake(rig, side)
    print(
        f"figure {heavy / light:.2f} times the bake without the mesh; "
        f"{heavy / heavy_playback:.2f} times playback with it, {light / playback:.2f} without"
    )


def _take_rounds(shot: str, side: str) -> None:
    import numpy as np

    scene, rig, frames = _open(shot)
    from rigify_ikfk_tools.rigs.limb_reader import read_limbs

    names = [name for limb in read_limbs(rig)[0] for name in limb.visible]

    def seen() -> np.ndarray:
        places = []
        for frame in frames:
            scene.frame_set(frame)
            places.append([rig.matrix_world @ rig.pose.bones[name].head for name in names])
        return np.array(places)

    before = seen()
    for turn in range(ROUNDS):
        _bake(rig, SIDES[(SIDES.index(side) + turn) % 2])
    off = 1e3 * np.linalg.norm(seen() - before, axis=-1)
    print(f"figure {off.max():.4f} mm off at most after {ROUNDS} bakes")


TAKES = {"long": _take_long, "memory": _take_memory, "heavy": _take_heavy, "rounds": _take_rounds}
SHOTS: dict[str, list[tuple[str, int]]] = {
    "long": [("fk", frames) for frames in LENGTHS],
    "memory": [("fk", LENGTHS[-1])],
    "heavy": [("heavy", LENGTHS[0])],
    "rounds": [("fk", 60), ("wild", 60), ("ik", 60), ("pole", 60)],
}

if __name__ == "__main__":
    main()
