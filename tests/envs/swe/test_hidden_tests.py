"""Tests that are held back: what is cut, and the argument that keeps them in sight."""

from __future__ import annotations

import ast

import pytest

from agentgym.envs.swe.edits import apply_edits
from agentgym.envs.swe.env import SWEEnv
from agentgym.envs.swe.hidden_tests import cutting_edits
from agentgym.envs.swe.trees import contents
from agentgym.errors import ConfigurationError
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.making.two_modules import FILES, make_two_modules
from tests.envs.swe.small import SUBMIT, SmallSet, bash

FILE = "tests/test_prices.py"
ALL = ("TestTotal::test_total", "TestTotal::test_discount", "test_large_discount[6]")


@pytest.fixture
def folder(tmp_path):
    return make_two_modules(tmp_path / "prices")


def cut(folder, *names):
    edits = cutting_edits(folder, [f"{FILE}::{name}" for name in names])
    return apply_edits((folder / FILE).read_bytes(), edits).decode()


def test_a_function_goes_with_decorators_comments_and_all_its_rows(folder):
    text = cut(folder, "test_large_discount[6]", "TestTotal::test_total")
    assert "parametrize" not in text and "test_large_discount" not in text
    assert "nothing else" not in text and "test_discount" in text
    assert "\n\n\n\n" not in text
    ast.parse(text)


def test_a_class_goes_with_its_last_test(folder):
    assert "class TestTotal" not in cut(folder, *ALL)
    assert "class TestTotal" in cut(folder, ALL[0])


def test_what_is_not_in_the_file_stays(folder):
    assert cut(folder, "TestTotal::test_inherited") == FILES[FILE]
    assert cutting_edits(folder, ["tests/gone.py::test_x"]) == ()


@needs_box
def test_the_agent_does_not_see_them_and_is_graded_by_them():
    options = {"split": "train", "index": 0}
    for hidden in (None, False):
        env = SWEEnv(hidden_tests=hidden)
        env.reset(options=options)
        instance = env.session.instance
        test = instance.fail_to_pass[0].partition("[")[0]
        name = test.split("::")[-1]
        observation, *_ = env.step(bash(f"grep -rn 'def {name}(' tests"))
        assert (f"def {name}" in observation) == (hidden is False)
        for path, content in contents(type(instance.source)(instance.source.folder)).items():
            if content != contents(instance.source).get(path) and not path.startswith("tests/"):
                env.step(bash(f"cat > {path} <<'END_OF_FILE'\n{content.decode()}END_OF_FILE"))
        _, reward, _, _, info = env.step(SUBMIT)
        assert (reward, info["details"]["verdict"]) == (1.0, "FULL")
        env.close()


def test_the_old_set_shows_its_tests_unless_asked():
    for hidden, brought in ((None, False), (True, True)):
        env = SWEEnv(data="bundled-tokens", hidden_tests=hidden)
        env.reset(options={"split": "test", "index": 0})
        assert bool(env.session.instance.test_patch) == brought
        env.close()


def test_tasks_of_one_difficulty_are_asked_for():
    total = SWEEnv().tasks.len("train")
    some = [SWEEnv(difficulty=level).tasks.len("train") for level in ("easy", "medium", "hard")]
    assert sum(some) == total and min(some) > 0
    env = SWEEnv(difficulty="hard")
    env.reset(options={"split": "train", "index": 0})
    assert env.session.instance.details["difficulty"] == "hard"
    env.close()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"difficulty": "absurd"}, "difficulty"),
        ({"hidden_tests": 3}, "hidden_tests"),
        ({"data": "bundled-tokens", "difficulty": "hard"}, "have \\(none\\)"),
        ({"data": SmallSet(), "hidden_tests": False}, "expected hidden_tests=False and difficulty"),
        ({"data": "verified", "difficulty": "hard"}, "published sets bring their tests"),
    ],
)
def test_what_a_set_cannot_do_is_refused(arguments, problem):
    with pytest.raises(ConfigurationError, match=problem):
        SWEEnv(**arguments)
