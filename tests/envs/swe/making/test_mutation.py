"""Faults: which pieces of a file they change, and which they leave alone."""

from __future__ import annotations

import ast
import textwrap

import pytest

from agentgym.envs.swe.bundled import library
from agentgym.envs.swe.edits import apply_edits
from agentgym.envs.swe.making.bundled_sets import repositories
from agentgym.envs.swe.making.mutation import (
    diverse,
    is_fault,
    mutations,
    mutations_of,
    source_files,
)
from agentgym.support.random_stream import Stream


def faulty(body: str) -> set[tuple[str, str]]:
    """Return kind and faulty line of every fault of a function body."""
    source = "def f(a, b, c):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    content = source.encode()
    faults = set()
    for mutation in mutations_of(content, "m.py"):
        if is_fault(content, mutation):
            lines = apply_edits(content, [mutation.edit]).decode().split("\n")[1:]
            faults.add((mutation.kind, "\n".join(line[4:] for line in lines)))
    return faults


@pytest.mark.parametrize(
    ("body", "kind", "wrong"),
    [
        ("return a < b", "boundary", "return a <= b"),
        ("return a < b", "comparison", "return a > b"),
        ("return (a)  ==  (b)", "comparison", "return (a)  !=  (b)"),
        ("return a not in b", "comparison", "return a in b"),
        ("return a is not None", "truthiness", "return a"),
        ("return a is None", "truthiness", "return not a"),
        ("return a and b", "boolean operator", "return a or b"),
        ("return a and b", "dropped condition", "return a"),
        ("return a + b", "arithmetic", "return a - b"),
        ("return a - b", "swapped operands", "return b - a"),
        ("return a // b", "arithmetic", "return a % b"),
        ("a += b\nreturn a", "overwritten sum", "a = b\nreturn a"),
        ("a += b\nreturn a", "dropped update", "return a"),
        ("return a[1]", "off by one", "return a[2]"),
        ("return range(len(a))", "off by one", "return range(len(a) - 1)"),
        ("return b(a, key=True)", "flipped flag", "return b(a, key=False)"),
        ("return not a", "dropped not", "return a"),
        ("return -a", "dropped sign", "return a"),
        ("return a if b else c", "swapped branches", "return c if b else a"),
        (
            "if a:\n    b = 1\nelse:\n    b = c\n",
            "swapped branches",
            "if not a:\n    b = 1\nelse:\n    b = c\n",
        ),
        ("if a:\n    return b\nreturn c", "missing guard", "return c"),
        ("# none\nif a:\n    return b\nreturn c", "missing guard", "return c"),
        (
            "if a:\n    b = 1\nelif c:\n    b = 2\nreturn b",
            "missing case",
            "if a:\n    b = 1\nreturn b",
        ),
        ("a.sort(key=b)\nreturn a", "dropped statement", "return a"),
        ("a[b] = c\nreturn a", "dropped statement", "return a"),
        ("return min(a)", "wrong function", "return max(a)"),
        ("return a.lstrip(b)", "wrong function", "return a.rstrip(b)"),
        ("return a.strip().x", "dropped call", "return a.x"),
        ("return sorted(a)", "dropped call", "return list(a)"),
        ("return c(a, b)", "swapped arguments", "return c(b, a)"),
        ("return a[b:c]", "wrong slice", "return a[b:]"),
        ('raise ValueError("no")', "wrong exception", 'raise TypeError("no")'),
        (
            "try:\n    return a\nexcept (KeyError, OSError):\n    return b",
            "narrow except",
            "try:\n    return a\nexcept KeyError:\n    return b",
        ),
        (
            "for x in a:\n    if x:\n        continue\n    b(x)",
            "ended loop",
            "for x in a:\n    if x:\n        break\n    b(x)",
        ),
        ("return a, b", "swapped results", "return b, a"),
        ("é = 'ü'; return a < b", "boundary", "é = 'ü'; return a <= b"),
    ],
)
def test_kinds(body, kind, wrong):
    assert (kind, wrong) in faulty(body)


def test_defaults():
    [kind] = {m.kind for m in mutations_of(b"def f(a=True): return a", "m.py")}
    assert kind == "wrong default"


@pytest.mark.parametrize(
    "source",
    [
        '"""1 < 2"""\n__all__ = ["a"]\nLIMIT = 3\n',
        'def f():\n    """Return 1 if a < b."""\n',
        "def f(a: Literal[1, True]) -> Literal[2]: ...\n",
        "def f():\n    x: Literal[1] = y\n",
        "def f():\n    assert a < 1\n",
        "def f():\n    raise OSError(1 + 2)\n",
        'def f():\n    return f"{a + 1}"\n',
        "@cache(maxsize=1)\ndef f(): ...\n",
        "@overload\ndef f(a=1): ...\n",
        "if TYPE_CHECKING:\n    def f(a=1): ...\n",
        "def __hash__(self):\n    return 1 + 2\n",
        "def f():\n    return lru_cache(maxsize=1)\n",
        "def f():\n    while True:\n        g()\n",
        "def f():\n    return sum(sorted(a))\n",
        "def f():\n    return isinstance(a, b)\n",
        "def f():\n    return 'a' + b\n",
        "this is no Python",
        "def f():\n    return 1 < 2\n\0",
    ],
)
def test_what_is_left_alone(source):
    assert mutations_of(source.encode(), "m.py") == []


def test_what_is_no_text_is_left_alone():
    assert mutations_of(b"# -*- coding: latin-1 -*-\ndef f(): return '\xe9' < 1\n", "m.py") == []


@pytest.mark.parametrize("name", repositories())
def test_every_fault_of_a_library_is_one_edit_of_its_code(name):
    folder = library(name)
    entries = mutations(folder, source_files(folder))
    assert len(entries) >= 100
    assert entries == sorted(entries, key=lambda entry: entry.key)
    assert len({entry.key for entry in entries}) == len(entries)
    texts = {path: (folder / path).read_bytes() for path in source_files(folder)}
    assert not any("test" in path for path in texts)
    documentation = {path: _documentation(text) for path, text in texts.items()}
    for entry in entries[:: max(20, len(entries) // 40)]:
        changed = apply_edits(texts[entry.edit.path], [entry.edit])
        if is_fault(texts[entry.edit.path], entry):
            assert _documentation(changed) == documentation[entry.edit.path]


def _documentation(content: bytes) -> list[str | None]:
    """Return docstrings and annotations of a file."""
    texts: list[str | None] = []
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
            texts.append(ast.get_docstring(node))
        if isinstance(node, ast.arg) and node.annotation is not None:
            texts.append(ast.unparse(node.annotation))
    return texts


def test_equal_programs_are_no_fault():
    content = b"def f(a):\n    return c(a, a)\n"
    [mutation] = mutations_of(content, "m.py")
    assert mutation.kind == "swapped arguments" and not is_fault(content, mutation)


def test_the_order_is_drawn_by_the_seed():
    folder = library(repositories()[0])
    entries = mutations(folder, source_files(folder))
    first = list(diverse(entries, Stream("a"), 30))
    assert first == list(diverse(entries, Stream("a"), 30))
    assert first != list(diverse(entries, Stream("b"), 30))


def test_neighbours_in_the_order_do_not_resemble_each_other():
    folder = library(repositories()[0])
    entries = mutations(folder, source_files(folder))
    sample = list(diverse(entries, Stream("a"), 30))
    assert len({entry.kind for entry in sample[:12]}) >= 8
    assert {entry.edit.path for entry in sample} == {entry.edit.path for entry in entries}
    assert len({(entry.edit.path, entry.place, entry.kind) for entry in sample}) == len(sample)
    for index, first in enumerate(sample):
        for previous in sample[:index]:
            apart = first.edit.path != previous.edit.path or not (
                first.edit.start < previous.edit.start + len(previous.edit.old)
                and previous.edit.start < first.edit.start + len(first.edit.old)
            )
            assert apart


def test_tests_and_scripts_are_no_library(tmp_path):
    for path in ("a/b.py", "tests/c.py", "a/test_d.py", "setup.py", "docs/conf.py", ".x/e.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    assert source_files(tmp_path) == ["a/b.py"]
