"""Names say what they hold: few bound names are words that could name anything.

Counted are variables, parameters, attributes that are assigned and functions; one underscore more
makes no other name. Other projects of the field have at most one such name in two hundred.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("agentgym", "trainers", "benchmarks", "tests")
EMPTY = {
    "again", "another", "asked", "at", "began", "begun", "beside", "both", "came", "chosen",
    "each", "ended", "every", "few", "found", "given", "gone", "got", "heard", "held", "here",
    "how", "it", "kept", "known", "lost", "made", "many", "meant", "met", "mine", "news", "one",
    "others", "ours", "own", "played", "said", "seen", "sent", "shown", "sought", "taken",
    "that", "theirs", "them", "there", "these", "thing", "things", "this", "those", "told",
    "tried", "wanted", "what", "where", "which", "who", "whoever", "whole", "written",
}  # fmt: skip
"""Words that say nothing of a value: participles without a noun, pronouns, adverbs."""
VAGUE = {
    "after", "all", "before", "done", "left", "most", "now", "open", "other", "plain", "read",
    "rest", "right", "same", "wrong",
}  # fmt: skip
"""Words that seldom name a value by themselves: in ``before`` and ``left`` the noun is missing."""
MOST = 0.005
"""Greatest share of them among a package's names."""
EXCEPTIONS = {
    "left": "an operand, beside right, as in Python's own syntax trees",
    "lost": "how a game of TextWorld ended, beside won; a key of info",
    "right": "the operand beside left",
}
"""Words that are the name of a thing somewhere, with the thing."""


def bound_names(tree: ast.AST) -> Iterator[str]:
    """Yield every name that a module binds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ExceptHandler):
            yield node.name or ""


def python_files(package: str) -> Iterator[Path]:
    """Yield the modules of a package that we have written; bundled libraries are data."""
    for path in sorted((ROOT / package).rglob("*.py")):
        if not any(part.endswith(".d") for part in path.relative_to(ROOT).parts):
            yield path


@pytest.mark.parametrize("package", PACKAGES)
def test_few_names_say_nothing(package: str) -> None:
    words = (EMPTY | VAGUE) - EXCEPTIONS.keys()
    names: Counter[str] = Counter()
    empty: Counter[str] = Counter()
    for path in python_files(package):
        for name in bound_names(ast.parse(path.read_text("utf-8"))):
            names[name] += 1
            if name.strip("_") in words and not name.startswith("__"):
                empty[f"{path.relative_to(ROOT)}: {name}"] += 1
    share = empty.total() / names.total()
    assert share < MOST, f"{share:.2%} of the names of {package}, most in {empty.most_common(12)}"


PARAMETER = re.compile(r"^    \*{0,2}(\w+)(?: \([^)]*\))?:", re.MULTILINE)
"""An entry of a docstring's section ``Args``."""


def documented(node: ast.AST) -> set[str]:
    """Return the parameters that a docstring describes."""
    text = ast.get_docstring(node) or ""  # type: ignore[arg-type]
    _, _, section = text.partition("\nArgs:\n")
    return set(PARAMETER.findall(re.split(r"\n(?=\S)", section)[0]))


def parameters(node: ast.AST) -> set[str]:
    """Return the parameters of a function, or those with which a class is made, and its fields."""
    if isinstance(node, ast.ClassDef):
        fields = {
            part.target.id
            for part in node.body
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
        }
        makers = (part for part in node.body if getattr(part, "name", "") in MAKERS)
        return fields.union(*map(parameters, makers))
    return {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}  # type: ignore[attr-defined]


MAKERS = ("__init__", "__new__")


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_describe_parameters_that_are_there(package: str) -> None:
    strange = [
        f"{path.relative_to(ROOT)}: {node.name} has no {', '.join(sorted(absent))}"
        for path in python_files(package)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        # What a class inherits is not looked up.
        if (present := parameters(node)) or not isinstance(node, ast.ClassDef)
        if (absent := documented(node) - present)
    ]
    assert not strange


def test_exceptions_stay_few() -> None:
    assert len(EXCEPTIONS) <= 30
