"""What few callers read of a state is made when it is read, and at most once."""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from agentgym.core.hooks import TurnContext, TurnReward
from agentgym.core.later import Later, read
from agentgym.errors import ConfigurationError
from agentgym.rewards import (
    Potential,
    Progressive,
    ShapedReward,
    SuppliedHook,
    TurnState,
    parse_hooks,
)
from tests.toy import ToyEnv

ACTIONS = ("press red", "press blue", "nonsense", "press green", "press gold")
MADE: Counter[str] = Counter()
"""How often each fact of a state was made."""


def made(fact: str, value: Any) -> Any:
    MADE[fact] += 1
    return value


class LateToy(ToyEnv):
    """The toy, which makes the facts of a state when somebody reads them."""

    def _admissible(self) -> Later[Sequence[str]]:
        return Later(made, "admissible", super()._admissible())

    def _state(self) -> Later[str]:
        return Later(made, "state", super()._state())

    def _oracle_turns(self) -> Later[int | None]:
        return Later(made, "turns", super()._oracle_turns())

    def _oracle_action(self) -> str | None:
        MADE["action"] += 1
        return f"press {self._buttons[self._pressed]}"

    def _potential(self) -> float:
        return float(made("potential", super()._potential()))


@dataclass
class Reader:
    """A user's hook, which declares nothing and reads everything."""

    name: str = "reader"
    weight: float = 1.0

    def __call__(self, context: TurnContext) -> float:
        before_turn, after_turn = context.before, context.after
        assert before_turn.oracle_turns is not None and after_turn.oracle_turns is not None
        return (
            before_turn.oracle_turns
            - after_turn.oracle_turns
            + after_turn.potential
            - before_turn.potential
        )

    def reset(self) -> None:
        return


@dataclass
class Heir(SuppliedHook):
    """A user's heir of our base class, which declares nothing either."""

    name: str = "heir"
    weight: float = 1.0

    def value(self, context: TurnContext) -> float:
        return Reader()(context)


def length(state: TurnState) -> float:
    return -float(state.oracle_turns or 0)


@pytest.fixture(autouse=True)
def none_made() -> None:
    MADE.clear()


def play(env: Any) -> tuple[list[Any], int]:
    """Play five turns; return what a user gets, and the number of states."""
    steps: list[Any] = [env.reset(seed=2)]
    steps += [env.step(action) for action in ACTIONS]
    return steps, len(steps)


def test_unread_facts_are_not_computed() -> None:
    play(LateToy())
    assert MADE == {}


@pytest.mark.parametrize("hooks", [["turn_cost"], ["success_bonus", "invalid_action"], ["calls"]])
def test_hooks_that_read_no_expert_do_not_ask_it(hooks: list[str]) -> None:
    states = play(LateToy(reward_hooks=parse_hooks(hooks)))[1]
    assert {"state": states} == MADE


@pytest.mark.parametrize(
    "hook, facts",
    [
        (Potential(), {"potential"}), (Progressive(), {"potential"}),
        (Potential(phi=length), {"potential", "turns"}),
        (Progressive(step=Reader()), {"potential", "turns"}),
        (Progressive(step=parse_hooks(["turn_cost"])[0]), set()),
        (Reader(), {"potential", "turns"}), (Heir(), {"potential", "turns"}),
    ],
    ids=["potential", "progressive", "phi", "step", "cost as step", "mine", "heir"],
)  # fmt: skip
@pytest.mark.parametrize("wrapped", [False, True])
def test_what_a_hook_may_read_is_made_once_a_state(
    hook: TurnReward, facts: set[str], wrapped: bool
) -> None:
    env = ShapedReward(LateToy(), [hook]) if wrapped else LateToy(reward_hooks=[hook])
    plain_toy = ShapedReward(ToyEnv(), [hook]) if wrapped else ToyEnv(reward_hooks=[hook])
    steps, states = play(env)
    for _ in range(2):
        for step in steps:
            step[-1].copy()
    env.unwrapped.potential()
    counts = {"turns": states, "state": states, "admissible": states, "potential": states}
    if "potential" not in facts:
        counts["potential"] = 1
    assert counts == MADE
    assert steps == play(plain_toy)[0]


def test_a_state_is_computed_once_for_all_readers() -> None:
    env = LateToy(expose_oracle=True)
    info = env.reset(seed=2)[1]
    for _ in range(2):
        assert env.oracle_action() == info["oracle_action"] and info["oracle_turns"] > 0
        assert env.potential() == 0.0
    assert MADE == {"action": 1, "turns": 1, "potential": 1}
    fork = env.snapshot()
    env.step(info["oracle_action"])
    assert env.potential() > 0.0
    env.restore(fork)
    assert env.potential() == 0.0 and env.oracle_action() == info["oracle_action"]


@pytest.mark.parametrize("extension", [{}, {"notes": 2}, {"tries": 2}, {"worker_turns": 3}])
def test_an_info_read_late_is_that_of_its_own_turn(extension: dict[str, int]) -> None:
    late, early = LateToy(**extension), ToyEnv(**extension)
    actions = (*ACTIONS, "note remember this", "delegate press on", "press red", "report done")
    infos, read_infos = [late.reset(seed=2)[1]], [early.reset(seed=2)[1].copy()]
    for action in actions[: late.horizon]:
        infos.append(late.step(action)[4])
        read_infos.append(early.step(action)[4].copy())
    assert MADE == {}
    assert infos == read_infos


def test_a_copy_is_the_plain_value() -> None:
    later = Later(made, "turns", 3)
    assert copy.deepcopy(later) == 3 == pickle.loads(pickle.dumps(later))
    assert (read(later), read(4), read(None), MADE["turns"]) == (3, 4, None, 1)


@pytest.mark.parametrize("reads", ["potential", ("oracle_turn",), ["score"]])
def test_a_hook_that_declares_what_does_not_exist_is_refused(reads: Any) -> None:
    hook: Any = Reader()
    hook.reads_state = reads
    with pytest.raises(ConfigurationError, match=r"reads_state of the reward hook 'reader'"):
        ToyEnv(reward_hooks=[hook])


def test_a_hook_that_declares_nothing_to_read_is_given_no_number_by_accident() -> None:
    hook: Any = Reader()
    hook.reads_state = ("oracle_turns",)
    env = ToyEnv(reward_hooks=[hook])
    env.reset(seed=2)
    with pytest.raises(ConfigurationError, match="a finite number, got nan"):
        env.step("press red")
