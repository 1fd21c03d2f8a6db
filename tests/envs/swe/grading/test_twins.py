"""Canaries among the tests of a suite: what they look like, and what they say of a run."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.swe.diffs import apply_diff
from agentgym.envs.swe.grading.grader import Grader
from agentgym.envs.swe.grading.junit import CaseResult
from agentgym.envs.swe.grading.suite_names import another_name
from agentgym.envs.swe.grading.test_run import FileRun
from agentgym.envs.swe.grading.twins import Twin, TwinCanaries, canaries_for_suite, function_of
from agentgym.envs.swe.instance_boxes import Boxes
from agentgym.envs.swe.trees import contents
from agentgym.support.random_stream import Stream
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.small import SmallSet

SUITE = '''
import pytest


@pytest.mark.parametrize(("text", "length"), [("a", 1), ("bc", 2)])
def test_length_of_text(text, length):
    """A text has a length."""
    assert len(text) == length


def test_empty_text():
    """Nothing has none."""
    assert "" == ""


def test_refused_words():
    """Words are refused in their order."""
    with pytest.raises(ValueError, match="no such word"):
        raise ValueError("there is no such word")


def test_neither_word():
    """None of two words is there."""
    assert not ("a" in "b" or "c" in "b")


class TestOrder:
    def test_is_kept(self):
        assert [3, 1] == [3, 1]

    def test_is_known(self):
        assert 1 in [1]


def test_that_is_held_back():
    assert 1 + 1 == 2
'''
FILE = "tests/test_suite.py"
FAILING = (f"{FILE}::test_that_is_held_back",)
KEPT = (
    f"{FILE}::test_length_of_text[a-1]", f"{FILE}::test_length_of_text[bc-2]",
    f"{FILE}::test_empty_text", f"{FILE}::test_refused_words",
    f"{FILE}::test_neither_word", f"{FILE}::TestOrder::test_is_kept",
    f"{FILE}::TestOrder::test_is_known",
)  # fmt: skip


def make_canaries(
    key: int | str, text: str = SUITE, paths: tuple[str, ...] = (FILE,)
) -> TwinCanaries:
    stream = Stream("test", key)
    return canaries_for_suite({FILE: text.encode()}, paths, FAILING, KEPT, stream)


def words(names: list[str]) -> set[str]:
    return {word for name in names for word in name.split("_")}


@given(st.integers(0, 10**6))
def test_twins_look_like_the_tests_of_their_file(key: int) -> None:
    canaries = make_canaries(key)
    text = canaries.files[FILE].decode()
    names, new_names = (re.findall(r"def (test\w+)", source) for source in (SUITE, text))
    new = [name for name in new_names if name not in names]
    assert [name for name in new_names if name in names] == names and canaries.along == ()
    assert len(new) == len(set(new)) == len(canaries.twins) == 5
    assert sum(twin.fails for twin in canaries.twins) == 3
    assert {word for word in words(new) if not word.isdigit()} <= words(names)
    assert not re.search(r"[0-9a-f]{12}|canary|assert (True|False)", text)
    assert {twin.test.rpartition("::")[2] for twin in canaries.twins} == set(new)
    assert {twin.original for twin in canaries.twins} <= set(map(function_of, KEPT))
    documented = re.findall('"""(.*)"""', text)
    assert {docstring for docstring in documented if documented.count(docstring) > 1} <= {
        "A text has a length."
    }


@given(st.integers(0, 10**6))
def test_what_must_fail_fails_where_its_original_passes(key: int) -> None:
    canaries = make_canaries(key)
    space: dict[str, object] = {}
    exec(compile(canaries.files[FILE], FILE, "exec"), space)
    for twin in canaries.twins:
        *_, group, name = twin.test.split("::")
        holder = space["TestOrder"]() if group == "TestOrder" else None  # type: ignore[operator]
        function = getattr(holder, name) if holder else space[name]
        marks = getattr(function, "pytestmark", [])
        rows = marks[0].args[1] if marks else [()]
        assert len(rows) == twin.cases
        for row in rows:
            if twin.fails:
                with pytest.raises((AssertionError, pytest.fail.Exception)):
                    function(*row)
            else:
                function(*row)


def test_another_submission_has_other_canaries_and_the_same_the_same() -> None:
    assert make_canaries(1) == make_canaries(1)
    assert len({make_canaries(key).files[FILE] for key in range(20)}) == 20


def test_a_suite_without_tests_that_can_be_copied_gets_a_file_of_its_own() -> None:
    for text in ("def broken(:\n", "def test_that_is_held_back():\n    assert 1 + 1 == 2\n"):
        canaries = make_canaries(1, text)
        [path] = canaries.along
        assert path.startswith("tests/test_") and path != FILE and [*canaries.files] == [path]
        names = re.findall("def (.*)[(]", canaries.files[path].decode())
        assert [twin.test for twin in canaries.twins] == [f"{path}::{name}" for name in names]
        assert [twin.fails for twin in canaries.twins] == [True, False]


def test_single_tests_run_with_their_twins() -> None:
    canaries = make_canaries(1, paths=KEPT[:1])
    assert set(canaries.along) == {twin.test for twin in canaries.twins}


def test_canaries_sing() -> None:
    twins = (Twin("a::bad", "a::one", True, 1), Twin("a::good", "a::two", False, 2))
    canaries = TwinCanaries({}, twins, ())
    passed, failed = CaseResult("passed"), CaseResult("failed")
    solution = {
        "a::one": passed, "a::two[1]": passed, "a::two[2]": passed, "a::bad": failed,
        "a::good[1]": passed, "a::good[2]": passed,
    }  # fmt: skip

    def sing(results: dict[str, CaseResult], code: int = 1) -> bool:
        return canaries.sing([FileRun(results, code)], results)

    assert sing(solution) and not sing(solution, 0) and not canaries.sing([], solution)
    assert {*canaries.without(solution)} == {"a::one", "a::two[1]", "a::two[2]"}
    for name, bad_patch in (
        ("a::bad", passed),
        ("a::bad", CaseResult("error")),
        ("a::good[1]", failed),
    ):
        assert not sing({**solution, name: bad_patch})
        assert not sing({test: case for test, case in solution.items() if test != name})
    assert sing({**solution, "a::good[1]": failed, "a::two[1]": failed}), (
        "the source broke the test"
    )
    assert not sing({**solution, "a::good[1]": failed, "a::one": failed}), "it broke another one"


@given(st.integers(), st.lists(st.from_regex(r"[tT]est[A-Za-z_0-9]{1,12}", fullmatch=True)))
def test_names_are_new(key: int, names: list[str]) -> None:
    used = {*names, "test_value"}
    name = another_name(Stream("names", key), names, used)
    assert name.isidentifier() and name not in used and name.lower().startswith("test")


def test_names_of_all_kinds() -> None:
    for names in (["TestTextOrder", "TestFirstWord"], ["testTextOrder", "testFirstWord"]):
        name = another_name(Stream("names"), names, names)
        assert name in {f"{names[0][:4]}{ending}" for ending in ("TextWord", "FirstOrder")}


@needs_box
@pytest.mark.parametrize("apart", [False, True])
def test_right_and_broken_source_are_told_as_they_are(apart: bool) -> None:
    instance = SmallSet().instance("train", 0)
    grader = Grader(Boxes(), 30, apart)
    repaired = apply_diff(instance.patch, contents(instance.source).get)
    assert grader.run(instance, repaired).sound
    [(path, content)] = repaired.items()
    broken = {path: (content or b"").replace(b"a * b", b"a - b")}
    run = grader.run(instance, broken)
    assert run.sound and run.statuses["tests/test_plain.py::test_mul"] == "FAILED"
    unknown = replace(instance, pass_to_pass=())
    assert grader.run(unknown, repaired).sound, "plain canaries"
    assert ast.parse(content or b"")
