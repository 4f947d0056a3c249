# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures of round sticks, melted into one skin: numpy only, joints known, limbs where a test wants them."""

from __future__ import annotations

import numpy as np

JOINTS = {  # metres, facing -Y; the left side, and the middle
    "head_top": (0, 0.0, 1.72),
    "head": (0, -0.01, 1.6),
    "neck_base": (0, 0.02, 1.43),
    "chest": (0, 0.01, 1.28),
    "pelvis": (0, 0.01, 0.96),
    "shoulder.L": (0.17, 0.02, 1.39),
    "elbow.L": (0.36, 0.03, 1.17),
    "wrist.L": (0.52, -0.01, 0.98),
    "hand.L": (0.585, -0.03, 0.895),
    "f_middle_tip.L": (0.63, -0.045, 0.835),
    "hip.L": (0.095, 0.01, 0.92),
    "knee.L": (0.11, -0.005, 0.5),
    "ankle.L": (0.12, 0.03, 0.09),
    "toe_ball.L": (0.13, -0.1, 0.03),
    "toe_tip.L": (0.135, -0.165, 0.025),
}
_STICKS = [  # from, to, radius at each end
    ("head", "head", 0.1, 0.1),
    ("neck_base", "head", 0.055, 0.055),
    ("chest", "pelvis", 0.14, 0.125),
    ("neck_base", "chest", 0.06, 0.13),
    ("neck_base", "shoulder.L", 0.06, 0.065),
    ("shoulder.L", "elbow.L", 0.055, 0.042),
    ("elbow.L", "wrist.L", 0.042, 0.028),
    ("wrist.L", "hand.L", 0.03, 0.042),
    ("hand.L", "f_middle_tip.L", 0.04, 0.02),
    ("pelvis", "hip.L", 0.1, 0.095),
    ("hip.L", "knee.L", 0.088, 0.058),
    ("knee.L", "ankle.L", 0.056, 0.04),
    ("ankle.L", "toe_ball.L", 0.045, 0.035),
    ("toe_ball.L", "toe_tip.L", 0.035, 0.028),
]


def both_sides(joints):
    """Joints with their mirror images, where the right side is not given."""
    out = {name: np.array(place, float) for name, place in joints.items()}
    for name, place in list(out.items()):
        if name.endswith(".L"):
            out.setdefault(name[:-1] + "R", place * [-1, 1, 1])
    return out


def humanoid(joints=JOINTS, cell=0.018):
    """Vertices (n, 3) and triangles (m, 3) of a figure with these joints."""
    places = both_sides(joints)
    sticks = [(places[a], places[b], r, s) for a, b, r, s in _STICKS]
    sticks += [(places[_right(a)], places[_right(b)], r, s) for a, b, r, s in _STICKS if "L" in (a[-1], b[-1])]
    return skin(sticks, cell)


def _right(name):
    return name[:-1] + "R" if name.endswith(".L") else name


def skin(sticks, cell):
    """The surface of sticks (from, to, radius, radius) melted together: sides of filled cells, smoothed."""
    ends = np.array([end for stick in sticks for end in stick[:2]])
    low = ends.min(axis=0) - 0.2
    counts = np.ceil((ends.max(axis=0) + 0.2 - low) / cell).astype(int)
    grid = np.stack(np.meshgrid(*[np.arange(n) for n in counts], indexing="ij"), axis=-1) * cell + low
    full = np.zeros(counts, bool)
    for start, end, first, last in sticks:
        line = np.asarray(end, float) - start
        share = np.clip((grid - start) @ line / max(float(line @ line), 1e-12), 0, 1)
        full |= np.linalg.norm(grid - start - share[..., None] * line, axis=-1) < first + share * (last - first)
    triangles = []
    for axis in range(3):
        for step in (1, -1):
            place = np.argwhere(full & ~np.roll(full, -step, axis))
            u, v = np.eye(3, dtype=int)[[(axis + 1) % 3, (axis + 2) % 3]]
            corner = place + np.eye(3, dtype=int)[axis] * (step > 0)
            a, b, c, d = corner, corner + u, corner + u + v, corner + v
            triangles += [np.stack([a, b, c], 1), np.stack([a, c, d], 1)]
    corners = np.concatenate(triangles)
    keys, faces = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    faces = faces.reshape(-1, 3)
    points = (keys - 0.5) * cell + low
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    edges = np.concatenate([edges, edges[:, ::-1]])
    count = np.bincount(edges[:, 0], minlength=len(points))[:, None]
    for _ in range(4):
        total = np.zeros_like(points)
        np.add.at(total, edges[:, 0], points[edges[:, 1]])
        points = total / count
    return points, faces


def joined(*parts):
    """Several (vertices, triangles) as one."""
    starts = np.cumsum([0] + [len(points) for points, _ in parts[:-1]])
    return (
        np.concatenate([points for points, _ in parts]),
        np.concatenate([faces + start for (_, faces), start in zip(parts, starts, strict=True)]),
    )


def cone(top, bottom, first, last, around=32, rings=16):
    """An open cone or tube between two places: a skirt, a hat, a sword."""
    top, bottom = np.array(top, float), np.array(bottom, float)
    line = (bottom - top) / np.linalg.norm(bottom - top)
    u = np.cross(line, [0.3, 0.5, 0.81])
    u /= np.linalg.norm(u)
    w = np.cross(line, u)
    angles = np.linspace(0, 2 * np.pi, around, endpoint=False)
    ring = np.cos(angles)[:, None] * u + np.sin(angles)[:, None] * w
    shares = np.linspace(0, 1, rings)
    points = np.concatenate([top + s * (bottom - top) + (first + s * (last - first)) * ring for s in shares])
    a = (np.arange(rings - 1)[:, None] * around + np.arange(around)).ravel()
    b = (np.arange(rings - 1)[:, None] * around + (np.arange(around) + 1) % around).ravel()
    return points, np.concatenate([np.stack([a, b, b + around], 1), np.stack([a, b + around, a + around], 1)])
