"""LightningRL's credit, worked by hand: two episodes of a task, of two and of four calls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trainers.algorithms.presets import get_preset
from trainers.grpo.advantages import assign_credit
from trainers.rollouts.trajectory import SampledTurn, Trajectory


def test_every_call_has_the_credit_of_its_episode_and_episodes_count_alike() -> None:
    episodes = [
        Trajectory(
            turns=[
                SampledTurn([9], [1, 2], [-1.0, -0.5], fresh=True, reward=reward)
                for reward in (*[0.0] * (calls - 1), paid)
            ],
            stop_reason=reason,
        )
        for calls, paid, reason in ((2, 1.0, "success"), (4, 0.0, "horizon"))
    ]
    preset = get_preset("lightning")
    credit = assign_credit(episodes, preset)
    # Returns 1 and 0: mean 1/2, deviation 1/sqrt(2); 4 and 8 tokens of 12.
    np.testing.assert_allclose(credit.advantage, [0.5**0.5] * 4 + [-(0.5**0.5)] * 8, rtol=1e-5)
    np.testing.assert_allclose(credit.weight, [12 / (2 * 4)] * 4 + [12 / (2 * 8)] * 8)
    by_call = replace(preset, loss=replace(preset.loss, aggregation="turn-mean"))
    np.testing.assert_allclose(assign_credit(episodes, by_call).weight, np.ones(12))
