# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: what it writes, what it says, how it ends."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import bpy
import pytest

from demo.body import make_body
from rigify_ikfk_tools import cli

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def shot(generate_stock, tmp_path):
    """A saved shot with a moving left hand on the IK side, frames 1 to 8."""
    rig = generate_stock("basic_human")
    hand = rig.pose.bones["hand_ik.L"]
    for frame, x in ((1, 0.0), (8, -0.2)):
        hand.location.x = x
        hand.keyframe_insert("location", frame=frame)
    bpy.context.scene.frame_end = 8
    path = tmp_path / "shot.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


@pytest.fixture
def body(empty_scene, tmp_path):
    make_body()
    path = tmp_path / "body.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


def run(capfd, *arguments):
    """Run a command here; its exit status, output and errors."""
    cli._flush_c()  # what Blender has printed while the files were made is not the command's
    capfd.readouterr()
    status = cli.main([str(argument) for argument in arguments])
    told = capfd.readouterr()
    return status, told.out, told.err


def test_bake_writes_the_shot_and_the_report_and_leaves_the_input(capfd, shot, tmp_path):
    before = shot.read_bytes()
    out, report = tmp_path / "out.blend", tmp_path / "report.json"
    status, told, errors = run(capfd, "bake", shot, "-o", out, "--to", "fk", "--limbs", "arm.L", "--report", report)
    assert (status, errors) == (0, "")
    assert "hand.L to FK: largest error 0.00" in told
    assert shot.read_bytes() == before
    data = json.loads(report.read_text())
    assert data["job"] == "bake"
    assert [limb["limb"] for limb in data["limbs"]] == ["hand.L"]
    assert data["limbs"][0]["worst_mm"] < 0.01
    assert (data["first_frame"], data["last_frame"]) == (1, 8)
    assert data["blender"] == bpy.app.version_string
    bpy.ops.wm.open_mainfile(filepath=str(out))
    bpy.context.scene.frame_set(4)
    assert bpy.data.objects["rig"].pose.bones["upper_arm_parent.L"]["IK_FK"] == 1.0
    assert {path.name for path in tmp_path.iterdir()} >= {"out.blend", "report.json"}
    assert not [path for path in tmp_path.iterdir() if "partial" in path.name]


@pytest.mark.parametrize("keeps", [False, True])
def test_the_roll_of_a_foot_is_kept_when_asked_for(capfd, generate_stock, tmp_path, keeps):
    rig = generate_stock("basic_human")
    foot, gear = rig.pose.bones["foot_fk.L"], rig.pose.bones["thigh_parent.L"]
    foot.rotation_quaternion = 0.96, 0.28, 0, 0
    foot.keyframe_insert("rotation_quaternion", frame=1)
    gear["IK_FK"] = 1.0
    shot, out = tmp_path / "shot.blend", tmp_path / "out.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(shot))
    options = ("--keep-roll",) if keeps else ()
    assert run(capfd, "bake", shot, "-o", out, "--to", "ik", "--frames", "1:2", "--limbs", "foot.L", *options)[0] == 0
    bpy.ops.wm.open_mainfile(filepath=str(out))
    heel = bpy.data.objects["rig"].pose.bones["foot_heel_ik.L"]
    assert (abs(heel.rotation_euler.x) > 0.5) is keeps


def test_few_keys(capfd, shot, tmp_path):
    out, report = tmp_path / "out.blend", tmp_path / "report.json"
    arguments = ("bake", shot, "-o", out, "--to", "fk", "--limbs", "hand.L", "--report", report)
    for keys, count in (("3", 4), ("source", 2), ("fewest", None)):
        status, told, _ = run(capfd, *arguments, "--keys", keys, "--tolerance-mm", "5", "--tolerance-deg", "3")
        assert status == 0
        told_count = json.loads(report.read_text())["keys"]["hand.L"]
        assert f"Keys on {told_count} of 8 frames." in told
        assert told_count == count if count else 2 <= told_count < 8
    status, _, errors = run(capfd, *arguments, "--keys", "0")
    assert status == 2
    assert "neither a number from 1 on, nor source, nor fewest" in errors


def test_switch_and_blend_do_what_their_jobs_do(capfd, shot, tmp_path):
    out, report = tmp_path / "out.blend", tmp_path / "report.json"
    arguments = ("--to", "fk", "--frame", "4", "--until", "6", "--limbs", "hand.L")
    status, told, _ = run(capfd, "switch", shot, "-o", out, *arguments, "--report", report)
    assert status == 0
    assert "switch rig to FK, frames 4 to 6" in told
    assert json.loads(report.read_text())["to"] == "fk"
    bpy.ops.wm.open_mainfile(filepath=str(out))
    gear = bpy.data.objects["rig"].pose.bones["upper_arm_parent.L"]
    sliders = []
    for frame in (3, 4, 6, 7):
        bpy.context.scene.frame_set(frame)
        sliders.append(gear["IK_FK"])
    assert sliders == [0.0, 1.0, 1.0, 0.0]

    arguments = ("--to", "fk", "--frames", "2:6", "--limbs", "hand.L", "--keep", "motion", "--ease", "linear")
    status, told, _ = run(capfd, "blend", shot, "-o", out, *arguments, "--report", report)
    assert status == 0
    assert "blend the sliders of rig to FK, motion kept, frames 2 to 6" in told
    assert "hand.L: moves " in told
    data = json.loads(report.read_text())
    assert (data["ease"], data["borders"][0]["limb"]) == ("linear", "hand.L")
    bpy.ops.wm.open_mainfile(filepath=str(out))
    bpy.context.scene.frame_set(4)
    assert bpy.data.objects["rig"].pose.bones["upper_arm_parent.L"]["IK_FK"] == pytest.approx(0.5)


def test_another_parent(capfd, shot, tmp_path):
    out = tmp_path / "out.blend"
    arguments = ("--parent", "torso", "--frame", "3", "--until", "5", "--limbs", "hand.L")
    status, told, _ = run(capfd, "parent", shot, "-o", out, *arguments)
    assert status == 0
    assert "hand_ik.L follows torso: largest error 0.00" in told
    status, _, errors = run(capfd, "parent", shot, "-o", out, "--parent", "moon", "--frame", "3")
    assert (status, "can't follow 'moon'. It can follow 0 none, 1 root" in errors) == (1, True)


def test_negative_frames(capfd, shot, tmp_path):
    out = tmp_path / "out.blend"
    status, told, _ = run(capfd, "bake", shot, "-o", out, "--to", "ik", "--frames", "-3:4", "--limbs", "hand.L")
    assert status == 0
    assert "frames -3 to 4" in told


def test_rig_from_a_blend_and_fit_from_an_obj(capfd, body, tmp_path):
    status, told, errors = run(capfd, "rig", body, "-o", tmp_path / "rigged.blend", "--preset", "basic_human")
    assert (status, errors) == (0, "")
    assert "bone heat" in told
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "rigged.blend"))
    assert bpy.data.objects["body"].modifiers["Armature"].object.data["rig_id"]
    bpy.ops.wm.open_mainfile(filepath=str(body))
    bpy.ops.wm.obj_export(filepath=str(tmp_path / "body.obj"))
    marks = tmp_path / "marks.json"
    marks.write_text(json.dumps({"head_top": [0, 0, 1.8]}))
    arguments = ("fit", tmp_path / "body.obj", "-o", tmp_path / "fit.blend", "--landmarks", marks)
    status, told, errors = run(capfd, *arguments)
    assert (status, errors) == (0, "")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "fit.blend"))
    assert bpy.data.objects["metarig"].data.bones["spine.006"].tail_local.z == pytest.approx(1.8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bake", "missing.blend", "-o", "o.blend", "--to", "ik"), "missing.blend does not exist"),
        (("bake", ".", "-o", "o.blend", "--to", "ik"), ". is not a file"),
        (("bake", "text.blend", "-o", "o.blend", "--to", "ik"), "named .blend but is not a Blender file"),
        (("bake", "cut.blend", "-o", "o.blend", "--to", "ik"), "Blender can't open cut.blend"),
        (("bake", "notes.txt", "-o", "o.blend", "--to", "ik"), "notes.txt is no .blend file"),
        (("bake", "shot.blend", "-o", "shot.blend", "--to", "ik"), "is an input itself"),
        (("bake", "shot.blend", "-o", "o.blend", "--to", "ik", "--report", "shot.blend"), "is an input itself"),
        (("fit", "cube.blend", "-o", "o.blend", "--landmarks", "notes.txt", "--report", "notes.txt"), "is an input"),
        (("fit", "cube.blend", "-o", "o.blend", "--preset", "notes.txt", "--report", "notes.txt"), "is an input"),
        (("bake", "shot.blend", "-o", "o.blend", "--to", "ik", "--report", "./o.blend"), "can't both be o.blend"),
        (("bake", "shot.blend", "-o", "o.blend", "--to", "ik", "--report", "folder.blend"), "folder.blend is a folder"),
        (("bake", "shot.blend", "-o", "o.blend", "--to", "ik", "--report", "no/r.json"), "folder no does not exist"),
        (("bake", "shot.blend", "-o", "o" * 300 + ".blend", "--to", "ik"), "can't be written: File name too long"),
        (("bake", "shot.blend", "-o", "no/where/o.blend", "--to", "ik"), "folder no/where does not exist"),
        (("bake", "shot.blend", "-o", "folder.blend", "--to", "ik"), "folder.blend is a folder"),
        (("bake", "shot.blend", "-o", "o.blend", "--to", "ik", "--limbs", "tail"), "no limb 'tail'. It has foot.L"),
        (("bake", "shot.blend", "-o", "o.blend", "--to", "ik", "--limbs", ","), "No limb was named"),
        (("bake", "shot.blend", "-o", "o.blend", "--to", "ik", "--rig", "hero"), "no armature 'hero'"),
        (("bake", "empty.blend", "-o", "o.blend", "--to", "ik"), "no rig generated by Rigify in the scene"),
        (("bake", "two.blend", "-o", "o.blend", "--to", "ik"), "several rigs: 'rig', 'second'"),
        (("rig", "empty.blend", "-o", "o.blend"), "no visible mesh in empty.blend"),
        (("rig", "notes.txt", "-o", "o.blend"), "a body is one of .blend, .obj, .glb, .gltf, .fbx"),
        (("rig", "empty.blend", "-o", "o.blend", "--mesh", "hat"), "no mesh named 'hat'"),
        (("fit", "cube.blend", "-o", "o.blend", "--preset", "elf"), "no preset 'elf'"),
        (("fit", "cube.blend", "-o", "o.blend"), "can't be read as a standing humanoid"),
        (("fit", "cube.blend", "-o", "o.blend", "--landmarks", "notes.txt"), "can't be read as JSON"),
        (("fit", "cube.blend", "-o", "o.blend", "--landmarks", "no.json"), "landmark file no.json does not exist"),
    ],
)
def test_bad_input_gets_one_sentence_and_status_1(capfd, shot, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    Path("text.blend").write_text("hello")
    Path("notes.txt").write_text("hello")
    Path("cut.blend").write_bytes(shot.read_bytes()[:5000])
    Path("folder.blend").mkdir()
    if arguments[1] == "two.blend":
        twin = bpy.data.objects["rig"].copy()
        twin.name = "second"
        bpy.context.scene.collection.objects.link(twin)
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "two.blend"), copy=True)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "empty.blend"))
    bpy.ops.mesh.primitive_cube_add()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "cube.blend"))
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    status, told, errors = run(capfd, *arguments)
    assert (status, told) == (1, "")
    assert message in errors
    assert errors.count("\n") == 1
    assert "Traceback" not in errors
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_a_library_of_the_input_is_never_overwritten_and_links_follow_the_output(capfd, empty_scene, tmp_path):
    library, source = tmp_path / "library.blend", tmp_path / "shots" / "body.blend"
    source.parent.mkdir()
    bpy.data.materials.new("skin").use_fake_user = True
    bpy.ops.wm.save_as_mainfile(filepath=str(library))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(source))
    body = make_body()
    with bpy.data.libraries.load(str(library), link=True, relative=True) as (_, linked):
        linked.materials = ["skin"]
    body.data.materials.append(linked.materials[0])
    bpy.ops.wm.save_as_mainfile(filepath=str(source))
    before = library.read_bytes()
    status, told, errors = run(capfd, "fit", source, "-o", library)
    assert (status, told) == (1, "")
    assert "is a library that the input links to" in errors
    assert library.read_bytes() == before
    status, _, errors = run(capfd, "fit", source, "-o", tmp_path / "o.blend")
    assert (status, errors) == (0, "")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "o.blend"))
    assert [entry.filepath for entry in bpy.data.libraries] == ["//library.blend"]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("dance",),
        ("bake", "shot.blend", "-o", "o.blend"),
        ("bake", "shot.blend", "-o", "o.blend", "--to", "up"),
        ("bake", "shot.blend", "-o", "o.blend", "--to", "ik", "--frames", "20:10"),
        ("bake", "shot.blend", "-o", "o.blend", "--to", "ik", "--frames", "all"),
        ("bake", "shot.blend", "-o", "o.txt", "--to", "ik"),
    ],
)
def test_bad_usage_ends_with_status_2(capfd, arguments):
    status, told, errors = run(capfd, *arguments)
    assert (status, told) == (2, "")
    assert "usage:" in errors


def test_a_fault_of_ours_is_one_sentence_and_its_trace_is_kept(capfd, shot, tmp_path, monkeypatch):
    def broken(*args, **kwargs):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("rigify_ikfk_tools.jobs.bake.bake", broken)
    status, told, errors = run(capfd, "bake", shot, "-o", tmp_path / "o.blend", "--to", "ik")
    assert (status, told) == (1, "")
    assert errors.count("\n") == 1
    log = Path(errors.strip().rpartition("see ")[2])
    assert "ZeroDivisionError: oh" in log.read_text()
    log.unlink()
    assert not (tmp_path / "o.blend").exists()


@pytest.mark.skipif(shutil.which(sys.executable) is None, reason="this Blender has no Python to start by itself")
def test_as_a_command_of_its_own(shot, tmp_path):
    if Path(sys.executable).stem.startswith("blender") or bpy.app.binary_path:
        pytest.skip("inside Blender the command is blender --command, tried with the built zip")
    out = tmp_path / "out.blend"
    command = [sys.executable, "-m", "rigify_ikfk_tools", "bake", str(shot), "-o", str(out), "--to", "fk"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == f"saved {out}"
    done = subprocess.run(
        [*command[:-1], "ik", "--limbs", "tail"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("rigify_ikfk: 'rig' has no limb 'tail'")


@pytest.mark.skipif(os.name == "nt", reason="Windows has several C libraries, each with buffers of its own")
def test_what_c_code_prints_goes_to_the_log_and_not_behind_our_words(tmp_path):
    if bpy.app.binary_path:
        pytest.skip("needs a Python that starts by itself")
    code = """
import ctypes, pathlib, sys
from rigify_ikfk_tools import cli
with cli._blender_talks_to(pathlib.Path(sys.argv[1])):
    ctypes.CDLL(None).puts(b"from C")
print("ours")
"""
    log = tmp_path / "log"
    command = [sys.executable, "-c", code, str(log)]
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}  # C's buffers too
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=surroundings)
    assert (done.stdout, log.read_text()) == ("ours\n", "from C\n")
