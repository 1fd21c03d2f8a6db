"""The layering is law: arrows point down, on the map of CONTRIBUTING and nowhere else."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ABOVE = {"torch", "transformers", "trl", "peft", "vllm", "trainers"}
HEAVY = ["torch", "transformers", "trl", "vllm", "openai", "rich", "matplotlib"]


@cache
def modules(package: str) -> dict[str, Path]:
    """Return what can be imported: no part of such a path is other than an identifier."""
    paths = sorted((ROOT / package).rglob("*.py"))
    places = {path: path.relative_to(ROOT).with_suffix("").parts for path in paths}
    return {
        ".".join(parts).removesuffix(".__init__"): path
        for path, parts in places.items()
        if all(map(str.isidentifier, parts))
    }


@cache
def statements(path: Path) -> frozenset[tuple[str, str]]:
    """Return what a file imports, at its top, inside functions, and for checkers of types.

    Each is a module and a name that is taken from it, which is empty where it is itself meant.
    """
    imports: set[tuple[str, str]] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imports |= {(alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imports |= {(node.module, alias.name) for alias in node.names}
    return frozenset(imports)


def imported(path: Path) -> set[str]:
    """Return what a file may import: modules, and names of them that may be modules, too."""
    return {f"{module}.{name}" for module, name in statements(path) if name} | {
        module for module, _ in statements(path)
    }


def entered(path: Path, rooms: Iterable[str]) -> set[str]:
    """Return the rooms' modules that a file imports, without a package that only holds such one.

    ``from trainers import processes`` enters ``trainers.processes``; ``import agentgym`` and
    ``from agentgym import evaluate`` enter ``agentgym``.
    """
    targets = {
        f"{module}.{name}" if f"{module}.{name}" in rooms else module
        for module, name in statements(path)
    }
    return targets.intersection(rooms)


def test_the_suite_does_not_import_the_trainer_or_its_packages() -> None:
    offenders = {
        name: above
        for name, path in modules("agentgym").items()
        if (above := {module.split(".")[0] for module, _ in statements(path)} & ABOVE)
    }
    assert not offenders and modules("agentgym")


def floors() -> dict[str, int]:
    """Read the map: the floor of every room."""
    rows = re.findall(
        r"^\| (\d+) \| (.+) \|$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE
    )
    rooms = [(name, int(floor)) for floor, names in rows for name in re.findall("`(.+?)`", names)]
    assert len(dict(rooms)) == len(rooms), "a room stands on the map twice"
    return dict(rooms)


def room(module: str, rooms: Iterable[str]) -> str:
    """Return the room of the map that a module belongs to."""
    parts = module.split(".")
    prefixes = (".".join(parts[:size]) for size in range(len(parts), 0, -1))
    return next(prefix for prefix in prefixes if prefix in rooms)


@pytest.mark.parametrize("package", ["agentgym", "trainers"])
def test_every_room_is_on_the_map_and_arrows_point_down(package: str) -> None:
    floor, rooms = floors(), {**modules("agentgym"), **modules("trainers")}
    stray, rising = [], []
    for name, path in modules(package).items():
        # The two packages themselves are rooms, which must not take in what the map leaves out.
        source = room(name, floor)
        if source == package != name:
            stray.append(name)
            continue
        for target in sorted(entered(path, rooms)):
            other_room = room(target, floor)
            if other_room != source and floor[other_room] >= floor[source]:
                rising.append(f"{name} > {target}")
    assert not stray, f"not on the map of CONTRIBUTING: {stray}"
    assert not rising, f"arrows that do not point down: {rising}"


def test_the_map_names_no_room_that_is_gone() -> None:
    rooms = {**modules("agentgym"), **modules("trainers")}
    assert [name for name in floors() if name not in rooms] == []


@pytest.mark.parametrize("package", ["agentgym", "trainers"])
def test_no_module_is_imported_in_a_circle(package: str) -> None:
    known_modules = modules(package)
    graph = {
        name: {target for target in imported(path) if target in known_modules and target != name}
        for name, path in known_modules.items()
    }
    # A package's own __init__ gathers names of its modules, which may name the package.
    for name, targets in graph.items():
        graph[name] = {t for t in targets if not name.startswith(f"{t}.")}
    finished: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " > ".join((*trail[trail.index(name) :], name))
        if name not in finished:
            for target in sorted(graph[name]):
                visit(target, (*trail, name))
            finished.add(name)

    for name in graph:
        visit(name, ())


def test_importing_the_suite_loads_nothing_heavy() -> None:
    code = f"import sys, agentgym; print([m for m in {HEAVY} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
