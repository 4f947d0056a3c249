# SPDX-License-Identifier: GPL-3.0-or-later
"""The bake on Rigify's animals: seeded shots made here, baked both ways, and what is seen compared.

    python benchmarks/bake_paws.py [--animals wolf,horse,cat,bird] [--frames 250] [--seeds 1]

Variants: `fk` moves the FK controls, the sliders at FK; `ik` the IK controls, heels and toes, the sliders at IK;
`fk+pole` is `fk` with the pole vectors on. Rigify's own operators can't be called on paws in one go and are left out.
Time is told as a ratio to playback of the same frames in the same process. Needs bpy.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from pathlib import Path

from own_process import run_script

ROOT = Path(__file__).resolve().parents[1]
VARIANTS = ("fk", "fk+pole", "ik")


def main() -> None:
    """Each animal in a process of its own; one table."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--animals", default="wolf,horse,cat,bird")
    ask.add_argument("--frames", type=int, default=250)
    ask.add_argument("--seeds", default="1")
    ask.add_argument("--one", nargs=2, metavar=("ANIMAL", "SEED"), help=argparse.SUPPRESS)
    options = ask.parse_args()
    if options.one:
        _measure(options.one[0], int(options.one[1]), options.frames)
        return
    heads = ("time/playback", 15), ("middle mm", 12), ("max", 9), ("end mm max", 12), ("deg max", 9)
    print(f"{'shot':16s}{'to':>4s}" + "".join(f"{text:>{width}s}" for text, width in heads))
    for animal in options.animals.split(","):
        for seed in options.seeds.split(","):
            told = run_script(Path(__file__), "--one", animal, seed, "--frames", options.frames)
            rows = [line[4:] for line in told.splitlines() if line.startswith("row ")]
            print("\n".join(rows), flush=True)


def _measure(animal: str, seed: int, count: int) -> None:
    import bpy  # first: it puts addon_utils on the path

    import addon_utils  # isort: skip

    sys.path.insert(0, str(ROOT))
    for variant in VARIANTS:
        for side in ("ik", "fk"):
            bpy.ops.wm.read_factory_settings(use_empty=True)
            addon_utils.enable("rigify", default_set=True)
            getattr(bpy.ops.object, f"armature_{animal}_metarig_add")()
            bpy.ops.pose.rigify_generate()
            rig, frames = bpy.context.object, range(1, count + 1)
            bpy.context.scene.frame_start, bpy.context.scene.frame_end = frames[0], frames[-1]
            _animate(rig, variant, random.Random(seed), frames)
            print(f"row {animal + '-' + variant + '-' + str(seed):16s}{side:>4s}{_row(rig, side, frames)}", flush=True)


def _animate(rig, variant: str, rnd: random.Random, frames: range) -> None:  # noqa: ANN001
    """Key torso and limbs each five frames with smooth seeded motion."""
    from rigify_ikfk_tools.rigs.limb_reader import read_limbs

    def waves(*sizes: float) -> list[tuple[float, float, float]]:
        return [(size * rnd.uniform(0.2, 1), rnd.uniform(0, 6.28), rnd.uniform(0.15, 0.8)) for size in sizes]

    limbs, height = read_limbs(rig)[0], rig.dimensions.z
    side = variant.partition("+")[0]
    turns, moves = {"torso": waves(0.2, 0.2, 0.2)}, {"torso": waves(*[0.05 * height] * 3)}
    for limb in limbs:
        gear = rig.pose.bones[limb.slider.bone]
        gear[limb.slider.name] = limb.slider_value(side)
        gear[limb.ik.pole_switch.name] = variant.endswith("+pole")
        if side == "fk":
            for place, name in enumerate(limb.fk):
                turns[name] = waves(0.4, 0, 0) if place == 1 else waves(0.35, 0.15, 0.2)
        else:
            for name in (limb.ik.end, *(name for name, _ in limb.ik.pivots), *limb.ik.tail):
                turns[name] = waves(0.25, 0.25, 0.25)
            moves[limb.ik.end] = waves(*[0.06 * height] * 3)
    for frame in range(frames[0], frames[-1] + 1, 5):
        for what, table in (("rotation", turns), ("location", moves)):
            for name, wave in table.items():
                values = [size * math.sin(2 * math.pi * speed * frame / 25 + phase) for size, phase, speed in wave]
                _key(rig.pose.bones[name], what, values, frame)


def _key(bone, what: str, values: list[float], frame: int) -> None:  # noqa: ANN001
    from mathutils import Euler

    if what == "location":
        path, bone.location = "location", values
    elif bone.rotation_mode == "QUATERNION":
        path, bone.rotation_quaternion = "rotation_quaternion", Euler(values).to_quaternion()
    else:
        path, bone.rotation_euler = "rotation_euler", Euler(values).to_quaternion().to_euler(bone.rotation_mode)
    bone.keyframe_insert(path, frame=frame)


def _row(rig, side: str, frames: range) -> str:  # noqa: ANN001
    import bpy
    import numpy as np

    from rigify_ikfk_tools.geometry.rotations import angle_between, split_scale
    from rigify_ikfk_tools.jobs.bake import bake
    from rigify_ikfk_tools.rigs.limb_reader import read_limbs

    chains = [limb.visible for limb in read_limbs(rig)[0]]

    def seen() -> np.ndarray:
        poses = []
        for frame in frames:
            bpy.context.scene.frame_set(frame)
            poses.append([[rig.matrix_world @ rig.pose.bones[name].matrix for name in chain] for chain in chains])
        return np.array(poses)

    before = seen()
    start = time.perf_counter()
    for frame in frames:
        bpy.context.scene.frame_set(frame)
    playback = time.perf_counter() - start
    start = time.perf_counter()
    bake(rig, to=side)
    ratio = (time.perf_counter() - start) / playback
    after = seen()
    off = 1e3 * np.linalg.norm(after[..., :3, 3] - before[..., :3, 3], axis=-1)
    first, last = (split_scale(poses[:, :, 2:, :3, :3].reshape(-1, 3, 3))[0] for poses in (before, after))
    middle, end = off[:, :, 1], off[:, :, 2:]
    turned = np.degrees(angle_between(first, last)).max()
    return f"{ratio:15.1f}{np.median(middle):12.4f}{middle.max():9.4f}{end.max():12.4f}{turned:9.4f}"


if __name__ == "__main__":
    main()
