# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: ``python -m rigify_ikfk_tools``, and ``blender --command rigify_ikfk`` in the extension.

Exit status 0 when the job is done, 1 when it failed (one sentence on standard error), 2 for bad usage.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import ToolError

if TYPE_CHECKING:
    import bpy

    from .report import Report

NAME = "rigify_ikfk"
Job = Callable[[argparse.Namespace], "Report"]
_registered: list[object] = []


def register() -> None:
    """Offer the command line as ``blender --command rigify_ikfk``."""
    import bpy

    _registered.append(bpy.utils.register_cli_command(NAME, main))


def unregister() -> None:
    """Take the command away again."""
    import bpy

    while _registered:
        bpy.utils.unregister_cli_command(_registered.pop())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        options = _parser().parse_args(_joined_frames(arguments))
    except SystemExit as ending:  # argparse has told what is wrong, or shown the help
        return int(ending.code or 0)
    log = Path(tempfile.gettempdir()) / f"{NAME}_{os.getpid()}.log"
    try:
        with _blender_talks_to(log):
            report = _run(options)
    except ToolError as error:
        log.unlink(missing_ok=True)
        print(f"{NAME}: {error}", file=sys.stderr)
        return 1
    except Exception as error:  # a fault of ours: one sentence too, and all the rest for whoever mends it
        with log.open("a", encoding="utf-8") as file:
            traceback.print_exc(file=file)
        print(f"{NAME}: {options.command} failed unexpectedly ({type(error).__name__}); see {log}", file=sys.stderr)
        return 1
    log.unlink(missing_ok=True)
    print("\n".join(report.lines()))
    print(f"saved {options.output}")
    return 0


def _run(options: argparse.Namespace) -> Report:
    try:
        import bpy
    except ImportError as error:
        raise ToolError(f"Blender's module bpy is not installed in this Python ({error}).") from error
    from .rigs.files import check_output, save_blend, save_text

    inputs = [options.source, *_further_inputs(options)]
    check_output(options.output, inputs)
    if options.report:
        check_output(options.report, inputs)
        if options.report.resolve() == options.output.resolve():
            raise ToolError(f"The report and the output can't both be {options.output}. Choose another name for one.")
    report: Report = options.job(options)
    save_blend(options.output)
    if options.report:
        facts = {"blender": bpy.app.version_string, "input": options.source, "output": options.output}
        save_text(options.report, json.dumps(report.as_dict() | {k: str(v) for k, v in facts.items()}, indent=1) + "\n")
    return report


def _further_inputs(options: argparse.Namespace) -> list[Path]:
    """The files beside the source that a command reads: landmarks and a preset file."""
    given = (vars(options).get("landmarks"), vars(options).get("preset"))
    return [Path(path) for path in given if path is not None]


# The jobs


def _rig(options: argparse.Namespace) -> Report:
    from .jobs.rig import rig

    return rig(_body(options), preset=options.preset, landmarks=_landmarks(options.landmarks))


def _fit(options: argparse.Namespace) -> Report:
    from .jobs.fit import fit

    return fit(_body(options), preset=options.preset, landmarks=_landmarks(options.landmarks))


def _bake(options: argparse.Namespace) -> Report:
    from .jobs.bake import bake

    return bake(
        frames=options.frames,
        keep_roll=options.keep_roll,
        keys=options.keys,
        tolerance_mm=options.tolerance_mm,
        tolerance_deg=options.tolerance_deg,
        **_shot(options),
    )


def _switch(options: argparse.Namespace) -> Report:
    from .jobs.switch import switch

    return switch(
        frame=options.frame,
        until=options.until,
        guard=not options.no_guard,
        keep_roll=options.keep_roll,
        **_shot(options),
    )


def _blend(options: argparse.Namespace) -> Report:
    from .jobs.blend import blend

    return blend(frames=options.frames, keep=options.keep, ease=options.ease, **_shot(options))


def _parent(options: argparse.Namespace) -> Report:
    from .jobs.parent import change_parent

    parent = int(options.parent) if options.parent.isdecimal() else options.parent
    return change_parent(
        parent=parent,
        of=options.of,
        frame=options.frame,
        until=options.until,
        guard=not options.no_guard,
        **_shot(options),
    )


def _shot(options: argparse.Namespace) -> dict[str, Any]:
    """The rig of an opened shot, its limbs and, where one is asked for, the side they shall go to."""
    from .rigs.files import open_blend

    open_blend(options.source)
    limbs = None if options.limbs == "all" else [name.strip() for name in options.limbs.split(",") if name.strip()]
    side = {"to": options.to} if "to" in options else {}
    return {"rig": _rig_object(options.rig), "limbs": limbs, **side}


def _body(options: argparse.Namespace) -> list[bpy.types.Object]:
    import bpy

    from .rigs.files import open_body

    open_body(options.source)
    scene = bpy.context.scene
    if options.mesh:
        meshes = [thing for thing in scene.objects if thing.type == "MESH" and thing.name in options.mesh]
        if missing := sorted(set(options.mesh) - {thing.name for thing in meshes}):
            raise ToolError(f"{options.source} has no mesh named {', '.join(map(repr, missing))}.")
        return meshes
    meshes = [thing for thing in scene.objects if thing.type == "MESH" and thing.visible_get()]
    if not meshes:
        raise ToolError(f"There is no visible mesh in {options.source}.")
    return meshes


def _rig_object(name: str | None) -> bpy.types.Object:
    import bpy

    from .rigs.rigify import generated_rigs

    rigs = generated_rigs(bpy.context.scene.objects)
    if name is not None:
        found: bpy.types.Object | None = bpy.context.scene.objects.get(name)
        if found is None or found.type != "ARMATURE":
            exist = ", ".join(repr(rig.name) for rig in rigs) or "none"
            raise ToolError(f"There is no armature {name!r} in the scene. Generated rigs in it: {exist}.")
        return found
    if not rigs:
        raise ToolError(
            "There is no rig generated by Rigify in the scene. Name an armature with --rig to use it anyway."
        )
    if len(rigs) > 1:
        raise ToolError(f"There are several rigs: {', '.join(repr(rig.name) for rig in rigs)}. Choose one with --rig.")
    return rigs[0]


def _landmarks(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    if not path.is_file():
        raise ToolError(f"The landmark file {path} does not exist.")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ToolError(f"The landmark file {path} can't be read as JSON: {error}.") from error
    if not isinstance(data, dict):
        raise ToolError(f"The landmark file {path} must hold one object: {{landmark: [x, y, z]}}.")
    return data


# The options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=NAME, description="Rig characters and bake shots without a window.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, job, text in (
        ("rig", _rig, "fit a meta-rig to a body, generate the rig and bind the body to it"),
        ("fit", _fit, "fit a meta-rig to a body, and stop there"),
    ):
        command = _command(commands, name, job, text, "a .blend, .obj, .glb or .fbx file")
        command.add_argument("--preset", default="human", help="human (default), basic_human, or a preset file")
        command.add_argument(
            "--landmarks", type=Path, metavar="FILE", help="JSON file of landmarks that replace found ones"
        )
        command.add_argument("--mesh", action="append", metavar="NAME", help="mesh to use; all visible ones by default")
    bake = _shot_command(commands, "bake", _bake, "bake limbs to IK or FK, the visible pose kept")
    bake.add_argument("--frames", type=_frames, metavar="A:B", help="first and last frame; by default the scene's")
    bake.add_argument(
        "--keys",
        type=_keys,
        default=1,
        metavar="N|source|fewest",
        help="key each n-th frame (1 by default), the frames of the source's keys, or the fewest within the tolerances",
    )
    bake.add_argument("--tolerance-mm", type=float, default=1.0, metavar="MM", help="for joints; 1 by default")
    bake.add_argument("--tolerance-deg", type=float, default=0.5, metavar="DEG", help="for ends; 0.5 by default")
    switch = _shot_command(commands, "switch", _switch, "switch limbs to IK or FK at a frame, without a pop")
    parent = _shot_command(
        commands, "parent", _parent, "let IK controls or poles follow another parent, the pose kept", side=False
    )
    parent.add_argument(
        "--parent", required=True, metavar="BONE", help="a bone such as torso, none, or Rigify's number"
    )
    parent.add_argument("--of", choices=("ik", "pole"), default="ik", help="hands and feet (default), or poles")
    for command in (switch, parent):
        command.add_argument("--frame", type=int, required=True, metavar="F", help="the first frame of the change")
        command.add_argument("--until", type=int, metavar="G", help="the last; by default the next key there ends it")
        command.add_argument("--no-guard", action="store_true", help="let curves flow from earlier keys: none at F - 1")
    for command in (bake, switch):
        command.add_argument(
            "--keep-roll",
            action="store_true",
            help="to IK, keep the orientation of foot controls and roll the heels from it; otherwise heels get neutral",
        )
    blend = _shot_command(commands, "blend", _blend, "ease the IK-FK sliders of limbs over a range of frames")
    blend.add_argument("--frames", type=_frames, required=True, metavar="A:B", help="first and last frame")
    blend.add_argument(
        "--keep",
        choices=("pose", "motion"),
        default="pose",
        help="pose (default): key both sides with what is seen; motion: leave both as they are and ease the slider",
    )
    blend.add_argument("--ease", choices=("linear", "smooth", "in", "out"), default="smooth", help="smooth by default")
    return parser


def _shot_command(commands: Any, name: str, job: Job, text: str, *, side: bool = True) -> argparse.ArgumentParser:
    command = _command(commands, name, job, text, "a .blend file with a rig")
    if side:
        command.add_argument("--to", required=True, choices=("ik", "fk"), help="the side to go to")
    command.add_argument("--rig", metavar="NAME", help="the rig object, where there are several")
    command.add_argument("--limbs", default="all", metavar="LIMBS", help="all (default), or names like hand.L,foot.R")
    return command


def _command(commands: Any, name: str, job: Job, text: str, source: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    command.add_argument("source", type=Path, metavar="BODY" if name in {"rig", "fit"} else "SHOT", help=source)
    command.add_argument(
        "-o", "--output", type=_blend_path, required=True, metavar="OUT.blend", help="the file to write"
    )
    command.add_argument("--report", type=Path, metavar="FILE", help="write the report as JSON")
    command.set_defaults(job=job)
    return command


def _blend_path(text: str) -> Path:
    if not text.lower().endswith(".blend"):
        raise argparse.ArgumentTypeError(f"{text!r} must end in .blend")
    return Path(text)


def _keys(text: str) -> int | str:
    if text in {"source", "fewest"}:
        return text
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is neither a number from 1 on, nor source, nor fewest")


def _frames(text: str) -> range:
    first, colon, last = text.partition(":")
    try:
        frames = range(int(first), int(last) + 1)
    except ValueError:
        frames = range(0)
        colon = ""
    if not colon:
        raise argparse.ArgumentTypeError(f"{text!r} is not a range like 1:250")
    if not frames:
        raise argparse.ArgumentTypeError(f"{text!r} ends before it begins")
    return frames


def _joined_frames(arguments: list[str]) -> list[str]:
    """``--frames -10:20`` as one word, which argparse would take for an option otherwise."""
    for option in ("--frames", "--frame", "--until"):
        if option in arguments[:-1]:
            place = arguments.index(option)
            arguments[place : place + 2] = [f"{option}={arguments[place + 1]}"]
    return arguments


@contextmanager
def _blender_talks_to(log: Path) -> Iterator[None]:
    """Blender's own messages go to a file, so that only ours are read; whatever happens, the streams come back.

    Blender writes to the descriptors, its add-ons to Python's streams: both are turned.
    """
    sys.stdout.flush(), sys.stderr.flush()
    _flush_c()
    kept = [os.dup(1), os.dup(2)]
    with log.open("w", encoding="utf-8") as file, redirect_stdout(file), redirect_stderr(file):
        try:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            yield
        finally:
            file.flush()
            _flush_c()
            for stream, copy in enumerate(kept, start=1):
                os.dup2(copy, stream)
                os.close(copy)


def _flush_c() -> None:
    """Write out what Blender's C code has printed and still holds back, as it does when nobody sits at a terminal."""
    ctypes.CDLL("ucrtbase" if os.name == "nt" else None).fflush(None)
