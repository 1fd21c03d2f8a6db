"""``issue-search`` and ``issue-repairs``: what they read, what they type, and what they win."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from agentgym.actions import GRAMMARS
from agentgym.envs.swe.baselines import IssueSearch, issue_examples, issue_repairs
from agentgym.envs.swe.engine.commands import BASH, SUBMIT, only_command
from agentgym.envs.swe.env import SWEEnv
from agentgym.evaluation import evaluate
from agentgym.evaluation.policy_names import load_policy
from agentgym.policies import is_reference_policy
from tests.envs.swe.boxed import needs_box

INFO = {"turn": 0, "horizon": 5}
EXPECTED = """Wrong result of `f`

```python
from a import f

f(
    1
)
```

I get `2`.

Expected: `3`
"""


def conditions(issue: str) -> list[str]:
    return [condition for _, condition in issue_examples.examples(issue)]


def test_an_example_is_a_script_that_shows_its_last_value() -> None:
    [(script, condition)] = issue_examples.examples(EXPECTED)
    assert ast.unparse(ast.parse(script)) == "from a import f\nprint(repr(f(1)))"
    assert condition == "text == '3'"


@pytest.mark.parametrize(
    ("tail", "condition"),
    [
        ("I get `2`.\n\nThat cannot be right.", "text != '2' and kind not in ACCIDENTS"),
        ("I get:\n\n```\nKeyError: 'a'\n```", "kind != 'KeyError' and kind not in ACCIDENTS"),
        ("```\nTraceback\n  [...]\nE: b\n```", "text != 'E: b' and kind not in ACCIDENTS"),
        ("Nothing is raised.", "kind and kind not in ACCIDENTS"),
        ("There is no error.\n\nIt should be:\n\n```\nUrlError: x\n```", "text == 'UrlError: x'"),
        ("I get `2`.\n\nI expected `nothing`.", "text in ('', 'None')"),
        ("", "not kind"),
    ],
)  # fmt: skip
def test_the_words_behind_an_example_say_what_has_to_hold(tail: str, condition: str) -> None:
    assert conditions(f"```python\nf(1)\n```\n\n{tail}\n") == [condition]


def test_several_examples_are_read_apart_and_broken_ones_left_out() -> None:
    issue = "```python\nf(1)\n```\n\nI get `1`.\n\n```python\nf(\n```\n\n```python\ng()\n```\n"
    assert conditions(issue) == ["text != '1' and kind not in ACCIDENTS", "not kind"]
    assert conditions("In words alone, with `code`.") == []


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A package whose second module lacks an import that the first one has."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "a.py").write_text("import math\n\ndef f(x):\n    return math.ceil(x)\n")
    text = '"""B."""\nimport re\n\n\ndef g(x, old):\n    return math.floor(f(x)), re, old\n'
    (tmp_path / "own" / "b.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    return ["own/a.py", "own/b.py"]


def test_undefined_names_are_imported_as_in_other_modules(package: list[str]) -> None:
    [(path, change)] = issue_repairs.imports(package)
    assert path == "own/b.py"
    assert change == (3, 0, 0, "from own.a import f\nimport math\n")


def test_checks_go_to_the_head_of_functions_that_failing_tests_call(package: list[str]) -> None:
    repairs = [*issue_repairs.guards("It should be `ValueError: too low`.", [["own/a.py", 3, 1.0]])]
    assert {(path, change[0]) for path, change in repairs} == {("own/a.py", 4)}
    assert "    if x < 0:\n        raise ValueError('too low')\n" in [c[3] for _, c in repairs]


@pytest.mark.parametrize(("breaks", "name"), [(False, "new"), (True, "old")])
def test_a_parameter_is_renamed_unless_a_test_breaks(
    package: list[str], breaks: bool, name: str
) -> None:
    passing: Callable[[], set[str]] = iter([{"a"}, set() if breaks else {"a"}]).__next__
    issue = "The parameter `old` of `g` and `h` should be called `new`."
    assert issue_repairs.rename(issue, package, passing) is not breaks
    assert f"def g(x, {name})" in issue_repairs.read("own/b.py")
    assert not issue_repairs.rename("`g` is wrong.", package, passing)


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_it_types_one_command_a_turn_in_every_grammar(grammar: str) -> None:
    env = SWEEnv(grammar=grammar)
    policy = IssueSearch(env.language.write, repairs=True)
    read_only = [
        only_command(env.language.read(policy.act(text, {**INFO, "turn": turn})).native)[0]
        for turn, text in enumerate(("the issue" + "x" * 9_000, "searched on", "all tests pass"))
    ]
    assert [command.name for command in read_only] == [BASH, BASH, SUBMIT]
    assert read_only[1].text == "python3 /tmp/issue_search/issue_run.py 25 repairs"
    assert "the issue" in read_only[0].text and len(read_only[0].text) < 32_000


def test_they_are_rungs_and_no_yardsticks() -> None:
    env = SWEEnv()
    assert {"issue-search", "issue-repairs"} == env.reading_policies.keys()
    assert (
        not is_reference_policy("issue-search")
        and not env.reading_policies.keys() & env.blind_policies
    )


@needs_box
@pytest.mark.slow
def test_an_issue_is_enough_where_the_tests_are_hidden() -> None:
    env = SWEEnv(difficulty="easy")
    options = {"instance_id": "durationtext-moved-function-002"}
    solved = {}
    for name in ("blind-mutation", "issue-repairs"):
        policy = load_policy(name, env)(env)
        observation, info = env.reset(options=options)
        while not info["stop_reason"]:
            observation, _, _, _, info = env.step(policy.act(observation, info))
        solved[name] = info["success"]
    assert solved == {"blind-mutation": False, "issue-repairs": True}
    env.close()


@needs_box
@pytest.mark.slow
def test_it_is_evaluated_by_its_name() -> None:
    report = evaluate("issue-search", "swe", "valid", num_tasks=1, env_kwargs={"horizon": 2})
    assert len(report.rows) == 1 and report.rows[0].stop_reason in ("success", "failure")
