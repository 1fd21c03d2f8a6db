"""ArCHer's critic against values that are known, from data of another policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agentgym.errors import DataError
from agentgym.vector import TextVectorEnv
from tests.trainers import tiny_policy
from tests.trainers.grpo.helpers import (
    flattened,
    log,
    make_trainer,
    part,
    same,
    step_context,
    weights,
)
from tests.trainers.grpo.test_trainer import Picky
from trainers.algorithms.advantage import Term
from trainers.algorithms.presets import get_preset
from trainers.methods.turn_critic.credit import QMinusV
from trainers.methods.turn_critic.kinds import make_turn_critic
from trainers.methods.turn_critic.off_policy_critic import REPLAY_FILE, OffPolicyCritic
from trainers.methods.turn_critic.turn_critic import TURN_CRITIC_FILE, TurnCriticSettings
from trainers.methods.turn_critic.turn_replay import PlayedEpisode
from trainers.rollouts.engines.base import Completion
from trainers.rollouts.trajectory import SampledTurn, Trajectory

ARCHER = get_preset("archer")
GO, STOP = 7, 8
STATES = (9, 10, 11)
"""Tokens of three rooms in a row. To stop is paid .3 and ends it; to go on leads to the next room,
and from the last one is paid 1."""
GAMMA, GOES = 0.9, 0.75
"""Discount, and how often the policy goes on; who played the data did so half of the time."""


def true_values() -> tuple[np.ndarray, np.ndarray]:
    """Q (3, 2) of going and stopping, and V (3,), of the policy."""
    q, v, value_after = np.zeros((3, 2)), np.zeros(3), 1.0
    for room in (2, 1, 0):
        q[room] = value_after, 0.3
        v[room] = GOES * q[room, 0] + (1 - GOES) * q[room, 1]
        value_after = GAMMA * v[room]
    return q, v


def walks(count: int, seed: int) -> list[Trajectory]:
    """Episodes of the other policy, from every room."""
    random = np.random.default_rng(seed)
    episodes = []
    for number in range(count):
        turns, room, over = [], number % 3, False
        while not over:
            goes = random.random() < 0.5
            over = not goes or room == 2
            paid = 0.3 if not goes else float(room == 2)
            action = [GO if goes else STOP]
            turns.append(SampledTurn([STATES[room]], action, [0.0], fresh=True, reward=paid))
            room += 1
        episodes.append(Trajectory(turns=turns, stop_reason="success"))
    return episodes


def act(prompts: Sequence[Sequence[int]], seeds: Sequence[int]) -> list[Completion]:
    """The policy, whose values are sought."""
    drawn = [np.random.Generator(np.random.Philox(key=seed)).random() for seed in seeds]
    return [Completion([GO if number < GOES else STOP], [0.0]) for number in drawn]


def make_critic(seed: int = 0, **changes: Any) -> OffPolicyCritic:
    """A critic of the smallest policy, apart from any training."""
    context = step_context(tiny_policy.model(seed), ARCHER, 200)
    settings = TurnCriticSettings(lr=3e-3, updates=40)
    return OffPolicyCritic(context, settings, QMinusV(gamma=GAMMA, batch=64, **changes))


def learnt(critic: OffPolicyCritic) -> tuple[np.ndarray, np.ndarray]:
    """Q and V as a critic has them, the mean of its heads."""
    acts = [[room, action] for room in STATES for action in (GO, STOP)]
    with torch.no_grad():
        q = critic._values(acts, "q").mean(-1).reshape(3, 2)
        v = critic._values([[room] for room in STATES], "v").mean(-1)
    return q.numpy(), v.numpy()


@pytest.mark.slow
def test_it_finds_the_policys_values_from_the_data_of_another():
    """Not those of who played: these differ by .1 and more in every room but for stopping."""
    critic, (q, v) = make_critic(), true_values()
    for step in range(1, 9):
        critic.slow_down(1.0 if step < 6 else 0.1)  # Its targets of V are drawn, and so have noise.
        critic.study(step, 0, walks(36, step), range(8), act)
    found_q, found_v = learnt(critic)
    np.testing.assert_allclose(found_q, q, atol=0.04)
    np.testing.assert_allclose(found_v, v, atol=0.04)
    signs = np.sign(found_q - found_v[:, None])
    assert (signs == np.sign(q - v[:, None])).all() and (signs == [[1, -1]] * 3).all()


def test_an_update_minimises_what_it_says_it_does():
    """Both targets by hand, with slow copies that are not the critic."""
    critic = make_critic(tau=0.25)
    random = torch.Generator().manual_seed(1)
    for parameter in (*critic._head.parameters(), *critic._slow_head.parameters()):
        torch.nn.init.normal_(parameter, std=0.3, generator=random)
    walk = next(candidate for candidate in walks(30, 0) if len(candidate.turns) == 3)
    episode = PlayedEpisode.of(walk)
    turns = [episode.turn(number) for number in range(3)]
    policy_actions = [[GO], [STOP], [GO]]
    states = [turn.state for turn in turns]
    next_v = critic._values(states[1:], "v", slow=True)
    q_of_own = critic._values(
        [s + b for s, b in zip(states, policy_actions, strict=True)], "q", slow=True
    )
    paid = torch.tensor([[turn.reward] for turn in turns]).expand(-1, 2).clone()
    paid[:2] += GAMMA * next_v
    q = critic._values([s + list(t.action) for s, t in zip(states, turns, strict=True)], "q")
    v = critic._values(states, "v")
    errors = ((q - paid) ** 2).sum() + ((v - q_of_own) ** 2).sum()
    expected = float(errors.detach()) / 3
    slow = {name: weight.clone() for name, weight in critic._slow.items()}
    assert critic._update(turns, policy_actions, 3) == pytest.approx(expected, rel=1e-5)
    for name, expected_weight in slow.items():
        values = critic._trained[name].detach()
        torch.testing.assert_close(critic._slow[name], 0.75 * expected_weight + 0.25 * values)
    assert "trunk.norm.weight" in slow and "head.q.0.0.weight" in slow


def test_what_trains_are_actions_of_the_policy_in_states_of_the_replay():
    critic = make_critic()
    critic.settings = replace(critic.settings, updates=1)
    judged = critic.study(1, 0, walks(12, 0), range(4, 10), act)
    assert [trajectory.group for trajectory in judged.trajectories] == list(range(4, 10))
    turns = [trajectory.turns[0] for trajectory in judged.trajectories]
    assert all(len(trajectory.turns) == 1 for trajectory in judged.trajectories)
    assert {turn.context[-1] for turn in turns} <= set(STATES)
    q, v = judged.aux["q"], judged.aux["v"]
    assert [turn.reward for turn in turns] == [a - b for a, b in zip(q, v, strict=True)]
    # A process has its share of the same numbers.
    twin = make_critic()
    twin.settings = replace(twin.settings, updates=1)
    trajectories = twin.study(1, 0, walks(12, 0), range(10), act).trajectories
    assert [trajectory.turns[0].ids for trajectory in trajectories[4:]] == [
        turn.ids for turn in turns
    ]


def test_episodes_that_say_nothing_are_not_kept():
    critic = make_critic()
    failed = [replace(walk, stop_reason="error") for walk in walks(3, 0)]
    with pytest.raises(DataError, match="expected an episode that a critic can learn from"):
        critic.study(1, 0, failed, range(2), act)
    assert not len(critic.replay)


def test_the_worth_of_what_it_foresaw_is_that_of_the_discounted_returns():
    critic = make_critic()
    episodes = [PlayedEpisode.of(walk) for walk in walks(9, 0)]
    assert critic._foreseen(episodes) == 0.0, "at first it expects nothing"
    assert critic._foreseen([]) == 0.0
    torch.nn.init.normal_(critic._head.v[0][-1].weight, generator=torch.Generator().manual_seed(2))
    worth, predictions = [], []
    for episode in episodes:
        for turn in range(len(episode.spans)):
            later = episode.rewards[turn:]
            worth.append(sum(GAMMA**ahead * paid for ahead, paid in enumerate(later)))
            predictions.append(float(critic._values([episode.state(turn)], "v").min().detach()))
    residual = np.var(np.array(worth) - np.array(predictions))
    assert (
        critic._foreseen(episodes) == pytest.approx(1.0 - residual / np.var(worth), abs=1e-5) != 0.0
    )


# -- in a training ---------------------------------------------------------------------------------


def turn_critic(**changes: Any) -> dict[str, Any]:
    """What makes the critic with these settings."""
    settings = TurnCriticSettings(lr=3e-3, **changes)
    return {"turn_critic": partial(make_turn_critic, settings=settings)}


def archer(folder: Path, **changes: Any) -> Any:
    """A trainer whose episodes pay for what the policy can learn."""
    signal = QMinusV(batch=16, replay=100)
    options: dict[str, Any] = {
        "preset": replace(ARCHER, terms=(Term(signal),)),
        "parts": turn_critic(updates=3),
        "args": {"minibatches": 2, "lr": 3e-3, "steps": 2},
        "envs": TextVectorEnv([Picky] * 16), "probe_every": 0, **changes,
    }  # fmt: skip
    return make_trainer(folder, **options)


def test_the_policy_stays_as_it_is_while_the_critic_warms_up(tmp_path):
    trainer = archer(tmp_path, parts=turn_critic(updates=2, warmup=2))
    weights_before = weights(trainer.model)
    trainer.train()
    assert same(weights(trainer.model), weights_before)
    assert part(trainer, OffPolicyCritic)._optimizer.state_dict()["state"][0]["step"] == 4
    assert len(log(trainer, "critic/value_loss")) == 2


def test_the_replay_is_bounded_and_stands_in_the_log(tmp_path):
    trainer = archer(tmp_path, args={"minibatches": 2, "lr": 3e-3, "steps": 5})
    trainer.train()
    sizes = log(trainer, "critic/replay")
    assert max(sizes) <= 100 and len(part(trainer, OffPolicyCritic).replay) == sizes[-1]
    assert sum(len(trajectory.turns) for trajectory in trainer.trajectories) == 16


@pytest.mark.slow
@pytest.mark.parametrize("stop", [4, 5], ids=["between two steps", "within one"])
def test_a_resumed_training_has_the_same_weights_values_moments_and_replay(stop, tmp_path):
    settings = {"minibatches": 2, "lr": 3e-3, "steps": 4, "save_every": 1, "save_steps": stop}
    uninterrupted, resumed = (
        archer(tmp_path / name, args=settings | {"save_steps": steps})
        for name, steps in (("whole", stop), ("again", 4))
    )
    uninterrupted.train()
    checkpoint = tmp_path / "whole" / f"checkpoint-{stop}"
    assert {TURN_CRITIC_FILE, REPLAY_FILE} <= {path.name for path in checkpoint.iterdir()}
    resumed.train(resume_from_checkpoint=str(checkpoint))
    assert same(weights(resumed.model), weights(uninterrupted.model))
    critics = [part(trainer, OffPolicyCritic) for trainer in (uninterrupted, resumed)]
    states = [
        flattened({
            "trained": dict(critic._trained), "slow": critic._slow,
            "moments": critic._optimizer.state_dict(),
        })
        for critic in critics
    ]  # fmt: skip
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(value, states[1][name]) for name, value in states[0].items())
    replays = [critic.replay.state_dict() for critic in critics]
    assert replays[0] == replays[1]
