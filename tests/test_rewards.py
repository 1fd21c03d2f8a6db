from __future__ import annotations

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.errors import ConfigurationError
from agentgym.rewards import (
    InvalidAction,
    LinearAlpha,
    Potential,
    Progressive,
    Repeat,
    ShapedReward,
    SuccessBonus,
    TurnContext,
    TurnCost,
    TurnReward,
    TurnState,
)
from tests.toy import COLOURS, TOY_ID, ToyEnv


def all_hooks() -> list[TurnReward]:
    return [
        Progressive(alpha=LinearAlpha(0.2, 1.0, 10)),
        Potential(gamma=0.9),
        InvalidAction(0.2),
        TurnCost(0.03),
        Repeat(0.05, weight=2.0),
    ]


def state(turn: int = 0, potential: float = 0.0) -> TurnState:
    return TurnState("text", turn, potential, potential, f"key{turn}", None)


def context(before: float = 0.0, after: float = 0.0, **changes: object) -> TurnContext:
    fields = {
        "before": state(0, before),
        "action": "a",
        "after": state(1, after),
        "terms": {"task": 0.0},
        "valid": True,
        "done": False,
        "success": False,
        "repeats": 0,
        "training_step": 0,
        **changes,
    }
    return TurnContext(**fields)  # type: ignore[arg-type]


finite = st.floats(-10, 10, allow_nan=False)


@given(phis=st.lists(finite, min_size=2, max_size=20), gamma=st.floats(0, 1))
def test_potential_terms_of_an_episode_sum_to_minus_the_first_potential(phis, gamma):
    hook = Potential(gamma)
    total = 0.0
    for t in range(len(phis) - 1):
        done = t == len(phis) - 2
        total += gamma**t * hook(context(phis[t], phis[t + 1], done=done))
    assert total == pytest.approx(-phis[0], abs=1e-9)


@given(
    steps=st.lists(st.tuples(finite, finite), min_size=1, max_size=20),
    alpha=st.floats(0, 1),
    forfeit=st.booleans(),
    success=st.booleans(),
)
def test_progressive_terms_sum_to_the_mix_at_any_length(steps, alpha, forfeit, success):
    hook = Progressive(alpha, step=Gain(), forfeit=forfeit)
    hook.reset()
    total = 0.0
    for t, (outcome, gain) in enumerate(steps):
        last = t == len(steps) - 1
        terms = {"task": outcome, "family": 1.0}
        turn = context(0.0, gain, terms=terms, done=last, success=last and success)
        total += sum(terms.values()) + hook(turn)
    outcome = sum(outcome + 1.0 for outcome, _ in steps)
    mean = sum(gain for _, gain in steps) / len(steps)
    if forfeit and not success:
        mean = 0.0
    assert total == pytest.approx(alpha * outcome + (1 - alpha) * mean, abs=1e-9)


class Gain:
    def __call__(self, turn: TurnContext) -> float:
        return turn.after.potential


def test_progressive_starts_anew_with_each_episode():
    hook = Progressive(0.0)
    first = [hook(context(0.0, 1.0)), hook(context(0.0, 0.0))]
    hook.reset()
    assert first == [hook(context(0.0, 1.0)), hook(context(0.0, 0.0))] == [1.0, -0.5]


def test_linear_alpha():
    schedule = LinearAlpha(0.2, 1.0, 10)
    assert [schedule(step) for step in (-5, 0, 5, 10, 99)] == pytest.approx([0.2, 0.2, 0.6, 1, 1])
    assert Progressive(schedule)(context(0.0, 1.0, training_step=5)) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("hook", "turn", "value"),
    [
        (InvalidAction(0.2), context(), 0.0),
        (InvalidAction(0.2), context(valid=False), -0.2),
        (TurnCost(0.03), context(), -0.03),
        (Repeat(0.05), context(), 0.0),
        (Repeat(0.05), context(repeats=3), -0.05),
    ],
)
def test_simple_hooks(hook, turn, value):
    assert hook(turn) == value


def play(env: gymnasium.Env, seed: int, step: int = 3) -> list[tuple]:
    rng = np.random.default_rng(seed)
    env.reset(seed=seed, options={"training_step": step})
    rows, over = [], False
    while not over:
        action = f"press {rng.choice([*COLOURS, 'pink'])}"
        _, reward, terminated, truncated, info = env.step(action)
        assert reward == pytest.approx(sum(info["reward_terms"].values()), abs=1e-12)
        over = terminated or truncated
        rows.append((reward, info["reward_terms"], terminated, truncated))
    return rows


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_terms_sum_to_the_reward_and_the_wrapper_equals_the_argument(seed):
    inside = play(gymnasium.make(TOY_ID, reward_hooks=all_hooks()), seed)
    outside = play(ShapedReward(gymnasium.make(TOY_ID), all_hooks()), seed)
    assert inside == outside
    assert set(inside[0][1]) == {"task", *(hook.name for hook in all_hooks())}


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**31), gamma=st.sampled_from([1.0, 0.9]))
def test_shaping_shifts_every_return_by_the_same_constant(seed, gamma):
    env = ShapedReward(gymnasium.make(TOY_ID), [Potential(gamma)])
    rows = play(env, seed)
    shaping = sum(gamma**t * row[1]["potential"] for t, row in enumerate(rows))
    assert shaping == pytest.approx(0.0, abs=1e-9)  # phi(s_0) = 0 in the toy


def test_hooks_are_copied_pickled_and_deterministic():
    hooks = all_hooks()
    for clone in (copy.deepcopy(hooks), pickle.loads(pickle.dumps(hooks))):
        assert clone == hooks
    env = ShapedReward(ToyEnv(), hooks)
    first = play(env, 5)
    assert play(env, 5) == first == play(copy.deepcopy(env), 5)
    assert hooks == all_hooks() and hooks[0]._turns == 0  # type: ignore[attr-defined]


def test_the_wrapper_is_recorded_in_the_spec():
    env = ShapedReward(gymnasium.make(TOY_ID), [TurnCost(0.5)])
    assert env.spec is not None
    again = gymnasium.make(env.spec)
    assert [row[0] for row in play(again, 1)] == [row[0] for row in play(env, 1)]


def test_names_must_differ():
    with pytest.raises(ConfigurationError, match="different names"):
        ShapedReward(ToyEnv(), [TurnCost(), TurnCost()])
    env = ShapedReward(ToyEnv(reward_hooks=[TurnCost()]), [TurnCost()])
    env.reset(seed=0)
    with pytest.raises(ConfigurationError, match="turn_cost"):
        env.step("press red")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Potential(gamma=1.1),
        lambda: InvalidAction(-0.1),
        lambda: TurnCost(float("nan")),
        lambda: Repeat(float("inf")),
        lambda: Progressive(alpha=1.5),
        lambda: InvalidAction(weight=-1.0),
        lambda: SuccessBonus(weight=float("nan")),
        lambda: TurnCost(weight=10**400),
        lambda: Repeat(weight="1"),
        lambda: TurnCost(cost=True),
        lambda: Progressive(weight=float("inf")),
        lambda: ShapedReward(ToyEnv(), [Potential(weight=float("nan"))]),
        lambda: Progressive(alpha=lambda step: 2.0)(context()),
        lambda: ShapedReward(gymnasium.make("CartPole-v1"), []),  # type: ignore[arg-type]
        lambda: ShapedReward(ToyEnv(), ["turn_cost"]),  # type: ignore[list-item]
    ],
)
def test_bad_settings_are_refused(make):
    with pytest.raises(ConfigurationError):
        make()
