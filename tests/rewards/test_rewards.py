from __future__ import annotations

import contextlib
import copy
import json
import pickle
from dataclasses import dataclass

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.core.hooks import HookRunner
from agentgym.errors import ConfigurationError
from agentgym.rewards import (
    HOOKS,
    InvalidAction,
    LinearAlpha,
    Potential,
    Progressive,
    Repeat,
    ShapedReward,
    StagedAlpha,
    SuccessBonus,
    TurnContext,
    TurnCost,
    TurnReward,
    TurnState,
    parse_hooks,
)
from agentgym.rewards.table import hook_words, hooks_to_json
from tests.toy import COLOURS, TOY_ID, ToyEnv


@dataclass
class Mine:
    """A hook of one's own."""

    weight: float = 1.0
    free: int = 0
    name: str = "mine"

    def reset(self) -> None:
        pass

    def __call__(self, context: TurnContext) -> float:
        return 0.0


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


@settings(deadline=None)
@given(phis=st.lists(finite, min_size=2, max_size=20), gamma=st.floats(0, 1))
def test_potential_terms_of_an_episode_sum_to_minus_the_first_potential(phis, gamma):
    hook = Potential(gamma)
    total = 0.0
    for t in range(len(phis) - 1):
        is_last = t == len(phis) - 2
        total += gamma**t * hook(context(phis[t], phis[t + 1], done=is_last))
    assert total == pytest.approx(-phis[0], abs=1e-9)


@settings(deadline=None)
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


@settings(deadline=None)
@given(
    steps=st.lists(st.tuples(finite, finite, st.booleans()), min_size=1, max_size=12),
    alpha=st.floats(0, 1),
    gate=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_an_outcome_behind_a_gate_counts_if_enough_actions_were_valid(steps, alpha, gate):
    hook = Progressive(alpha, step=Gain(), gate=gate)
    total = 0.0
    for t, (outcome, gain, valid) in enumerate(steps):
        turn = context(0.0, gain, terms={"task": outcome}, done=t == len(steps) - 1, valid=valid)
        total += outcome + hook(turn)
    passed = sum(valid for *_, valid in steps) >= gate * len(steps)
    outcome = sum(outcome for outcome, *_ in steps) if passed else 0.0
    mean = sum(gain for _, gain, _ in steps) / len(steps)
    assert total == pytest.approx(alpha * outcome + (1 - alpha) * mean, abs=1e-9)


def test_alpha_in_the_three_published_stages():
    (hook,) = parse_hooks(["progressive:first=0.3,second=0.7,third=1,every=10,gate=1"])
    assert hook == Progressive(StagedAlpha(every=10), gate=1)
    steps = (0, 1, 10, 11, 20, 21, 999)
    assert [hook.alpha(step) for step in steps] == [0.3, 0.3, 0.3, 0.7, 0.7, 1.0, 1.0]


def test_the_tool_bonus_pays_calls_of_solved_tasks_alone():
    (hook,) = parse_hooks(["tool_bonus"])
    for success, paid in ((True, 0.2), (False, 0.0)):
        hook.reset()
        turns = [{}, {"valid": False}, {}, {"done": True, "success": success}]
        values = [hook(context(**turn)) for turn in turns]
        assert values == pytest.approx([0.0, 0.0, 0.0, paid])


class Gain:
    def __call__(self, turn: TurnContext) -> float:
        return turn.after.potential


def test_progressive_starts_anew_with_each_episode():
    hook = Progressive(0.0)
    first = [hook(context(0.0, 1.0)), hook(context(0.0, 0.0))]
    hook.reset()
    assert first == [hook(context(0.0, 1.0)), hook(context(0.0, 0.0))] == [1.0, -0.5]


def test_a_schedule_is_written_by_its_fields():
    (hook,) = parse_hooks(["progressive:start=0.2,end=0.8,steps=10,forfeit=true"])
    assert hook == Progressive(LinearAlpha(0.2, 0.8, 10), forfeit=True)


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
    remade = gymnasium.make(env.spec)
    assert [row[0] for row in play(remade, 1)] == [row[0] for row in play(env, 1)]


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


@st.composite
def written_hooks(draw) -> tuple[str, TurnReward]:
    """A hook and one of the ways to write it."""
    number = st.floats(0, 1).map(lambda value: round(value, 6)) | st.integers(0, 1)
    name = draw(st.sampled_from(sorted({*HOOKS} - {"machine"})))  # which names a file
    cls = HOOKS[name]
    fields = draw(st.dictionaries(st.sampled_from([cls.size, "weight"]), number))
    if name == "progressive" and draw(st.booleans()):
        fields["forfeit"] = draw(st.booleans())
    text = name
    other_fields = dict(fields)
    if cls.size in other_fields and draw(st.booleans()):
        text += f"={json.dumps(other_fields.pop(cls.size))}"
    options = [f"{key}={json.dumps(value)}" for key, value in other_fields.items()]
    model = {"model": "some/model:7b"} if name.startswith("judge") else {}
    options += [f"{key}={value}" for key, value in model.items()]
    if options:
        text += ":" + ",".join(options)
    return text, cls(**fields, **model)


@settings(deadline=None)
@given(st.lists(written_hooks(), unique_by=lambda pair: pair[1].name))
def test_written_hooks_make_equal_hooks(pairs):
    assert parse_hooks([text for text, _ in pairs]) == [hook for _, hook in pairs]


def test_hooks_by_name():
    assert parse_hooks(["potential", "invalid_action=0.05", "turn_cost=0.01"]) == [
        Potential(), InvalidAction(0.05), TurnCost(0.01)
    ]  # fmt: skip
    assert parse_hooks(("potential=0.5", "progressive=0.2:forfeit=true")) == [
        Potential(weight=0.5), Progressive(0.2, forfeit=True)
    ]  # fmt: skip
    assert parse_hooks(["repeat:penalty=1,weight=2", "potential:gamma=0.9"]) == [
        Repeat(1, weight=2), Potential(0.9)
    ]  # fmt: skip
    assert parse_hooks([]) == [] and {cls.name for cls in HOOKS.values()} == set(HOOKS)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["shaping"], "potential, invalid_action, turn_cost, repeat, success_bonus, tool_bonus, "),
        ([""], "name of a reward hook"),
        ([5], "name of a reward hook"),
        ("potential", "a list of reward hooks"),
        (5, "a list of reward hooks"),
        (["turn_cost=a"], "'cost=a' in 'turn_cost=a'"),
        (["turn_cost=nan"], "cost=nan"),
        (["turn_cost=NaN"], "cost=NaN"),
        (["turn_cost="], "'cost='"),
        (["turn_cost:"], "fields of turn_cost \\(cost, weight\\)"),
        (["turn_cost:size=1"], "size=1"),
        (["turn_cost=1:cost=2"], "each once"),
        (["turn_cost:name=1"], "name=1"),
        (["progressive:step=1"], "alpha, forfeit, gate, weight"),
        (["progressive:forfeit=1"], "forfeit=1"),
        (["progressive=2"], "alpha"),
        (["progressive:start=0,end=2"], "end of the schedule of alpha"),
        (["progressive:start=0,steps=0"], "steps of the schedule of alpha"),
        (["progressive:alpha=0.5,start=0"], "expected alpha or one schedule"),
        (["progressive:start=0,first=0.2"], "one schedule of it \\(first\\)"),
        (["progressive:first=2"], "first alpha of the schedule"),
        (["progressive:gate=2"], "gate of the hook progressive"),
        (["turn_cost:start=0"], "fields of turn_cost"),
        (["turn_cost=-1"], "cost of the hook turn_cost"),
        (["potential:gamma=1.5"], "gamma"),
        (["repeat", "turn_cost", "repeat=0.1"], "each reward hook once, got repeat"),
        (["potential=" + "[" * 100_000], "fields of potential"),
    ],
)
def test_hooks_that_cannot_be_read_are_refused_in_words(texts, words):
    with pytest.raises(ConfigurationError, match=words):
        parse_hooks(texts)


@pytest.mark.parametrize(
    "text",
    [
        "potential", "invalid_action:penalty=0.2", "potential:gamma=0.95,weight=0.5",
        "progressive:start=0,end=1,steps=100",
        "tests.rewards.test_rewards:Mine:weight=0.01,free=2",
    ],
)  # fmt: skip
def test_hooks_are_written_as_they_are_typed(text: str) -> None:
    stored = hooks_to_json(parse_hooks([text]))
    assert stored is not None and [hook_words(entry) for entry in stored] == [text]


@settings(deadline=None)
@given(st.text("potential_turn_cost:=,.0123456789-x", max_size=24))
def test_any_text_is_a_hook_or_refused(text):
    with contextlib.suppress(ConfigurationError):
        HookRunner(parse_hooks([text]))


@pytest.mark.parametrize("hooks", [5, None, "turn_cost", TurnCost(), {"turn_cost": 1}])
def test_what_is_no_list_of_hooks_is_refused(hooks):
    with pytest.raises(ConfigurationError, match="list of reward hooks"):
        gymnasium.make(TOY_ID, reward_hooks=hooks)
