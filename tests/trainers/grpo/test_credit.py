"""What the trainer gives its loss is what the preset says, for every preset it runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.trainers.grpo.reference import target
from trainers.algorithms.loss import Loss, aggregation_weights
from trainers.algorithms.presets import get_preset, runnable
from trainers.algorithms.shaping import FlagPenalty, Overlong
from trainers.grpo.advantages import assign_credit
from trainers.rollouts.trajectory import SampledTurn, Trajectory, to_rows

CONST = 40.0
STOPS = ("success", "horizon", "failure", "token_limit", "success", "error")


def episodes(seed: int = 0) -> list[Trajectory]:
    """Four groups of six: uneven lengths, invalid turns, shared states, every kind of ending."""
    rng = np.random.default_rng(seed)
    out = []
    for number in range(24):
        turns = [
            SampledTurn(
                [9],
                list(range(size)),
                (-rng.random(size)).tolist(),
                fresh=index == 0 or index == 2,
                text=str(index),
                state_key=str(index % 2),
                # Small and uneven: a dead zone of .01 must swallow some of what is left of them.
                reward=float(rng.integers(0, 3)) * 0.004,
                valid=bool(rng.integers(0, 2)),
            )
            for index, size in enumerate(rng.integers(1, 6, rng.integers(0 if number else 1, 5)))
        ]
        if number // 6 == 3:  # a group of equal returns and different lengths
            for turn in turns:
                turn.reward = 0.0
        out.append(Trajectory(group=number // 6, turns=turns, stop_reason=STOPS[number % 6]))
    return out


def biting(name: str):
    """A preset with settings under which each of its parts has a say."""
    preset = get_preset(name)
    shapers = tuple(
        Overlong(limit=12, share=10 / 12) if isinstance(part, Overlong) else part
        for part in preset.shapers
    )
    return replace(preset, shapers=shapers)


def assigned(trajectories, preset, **options):
    """Credit of the trainer, and its coefficients of ``grad log pi`` where every ratio is 1."""
    preset = replace(preset, loss=replace(preset.loss, const=CONST))
    nothing = np.zeros(sum(t.action_tokens for t in trajectories))  # what a fresh critic expects
    credit = assign_credit(trajectories, preset, values=nothing, **options)
    tokens = max(1, int(credit.train.sum()))
    return credit, credit.advantage * credit.behaviour * credit.weight / tokens


@pytest.mark.parametrize("old", [False, True], ids=["as-sampled", "scored"])
@pytest.mark.parametrize("name", runnable())
def test_assign_is_the_preset(name, old):
    # Weights of forks are those of ``test_fork_value.py``: here nothing is forked.
    preset, trajectories = replace(biting(name), branching=None), episodes()
    rng = np.random.default_rng(1)
    tokens = sum(t.action_tokens for t in trajectories)
    judged = rng.random((2, sum(len(t.turns) for t in trajectories)))
    logps = {"logp_ref": -rng.random(tokens), "logp_prm": -rng.random(tokens)}
    aux = {**logps, "q": judged[0], "v": judged[1]}
    sampled = np.concatenate([u.logprobs for t in trajectories for u in t.turns])
    logp_old = sampled + rng.normal(0, 0.5, tokens) if old else None
    credit, coefficients = assigned(trajectories, preset, aux=aux, logp_old=logp_old)
    at_one = replace(preset, loss=replace(preset.loss, kl_beta=0.0))
    logp_now = sampled if logp_old is None else logp_old
    goal = target(trajectories, at_one, logp=logp_now, aux=aux, logp_old=logp_old, const=CONST)
    assert (goal.coefficient != 0).any()
    np.testing.assert_allclose(coefficients, goal.coefficient, rtol=1e-9, atol=1e-15)
    np.testing.assert_array_equal(credit.train[goal.coefficient != 0], True)
    weight = aggregation_weights(
        credit.batch,
        preset.loss.aggregation,
        const=CONST,
        keep=goal.train[credit.batch.token_traj],
    )
    np.testing.assert_allclose(credit.weight / credit.train.sum(), weight, rtol=1e-9)


@pytest.mark.parametrize("level", ["token", "sequence"])
@pytest.mark.parametrize("mode", ["none", "clip", "mask"])
@pytest.mark.parametrize("cap", [0.8, 1.3])
def test_importance_weights_are_those_of_the_loss(mode, level, cap):
    trajectories, rng = episodes(), np.random.default_rng(2)
    sampled = np.concatenate([u.logprobs for t in trajectories for u in t.turns])
    old = sampled + rng.normal(0, 0.4, len(sampled))
    loss = Loss(behave=mode, behave_level=level, behave_cap=cap)
    preset = replace(get_preset("rloo"), loss=loss)
    for correct in (False, True):
        _, coefficients = assigned(trajectories, preset, logp_old=old, correct=correct)
        applied_loss = replace(loss, behave="clip" if correct and mode == "none" else mode)
        goal = target(
            trajectories,
            replace(preset, loss=applied_loss),
            logp=old,
            aux={},
            logp_old=old,
            const=CONST,
        )
        np.testing.assert_allclose(coefficients, goal.coefficient, rtol=1e-9, atol=1e-15)


PARTS = {
    "gigpo": {"shapers": ()},
    "dapo": {"shapers": ()},
    "grpo-tcr": {"shapers": ()},
    "reinforce++": {"post": None},
    "reinforce++-baseline": {"post": None},
    "loop": {"loss": Loss(high=0.28)},
}
"""Presets, and what is left of them without one part."""


@pytest.mark.parametrize("name", PARTS)
def test_each_part_has_a_say_in_these_episodes(name):
    """Otherwise the equality above would not notice that the part is left out."""
    trajectories, preset = episodes(), biting(name)
    aux = {"logp_ref": np.zeros(sum(t.action_tokens for t in trajectories))}
    complete, _ = assigned(trajectories, preset, aux=aux)
    without, _ = assigned(trajectories, replace(preset, **PARTS[name]), aux=aux)
    assert not np.allclose(complete.advantage, without.advantage, rtol=1e-3, atol=1e-9)
    assert all(isinstance(part, Overlong | FlagPenalty) for part in preset.shapers)


@pytest.mark.parametrize("fresh", [False, True], ids=["one row", "a row per turn"])
@pytest.mark.parametrize("name", ["grpo", "scalinginter", "gigpo", "mt-grpo", "gspo", "dr_grpo"])
def test_an_episode_weighs_the_same_however_many_rows_it_has(name, fresh):
    """Two episodes, of one turn and of six, as a window or a rewritten history divides them."""
    trajectories = [
        Trajectory(
            group=0,
            turns=[
                SampledTurn(
                    [9], [1, 2, 3], [-1.0, -0.5, -0.1], fresh=fresh, text="x", reward=reward
                )
                for reward in [0.0] * (count - 1) + [float(count)]
            ],
            stop_reason="success",
        )
        for count in (1, 6)
    ]
    assert len(to_rows(trajectories)) == (7 if fresh else 2)
    preset = get_preset(name)
    preset = replace(preset, loss=replace(preset.loss, const=CONST if name == "dr_grpo" else None))
    weight = assign_credit(trajectories, preset, aux={"logp_ref": np.zeros(21)}).weight / 21
    expected = [3 / CONST / 2, 18 / CONST / 2] if name == "dr_grpo" else [0.5, 0.5]
    np.testing.assert_allclose([weight[:3].sum(), weight[3:].sum()], expected)


@pytest.mark.parametrize("place", ["first", "last"])
@pytest.mark.parametrize(
    "name",
    [
        name
        for name in runnable()
        if name != "expert-iteration" and "turn_critic" not in get_preset(name).needs
    ],
)
def test_a_reward_of_any_turn_reaches_the_advantage(name, place):
    """What a hook pays or takes acts, whatever the preset: none looks at the last turn alone.

    A preference asks only who is best and who is worst, so of the two one may change nothing.
    Expert iteration reads no rewards: an episode is solved or not. Critics of turns read them
    advantage_before: see ``test_off_policy_critic.py`` and ``test_privileged_critic.py``.
    """
    preset, trajectories = get_preset(name).within(9_999), episodes()
    nothing = np.zeros(sum(t.action_tokens for t in trajectories))
    aux = {"logp_ref": nothing, "logp_prm": nothing}
    advantage_before, acts = assigned(trajectories, preset, aux=aux)[0].advantage, []
    for amount in (1.0, -1.0):
        paid = episodes()
        longest = max(paid[6:12], key=lambda t: len(t.turns) * (t.stop_reason in STOPS[:3]))
        assert len(longest.turns) > 1
        longest.turns[0 if place == "first" else -1].reward += amount
        acts.append(not np.allclose(advantage_before, assigned(paid, preset, aux=aux)[0].advantage))
    assert any(acts) if preset.prefers else all(acts)


def test_a_preference_pairs_no_episode_without_outcome():
    """An episode that failed is neither the better nor the worse, and no engine reweighs a pair."""
    preset = get_preset("dpo")

    def credit(*ended: tuple[float, str]):
        trajectories = [
            Trajectory(
                group=0,
                turns=[SampledTurn([9], [1, 2], [-1.0, -2.0], fresh=True, reward=paid)],
                stop_reason=stop,
            )
            for paid, stop in ended
        ]
        tokens = 2 * len(trajectories)
        old = np.tile([-1.7, -1.3], len(trajectories))
        aux = {"logp_ref": np.full(tokens, -1.5)}
        token_credit = assign_credit(trajectories, preset, aux=aux, logp_old=old, correct=True)
        assert token_credit.behaviour.tolist() == [1.0] * tokens
        return (token_credit.advantage * token_credit.weight)[::2].tolist()

    better, worse, failed = (1.0, "success"), (0.5, "horizon"), (0.0, "error")
    pair = credit(better, worse)
    assert pair[0] == -pair[1] > 0
    assert credit(better, worse, failed) == pytest.approx([*pair, 0.0])
    assert credit((1.0, "error"), better, worse) == pytest.approx([0.0, *pair])
    assert credit(better, failed) == [0.0, 0.0]
