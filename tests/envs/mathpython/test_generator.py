"""Generated problems: graded, in disjoint splits, the same everywhere, with answers that hold."""

from __future__ import annotations

import contextlib
import io
from collections import Counter

import gymnasium
import pytest

from agentgym.core.tasks import SPLITS, NumberedTasks
from agentgym.envs.mathpython.engine.equivalence import equivalent
from agentgym.envs.mathpython.engine.exact import calculated, write_number
from agentgym.envs.mathpython.experts.lazy import LazyExpert
from agentgym.envs.mathpython.generator import DIFFICULTIES, GeneratorConfig
from agentgym.envs.mathpython.generator.config import HIGHEST, KINDS
from agentgym.envs.mathpython.problem import Problem
from agentgym.envs.mathpython.tasks import problem_tasks
from agentgym.errors import ConfigurationError
from agentgym.support.random_stream import Stream


def tasks(difficulty: str | GeneratorConfig = "medium", seed: int = 0) -> NumberedTasks[Problem]:
    return problem_tasks(None, GeneratorConfig.of(difficulty), seed, lambda problem: 2)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_graded_and_its_ways_to_the_answer_agree(kind: str) -> None:
    """What its program prints, and its expression gives, is its answer, on every level."""
    operations = []
    for level in range(1, HIGHEST + 1):
        for number in range(6):
            problem = KINDS[kind](Stream("test", number), level)
            assert problem.kind == kind and KINDS[kind](Stream("test", number), level) == problem
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(problem.program, {})  # the generator's own program
            assert equivalent(problem.answer, printed.getvalue(), lowest_form=True), problem
            assert equivalent(printed.getvalue().strip(), problem.answer)
            if problem.expression:
                assert write_number(calculated(problem.expression)) == problem.answer
                assert not equivalent(problem.answer, problem.expression, lowest_form=True)
        operations.append(problem.operations)
    assert operations[0] < operations[-1] and operations == sorted(operations)


@pytest.mark.slow
def test_the_splits_are_disjoint_where_questions_are_few() -> None:
    config = GeneratorConfig("few", (("steps", 1, 1), ("boxes", 1, 1)))
    questions = {
        split: {tasks(config).task(split, index).goal for index in range(1000)} for split in SPLITS
    }
    assert not questions["train"] & (questions["valid"] | questions["test"])
    assert not questions["valid"] & questions["test"]
    assert all(len(some) > 900 for some in questions.values())


def test_draws_and_kinds() -> None:
    """A seed is another set; every kind comes in each cycle; ids say where."""
    medium = tasks()
    goals = [medium.task("test", index).goal for index in range(12)]
    assert goals == [tasks().task("test", index).goal for index in range(12)]
    assert goals != [tasks(seed=1).task("test", index).goal for index in range(12)]
    cycle = len(DIFFICULTIES["medium"].cycle)
    kinds = Counter(medium.task("valid", n).content["kind"] for n in range(cycle))
    assert set(kinds) == set(KINDS)
    assert medium.find("math/medium-0/test/7").goal == goals[7]
    # The first task of a preset stands here, so that a change of the generator raises its version.
    assert goals[0] == GOLDEN
    assert medium.task("test", 0).content["answer"] == GOLDEN_ANSWER


GOLDEN = "We pack 157 apples and 13 peaches in boxes of 22. How many boxes are full?"
GOLDEN_ANSWER = "7"


def test_a_shortcut_is_often_lucky_and_cannot_be_told_beforehand() -> None:
    env = gymnasium.make("agentgym/MathPython-v0", difficulty="easy", expert="lazy").unwrapped
    lazy, lucky = LazyExpert(), []
    for index in range(400):
        problem = env.tasks.problem(env.tasks.task("train", index))
        call = lazy.call(problem)
        assert call is not None
        if call[1] == problem.shorter:
            lucky.append(write_number(calculated(problem.shorter)) == problem.answer)
    assert 290 < len(lucky) < 350 and 0.35 < sum(lucky) / len(lucky) < 0.65


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"mix": ()}, "expected mix to hold problems"),
        ({"mix": (("sums", 1, 1),)}, "expected kind of problem in mix to be one of boxes"),
        ({"mix": (("steps", 9, 1),)}, "level of steps problems in mix"),
        ({"mix": ("steps",)}, r"a list of \(kind, level, count\)"),
        ({"name": "a/b"}, "letters and digits"),
    ],
)
def test_settings_that_make_no_sense(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        GeneratorConfig(**{"name": "own", "mix": (("steps", 1, 1),), **fields})  # type: ignore[arg-type]
