# SPDX-License-Identifier: GPL-3.0-or-later
"""Surfaces: a tube of known size."""

import numpy as np
import pytest

from rigify_ikfk_tools.geometry.sections import centre_line, slices
from rigify_ikfk_tools.geometry.surface import build_surfaces, islands


def tube(length=2.0, radius=0.1, rings=41, around=16, bend=0.0):
    """An open tube along Z, its middle line bent sideways by `bend` in the middle."""
    levels = np.linspace(0, length, rings)
    angles = np.linspace(0, 2 * np.pi, around, endpoint=False)
    middle = bend * np.sin(np.pi * levels / length)
    points = np.stack(
        [
            (middle[:, None] + radius * np.cos(angles)).ravel(),
            np.tile(radius * np.sin(angles), rings),
            np.repeat(levels, around),
        ],
        axis=1,
    )
    faces = []
    for ring in range(rings - 1):
        for k in range(around):
            a, b = ring * around + k, ring * around + (k + 1) % around
            faces += [(a, b, a + around), (b, b + around, a + around)]
    return points, np.array(faces)


def test_distances_run_along_the_surface():
    (surface,) = build_surfaces(*tube())
    start = int(np.argmin(surface.points[:, 2]))
    far = int(np.argmax(surface.points[:, 2] - abs(surface.points[:, 0] - surface.points[start, 0])))
    assert surface.distances(start)[far] == pytest.approx(2, rel=0.02)


def test_the_centre_line_is_the_middle_of_the_tube_in_any_direction():
    points, faces = tube(bend=0.15)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    (surface,) = build_surfaces(points @ turn.T, faces)
    back = surface.points @ turn
    low, high = int(np.argmin(back[:, 2])), int(np.argmax(back[:, 2]))
    line = centre_line(surface, surface.distances(low), surface.distances(high), low, 1.6)
    for length in (0.4, 0.8, 1.2):
        x, y, z = line.at(length) @ turn
        assert abs(x - 0.15 * np.sin(np.pi * z / 2)) < 0.012
        assert abs(y) < 0.012


def test_slices_give_the_width():
    (surface,) = build_surfaces(*tube())
    cuts = slices(surface, np.array([0.51, 1.49, 5.0]), np.ones(len(surface.triangles), bool))
    assert [cut.height for cut in cuts] == [0.51, 1.49]
    assert cuts[0].width == pytest.approx(0.2, rel=0.02)
    np.testing.assert_allclose(cuts[0].middle[:2], 0, atol=1e-3)


def test_doubled_and_split_faces_are_welded_and_bad_ones_dropped():
    points, faces = tube()
    split = points[faces].reshape(-1, 3)
    split = np.concatenate([split, [[np.nan, 0, 0], [0, 0, 0], [0, 0, 0]]])
    triangles = np.arange(len(split)).reshape(-1, 3)
    (surface,) = build_surfaces(split, np.concatenate([triangles, triangles[:50]]))
    assert len(surface.points) == len(points)
    assert len(surface.triangles) == len(faces)


def test_dense_meshes_are_thinned():
    points, faces = tube(rings=401, around=80)
    (surface,) = build_surfaces(points, faces)
    assert len(points) == 32_080
    assert len(surface.points) < 15_000
    assert np.ptp(surface.points, axis=0)[2] == pytest.approx(2, rel=0.02)


def test_pieces_that_come_close_are_tied_together_and_the_largest_is_tried_alone_first():
    lower, faces = tube(length=1.0)
    upper, far = lower * [1, 1, 0.8] + [0, 0, 1.01], lower * 0.5 + [1, 1, 0]
    points = np.concatenate([lower, upper, far])
    alone, together = build_surfaces(points, np.concatenate([faces, faces + len(lower), faces + 2 * len(lower)]))
    assert alone.used.sum() == len(lower)
    assert together.used.sum() == 2 * len(lower)
    top = int(np.argmax(np.where(together.used, together.points[:, 2], -1)))
    assert 1.81 < together.distances(top)[together.used].max() < 2.1
    assert not np.isfinite(alone.distances(top)[alone.used]).any()


@pytest.mark.parametrize(
    ("points", "faces"),
    [(np.empty((0, 3)), np.empty((0, 3), int)), (np.zeros((3, 3)), np.array([[0, 1, 2]]))],
    ids=["nothing", "one place"],
)
def test_nothing_is_refused(points, faces):
    with pytest.raises(ValueError, match=r"no faces|no extent"):
        build_surfaces(points, faces)


def test_islands():
    label = islands(6, np.array([[0, 1], [1, 2], [4, 5]]))
    assert label[0] == label[1] == label[2]
    assert label[4] == label[5]
    assert len(set(label)) == 3
    assert len(set(islands(3, np.empty((0, 2), np.int64)))) == 3
