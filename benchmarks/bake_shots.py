# SPDX-License-Identifier: GPL-3.0-or-later
"""Our bake and Rigify's own on the same seeded shots, as ratios to playback in one process each, and scored alike.

    python benchmarks/bake_shots.py [--yardsticks ../shared/bake] [--frames 250] [--variants fk,wild,ik] [--seeds 1,2,3]

The yardsticks are three scripts: `make_shot.py` makes a shot, `native_bake.py` bakes it with the operators that Rigify
puts into a rig, `score_bake.py` compares what is seen before and after. A variant with `+pole` has its pole vectors
switched on before the bake. Of `mixed` a second row tells the frames on which all sliders are at 0 or 1. Needs bpy.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from pathlib import Path

from own_process import run_script

ROOT = Path(__file__).resolve().parents[1]
VARIANTS = "fk,wild,ik,pole,mixed,placed,nla,euler,heavy,fk+pole,wild+pole"


def main() -> None:
    """Make, bake and score the shots; print one table."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--yardsticks", type=Path, default=ROOT.parent / "shared" / "bake")
    ask.add_argument("--frames", default="250")
    ask.add_argument("--seeds", default="1")
    ask.add_argument("--variants", default=VARIANTS)
    ask.add_argument("--shots", type=Path, help="folder where shots are kept, and taken from where they are there")
    ask.add_argument("--kind", default="basic_human")
    ask.add_argument("--ours-only", action="store_true")
    ask.add_argument("--bake", nargs=3, metavar=("SHOT", "OUT", "SIDE"), help=argparse.SUPPRESS)
    ask.add_argument("--switch-poles", nargs=2, metavar=("SHOT", "OUT"), help=argparse.SUPPRESS)
    options = ask.parse_args()
    if options.bake:
        _bake_here(*options.bake)
        return
    if options.switch_poles:
        _switch_poles(*options.switch_poles)
        return
    if not options.yardsticks.is_dir():
        sys.exit(f"The yardsticks are not in {options.yardsticks}; name their folder with --yardsticks.")
    heads = ("time/playback", 15), ("middle mm", 12), ("max", 9), ("end mm max", 12), ("deg max", 9)
    print(f"{'shot':14s}{'to':>4s}{'by':>8s}" + "".join(f"{text:>{width}s}" for text, width in heads))
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.shots or Path(scratch)
        folder.mkdir(exist_ok=True)
        for variant in options.variants.split(","):
            for seed in options.seeds.split(","):
                shot = _shot(folder, variant, seed, options)
                for side in ("ik", "fk"):
                    for who in ("ours",) if options.ours_only else ("ours", "Rigify"):
                        _bake_and_score(shot, Path(scratch), side, who, options.yardsticks)


def _shot(folder: Path, variant: str, seed: str, options: argparse.Namespace) -> Path:
    """The file of a shot, made where it is not there yet."""
    base, _, switch = variant.partition("+")
    shot = folder / f"{options.kind}-{base}-{seed}-{options.frames}.blend"
    if not shot.exists():
        make = ("--variant", base, "--frames", options.frames, "--seed", seed, "--kind", options.kind)
        run_script(options.yardsticks / "make_shot.py", shot, *make)
    if not switch:
        return shot
    poled = shot.with_stem(shot.stem + "-pole")
    if not poled.exists():
        run_script(Path(__file__), "--switch-poles", shot, poled)
    return poled


def _bake_and_score(shot: Path, scratch: Path, side: str, who: str, yardsticks: Path) -> None:
    baked, score = scratch / "baked.blend", scratch / "score.json"
    if who == "ours":
        told = run_script(Path(__file__), "--bake", shot, baked, side)
    else:
        told = run_script(yardsticks / "native_bake.py", shot, baked, "--to", side)
    found = re.search(r"ratio ([\d.]+)", told)
    run_script(yardsticks / "score_bake.py", shot, baked, "--to", side, "--json", score)
    name = shot.stem.split("-", 1)[1].replace("-250", "")
    _print_row(name, side, who, float(found[1]) if found else float("nan"), json.loads(score.read_text()))
    for line in told.splitlines():
        if line.startswith("settled "):
            print(f"{name:14s}{side:>4s}{who:>8s}  at 0 or 1: {line[8:]}", flush=True)


def _print_row(name: str, side: str, who: str, ratio: float, score: dict) -> None:
    middle, end, turn = score["middle_joint_mm"], score["end_joint_mm"], score["end_rotation_deg"]
    numbers = f"{ratio:15.1f}{middle['median']:12.4f}{middle['max']:9.4f}{end['max']:12.4f}{turn['max']:9.4f}"
    print(f"{name:14s}{side:>4s}{who:>8s}{numbers}", flush=True)


def _bake_here(shot: str, out: str, side: str) -> None:
    """Bake a shot in this process, and time it beside playback of the same frames."""
    import bpy
    import numpy as np

    sys.path.insert(0, str(ROOT))
    from rigify_ikfk_tools.jobs.bake import bake
    from rigify_ikfk_tools.rigs.limb_reader import read_limbs
    from rigify_ikfk_tools.rigs.rigify import generated_rigs

    bpy.ops.wm.open_mainfile(filepath=shot)
    scene = bpy.context.scene
    frames = range(scene.frame_start, scene.frame_end + 1)
    (rig,) = generated_rigs(scene.objects)
    limbs, _ = read_limbs(rig)
    settled = []
    for _ in range(2):  # the first time is for warming up
        start = time.perf_counter()
        for frame in frames:
            scene.frame_set(frame)
        playback = time.perf_counter() - start
    for frame in frames:
        scene.frame_set(frame)
        settled.append(all(limb.slider.value(rig) in (0, 1) for limb in limbs))
    before = _places(scene, rig, limbs, frames)
    start = time.perf_counter()
    bake(rig, to=side)
    seconds = time.perf_counter() - start
    if not all(settled):
        off = 1e3 * np.linalg.norm(_places(scene, rig, limbs, frames) - before, axis=-1)
        inside = off[np.array(settled)]
        print(f"settled middle {inside[..., 0].max():.4f} mm, end {inside[..., 1].max():.4f} mm; between: ", end="")
        print(f"middle {off[..., 0].max():.4f} mm, end {off[..., 1].max():.4f} mm")
    bpy.ops.wm.save_as_mainfile(filepath=out, compress=True)
    print(f"playback {playback:.3f} s   bake {seconds:.3f} s   ratio {seconds / playback:.2f}", flush=True)


def _places(scene, rig, limbs, frames):  # noqa: ANN001, ANN202
    """Middle and end joints (n, limbs, 2, 3) in world space."""
    import numpy as np

    out = []
    for frame in frames:
        scene.frame_set(frame)
        joints = [[rig.pose.bones[name].head for name in limb.visible[1:3]] for limb in limbs]
        out.append([[rig.matrix_world @ joint for joint in pair] for pair in joints])
    return np.array(out)


def _switch_poles(shot: str, out: str) -> None:
    import bpy

    sys.path.insert(0, str(ROOT))
    from rigify_ikfk_tools.rigs.limb_reader import read_limbs
    from rigify_ikfk_tools.rigs.rigify import generated_rigs

    bpy.ops.wm.open_mainfile(filepath=shot)
    (rig,) = generated_rigs(bpy.context.scene.objects)
    for limb in read_limbs(rig)[0]:
        rig.pose.bones[limb.ik.pole_switch.bone][limb.ik.pole_switch.name] = True
    bpy.ops.wm.save_as_mainfile(filepath=out, compress=True)
    print("poles on", flush=True)


if __name__ == "__main__":
    main()
