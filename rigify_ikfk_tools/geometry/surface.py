# SPDX-License-Identifier: GPL-3.0-or-later
"""A body's surface as a graph: welded, thinned where it is dense, and measured along the surface."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_WELD = 1e-6
"""Points nearer than this, in heights of the body, are one."""
_MOST_POINTS = 15_000
_CELL = 1 / 110
"""Side of the cells that a dense surface is thinned to, in heights of the body."""
_BRIDGE = 1 / 60
"""Pieces nearer than about this to each other, in heights, hang together."""


@dataclass
class Surface:
    """Points (n, 3), triangles (m, 3) and the graph of their edges; what is not connected to the body is left out."""

    points: Array
    triangles: Index
    edges: Index
    """Each edge once, (e, 2)."""

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which points (n,) are corners of a triangle."""
        mask = np.zeros(len(self.points), bool)
        mask[self.triangles] = True
        return mask

    def distances(self, start: int) -> Array:
        """Length (n,) of the shortest way along edges from a point to every other; infinity where there is none.

        Dijkstra's algorithm.
        """
        near, lengths, begin = self._neighbours
        best = [np.inf] * len(self.points)
        best[start] = 0.0
        queue = [(0.0, start)]
        while queue:
            length, point = heapq.heappop(queue)
            if length > best[point]:
                continue
            for place in range(begin[point], begin[point + 1]):
                other, total = near[place], length + lengths[place]
                if total < best[other]:
                    best[other] = total
                    heapq.heappush(queue, (total, other))
        return np.array(best)

    @cached_property
    def _neighbours(self) -> tuple[list[int], list[float], list[int]]:
        """The other end and the length of each edge, sorted by points, and where those of each point begin."""
        both = np.concatenate([self.edges, self.edges[:, ::-1]])
        order = np.argsort(both[:, 0], kind="stable")
        both = both[order]
        lengths = np.linalg.norm(self.points[both[:, 0]] - self.points[both[:, 1]], axis=1)
        begin = np.searchsorted(both[:, 0], np.arange(len(self.points) + 1))
        return both[:, 1].tolist(), lengths.tolist(), begin.tolist()

    def contour(self, field: Array, level: float, faces: NDArray[np.bool_] | None = None) -> tuple[Array, Array]:
        """Where a field (n,) passes through a level: middles (k, 3) and vectors (k, 3) of the pieces of that line.

        `faces` (m,) chooses the triangles that count.
        """
        triangles = self.triangles if faces is None else self.triangles[faces]
        values = field[triangles] - level
        above = values > 0
        crossed = triangles[above.any(axis=1) & ~above.all(axis=1)]
        if not len(crossed):
            return np.empty((0, 3)), np.empty((0, 3))
        values = field[crossed] - level
        above = values > 0
        lone = np.where(above.sum(axis=1) == 1, np.argmax(above, axis=1), np.argmin(above, axis=1))
        rows = np.arange(len(crossed))
        ends = []
        for step in (1, 2):
            other = (lone + step) % 3
            share = values[rows, lone] / (values[rows, lone] - values[rows, other])
            a, b = self.points[crossed[rows, lone]], self.points[crossed[rows, other]]
            ends.append(a + share[:, None] * (b - a))
        return (ends[0] + ends[1]) / 2, ends[1] - ends[0]


def build_surfaces(vertices: Array, triangles: Index) -> list[Surface]:
    """What may be the body, most likely first, from raw vertices (n, 3) and triangles (m, 3).

    First the connected piece with the largest area alone, without hair, hat, skirt or sword; then, where there are
    more, all pieces together, tied where they come close: a character made of head, shirt, trousers and shoes.
    Vertices that are not finite and triangles without area are dropped, equal places are welded, a dense mesh is
    thinned to about 15,000 points. Raises ValueError when nothing is left.
    """
    good = np.isfinite(vertices).all(axis=1)
    triangles = triangles[good[triangles].all(axis=1)] if len(triangles) else triangles
    if not len(triangles):
        raise ValueError("no faces")
    used = vertices[np.unique(triangles)]
    size = float(np.ptp(used, axis=0).max())
    if not size > 0:
        raise ValueError("no extent")
    points, triangles = _merged(vertices, triangles, _cells(vertices, _WELD * size))
    if len(points) > _MOST_POINTS:
        labels = islands(len(points), _edges(triangles))
        cells = np.concatenate([_cells(points, _CELL * size), labels[:, None]], axis=1)
        points, triangles = _merged(points, triangles, cells)
    edges = _edges(triangles)
    labels = islands(len(points), edges)
    main = _largest(points, triangles, labels)
    found = [_part(points, triangles, edges, labels == main)]
    if np.ptp(labels[triangles[:, 0]]) > 0:
        edges = np.concatenate([edges, _bridges(points, labels, np.unique(triangles), _BRIDGE * size)])
        labels = islands(len(points), edges)
        together = labels == labels[_largest(points, triangles, labels)]
        if together.sum() > found[0].used.sum():
            found.append(_part(points, triangles, edges, together))
    return found


def _part(points: Array, triangles: Index, edges: Index, keep: NDArray[np.bool_]) -> Surface:
    return Surface(points, triangles[keep[triangles[:, 0]]], edges[keep[edges[:, 0]]])


def _largest(points: Array, triangles: Index, labels: Index) -> int:
    """The label of the piece with the largest area."""
    corners = points[triangles]
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    return int(np.argmax(np.bincount(labels[triangles[:, 0]], weights=areas)))


def _bridges(points: Array, labels: Index, used: Index, side: float) -> Index:
    """Edges (k, 2) between different pieces that meet in the same or in neighbouring cells of a grid."""
    cells = _cells(points[used], side)
    cells -= cells.min(axis=0) - 1
    spans = cells.max(axis=0) + 2
    weights = np.array([spans[1] * spans[2], spans[2], 1])
    table = np.stack([cells @ weights, labels[used]], axis=1)
    table, first = np.unique(table, axis=0, return_index=True)
    keys, piece, point = table[:, 0], table[:, 1], used[first]
    pairs = [np.empty((0, 2), np.int64)]
    for shift in np.ndindex(3, 3, 3):
        other = keys + (np.array(shift) - 1) @ weights
        begin, end = np.searchsorted(keys, other, "left"), np.searchsorted(keys, other, "right")
        rows = np.repeat(np.arange(len(keys)), end - begin)
        mates = np.arange(len(rows)) - np.repeat(np.cumsum(end - begin) - (end - begin), end - begin) + begin[rows]
        differ = piece[rows] < piece[mates]
        pairs.append(np.stack([point[rows[differ]], point[mates[differ]]], axis=1))
    return np.concatenate(pairs)


def _cells(points: Array, side: float) -> Index:
    return np.floor(np.nan_to_num(points) / side).astype(np.int64)


def _merged(points: Array, triangles: Index, keys: Index) -> tuple[Array, Index]:
    used = np.unique(triangles)
    _, group = np.unique(_numbered(keys[used]), return_inverse=True)
    count = int(group.max()) + 1
    amount = np.bincount(group, minlength=count)
    merged = np.stack(
        [np.bincount(group, weights=points[used, axis], minlength=count) / amount for axis in range(3)], axis=1
    )
    place = np.zeros(len(points), np.int64)
    place[used] = group
    triangles = place[triangles]
    a, b, c = triangles.T
    triangles = triangles[(a != b) & (b != c) & (c != a)]
    return merged, _unique_rows(np.sort(triangles, axis=1))


def _edges(triangles: Index) -> Index:
    pairs = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    return _unique_rows(np.sort(pairs, axis=1))


def _unique_rows(rows: Index) -> Index:
    return rows[np.unique(_numbered(rows), return_index=True)[1]]


def _numbered(rows: Index) -> Index:
    """One number (n,) for each row (n, k), equal for equal rows and in their order: far quicker to sort than rows.

    The ranges of the columns, multiplied, must fit 63 bits.
    """
    out = np.zeros(len(rows), np.int64)
    for column in rows.T:
        low = column.min(initial=0)
        out = out * (column.max(initial=0) - low + 1) + (column - low)
    return out


def islands(count: int, edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """A label (n,) for each vertex, equal where vertices are connected by edges (e, 2)."""
    label = np.arange(count)
    while len(edges):
        low = np.minimum(label[edges[:, 0]], label[edges[:, 1]])
        before = label.copy()
        np.minimum.at(label, label[edges[:, 0]], low)
        np.minimum.at(label, label[edges[:, 1]], low)
        label = label[label]
        if (label == before).all():
            break
    return label
