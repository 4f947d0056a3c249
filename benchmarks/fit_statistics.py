# SPDX-License-Identifier: GPL-3.0-or-later
"""Where true joints lie on the lines that the fit finds: the numbers at the top of `geometry/landmarks.py`.

    python benchmarks/fit_statistics.py [--bodies ../shared/bodies]

For each joint: where on the middle of the limb it lies (wrist: beyond the fit's own wrist, in shares of the way from
hand to hand; shoulder, elbow, knee: shares as in `landmarks.py`; foot: in heights, and in lengths of the foot), and
what is left, outward, backward and up, in heights; median and spread over all bodies, and the largest error that a
body would have with the median of all others. Needs numpy only.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from rigify_ikfk_tools.geometry.landmarks import _THIGH, SIDES, _Reader  # noqa: E402
from rigify_ikfk_tools.geometry.sections import CentreLine  # noqa: E402
from rigify_ikfk_tools.geometry.surface import build_surfaces  # noqa: E402

_NAMES = ("wrist", "elbow", "shoulder", "toe_ball", "ankle", "knee")


def main() -> None:
    """Measure all bodies and print the table."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--bodies", type=Path, default=ROOT.parent / "shared" / "bodies")
    folder = ask.parse_args().bodies
    sys.path.insert(0, str(folder))
    from bodylib import load_all

    rows: dict[str, list[list[float]]] = defaultdict(list)
    for body in load_all(str(folder / "dev")):
        _measure(body, rows)
    print(f"{'joint':16s}{'place':>8s}{'spread':>8s}{'left out':>9s}   outward, backward, up in % of height")
    for name in (*_NAMES, "toe_ball, foot", "ankle, foot", "hip", "pelvis", "neck_base", "clavicle"):
        values = np.array(rows[name])
        others = [np.median(np.delete(values[:, 0], n)) - values[n, 0] for n in range(len(values))]
        middle, spread = np.median(values, axis=0), values.std(axis=0)
        offsets = "  ".join(f"{100 * m:6.2f} ± {100 * s:4.2f}" for m, s in zip(middle[1:], spread[1:], strict=True))
        print(f"{name:16s}{middle[0]:8.3f}{spread[0]:8.3f}{np.abs(others).max():9.3f}   {offsets}")


def _measure(body: object, rows: dict[str, list[list[float]]]) -> None:
    surface = build_surfaces(body.world, _triangles(body))[0]
    reader = _Reader(surface, np.array(body.meta["up"], float))
    reader._find_tips()
    reader._face_front()
    axes = reader._front @ reader._turn
    joints = {name: axes @ place for name, place in body.joints.items()}
    crotch, inner = reader._crotch
    for n, (side, sign) in enumerate(SIDES.items()):
        lengths: dict[str, float] = {}
        arm, leg = reader._arm_lines[n], reader._leg_line(reader._feet[n], inner)
        for name in _NAMES:
            line = arm if name in ("wrist", "elbow", "shoulder") else leg
            lengths[name] = _nearest(line, joints[f"{name}.{side}"])
            left = (joints[f"{name}.{side}"] - line.at(lengths[name])) * [sign, 1, 1] / reader.height
            rows[name].append([0, *left])
        middle, wrist = reader._span() / 2, lengths["wrist"]
        foot = reader._along_foot(reader._feet[n], (0, 2))
        rows["wrist"][-1][0] = wrist / reader._span() - reader._wrist_share
        rows["shoulder"][-1][0] = (middle - lengths["shoulder"]) / (middle - wrist)
        rows["elbow"][-1][0] = (lengths["elbow"] - wrist) / (lengths["shoulder"] - wrist)
        rows["knee"][-1][0] = lengths["knee"] / inner
        for name in ("toe_ball", "ankle"):
            rows[name][-1][0] = lengths[name] / reader.height
            rows[f"{name}, foot"].append([lengths[name] / foot, 0, 0, 0])
        thigh = leg.at(_THIGH * inner)
        hip = (joints[f"hip.{side}"] - [thigh[0], thigh[1], crotch[2]]) * [sign, 1, 1] / reader.height
        rows["hip"].append([0, *hip])
        clavicle = (joints[f"clavicle.{side}"] - joints["neck_base"]) * [sign, 1, 1] / reader.height
        rows["clavicle"].append([0, *clavicle])
    hips = (joints["hip.L"] + joints["hip.R"]) / 2
    rows["pelvis"].append([0, *((joints["pelvis"] - hips) / reader.height)])
    neck = reader._neck()
    above = reader._points[reader._crown, 2] - neck.height
    base = joints["neck_base"] - [*neck.middle[:2], neck.height]
    rows["neck_base"].append([base[2] / above, *(base / reader.height)])


def _nearest(line: CentreLine, place: np.ndarray) -> float:
    lengths = np.linspace(line.lengths[1], line.lengths[-1], 400)
    gaps = [np.linalg.norm(line.at(length) - place) for length in lengths]
    return float(lengths[int(np.argmin(gaps))])


def _triangles(body: object) -> np.ndarray:
    counts, starts = np.diff(body.offsets), body.offsets[:-1]
    parts = [
        np.stack([body.loops[s], body.loops[s + k], body.loops[s + k + 1]], axis=1)
        for n in np.unique(counts)
        for s in [starts[counts == n]]
        for k in range(1, n - 1)
    ]
    return np.concatenate(parts).astype(np.int64)


if __name__ == "__main__":
    main()
