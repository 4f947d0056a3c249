# SPDX-License-Identifier: GPL-3.0-or-later
"""The house rules that a reader may rely on: imports go down, geometry is free of Blender, each file has its licence,
links lead somewhere.

Read from the source, so that nothing is imported and the rules hold for code that no test runs.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "rigify_ikfk_tools"
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
SOURCES = sorted(
    path.relative_to(ROOT)
    for folder in ("benchmarks", "demo", "docs", "rigify_ikfk_tools", "tests", "tools", ".")
    for path in (ROOT / folder).glob("*.py" if folder == "." else "**/*.py")
)
FLOORS = {"geometry": 0, "rigs": 1, "jobs": 2, "ui": 3, "cli": 3, "__main__": 4}
"""Each part of the package may import from its own floor's room and from the floors below."""
FOR_ALL = {"errors", "report"}
BLENDER = {"bpy", "bmesh", "mathutils", "addon_utils", "rna_prop_ui", "bpy_extras", "gpu", "blf", "rigify"}


def room_of(module: Path) -> str:
    """The part of the package that a file lies in: a folder's name, or the file's own at the top."""
    return module.parts[0].removesuffix(".py")


def imported(path: Path, package: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The dotted names that a source file imports, relative ones made absolute from `package`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            base = (*start, *(node.module.split(".") if node.module else ()))
            yield from ((*base, alias.name) for alias in node.names)


def breaks_rule(importer: str, target: str) -> bool:
    """Whether a room may not import from another."""
    if target in FOR_ALL or importer == target or importer == "__init__":
        return False
    return importer in FOR_ALL or FLOORS[target] >= FLOORS[importer]


def package_of(module: Path) -> tuple[str, ...]:
    return ("rigify_ikfk_tools", *module.parts[:-1])


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_imports_go_down(module):
    names = list(imported(PACKAGE / module, package_of(module)))
    targets = {name[1] for name in names if name[0] == "rigify_ikfk_tools" and len(name) > 1}
    wrong = sorted(target for target in targets if breaks_rule(room_of(module), target))
    assert not wrong, f"{module} imports {', '.join(wrong)}, which lies beside or above it"


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_imports_inside_the_package_are_relative(module):
    """As an extension the package has another name."""
    tree = ast.parse((PACKAGE / module).read_text(encoding="utf-8"))
    absolute = [
        node.lineno
        for node in ast.walk(tree)
        if (isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith("rigify_ikfk_tools"))
        or (isinstance(node, ast.Import) and any(alias.name.startswith("rigify_ikfk_tools") for alias in node.names))
    ]
    assert not absolute


@pytest.mark.parametrize("module", [module for module in MODULES if room_of(module) == "geometry"], ids=str)
def test_geometry_knows_no_blender(module):
    names = {name[0] for name in imported(PACKAGE / module, package_of(module))}
    assert not names & BLENDER


def test_geometry_loads_no_blender():
    """Nor does it by way of the package around it."""
    modules = [".".join(("rigify_ikfk_tools", *m.with_suffix("").parts)) for m in MODULES if room_of(m) == "geometry"]
    load = "; ".join(f"importlib.import_module({module!r})" for module in modules)
    code = f"import importlib, sys; {load}; sys.exit('bpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_each_file_names_its_licence(source):
    first_lines = (ROOT / source).read_text(encoding="utf-8").splitlines()[:2]
    assert "# SPDX-License-Identifier: GPL-3.0-or-later" in first_lines


@pytest.mark.parametrize(
    "page", sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("[!.]*/*.md")), ids=lambda page: page.name
)
def test_links_between_pages_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    lost = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert not lost


@pytest.mark.parametrize(
    ("importer", "line", "wrong"),
    [
        ("rigs/limbs.py", "from ..jobs import bake", True),
        ("rigs/limbs.py", "from ..jobs.bake import bake", True),
        ("rigs/limbs.py", "from .. import jobs", True),
        ("rigs/limbs.py", "from .fcurves import Rewrite", False),
        ("jobs/bake.py", "from ..rigs.limbs import find_limbs", False),
        ("jobs/bake.py", "import rigify_ikfk_tools.ui", True),
        ("ui/panels.py", "from .. import cli", True),
        ("geometry/chains.py", "from ..errors import ToolError", False),
        ("errors.py", "from .rigs import limbs", True),
    ],
)
def test_the_rule_itself(tmp_path, importer, line, wrong):
    """A wrong import is seen in each of its spellings."""
    source = tmp_path / "source.py"
    source.write_text(line, encoding="utf-8")
    module = Path(importer)
    (name,) = imported(source, package_of(module))
    assert breaks_rule(room_of(module), name[1]) is wrong
