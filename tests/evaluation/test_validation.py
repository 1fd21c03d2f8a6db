"""``agentgym.validate``: what the command prints, as data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import agentgym
from agentgym.errors import ConfigurationError, TaskNotFound
from agentgym.evaluation.validation import Finding
from tests.cli.test_validate import own_env

__all__ = ["own_env"]  # a fixture


def test_each_fault_is_a_finding(own_env: str) -> None:
    ended_tasks = []
    validation = agentgym.validate(own_env, blind_tasks=0, on_episode=ended_tasks.append)
    assert (validation.passed, validation.n, len(ended_tasks)) == (False, 4, 8)
    problems = {finding.subject: finding.problem for finding in validation.failing}
    assert problems["own/given"] == "doing nothing solves it"
    assert problems["own/hopeless"] == "the expert's episode ended (turn limit)"
    assert problems["own/broken"].count("the engine is down") == 2 and len(problems) == 3
    [split] = validation.splits
    assert (split.split, split.n, split.solved, split.idle) == ("train", 4, 2, 1)
    assert split.blind is None and split.turns[1] == 4
    assert repr(validation) == "<Validation of Env: failed; 4 tasks checked, 3 fail.>"


@pytest.mark.slow
def test_sound_tasks_pass() -> None:
    validation = agentgym.validate("textworld", ("valid", "test"), 2, blind_tasks=2, concurrency=2)
    assert validation.passed and validation.findings == ()
    assert [split.n for split in validation.splits] == [2, 2]
    assert all(split.solved == 2 and split.blind is not None for split in validation.splits)


@pytest.mark.slow
def test_what_concerns_a_whole_split_is_a_finding_too(own_env: str) -> None:
    easy = {"kinds": "+".join(["good"] * 12)}
    [blind] = agentgym.validate(own_env, env_kwargs=easy).findings
    assert blind.subject == "split train" and "blind-shortest, which reads no word" in blind.problem
    assert agentgym.validate(own_env, env_kwargs=easy, blind_limit=0.8).passed
    validation = agentgym.validate(own_env.replace("Own", "NoExpert"), env_kwargs={"kinds": "good"})
    assert validation.splits[0].solved is None and not validation.failing
    assert "has no expert" in str(validation.unsound[0])


def test_a_notebook_shows_it_and_obeys_nothing() -> None:
    bad = Finding("<script>", "\u202e\x1b[2J")
    split = agentgym.validate("textworld", "valid", 1, blind_tasks=0).splits[0]
    validation = agentgym.Validation("Env", 0.25, (replace(split, failing=(bad,)),))
    html = validation._repr_html_()
    assert "valid" in html and not any(markup in html for markup in ("<script>", "\u202e", "\x1b"))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"num_tasks": 0}, ConfigurationError), ({"concurrency": 0}, ConfigurationError),
        ({"blind_tasks": -1}, ConfigurationError), ({"blind_limit": 2}, ConfigurationError),
        ({"split": "dev"}, TaskNotFound), ({"env_kwargs": {"a": 1}}, ConfigurationError),
    ],
)  # fmt: skip
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        agentgym.validate("textworld", **arguments)
