"""The one loop that plays an episode: what a listener sees, and what ends it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from agentgym.errors import EnvFailure, PolicyFailure
from agentgym.policies import PUBLIC_INFO, CallablePolicy, ModelOutput, OraclePolicy
from agentgym.policies.play import play
from tests.faulty import FaultyEnv
from tests.toy import ToyEnv

GOLD_RED = {"task_id": "toy/gold-red"}


def test_every_moment_of_an_episode() -> None:
    env = ToyEnv(expose_oracle=True)
    first, *turns = play(OraclePolicy(env), env, options=GOLD_RED)
    assert (first.action, first.reward, first.over) == (None, 0.0, False)
    assert [turn.action for turn in turns] == ["press gold", "press red"]
    assert [turn.over for turn in turns] == [False, True]
    last = turns[-1]
    assert (last.reward, last.terminated, last.truncated) == (1.0, True, False)
    assert last.info["success"] and "oracle_action" in last.info
    *_, last = play(OraclePolicy(env), env, options={**GOLD_RED, "horizon": 1})
    assert (last.terminated, last.truncated, last.over) == (False, True, True)


def test_a_policy_is_asked_only_for_what_is_listened_to() -> None:
    infos: list[Mapping[str, Any]] = []

    def look(observation: str, info: Mapping[str, Any]) -> str:
        infos.append(info)
        return "press pink"

    moments = play(CallablePolicy(look), ToyEnv(), seed=1)
    next(moments)
    assert not infos
    next(moments)
    moments.close()
    assert len(infos) == 1 and set(infos[0]) <= set(PUBLIC_INFO)


def test_a_failure_is_the_last_moment() -> None:
    actions = iter(["press red", "fail"])
    moments = list(play(CallablePolicy(lambda observation, info: next(actions)), FaultyEnv()))
    assert [moment.action for moment in moments] == [None, "press red", "fail"]
    assert str(moments[-1].failure) == "the retriever is down" and moments[-1].over
    assert moments[-1].info["turn"] == 1 and moments[-1].reward == 0.0
    env = FaultyEnv(bad_reset="fail")
    (only,) = play(OraclePolicy(env), env, options={"split": "test", "index": 1})
    assert only.over and only.info == {} and only.failure is not None


def test_an_error_of_the_policy_is_raised() -> None:
    def broken(observation: str, info: Mapping[str, Any]) -> str:
        raise EnvFailure("the endpoint is gone")

    moments = play(CallablePolicy(broken), ToyEnv())
    next(moments)
    with pytest.raises(EnvFailure, match="endpoint"):
        next(moments)


def test_what_a_policy_may_offer_besides_actions() -> None:
    class Model:
        last_output: ModelOutput | None = None
        begun = 0

        def reset(self, observation: str, info: Mapping[str, Any]) -> None:
            assert info["goal"] == "press gold then red"
            self.begun += 1

        def act(self, observation: str, info: Mapping[str, Any]) -> str:
            colour = observation.split()[-1]
            self.last_output = None if colour == "red" else ModelOutput(f"so {colour}", 3, 2)
            return f"press {colour}"

    model, outputs = Model(), list[ModelOutput]()
    moments = list(play(model, ToyEnv(), options=GOLD_RED, on_output=outputs.append))
    assert model.begun == 1 and len(moments) == 3
    assert outputs == [ModelOutput("so gold", 3, 2)]


def test_a_policy_that_gives_no_action_ends_its_episode() -> None:
    class Gone:
        def __init__(self, when: str) -> None:
            self.when = when

        def reset(self, observation: str, info: Mapping[str, Any]) -> None:
            if self.when == "reset":
                raise PolicyFailure("the endpoint is gone")

        def act(self, observation: str, info: Mapping[str, Any]) -> str:
            if info["turn"] == 1:
                raise PolicyFailure("the endpoint is gone")
            return "press gold"

    *turns, last = play(Gone("turn"), ToyEnv(), options=GOLD_RED)
    assert [turn.action for turn in turns] == [None, "press gold"]
    assert last.over and last.action is None and isinstance(last.failure, PolicyFailure)
    assert last.info["turn"] == 1 and last.reward == 0.0
    first, last = play(Gone("reset"), ToyEnv(), options=GOLD_RED)
    assert not first.over and last.over and "gone" in str(last.failure)
