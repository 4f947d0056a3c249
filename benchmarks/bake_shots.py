# SPDX-License-Identifier: GPL-3.0-or-later
"""Our bake and Rigify's own on the same seeded shots, as ratios to playback in one process each, and scored alike.

    python benchmarks/bake_shots.py [--yardsticks ../shared/bake] [--frames 120] [--variants fk,wild,ik] [--seed 1]

The yardsticks are three scripts: `make_shot.py` makes a shot, `native_bake.py` bakes it with the operators that Rigify
puts into a rig, `score_bake.py` compares what is seen before and after. Needs bpy.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Make, bake and score the shots; print one table."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--yardsticks", type=Path, default=ROOT.parent / "shared" / "bake")
    ask.add_argument("--frames", default="120")
    ask.add_argument("--seed", default="1")
    ask.add_argument("--variants", default="fk,wild,ik")
    ask.add_argument("--kind", default="basic_human")
    ask.add_argument("--ours-only", action="store_true")
    ask.add_argument("--bake", nargs=3, metavar=("SHOT", "OUT", "SIDE"), help=argparse.SUPPRESS)
    options = ask.parse_args()
    if options.bake:
        _bake_here(*options.bake)
        return
    if not options.yardsticks.is_dir():
        sys.exit(f"The yardsticks are not in {options.yardsticks}; name their folder with --yardsticks.")
    heads = ("time/playback", 15), ("middle mm", 12), ("max", 9), ("end mm max", 12), ("deg max", 9)
    print(f"{'shot':8s}{'to':>4s}{'by':>8s}" + "".join(f"{text:>{width}s}" for text, width in heads))
    with tempfile.TemporaryDirectory() as folder:
        for variant in options.variants.split(","):
            shot = Path(folder) / f"{variant}.blend"
            make = ("--variant", variant, "--frames", options.frames, "--seed", options.seed, "--kind", options.kind)
            _run(options.yardsticks / "make_shot.py", shot, *make)
            for side in ("ik", "fk"):
                for who in ("ours",) if options.ours_only else ("ours", "Rigify"):
                    baked, score = Path(folder) / "baked.blend", Path(folder) / "score.json"
                    if who == "ours":
                        told = _run(Path(__file__), "--bake", shot, baked, side)
                    else:
                        told = _run(options.yardsticks / "native_bake.py", shot, baked, "--to", side)
                    ratio = float(re.search(r"ratio ([\d.]+)", told)[1])
                    _run(options.yardsticks / "score_bake.py", shot, baked, "--to", side, "--json", score)
                    _print_row(variant, side, who, ratio, json.loads(score.read_text()))


def _print_row(variant: str, side: str, who: str, ratio: float, score: dict) -> None:
    middle, end, turn = score["middle_joint_mm"], score["end_joint_mm"], score["end_rotation_deg"]
    numbers = f"{ratio:15.1f}{middle['median']:12.4f}{middle['max']:9.4f}{end['max']:12.4f}{turn['max']:9.4f}"
    print(f"{variant:8s}{side:>4s}{who:>8s}{numbers}", flush=True)


def _run(script: Path, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, str(script), *map(str, arguments)], capture_output=True, text=True, check=False
    )
    if done.returncode and "ratio" not in done.stdout:
        sys.exit(f"{script.name} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def _bake_here(shot: str, out: str, side: str) -> None:
    """Bake a shot in this process, and time it beside playback of the same frames."""
    import bpy

    sys.path.insert(0, str(ROOT))
    from rigify_ikfk_tools.jobs.bake import bake
    from rigify_ikfk_tools.rigs.rigify import generated_rigs

    bpy.ops.wm.open_mainfile(filepath=shot)
    scene = bpy.context.scene
    frames = range(scene.frame_start, scene.frame_end + 1)
    for _ in range(2):  # the first time is for warming up
        start = time.perf_counter()
        for frame in frames:
            scene.frame_set(frame)
        playback = time.perf_counter() - start
    (rig,) = generated_rigs(scene.objects)
    start = time.perf_counter()
    bake(rig, to=side)
    seconds = time.perf_counter() - start
    bpy.ops.wm.save_as_mainfile(filepath=out, compress=True)
    print(f"playback {playback:.3f} s   bake {seconds:.3f} s   ratio {seconds / playback:.2f}", flush=True)


if __name__ == "__main__":
    main()
