# SPDX-License-Identifier: GPL-3.0-or-later
"""F-curves of every kind of action: found, made, read and written as arrays, and put back as they were."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..errors import ToolError
from ..geometry import few_keys
from .limbs import Setting
from .stage import Stage
from .underlay import LAID_OVER, Underlay

CONSTANT, LINEAR, BEZIER = 0, 1, 2
_FLOATS = {"co": 2, "handle_left": 2, "handle_right": 2, "back": 1, "amplitude": 1, "period": 1}
_ENUMS = ("interpolation", "easing", "type", "handle_left_type", "handle_right_type")
_FLAGS = ("select_control_point", "select_left_handle", "select_right_handle")
_ALIGNED, _AUTO_CLAMPED, _GENERATED = 3, 4, 5
_TRANSFORMS = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle", "scale")

_UNCHANGED = 1e-6

Channel = tuple[str, int]
"""Data path and array index of an F-curve."""


@dataclass(frozen=True)
class Ease:
    """How a curve runs from one key to the next: Blender's numbers for interpolation and easing."""

    interpolation: int
    easing: int = 0

    def backwards(self) -> Ease:
        """The same seen from the other end, as an NLA strip in reverse plays it."""
        return Ease(self.interpolation, {1: 2, 2: 1}.get(self.easing, self.easing))


EASES = {"linear": Ease(LINEAR), "smooth": Ease(BEZIER), "in": Ease(9, 1), "out": Ease(9, 2)}
"""In and out are Blender's quadratic easing."""


@dataclass(frozen=True)
class Keys:
    """All that the keys of one F-curve hold, by the names that Blender gives it; times ascend.

    ``co``, ``handle_left`` and ``handle_right`` are (n, 2) pairs of time and value in single precision, so that keys
    that are read and written back are equal to the bit.
    """

    columns: dict[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.columns["co"])

    @property
    def times(self) -> NDArray[np.float32]:
        """When the keys lie, in frames of the action."""
        return self.columns["co"][:, 0]

    @property
    def values(self) -> NDArray[np.float32]:
        """What the keys hold."""
        return self.columns["co"][:, 1]

    def where(self, mask: NDArray[np.bool_]) -> Keys:
        """The keys for which `mask` (n,) is true."""
        return Keys({name: column[mask] for name, column in self.columns.items()})

    @staticmethod
    def joined(parts: Iterable[Keys]) -> Keys:
        """The keys of all parts, which follow one another in time."""
        parts = list(parts)
        return Keys({name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns})

    @staticmethod
    def new(times: NDArray[np.float64], values: NDArray[np.float64], interpolation: int = LINEAR) -> Keys:
        """Keys of the type Generated at `times` (n,) with `values` (n,), their handles on the lines between them."""
        count = len(times)
        co = np.stack([times, values], axis=1).astype(np.float32)
        step = np.diff(co, axis=0) / 3
        flat = np.array([[1 / 3, 0]], np.float32)
        enums = {"interpolation": interpolation, "easing": 0, "type": _GENERATED}
        enums |= {"handle_left_type": _AUTO_CLAMPED, "handle_right_type": _AUTO_CLAMPED}
        return Keys(
            {
                "co": co,
                "handle_left": (co - np.concatenate([flat[: min(count, 1)], step])).astype(np.float32),
                "handle_right": (co + np.concatenate([step, flat[: min(count, 1)]])).astype(np.float32),
                "back": np.full(count, 1.70158, np.float32),
                "amplitude": np.full(count, 0.8, np.float32),
                "period": np.full(count, 4.1, np.float32),
                **{name: np.full(count, value, np.int32) for name, value in enums.items()},
                **{name: np.zeros(count, np.bool_) for name in _FLAGS},
            }
        )

    @staticmethod
    def smooth(times: NDArray[np.float64], values: NDArray[np.float64], rows: NDArray[np.int64]) -> Keys:
        """Keys at some `rows` (k,) of `times` and `values` (n,) that run on as the values do on the frames around."""
        keys = Keys.new(times[rows], values[rows], BEZIER)
        slope = few_keys.slopes(values[:, None])[rows, 0] / (np.diff(times).mean() if len(times) > 1 else 1.0)
        third = np.diff(times[rows]) / 3
        for name, side, reach in (
            ("handle_right", 1, np.append(third, third[-1:] if len(third) else 1 / 3)),
            ("handle_left", -1, np.append(third[:1] if len(third) else 1 / 3, third)),
        ):
            keys.columns[name] = keys.columns["co"] + side * np.stack([reach, reach * slope], axis=1).astype(np.float32)
        keys.columns["handle_left_type"][:] = keys.columns["handle_right_type"][:] = _ALIGNED
        keys.columns["interpolation"][-1:] = LINEAR
        return keys


def read_keys(curve: bpy.types.FCurve) -> Keys:
    """The keys of an F-curve."""
    points = curve.keyframe_points
    columns: dict[str, NDArray[Any]] = {}
    for name, width in _FLOATS.items():
        buffer = np.empty(len(points) * width, np.float32)
        points.foreach_get(name, buffer)
        columns[name] = buffer.reshape(-1, width) if width > 1 else buffer
    for name in _ENUMS:
        columns[name] = np.empty(len(points), np.int32)
        points.foreach_get(name, columns[name])
    for name in _FLAGS:
        columns[name] = np.empty(len(points), np.bool_)
        points.foreach_get(name, columns[name])
    return Keys(columns)


def write_keys(curve: bpy.types.FCurve, keys: Keys) -> None:
    """Give the F-curve these keys and no others.

    Blender's own recalculation of automatic handles is not called: it would move handles of keys that we only carry.
    """
    points = curve.keyframe_points
    if len(points) != len(keys):
        points.clear()
        points.add(len(keys))
    for name, column in keys.columns.items():
        points.foreach_set(name, column.ravel())


class OwnCurves:
    """The F-curves of the action, and of the slot in it, that a data-block plays itself."""

    def __init__(self, owner: bpy.types.Object) -> None:
        self.owner = owner

    @property
    def action(self) -> bpy.types.Action | None:
        """The action that is assigned, or None."""
        data = self.owner.animation_data
        return data.action if data else None

    def _bag(self, *, make: bool = False) -> Any:
        """What holds the F-curves: a channelbag since Blender 4.4, the action itself before. None where nothing is."""
        if self.action is None:
            if not make:
                return None
            self._make_action()
        action, data = self.action, self.owner.animation_data
        if not hasattr(action, "layers"):
            return action
        if data.action_slot is None:
            if not make:
                return None
            # a slot of our own: one that holds animation already would begin to play, outside the frames too
            data.action_slot = action.slots.new(self.owner.id_type, self.owner.name)
        if not action.layers and make:
            action.layers.new("Layer")
        if not action.layers or not (action.layers[0].strips or make):
            return None
        layer = action.layers[0]
        strip: Any = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
        return strip.channelbag(data.action_slot, ensure=make)

    def _make_action(self) -> None:
        data = self.owner.animation_data or self.owner.animation_data_create()
        data.action = bpy.data.actions.new(f"{self.owner.name}Action")

    def find(self, channel: Channel) -> bpy.types.FCurve | None:
        """The F-curve of a channel, or None."""
        bag = self._bag()
        return bag.fcurves.find(channel[0], index=channel[1]) if bag else None

    def of_bones(self, bones: Collection[str]) -> list[bpy.types.FCurve]:
        """The F-curves of the transforms of some bones."""
        bag = self._bag()
        paths = {f'pose.bones["{bpy.utils.escape_identifier(name)}"].{what}' for name in bones for what in _TRANSFORMS}
        return [curve for curve in bag.fcurves if curve.data_path in paths] if bag else []

    def ensure(self, channel: Channel, group: str) -> bpy.types.FCurve:
        """The F-curve of a channel, made where there is none, in the group of that name."""
        bag = self._bag(make=True)
        curve = bag.fcurves.find(channel[0], index=channel[1])
        if curve is None:
            curve = bag.fcurves.new(channel[0], index=channel[1])
            curve.group = bag.groups.get(group) or bag.groups.new(group)
        return curve

    def hiding_group(self, name: str) -> str:
        """What a group does to new F-curves in it that keeps them from being used; nothing where it is as usual."""
        bag = self._bag()
        group = bag.groups.get(name) if bag else None
        return "" if group is None else "is locked" if group.lock else "is muted" if group.mute else ""

    def remove(self, channel: Channel) -> None:
        """Take the F-curve of a channel away, where there is one."""
        curve = self.find(channel)
        if curve is not None:
            bag, group = self._bag(), curve.group.name if curve.group else ""
            bag.fcurves.remove(curve)
            left = bag.groups.get(group)  # newer versions of Blender have removed an empty one themselves
            if left is not None and not left.channels:
                bag.groups.remove(left)

    def changed(self) -> None:
        """Tell Blender that keys were written, so that the next evaluation sees them."""
        if self.action is not None:
            self.action.update_tag()
        self.owner.update_tag(refresh={"TIME"})

    def times(self, frames: NDArray[np.float64]) -> NDArray[np.float64]:
        """The times in the action at which the scene shows `frames` (n,): they differ in tweak mode of an NLA strip."""
        data = self.owner.animation_data
        if not data or not data.use_tweak_mode:
            return np.asarray(frames, float)
        return np.array([data.nla_tweak_strip_time_to_scene(float(frame), invert=True) for frame in frames])


class Rewrite:
    """A change of F-curves that is either finished or taken back: for use in a ``with`` statement.

    Keys outside the frames stay as they are; guard keys at the borders keep what the curves showed on every frame
    outside. An exception inside the statement puts each curve back, and takes away what was made.

    Without `guards` the curves flow into the frames from the key before. With an `open_end` they flow on from the last
    frame to the next key, or hold where there is none.

    Where NLA strips lie below the action, what it must hold for a wanted value to be seen is found on the `stage`.
    """

    def __init__(
        self,
        owner: bpy.types.Object,
        frames: range,
        stage: Stage | None = None,
        *,
        guards: bool = True,
        open_end: bool = False,
    ) -> None:
        self.curves = OwnCurves(owner)
        self.frames = frames
        self._guards, self._open_end = guards, open_end
        self._stage = stage
        self._underlay: Underlay | None = None
        self._had_data = owner.animation_data is not None
        self._action = self.curves.action
        self._slot = getattr(owner.animation_data, "action_slot", None) if self._had_data else None
        self._last_slot = getattr(owner.animation_data, "last_slot_identifier", None) if self._had_data else None
        self._layers = len(getattr(self._action, "layers", ()))
        self._old: dict[Channel, Keys | None] = {}
        self._frame: dict[Channel, tuple[Keys, Keys]] = {}
        self._groups: dict[Channel, str] = {}

    def __enter__(self) -> Rewrite:
        self._refuse_what_cannot_be_kept()
        self._times = self.curves.times(np.asarray(self.frames, float))
        around = self.curves.times(np.array([self.frames[0] - 1.0, self.frames[-1] + 1.0]))
        self._reversed = bool(around[0] > around[1])  # a strip may play its action so
        if self._reversed and self._open_end:
            raise ToolError(
                "The NLA strip plays its action backwards: what begins at a frame can't go on from it there. "
                "Name a last frame too."
            )
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            try:
                self.curves.changed()
            except BaseException:
                self._take_back()
                raise
        else:
            self._take_back()
            self.curves.changed()

    def _refuse_what_cannot_be_kept(self) -> None:
        owner, action = self.curves.owner, self._action
        data = owner.animation_data
        if action is not None and (
            action.library or (action.override_library and action.override_library.is_system_override)
        ):
            raise ToolError(
                f"The action {action.name!r} is linked from another file and can't be written. Make it local first."
            )
        if owner.library:
            raise ToolError(f"{owner.name!r} is linked from another file. Make a library override of it first.")
        below = data is not None and any(track.strips and not track.mute for track in data.nla_tracks)
        mixed = data is not None and (data.action_blend_type != "REPLACE" or data.action_influence < 1)
        if action is not None and below and mixed and not data.use_tweak_mode:
            if data.action_blend_type not in LAID_OVER or not data.action_influence or self._stage is None:
                raise ToolError(
                    f"The action {action.name!r} is mixed with NLA strips below it, by its blending or influence. "
                    "Set it to Replace with an influence of 1, to Combine or to Add, or mute the strips first."
                )
            self._underlay = Underlay(self._stage, owner, self.frames)
        if action is None and below:
            raise ToolError(
                f"The animation of {owner.name!r} lies in NLA strips. Select its strip and enter tweak mode first."
            )

    def set(
        self, channel: Channel, values: NDArray[np.float64], *, static: float, group: str, interpolation: int = LINEAR
    ) -> None:
        """Key `values` (n,), one for each frame, on a channel that holds `static` while it has no F-curve."""
        order = -1 if self._reversed else 1
        body = Keys.new(self._times[::order], values[::order], interpolation)
        self._groups[channel] = group
        self._put(channel, body, static, group, interpolation)

    def channels_of(self, bones: Collection[str]) -> list[Channel]:
        """The channels that were keyed on each frame, of some bones."""
        return [channel for channel, group in self._groups.items() if group in bones]

    def keyed(self, channel: Channel) -> NDArray[np.float32]:
        """What a channel that was keyed on each frame holds there (n,)."""
        keys = read_keys(self.curves.ensure(channel, self._groups[channel]))
        first = len(self._frame[channel][0]) if self._old[channel] is not None else None
        if first is None:
            first = int(np.argmin(np.abs(keys.times - min(self._times[0], self._times[-1]))))
        values = keys.values[first : first + len(self.frames)]
        return values[::-1] if self._reversed else values

    def thin(self, channel: Channel, values: NDArray[np.float32], rows: NDArray[np.int64]) -> None:
        """Key a channel on the frames at `rows` (k,) only, so that it runs between them as `values` (n,) do."""
        times, wanted = self._times, values.astype(float)
        if self._reversed:
            times, wanted, rows = times[::-1], wanted[::-1], np.sort(len(times) - 1 - rows)
        static = 0.0  # the guards are there already
        self._put(channel, Keys.smooth(times, wanted, rows), static, self._groups[channel], LINEAR)

    def rows_of_keys(self, bones: Collection[str], *, old: bool = False) -> NDArray[np.int64]:
        """The frames (k,) inside on or next to which channels of some bones have keys, or had them before."""
        times: list[NDArray[np.float32]] = []
        if old:
            times = [self._old_times(channel) for channel in self.channels_of(bones)]
        else:
            times = [read_keys(curve).times for curve in self.curves.of_bones(bones)]
        low, high = min(self._times[0], self._times[-1]) - 0.5, max(self._times[0], self._times[-1]) + 0.5
        every = np.concatenate([*times, np.empty(0)])
        inside = every[(every > low) & (every < high)]
        return np.unique(np.abs(self._times[None] - inside[:, None]).argmin(axis=1))

    def _old_times(self, channel: Channel) -> NDArray[np.float32]:
        keys = self._old[channel]
        return np.empty(0, np.float32) if keys is None else keys.times

    def needed(self, path: str, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """What a property must be keyed with (n, c) for `values` (n, c) to be seen.

        And what it holds (c,) to leave alone what NLA strips below show; None where there are none.
        """
        return (values, None) if self._underlay is None else self._underlay.needed(path, values)

    def ease(self, setting: Setting, start: float, stop: float, ease: Ease) -> None:
        """Let a custom property of a bone run from `start` on the first frame to `stop` on the last, by two keys."""
        if self._underlay is not None:
            share = few_keys.eased(len(self.frames), ease.interpolation == LINEAR)
            self._set_over((setting.path, 0), start + (stop - start) * share, setting.bone, LINEAR)
            return
        ends = [0, -1] if len(self.frames) > 1 else [-1]
        times, values = self._times[ends], np.array([start, stop])[ends]
        if self._reversed:
            times, values, ease = times[::-1], values[::-1], ease.backwards()
        body = Keys.new(times, values)
        body.columns["interpolation"][:-1], body.columns["easing"][:-1] = ease.interpolation, ease.easing
        third = np.array([(times[-1] - times[0]) / 3, 0], np.float32)
        body.columns["handle_right"][:-1] = body.columns["co"][:-1] + third
        body.columns["handle_left"][1:] = body.columns["co"][1:] - third
        self._put((setting.path, 0), body, setting.value(self.curves.owner), setting.bone, LINEAR)

    def _put(self, channel: Channel, body: Keys, static: float, group: str, interpolation: int) -> None:
        """Give a channel these keys between those outside; `interpolation` is that of a guard which leads to them."""
        if channel not in self._old:
            curve = self.curves.find(channel)
            self._old[channel] = read_keys(curve) if curve else None
            self._frame[channel] = self._outside(channel, curve, static, group, interpolation)
        curve = self.curves.ensure(channel, group)
        head, tail = self._frame[channel]
        if self._old[channel] is None:  # a guard that repeats its neighbour says nothing
            head = head.where(head.values != body.values[0])
            tail = tail.where(tail.values != body.values[-1])
        if self._open_end and interpolation != CONSTANT:
            _flow(body, tail)
        write_keys(curve, Keys.joined([head, body, tail]))

    def hold(self, setting: Setting, value: float) -> None:
        """Let a custom property of a bone have one value from the first frame to the last, by a key on each."""
        if self._underlay is not None:
            self._set_over((setting.path, 0), np.full(len(self.frames), value), setting.bone, CONSTANT)
            return
        times = np.unique(self._times[[0, -1]])
        body = Keys.new(times, np.full(len(times), value), CONSTANT)
        self._put((setting.path, 0), body, setting.value(self.curves.owner), setting.bone, CONSTANT)

    def set_number(self, path: str, values: NDArray[np.float64]) -> None:
        """Key a number of a bone at a data path with `values` (n,), unless it has no F-curve and would not change."""
        found: Any = self.curves.owner.path_resolve(path)
        static = float(found)
        if np.abs(values - static).max() > _UNCHANGED or self.curves.find((path, 0)):
            keyed, idle = self.needed(path, values[:, None])
            static = static if idle is None else float(idle[0])
            self.set((path, 0), keyed[:, 0], static=static, group=path.split('"')[1])

    def _set_over(self, channel: Channel, values: NDArray[np.float64], group: str, interpolation: int) -> None:
        """Key a property on each frame, over what NLA strips below show of it."""
        keyed, idle = self.needed(channel[0], values[:, None])
        assert idle is not None
        self.set(channel, keyed[:, 0], static=float(idle[0]), group=group, interpolation=interpolation)

    def value_before(self, channel: Channel, static: float) -> float:
        """What a channel shows on the frame before the range; `static` where it has no key there."""
        if channel in self._frame:
            head = self._frame[channel][0]
            return float(head.values[-1]) if len(head) else static
        curve = self.curves.find(channel)
        if curve is None or not curve.keyframe_points:
            return static
        return float(curve.evaluate(self.curves.times(np.array([self.frames[0] - 1.0]))[0]))

    def values_inside(self, channel: Channel, static: float) -> NDArray[np.float64]:
        """What a channel shows on each frame (n,); `static` where it has no key."""
        curve = self.curves.find(channel)
        if curve is None or not curve.keyframe_points:
            return np.full(len(self.frames), static)
        return np.array([curve.evaluate(time) for time in self._times])

    def _take_back(self) -> None:
        owner = self.curves.owner
        for channel, keys in self._old.items():
            if keys is None:
                self.curves.remove(channel)
            elif (curve := self.curves.find(channel)) is not None:
                write_keys(curve, keys)
        made = self.curves.action
        if made is not None and made != self._action:
            owner.animation_data.action = None
            bpy.data.actions.remove(made)
        elif made is not None and hasattr(made, "slots") and self._slot is None and owner.animation_data.action_slot:
            slot = owner.animation_data.action_slot
            owner.animation_data.action_slot = None
            strips: list[Any] = [strip for layer in made.layers for strip in layer.strips]
            if not any(bag.fcurves for strip in strips for bag in strip.channelbags if bag.slot == slot):
                made.slots.remove(slot)
        for layer in list(getattr(self._action, "layers", ()))[self._layers :]:
            self._action.layers.remove(layer)
        if not self._had_data and owner.animation_data:
            owner.animation_data_clear()
        elif self._last_slot is not None:
            owner.animation_data.last_slot_identifier = self._last_slot

    # What lies outside the frames, and the guard keys that keep it.

    def _outside(
        self, channel: Channel, curve: bpy.types.FCurve | None, static: float, group: str, interpolation: int
    ) -> tuple[Keys, Keys]:
        frames = np.array([self.frames[0] - 1, self.frames[-1] + 1], float)
        low, high = sorted(self.curves.times(frames))
        self._refuse_what_hides_keys(channel, curve, group)
        if curve is None or not curve.keyframe_points:
            value = np.array([static])
            head, tail = Keys.new(np.array([low]), value, interpolation), Keys.new(np.array([high]), value)
            return self._wanted_guards(head, tail)
        keys = self._old[channel]
        assert keys is not None
        first, last = sorted((self._times[0], self._times[-1]))
        margin = 1e-4 * max(1.0, abs(last))
        before, after = keys.where(keys.times < first - margin), keys.where(keys.times > last + margin)
        sloped = curve.extrapolation == "LINEAR"
        head = self._guards_before(curve, keys, before, first, sloped)
        if interpolation == CONSTANT:  # what switches at the border does not ease into it
            head.columns["interpolation"][-1:] = CONSTANT
        tail = self._guards_after(curve, keys, after, last, sloped)
        head, tail = self._wanted_guards(head, tail)
        return Keys.joined([before, head]), Keys.joined([tail, after])

    def _wanted_guards(self, head: Keys, tail: Keys) -> tuple[Keys, Keys]:
        none = Keys.new(np.empty(0), np.empty(0))
        return head if self._guards else none, none if self._open_end else tail

    def _refuse_what_hides_keys(self, channel: Channel, curve: bpy.types.FCurve | None, group: str) -> None:
        path, index = channel
        data = self.curves.owner.animation_data
        what = f"{path.rpartition('.')[2]}[{index}]" if path.endswith(_TRANSFORMS) else path.rpartition('["')[2][:-2]
        if data and data.drivers.find(path, index=index) is not None:
            raise ToolError(f"{what} of {group!r} has a driver: keys would not be seen on it. Remove the driver first.")
        if curve is not None and _obstacle(curve):
            raise ToolError(
                f"The F-curve {what} of {group!r} {_obstacle(curve)}: nothing could be baked onto it. "
                "Change that first."
            )
        if curve is None and (hiding := self.curves.hiding_group(group)):
            raise ToolError(
                f"The F-curve group {group!r} {hiding}: what is baked into it would not be seen. Change that first."
            )

    def _guards_before(self, curve: bpy.types.FCurve, keys: Keys, before: Keys, first: float, sloped: bool) -> Keys:
        if not len(before):
            gap = self._gap(None, first, 2 if sloped else 1)
        else:
            shape = before.columns["interpolation"][-1]
            if shape == CONSTANT and len(before) < len(keys):
                return Keys.new(np.empty(0), np.empty(0))
            gap = self._gap(float(before.times[-1]), first)
            if shape == LINEAR:
                gap = gap[-1:]
        return _thinned(gap, np.array([curve.evaluate(time) for time in gap]))

    def _guards_after(self, curve: bpy.types.FCurve, keys: Keys, after: Keys, last: float, sloped: bool) -> Keys:
        inside = len(keys) - len(after)
        if not len(after):
            gap = self._gap(last, None, 2 if sloped else 1)
        else:
            shape = keys.columns["interpolation"][inside - 1] if inside else LINEAR
            gap = self._gap(last, float(after.times[0]))
            if shape in (CONSTANT, LINEAR):
                gap = gap[:1]
            if shape == CONSTANT:
                return Keys.new(gap, np.array([curve.evaluate(time) for time in gap]), CONSTANT)
        return _thinned(gap, np.array([curve.evaluate(time) for time in gap]))

    def _gap(self, low: float | None, high: float | None, count: int = 0) -> NDArray[np.float64]:
        """Times of the scene's frames between two times; with an open end the `count` frames next to the other."""
        frames = np.asarray(self.frames, float)
        reach = np.arange(1, count + 1) if count else None
        if reach is None:
            scale = abs(self._times[-1] - self._times[0]) / max(1, len(frames) - 1) or 1.0
            assert low is not None and high is not None
            reach = np.arange(1, int((high - low) / scale) + 2)
        times = np.sort(self.curves.times(np.concatenate([frames[0] - reach, frames[-1] + reach])))
        return times[
            (times > (-np.inf if low is None else low + 1e-4)) & (times < (np.inf if high is None else high - 1e-4))
        ]


def _flow(body: Keys, after: Keys) -> None:
    """Let the curve leave the last of the frames level, and run to the next key as smoothly as Blender's keys do."""
    gap = (after.times[0] - body.times[-1]) / 3 if len(after) else 1.0
    body.columns["interpolation"][-1] = BEZIER
    body.columns["handle_right"][-1] = body.columns["co"][-1] + np.array([gap, 0], np.float32)


def _thinned(times: NDArray[np.float64], values: NDArray[np.float64]) -> Keys:
    """Linear keys through all points, without those that lie on the line between their neighbours."""
    keep = np.ones(len(times), bool)
    if len(times) > 2:
        slope = np.diff(values) / np.diff(times)
        keep[1:-1] = np.abs(np.diff(slope)) > 1e-9
    return Keys.new(times[keep], values[keep])


def _obstacle(curve: bpy.types.FCurve) -> str:
    """What keeps new keys on a curve from being seen; nothing where it is as usual."""
    if curve.lock or (curve.group and curve.group.lock):
        return "is locked"
    if curve.mute or (curve.group and curve.group.mute):
        return "is muted"
    if curve.modifiers:
        return "has modifiers"
    return "holds samples instead of keys" if curve.sampled_points else ""
