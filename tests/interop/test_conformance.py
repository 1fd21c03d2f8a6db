"""Whether an environment is the same world through each of its interfaces."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import gymnasium
import numpy as np
import pytest

from agentgym.core import Outcome
from agentgym.errors import ConfigurationError
from agentgym.interop.conformance import INTERFACES, conform
from tests.cli.test_commands import run
from tests.toy import TOY_ID, ToyEnv

TOY = f"tests.toy:{TOY_ID}"


class ForgetfulEnv(ToyEnv):
    """Tells how many environments of its kind there have been, which is no part of the task."""

    instances = 0

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        type(self).instances += 1
        self._number = type(self).instances

    def _act(self, action: str) -> Outcome:
        outcome = super()._act(action)
        outcome.observation += f" (environment {self._number})"
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
    return conform(TOY, num_tasks=6)


@pytest.mark.slow
def test_a_sound_environment_is_the_same_everywhere(toy: Any) -> None:
    assert toy.passed and toy.expert and toy.failed == 0
    openenv = 6 * (find_spec("openenv") is not None)
    counts = {**dict.fromkeys(INTERFACES, 6), "openenv": openenv}
    assert {interface.interface: interface.n for interface in toy.interfaces} == counts
    assert all(interface.equal == interface.n for interface in toy.interfaces)


@pytest.mark.slow
def test_its_hash_is_that_of_its_seed(toy: Any) -> None:
    assert conform(TOY, num_tasks=6, seed=1, interfaces=["again"]).sha256 != toy.sha256
    assert json.loads(json.dumps(toy.to_dict()))["passed"]


@pytest.mark.slow
def test_what_is_no_part_of_the_task_is_found() -> None:
    result = conform(named(ForgetfulEnv), num_tasks=3, interfaces=["again"])
    assert not result.passed
    interface = result.interfaces[0]
    assert interface.interface == "again" and interface.equal == 0
    assert "observation" in interface.difference and "(environment" in interface.difference


@pytest.mark.slow
def test_an_order_of_sets_is_found() -> None:
    interfaces = conform(
        named(HashingEnv), num_tasks=2, interfaces=["again", "hash-seed"]
    ).interfaces
    assert [interface.passed for interface in interfaces] == [True, False]


def test_sessions_that_meet_are_found() -> None:
    apart, together = conform(
        named(SharingEnv), num_tasks=4, interfaces=["again", "interleaved"]
    ).interfaces
    assert apart.passed and not together.passed and "observation" in together.difference


@pytest.mark.slow
def test_failures_have_to_be_alike_and_not_their_words() -> None:
    result = conform(named(FailingEnv), num_tasks=3, interfaces=["again", "http", "mcp"])
    assert result.failed == 3 and result.passed
    assert all(interface.n for interface in result.interfaces)


@pytest.mark.slow
def test_the_command(capsys: Any) -> None:
    some = ("--interfaces", "again", "other-order", "--num-tasks", "2")
    code, out, _ = run(capsys, "conform", TOY, *some)
    assert code == 0 and "other-order" in out and "an expert" in out
    code, out, _ = run(capsys, "conform", TOY, *some, "--json")
    assert code == 0 and json.loads(out)["interfaces"][0]["equal"] == 2
    assert run(capsys, "conform", TOY, "--interfaces", "htpp")[0] == 2


def test_bad_arguments_are_told() -> None:
    with pytest.raises(ConfigurationError, match="expected n"):
        conform(TOY, num_tasks=0)
    with pytest.raises(ConfigurationError, match="MODULE:ID"):
        conform("nothing")
