# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the joints of a standing humanoid lie, read from its surface alone.

The tips of feet and hands are the places farthest from the crown of the head along the surface; rings around each limb
give its middle; joints lie at shares of the ways between the tips. Shares and offsets are medians of true joints over
bodies of all ages, builds and poses; ``benchmarks/fit_statistics.py`` derives them again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .extremities import Limb, UnreadableBody, find_extremities
from .hands import fingers_by_proportion, wrist_share
from .sections import CentreLine, Slice, centre_line, girth, slices
from .surface import Surface, build_surfaces
from .symmetry import SIDES, Points, is_symmetric, straightening_turn, symmetrised

Array = NDArray[np.float64]


# From the middle of the chest, in shares of the way from there to the wrist; the elbow between wrist and shoulder.
_SHOULDER, _ELBOW = 0.319, 0.52
# Lengths from the tip of the toes, in heights of the body and in lengths of the foot; the knee in shares of the way to
# the crotch.
_BALL, _ANKLE, _KNEE = (0.048, 0.338), (0.115, 0.805), 0.636
# Offsets outward, backward and up from the middle of the limb, in heights.
_OFFSETS = {
    "elbow": (0.0013, 0.0065, 0.0),
    "shoulder": (-0.0115, -0.0015, 0.0195),
    "toe_ball": (-0.0016, 0.0020, -0.0041),
    "ankle": (-0.0030, -0.0022, 0.0),
    "knee": (0.0020, -0.0030, 0.0),
}
# Hip: up from the crotch, and backward and outward from the middle of the thigh at that share of the way to the crotch.
_THIGH, _HIP = 0.9, (-0.002, 0.020, 0.050)
# Pelvis, from the middle between the hips: backward and up, in heights.
_PELVIS = (-0.0042, 0.0068)
# From the narrowest place of the neck: up, in heights of what lies above it; backward from its middle, in heights.
_NECK_BASE, _HEAD_BASE, _CHIN = (-0.25, 0.033), (0.28, 0.010), (-0.06, 0.0)
_TOE_TIP = 0.006
"""The tip of the toe bone lies so far before the skin, in heights."""
_CLAVICLE = (0.014, -0.010, -0.043)
_SHOULDER_FROM_NECK = (0.101, -0.007, -0.055)
_SYMMETRIC = 0.02
"""Left and right nearer than this to mirror images, in heights, are made so."""
_LONG = 0.6
"""A body does not stand along an axis along which it is shorter than this, in shares of its longest side."""
_UPRIGHT = float(np.cos(np.radians(15)))
"""A body may lean so far; else it is turned as a whole."""


@dataclass(frozen=True)
class Body:
    """What was read from a surface."""

    landmarks: Points
    """Place (3,) of each landmark in the space of the vertices."""
    axes: Array
    """Rotation (3, 3) into the body's own axes: its rows point left, backward and up."""
    height: float
    """From the ground to the crown."""
    symmetric: bool
    doubts: tuple[str, ...] = ()
    """What is unusual and may have been misread."""


def read_body(vertices: Array, triangles: NDArray[np.int64]) -> Body:
    """Find the landmarks of a standing humanoid in vertices (n, 3) and triangles (m, 3), in any place, size and facing.

    Raises UnreadableBody when no way to stand it up shows a head, two feet and two hands.
    """
    try:
        surfaces = build_surfaces(np.asarray(vertices, float), np.asarray(triangles, np.int64))
    except ValueError as error:
        raise UnreadableBody("the mesh has no faces with an area") from error
    doubtful, problems = [], []
    for surface in surfaces:
        try:
            body = _upright_body(surface)
        except UnreadableBody as problem:
            problems.append(problem)
            continue
        if not body.doubts:
            return body
        doubtful.append(body)
    if not doubtful:
        raise problems[-1]
    return min(doubtful, key=lambda body: len(body.doubts))


def _upright_body(surface: Surface) -> Body:
    """What is read with the surface stood up: as it is, along the other axes, then along its own long directions."""
    points = surface.points[surface.used]
    own = np.linalg.eigh(np.cov(points.T))[1].T[::-1][:2]
    ways = np.concatenate([[(0, 0, 1), (0, 1, 0), (0, -1, 0), (1, 0, 0), (-1, 0, 0), (0, 0, -1)], own, -own])
    extents = np.ptp(points @ ways.T, axis=0)
    first: UnreadableBody | None = None
    for up, extent in zip(ways, extents, strict=True):
        if extent < _LONG * extents.max():
            continue
        try:
            body = _Reader(surface, up).body()
        except UnreadableBody as problem:
            first = first or problem
            continue
        return _stood_up(surface, body)
    assert first is not None  # the longest axis at least was tried
    raise first


def _stood_up(surface: Surface, body: Body) -> Body:
    """The body read again along its own axis, from ankles to neck, where that is far from the axis at first."""
    for _ in range(3):
        marks = body.landmarks
        own = marks["neck_base"] - (marks["ankle.L"] + marks["ankle.R"]) / 2
        own = own / np.linalg.norm(own)
        if own @ body.axes[2] > _UPRIGHT:
            break
        try:
            body = _Reader(surface, own).body()
        except UnreadableBody:
            break
    return body


class _Reader:
    """Reads a surface that stands up along a given axis."""

    def __init__(self, surface: Surface, up: Array) -> None:
        self.surface = Surface(surface.points @ _any_axes(up).T, surface.triangles, surface.edges)
        self._turn = _any_axes(up)
        self._used = surface.used
        ground = float(self._points[self._used][:, 2].min())
        self._ground = ground
        self._front: Array = np.eye(3)
        self._doubts: list[str] = []

    @property
    def _points(self) -> Array:
        return self.surface.points

    def body(self) -> Body:
        """The landmarks. Raises UnreadableBody."""
        self._find_tips()
        self._face_front()
        shoulders = {side: self._shoulder(which, side) for which, side in enumerate(SIDES)}
        marks = dict(self._legs()) | dict(self._trunk(shoulders))
        marks |= dict(self._arms(marks, shoulders))
        marks = dict(sorted(marks.items()))
        straight = straightening_turn(marks)
        turned = {name: straight @ place for name, place in marks.items()}
        symmetric = is_symmetric(turned, _SYMMETRIC * self.height)
        if symmetric:
            self._turn_by(straight)
            marks = symmetrised(turned)
        for side in SIDES:
            palm = self._points[self._used & (self._hands["LR".index(side)].ways < 0.1 * self._span())]
            if np.linalg.norm(marks[f"f_middle_tip.{side}"] - marks[f"wrist.{side}"]) < 0.01 * self.height:
                raise UnreadableBody("an arm ends without a hand")
            marks |= fingers_by_proportion(palm, marks[f"wrist.{side}"], marks[f"f_middle_tip.{side}"], side)
        axes = self._front @ self._turn
        return Body(
            {name: place @ axes for name, place in marks.items()}, axes, self.height, symmetric, tuple(self._doubts)
        )

    def _turn_by(self, turn: Array) -> None:
        self._front = turn @ self._front
        self.surface = Surface(self._points @ turn.T, self.surface.triangles, self.surface.edges)

    # Tips and facing

    def _find_tips(self) -> None:
        found = find_extremities(self.surface)
        self._crown, self._from_crown = found.head.tip, found.head.ways
        self._feet, self._hands = list(found.feet), list(found.hands)
        self.height = float(self._points[self._crown, 2]) - self._ground
        if found.asymmetry > 0.1:
            self._doubts.append("left and right are unlike each other")
        if found.span < 0.75 * self.height:
            self._doubts.append("the arms are short: hands may be missing")

    def _span(self) -> float:
        return float(self._hands[0].ways[self._hands[1].tip])

    def _face_front(self) -> None:
        """Turn the surface so that X points to the body's left, Y backward."""
        ahead = np.zeros(3)
        for foot in self._feet:
            line = self._leg_line(foot, 0.2 * self.height)
            step = self._points[foot.tip] - line.at(_ANKLE[0] * self.height)
            step[2] = 0
            if np.linalg.norm(step) > 0.03 * self.height:
                ahead += step / np.linalg.norm(step)
        if np.linalg.norm(ahead) < 0.3:
            raise UnreadableBody("the feet do not show which way the body faces")
        back = -ahead / np.linalg.norm(ahead)
        self._front = np.array([np.cross(back, [0, 0, 1]), back, [0, 0, 1]])
        self.surface = Surface(self._points @ self._front.T, self.surface.triangles, self.surface.edges)
        self._feet, _ = self._left_first(self._feet, [self._leg_line(foot, 0.3 * self.height) for foot in self._feet])
        self._hands, self._arm_lines = self._left_first(self._hands, [self._arm_line(n) for n in (0, 1)])
        if self._thickness() > 0.45:
            raise UnreadableBody("what looks like limbs is as thick as a trunk")

    def _left_first(self, limbs: list[Limb], lines: list[CentreLine]) -> tuple[list[Limb], list[CentreLine]]:
        order = 1 if lines[0].middles[-1, 0] > lines[1].middles[-1, 0] else -1
        return limbs[::order], lines[::order]

    def _thickness(self) -> float:
        """Girth of the thickest forearm or shin, in heights."""
        girths = []
        for foot in self._feet:
            girths.append(girth(self.surface, foot.ways, self._from_crown, foot.tip, 0.25 * self.height))
        for hand, other in (self._hands, self._hands[::-1]):
            girths.append(girth(self.surface, hand.ways, other.ways, hand.tip, 0.18 * self._span()))
        return max(girths) / self.height

    def _leg_line(self, foot: Limb, upto: float) -> CentreLine:
        return centre_line(self.surface, foot.ways, self._from_crown, foot.tip, upto)

    def _arm_line(self, which: int) -> CentreLine:
        hand, other = self._hands[which], self._hands[1 - which]
        return centre_line(self.surface, hand.ways, other.ways, hand.tip, 0.39 * self._span())

    @cached_property
    def _wrist_share(self) -> float:
        shares = [wrist_share(self.surface, *hands) for hands in (self._hands, self._hands[::-1])]
        return sum(shares) / 2

    def _arm_length(self, joint: str) -> float:
        """How far a joint of an arm lies from the tip of the hand."""
        span = self._span()
        wrist = span * self._wrist_share
        shoulder = span / 2 - _SHOULDER * (span / 2 - wrist)
        return {"wrist": wrist, "elbow": wrist + _ELBOW * (shoulder - wrist), "shoulder": shoulder}[joint]

    # Joints, as the surface lies once it faces front

    def _offset(self, name: str, side: str) -> Array:
        return np.array(_OFFSETS[name]) * [SIDES[side], 1, 1] * self.height

    @cached_property
    def _crotch(self) -> tuple[Array, float]:
        """The lowest place between the legs, and how far it is from the tips of the toes."""
        left, right = (foot.ways for foot in self._feet)
        nearer_left = left < right
        corners = self.surface.triangles  # not the bridges between pieces: thighs of their own may touch anywhere
        between = nearer_left[corners].any(axis=1) & ~nearer_left[corners].all(axis=1)
        if not between.any():
            raise UnreadableBody("no crotch was found between the legs")
        length = np.where(between, np.minimum(left, right)[corners].max(axis=1), np.inf)
        lowest = int(np.argmin(length))
        return self._points[corners[lowest]].mean(axis=0), float(length[lowest])

    def _legs(self) -> Iterator[tuple[str, Array]]:
        crotch, inner = self._crotch
        if not 0.15 < (crotch[2] - self._ground) / self.height < 0.7:
            raise UnreadableBody("no crotch was found between the legs")
        yield "spine_base", crotch + [0, 0.015 * self.height, 0]
        hips = []
        for side, foot in zip(SIDES, self._feet, strict=True):
            line = self._leg_line(foot, inner)
            ankle = line.at(self._along_foot(foot, _ANKLE)) + self._offset("ankle", side)
            ball = line.at(self._along_foot(foot, _BALL)) + self._offset("toe_ball", side)
            yield f"ankle.{side}", ankle
            yield f"toe_ball.{side}", ball
            yield f"toe_tip.{side}", self._toe_tip(foot, ankle, ball)
            yield from zip((f"heel_inner.{side}", f"heel_outer.{side}"), self._heel(foot, ankle, side), strict=True)
            yield f"knee.{side}", line.at(_KNEE * inner) + self._offset("knee", side)
            thigh = line.at(_THIGH * inner)
            hip = np.array([thigh[0], thigh[1], crotch[2]]) + np.array(_HIP) * [SIDES[side], 1, 1] * self.height
            hips.append(hip)
            yield f"hip.{side}", hip
        middle = (hips[0] + hips[1]) / 2
        yield "pelvis", middle + [0, _PELVIS[0] * self.height, _PELVIS[1] * self.height]

    def _along_foot(self, foot: Limb, shares: tuple[float, float]) -> float:
        """A length from the tip of the toes, halfway between what height and length of the foot suggest."""
        around = self._used & (foot.ways < 0.35 * self.height)
        sole = self._points[around & (self._points[:, 2] < self._points[around][:, 2].min() + 0.04 * self.height)]
        length = float(np.linalg.norm((sole - self._points[foot.tip])[:, :2], axis=1).max())
        return (shares[0] * self.height + shares[1] * length) / 2

    def _toe_tip(self, foot: Limb, ankle: Array, ball: Array) -> Array:
        """As far forward as the toes reach, on the line from the ankle through the ball of the foot."""
        ahead = (ball - ankle) * [1, 1, 0]
        ahead = ahead / max(float(np.linalg.norm(ahead)), 1e-9)
        toes = self._points[self._used & (foot.ways < 0.12 * self.height)]
        reach = float(((toes - ball) @ ahead).max())
        tip = ball + ahead * (reach + _TOE_TIP * self.height)
        tip[2] = self._points[foot.tip, 2] + 0.005 * self.height
        return tip

    def _heel(self, foot: Limb, ankle: Array, side: str) -> tuple[Array, Array]:
        """Both ends of the line across the heel on the ground."""
        near = self._used & (foot.ways < 0.25 * self.height) & (self._points[:, 2] < ankle[2])
        heel = self._points[near & (self._points[:, 1] > ankle[1] - 0.01 * self.height)]
        if len(heel) < 3:
            heel = ankle + np.array([[-0.02, 0.015, 0], [0.02, 0.015, 0]]) * self.height
        ends = np.sort(heel[:, 0])[[0, -1]][:: int(SIDES[side])]
        back = 0.3 * ankle[1] + 0.7 * heel[:, 1].max()
        return np.array([ends[0], back, self._ground]), np.array([ends[1], back, self._ground])

    def _trunk(self, shoulders: Points) -> Iterator[tuple[str, Array]]:
        neck = self._neck()
        above = self._points[self._crown, 2] - neck.height
        for name, (up, back) in (("neck_base", _NECK_BASE), ("head_base", _HEAD_BASE)):
            level = neck.height + up * above
            if name == "neck_base":  # two independent guesses, from the neck and from the shoulders
                level = (
                    level + np.mean([place[2] for place in shoulders.values()]) - _SHOULDER_FROM_NECK[2] * self.height
                ) / 2
            yield name, np.array([neck.middle[0], neck.middle[1] + back * self.height, level])
        yield "chin", np.array([neck.middle[0], neck.low[1], neck.height + _CHIN[0] * above])
        yield "head_top", np.array([neck.middle[0], neck.middle[1] + 0.015 * self.height, self._points[self._crown, 2]])

    def _neck(self) -> Slice:
        """The narrowest slice between shoulders and head."""
        arms = [line.at(self._arm_length("shoulder")) for line in self._arm_lines]
        top, crotch = float(self._points[self._crown, 2]), float(self._crotch[0][2])
        # raised arms take the shoulders up beside the head
        bottom = min(float(np.mean([arm[2] for arm in arms])) + 0.02 * self.height, crotch + 0.62 * (top - crotch))
        free = np.minimum(self._hands[0].ways, self._hands[1].ways) > 0.36 * self._span()
        cuts = slices(
            self.surface, np.linspace(bottom, top - 0.02 * (top - bottom), 60), free[self.surface.triangles].all(axis=1)
        )
        if len(cuts) < 10:
            raise UnreadableBody("no neck and head were found above the shoulders")
        widest, narrowest = 0.0, None
        for cut in reversed(cuts):  # from the crown down: over the head, into the neck, and stop at the shoulders
            widest = max(widest, cut.width)
            if cut.width < 0.8 * widest and (narrowest is None or cut.width < narrowest.width):
                narrowest = cut
            elif narrowest is not None and cut.width > 1.25 * narrowest.width:
                break
        if narrowest is None:
            raise UnreadableBody("no neck was found between head and shoulders")
        return narrowest

    def _shoulder(self, which: int, side: str) -> Array:
        """The shoulder as the arm shows it."""
        return self._arm_lines[which].at(self._arm_length("shoulder")) + self._offset("shoulder", side)

    def _arms(self, marks: Points, shoulders: Points) -> Iterator[tuple[str, Array]]:
        neck = marks["neck_base"]
        for which, side in enumerate(SIDES):
            mirror = np.array([SIDES[side], 1, 1])
            line = self._arm_lines[which]
            from_neck = neck + np.array(_SHOULDER_FROM_NECK) * mirror * self.height
            yield f"clavicle.{side}", neck + np.array(_CLAVICLE) * mirror * self.height
            yield f"shoulder.{side}", (shoulders[side] + from_neck) / 2
            yield f"elbow.{side}", line.at(self._arm_length("elbow")) + self._offset("elbow", side)
            yield f"wrist.{side}", line.at(self._arm_length("wrist"))
            yield f"f_middle_tip.{side}", self._points[self._hands[which].tip]


def _any_axes(up: Array) -> Array:
    """A rotation (3, 3) whose last row is `up`."""
    if up[2] > 1 - 1e-9:
        return np.eye(3)
    across = np.array([1.0, 0, 0]) if abs(up[0]) < 0.7 else np.array([0, 1.0, 0])
    across = across - (across @ up) * up
    across = across / np.linalg.norm(across)
    return np.array([across, np.cross(up, across), up])
