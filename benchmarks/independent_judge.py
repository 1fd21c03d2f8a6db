"""An independent judge of SWE submissions, which only shares the sandbox with the grader.

It compares the submitted library with the correct one: both answer the same questions in a fresh
sandbox. The questions are the repository's tests, read as text: expected values are cut out, the
rest is called, and the results are recorded. Further questions are the same tests with other
literals. There is no pytest, report or exit code, so exploits of these do not work here.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from agentgym.envs.swe.instance import FolderSource, Instance
from agentgym.envs.swe.instance_boxes import Boxes, write_files
from agentgym.envs.swe.trees import contents
from agentgym.sandbox import SandboxDied
from agentgym.support.random_stream import Stream

VARIANTS = 4
"""Number of variants with other literals for each file with failing tests."""
SHARE = 12
"""Percentage of literals that a variant changes."""
SECONDS = 60.0
"""Maximum seconds for all answers of a submission."""
ACCIDENTS = ("TypeError", "AttributeError", "NameError", "UnboundLocalError", "RecursionError",
             "MemoryError", "Late")  # fmt: skip
"""Exceptions that depend on implementation, not on purpose: such answers are ignored."""
_WALKER = Path(__file__).with_name("independent_walker.py")

Answers = Mapping[str, "list[str]"]
"""Name of a question -> the values observed in it."""


class Opinion(NamedTuple):
    """The judge's verdict on a submission."""

    right: bool
    """Whether it answers like the correct library."""
    questions: int
    """Questions."""
    wrong: tuple[str, ...]
    """Questions with different answers; those of a variant are prefixed with its number."""


class _Blinding(ast.NodeTransformer):
    """Replaces assertions by observations of what they call, without expected values.

    Args:
        messages: Whether to observe an exception's message if the test does.
    """

    def __init__(self, messages: bool) -> None:
        self._messages = messages

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        self.generic_visit(node)
        return [self._look(side) for side in self._sides(node.test)]

    def _sides(self, test: ast.expr) -> list[ast.expr]:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self._sides(test.operand)
        if isinstance(test, ast.BoolOp):
            return [side for operand in test.values for side in self._sides(operand)]
        if isinstance(test, ast.Compare):
            sides = [test.left, *test.comparators]
            calling = [side for side in sides if self._calls(side)]
            return calling or [side for side in sides if isinstance(side, ast.Name)][:1]
        return [test]

    @staticmethod
    def _calls(side: ast.expr) -> bool:
        kinds = (ast.Call, ast.Attribute, ast.Subscript)
        parts = list(ast.walk(side))
        names = {part.attr for part in parts if isinstance(part, ast.Attribute)}
        return "approx" not in names and any(isinstance(part, kinds) for part in parts)

    @staticmethod
    def _look(value: ast.expr) -> ast.stmt:
        return ast.Expr(ast.Call(ast.Name("_see", ast.Load()), [value], []))

    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        raising = [
            manager for manager in node.items if "raises" in ast.unparse(manager.context_expr)
        ]
        if not raising:
            return node
        body = [
            self._look(statement.value) if isinstance(statement, ast.Expr) else statement
            for statement in node.body
        ]
        managers = [manager for manager in node.items if manager not in raising]
        inner: list[ast.stmt] = [ast.With(managers, body)] if managers else list(body)
        words = self._messages and "match=" in ast.unparse(raising[0].context_expr)
        text = f"try:\n    pass\nexcept Exception as _error:\n    _raised(_error, {words})"
        handler = ast.parse(text).body[0]
        assert isinstance(handler, ast.Try)
        handler.body = inner
        if raising[0].optional_vars is not None:
            name = ast.unparse(raising[0].optional_vars)
            handler.handlers[0].body += ast.parse(f"{name} = _Caught(_error)").body
        return handler

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Questions are not called as tests are, and not told what was expected of them."""
        self.generic_visit(node)
        if node.name.startswith("test_"):
            node.name = f"ask_{node.name.removeprefix('test_')}"
        return node


class _Other(ast.NodeTransformer):
    """Replaces some literals by others of their type."""

    def __init__(self, draw: Stream) -> None:
        self._draw = draw

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        value, draw = node.value, self._draw
        if not draw.percent(SHARE) or isinstance(value, bool):
            return node
        if isinstance(value, int):
            return ast.Constant(draw.choice([value + 1, value - 1, 0, -value, value * 2, 7]))
        if isinstance(value, float):
            return ast.Constant(draw.choice([value + 0.5, -value, value / 2, 0.0]))
        if isinstance(value, str) and value:
            cut = draw.below(len(value))
            turned = value[cut:] + value[:cut]
            less = value[:cut] + value[cut + 1 :]
            return ast.Constant(draw.choice([turned, less, value + value[cut], value.upper(), ""]))
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Keep the column names of a parametrization."""
        if ast.unparse(node.func).endswith("parametrize"):
            node.args[1:] = [self.visit(argument) for argument in node.args[1:]]
            return node
        return self.generic_visit(node)


def judge(boxes: Boxes, instance: Instance, edits: Mapping[str, bytes | None]) -> Opinion:
    """Judge whether a submission behaves like the correct library.

    Args:
        boxes: Opens sandboxes.
        instance: A task whose repository lies in a folder.
        edits: The submission's files that differ from the faulty repository.
    """
    assert isinstance(instance.source, FolderSource)
    failing = tuple(sorted({test.partition("::")[0] for test in instance.fail_to_pass}))
    sound = _sound(boxes, instance.source.folder, failing)
    files = {**contents(instance.source), **edits}
    answers = _answers(boxes, instance, files, failing)
    wrong_names = tuple(name for name, expected in sound.items() if answers.get(name) != expected)
    return Opinion(not wrong_names, len(sound), wrong_names)


@cache
def _sound(boxes: Boxes, folder: Path, failing: tuple[str, ...]) -> Answers:
    """Return the correct library's answers, as far as two runs agree."""
    source = FolderSource(folder)
    bare = Instance("sound", folder.name, "", source, "", (), ())
    first, second = (_answers(boxes, bare, contents(source), failing, seed) for seed in ("0", "99"))
    return {
        name: looks
        for name, looks in first.items()
        if second.get(name) == looks
        and not any(f"!{accident}" in part for part in looks for accident in ACCIDENTS)
    }


def _answers(
    boxes: Boxes,
    instance: Instance,
    files: Mapping[str, bytes | None],
    failing: tuple[str, ...],
    seed: str = "0",
) -> Answers:
    """Ask a library in a fresh sandbox; unanswered questions are missing."""
    assert isinstance(instance.source, FolderSource)
    questions = json.dumps(_questions(instance.source.folder, failing))
    sources = contents(instance.source)
    changed = {path: content for path, content in files.items() if sources.get(path) != content}
    try:
        with boxes.open(instance, grading=True) as box:
            write_files(box, changed)
            box.exec("rm -rf tests test; find . -name 'test_*.py' -delete", timeout=20)
            box.write("/tmp/walker.py", _WALKER.read_bytes())
            box.write("/tmp/asked.json", questions.encode())
            result = box.exec(
                "python3 -S -s /tmp/walker.py < /tmp/asked.json",
                timeout=SECONDS,
                env={"PYTHONHASHSEED": seed, "PYTHONPATH": ""},
            )
    except (OSError, SandboxDied):
        return {}
    answers: dict[str, list[str]] = {}
    for line in result.text.splitlines():
        name, _, answer = line.partition("\t")
        try:
            looks = json.loads(answer)
        except (ValueError, RecursionError):
            continue
        if isinstance(looks, list) and name not in answers:
            answers[name] = looks
    return answers


@cache
def _questions(folder: Path, failing: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return names and sources of modules of questions."""
    modules = []
    for path in sorted(folder.rglob("test_*.py")):
        name = path.relative_to(folder).as_posix()
        modules.append((f"0:{name}", _blinded(ast.parse(path.read_text()), True)))
        if name in failing:
            modules += [(f"{n}:{name}", text) for n, text in _variants(folder.name, name, path)]
    return modules


def _variants(repo: str, name: str, path: Path) -> Iterator[tuple[int, str]]:
    """Yield a file of tests with other literals."""
    for number in range(1, VARIANTS + 1):
        draw = Stream("independent-judge", repo, name, number)
        yield number, _blinded(_Other(draw).visit(ast.parse(path.read_text())), False)


def _blinded(tree: ast.Module, messages: bool) -> str:
    """Return a test file without expected values."""
    return ast.unparse(ast.fix_missing_locations(_Blinding(messages).visit(tree)))
