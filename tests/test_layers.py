"""The layering is law: the suite never reaches up to the trainer; no imports in a circle."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ABOVE = {"torch", "transformers", "trl", "peft", "vllm", "trainers"}
HEAVY = ["torch", "transformers", "trl", "vllm", "openai", "rich", "tyro", "matplotlib"]


def modules(package: str) -> dict[str, Path]:
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted((ROOT / package).rglob("*.py"))
    }


def imported(path: Path, everywhere: bool) -> Iterator[str]:
    """Yield what a file imports: anywhere, or only when it is itself imported."""
    tree = ast.parse(path.read_text())
    nodes = ast.walk(tree) if everywhere else tree.body
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("name", modules("agentgym"))
def test_the_suite_does_not_import_the_trainer_or_its_packages(name: str) -> None:
    found = {module.split(".")[0] for module in imported(modules("agentgym")[name], True)}
    assert not found & ABOVE


@pytest.mark.parametrize("package", ["agentgym", "trainers"])
def test_no_module_is_imported_in_a_circle(package: str) -> None:
    known = modules(package)
    graph = {
        name: {target for target in imported(path, False) if target in known and target != name}
        for name, path in known.items()
    }
    # A package's own __init__ gathers names of its modules, which may name the package.
    for name, targets in graph.items():
        graph[name] = {t for t in targets if not name.startswith(f"{t}.")}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " > ".join((*trail[trail.index(name) :], name))
        if name not in done:
            for target in sorted(graph[name]):
                visit(target, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_importing_the_suite_loads_nothing_heavy() -> None:
    code = f"import sys, agentgym; print([m for m in {HEAVY} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
