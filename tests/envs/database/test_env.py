"""An episode as a user plays it: what is shown, forks, arguments, and the family's own experts."""

from __future__ import annotations

import pickle

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.database.engine.answers import same_answer
from agentgym.envs.database.generator.config import DIFFICULTIES, GeneratorConfig
from agentgym.envs.database.generator.problems import make_problem
from agentgym.envs.database.generator.request import KINDS, read_request, say
from agentgym.errors import ConfigurationError

ID = "agentgym/Database-v0"


def make(**kwargs):
    return gymnasium.make(ID, **kwargs).unwrapped


@pytest.mark.parametrize("name", DIFFICULTIES)
def test_every_kind_is_asked_and_can_be_read_again(name):
    config = DIFFICULTIES[name]
    problems = [make_problem(config, 0, "train", number) for number in range(150)]
    assert {problem.kind for problem in problems} == set(config.kinds)
    assert [make_problem(config, 0, "train", number) for number in range(5)] == problems[:5]
    for problem in problems:
        request = read_request(problem.text)
        assert request is not None and request.kind == problem.kind and say(request) == problem.text
    questions = [problem.answer for problem in problems if problem.answer]
    assert len(set(questions)) > len(questions) / 4, "answers spread"


@given(st.text(max_size=80))
def test_any_text_can_be_read(text):
    assert read_request(text) is None or say(read_request(text))


@given(st.text(max_size=60), st.lists(st.text(max_size=12), min_size=1, max_size=3))
def test_any_answer_can_be_compared(given_answer, expected):
    assert same_answer(given_answer, expected) in (True, False)


@pytest.mark.parametrize(
    ("answer", "expected", "is_right"),
    [
        ("Ada", ["ada"], True), ("'Ada'", ["Ada"], True), ('["Ada"]', ["Ada"], True),
        ("42.0", ["42"], True), ("42.004", ["42"], True), ("42.1", ["42"], False),
        ("1,234", ["1234"], True), ("12 %", ["12"], True), ("B, A", ["A", "B"], True),
        ("A", ["A", "B"], False), ('["1", "2"]', ["2", "1"], True), ("1, 2, 2", ["1", "2"], False),
        ("March 19, 1998", ["March 19, 1998"], True), ("none", ["0"], True), ("", ["0"], True),
        ("null", ["NULL"], True), ("none", ["none"], True),
        ("[oops", ["x"], False),
        ("__import__('os')", ["0"], False), ("1e999", ["5"], False),
        ("[" * 5000 + "]", ["5"], False),
    ],
)  # fmt: skip
def test_answers_are_compared_as_agentbench_does(answer, expected, is_right):
    assert same_answer(answer, expected, agentbench=True) is is_right
    assert same_answer(answer, expected) is (is_right and expected != ["0"])


NOTHING = (
    "", " ", "''", "nan", "inf", "-Infinity", "NULL", "none", "undefined", "%", "[]", '[""]',
    "[null]", "[NaN]", '"%"', "no rows",
)  # fmt: skip
DIGITS = (
    "4_2", "\uff14\uff12", "\u0664\u0662", "4,2", "0x2a", "4 2", "42,", "4\u00b2", "+-42", "42e",
    "\U0001d7dc\U0001d7da",
)  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        *((text, ["0"]) for text in NOTHING), *((text, ["42"]) for text in DIGITS),
        ("", ["NULL"]), ("nan", ["NULL"]), ("", ["0", "0"]), ("nan, inf", ["0", "0"]),
        ("1e999", ["inf"]), ("12,34", ["1234"]), ("1,2", ["12"]),
    ],
)  # fmt: skip
def test_what_only_python_takes_for_a_number_is_not_paid(answer, expected):
    assert not same_answer(answer, expected)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("0", "0"), ("0.0", "0"), ("-0", "0"), ("[0]", "0"), ("0 %", "0"), ("4.2e1", "42"),
        ("+42", "42"), ("42.", "42"), (".5", "0.5"), ("1,234.5", "1234.5"), ("null", "NULL"),
        ("None", "NULL"), ("1,234", "1,234"), ("nan", "nan"), ("B_1", "B_1"), ("4_2", "4_2"),
    ],
)  # fmt: skip
def test_numbers_and_texts_that_are_right(answer, expected):
    assert same_answer(answer, [expected])


def test_a_fork_has_its_own_tables():
    env = make(difficulty="hard")
    index = next(i for i in range(200) if env.tasks.task("test", i).content["kind"] == "insert")
    env.reset(options={"split": "test", "index": index})
    table = env.session.problem.tables[0].name
    env.step(f"sql[DELETE FROM {table} WHERE id = 2]")
    fork = pickle.loads(pickle.dumps(env.snapshot()))
    env.step(f"sql[DELETE FROM {table}]")
    harder = make(difficulty="hard")
    for twin in (harder, env):
        twin.restore(fork)
        table_text = twin.step(
            f"sql[SELECT count(*), min(id), max(rowid) FROM {table} WHERE id < 4]"
        )[0]
        assert table_text.splitlines()[1] == "2 | 1 | 3"
    assert env.demonstrator_action() is None, (
        "the tables are spoilt, and no expert knows a way back"
    )


def test_what_is_shown_is_bounded():
    env = make(max_rows=2, max_observation_chars=80)
    env.reset(seed=0, options={"split": "test", "index": 0})
    table = env.session.problem.tables[0].name
    lines = env.step(f"sql[SELECT id FROM {table} ORDER BY id]")[0].splitlines()
    assert lines[:3] == ["id", "1", "2"] and lines[3].endswith("more rows")
    assert len(env.step(f"sql[SELECT '{'x' * 500}']")[0]) == 80
    assert env.step(f"sql[SELECT * FROM {table} a, {table} b, {table} c]")[0].count("or more") <= 1
    selected = env.step("```sql\nSELECT NULL, x'0a',\n  1.5\n```")
    assert selected[0].splitlines()[1] == "NULL | X'0a' | 1.5"
    failed = env.step("sql[SELECT wages]")
    assert failed[0] == "error: no such column: wages"
    assert failed[4]["details"] == {"reason": failed[0], "failed": True}
    assert failed[4]["action_valid"] and failed[4]["state_key"] == selected[4]["state_key"]


def test_wrong_arguments_are_refused():
    for bad_input in (
        {"difficulty": "harder"}, {"expert": "nobody"}, {"reward": "dense"}, {"max_rows": 0},
        {"generator_seed": -1}, {"max_observation_chars": 5},
    ):  # fmt: skip
        with pytest.raises(ConfigurationError):
            make(**bad_input)
    for bad_input in (
        {"kinds": ("nothing",)},
        {"rows": (1, 5)},
        {"conditions": (2, 1)},
        {"names": 9},
    ):
        settings = {"name": "own", "kinds": KINDS, "rows": (10, 20), "places": True,
                    "conditions": (0, 1), "names": 2}  # fmt: skip
        with pytest.raises(ConfigurationError):
            GeneratorConfig(**{**settings, **bad_input})


def test_most_successes_of_the_guessing_expert_are_luck():
    env = make(difficulty="easy", expert="guessing")
    ends = {True: [0, 0], False: [0, 0]}
    for index in range(300):
        env.reset(options={"split": "train", "index": index})
        reads, info = env.demonstrator_action() == "schema", {"stop_reason": ""}
        while not info["stop_reason"]:
            info = env.step(env.demonstrator_action())[4]
        ends[reads][info["success"]] += 1
    assert ends[True][0] == 0, "who reads is right"
    assert ends[False][1] > ends[True][1] > 20, "but more are right by luck"
    assert ends[False][0] > 1.5 * ends[False][1], "which seldom lasts"
