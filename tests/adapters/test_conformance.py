"""Whether an environment is the same world through each of its doors."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import gymnasium
import numpy as np
import pytest

from agentgym.adapters.conformance import DOORS, conform
from agentgym.core import Outcome
from agentgym.errors import ConfigurationError
from tests.cli.test_commands import run
from tests.toy import TOY_ID, ToyEnv

TOY = f"tests.toy:{TOY_ID}"


class ForgetfulEnv(ToyEnv):
    """Tells how many environments of its kind there have been, which is no part of the task."""

    made = 0

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        type(self).made += 1
        self._mine = type(self).made

    def _act(self, action: str) -> Outcome:
        outcome = super()._act(action)
        outcome.observation += f" (environment {self._mine})"
        return outcome


class SharingEnv(ToyEnv):
    """Counts turns for all environments together."""

    turns = 0

    def _start(self, task: Any, rng: np.random.Generator) -> str:
        type(self).turns = 0
        return super()._start(task, rng)

    def _act(self, action: str) -> Outcome:
        type(self).turns += 1
        outcome = super()._act(action)
        outcome.observation += f" (turn {self.turns})"
        return outcome


class HashingEnv(ToyEnv):
    """Says things in the order of a set."""

    def _start(self, task: Any, rng: np.random.Generator) -> str:
        return f"{super()._start(task, rng)} {set('abcdefghij')}"


class FailingEnv(ToyEnv):
    """Breaks at the second turn."""

    def _act(self, action: str) -> Outcome:
        if self.turn:
            raise RuntimeError(f"broken in {id(self)}")
        return super()._act(action)


for kind in (ForgetfulEnv, SharingEnv, HashingEnv, FailingEnv):
    gymnasium.register(f"conform/{kind.__name__}-v0", entry_point=kind)


def named(kind: type) -> str:
    return f"{__name__}:conform/{kind.__name__}-v0"


@pytest.fixture(scope="module")
def toy() -> Any:
    return conform(TOY, n=6)


@pytest.mark.slow
def test_a_sound_environment_is_the_same_everywhere(toy: Any) -> None:
    assert toy.passed and toy.expert and toy.failed == 0
    openenv = 6 * (find_spec("openenv") is not None)
    counts = {**dict.fromkeys(DOORS, 6), "openenv": openenv}
    assert {door.door: door.n for door in toy.doors} == counts
    assert all(door.equal == door.n for door in toy.doors)


@pytest.mark.slow
def test_its_hash_is_that_of_its_seed(toy: Any) -> None:
    assert conform(TOY, n=6, seed=1, doors=["again"]).sha256 != toy.sha256
    assert json.loads(json.dumps(toy.to_dict()))["passed"]


@pytest.mark.slow
def test_what_is_no_part_of_the_task_is_found() -> None:
    found = conform(named(ForgetfulEnv), n=3, doors=["again"])
    assert not found.passed
    again = found.doors[0]
    assert again.door == "again" and again.equal == 0
    assert "observation" in again.difference and "(environment" in again.difference


@pytest.mark.slow
def test_an_order_of_sets_is_found() -> None:
    doors = conform(named(HashingEnv), n=2, doors=["again", "hash-seed"]).doors
    assert [door.passed for door in doors] == [True, False]


def test_sessions_that_meet_are_found() -> None:
    apart, together = conform(named(SharingEnv), n=4, doors=["again", "interleaved"]).doors
    assert apart.passed and not together.passed and "observation" in together.difference


@pytest.mark.slow
def test_failures_have_to_be_alike_and_not_their_words() -> None:
    found = conform(named(FailingEnv), n=3, doors=["again", "http", "mcp"])
    assert found.failed == 3 and found.passed and all(door.n for door in found.doors)


@pytest.mark.slow
def test_the_command(capsys: Any) -> None:
    some = ("--doors", "again", "other-order", "--n", "2")
    code, out, _ = run(capsys, "conform", TOY, *some)
    assert code == 0 and "other-order" in out and "an expert" in out
    code, out, _ = run(capsys, "conform", TOY, *some, "--json")
    assert code == 0 and json.loads(out)["doors"][0]["equal"] == 2
    assert run(capsys, "conform", TOY, "--doors", "htpp")[0] == 2


def test_bad_arguments_are_told() -> None:
    with pytest.raises(ConfigurationError, match="expected n"):
        conform(TOY, n=0)
    with pytest.raises(ConfigurationError, match="MODULE:ID"):
        conform("nothing")
