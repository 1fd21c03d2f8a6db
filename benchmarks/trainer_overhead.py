"""What the trainer costs besides the model: rollout overhead per turn, and turn-level credit.

Usage: ``python benchmarks/trainer_overhead.py``. Prints JSON.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

import numpy as np

from agentgym.vector import TextVectorEnv
from trainers.algorithms import Batch, advantage, get_preset
from trainers.rollouts.budget import Limits
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines.base import Completion, Sampling
from trainers.rollouts.runner import RolloutRunner
from trainers.tiny import build_tokenizer

EPISODES = 128
REPEATS = 5
TOKENS = 1_000_000
BARS = {"rollout_microseconds_per_turn": 100.0, "credit_seconds_per_million_tokens": 1.0}


class ConstantEngine:
    """Answers every prompt with the same action, at no cost."""

    name = "constant"
    exact = True
    version = 0

    def __init__(self, ids: list[int]) -> None:
        self._ids = ids

    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        sampling: Sampling,
        max_tokens: Sequence[int] | None = None,
    ) -> list[Completion]:
        """Return the action for each prompt."""
        return [Completion(list(self._ids), [-0.1] * len(self._ids)) for _ in prompts]

    def sync(self, named_params: object, version: int) -> None:
        """Do nothing: there are no weights."""

    def close(self) -> None:
        """Do nothing."""


def rollout_overhead() -> float:
    """Return microseconds per turn of a WebShop rollout that neither engine nor env explains."""
    texts = ["search[red shoes] results next invalid no click[next] $1 #1"]
    chat = TurnTokenizer(build_tokenizer(texts))
    kwargs = {"difficulty": "easy", "observation_mode": "compact"}
    envs = TextVectorEnv.make("webshop", EPISODES, kwargs)
    engine = ConstantEngine(chat.encode_action("search[red shoes]"))
    best = float("inf")
    tasks = [{"split": "train", "index": index} for index in range(EPISODES)]
    for repeat in range(REPEATS):
        limits = Limits(turn_tokens=16, episode_tokens=4096, context=8192)
        runner = RolloutRunner(envs, chat, engine, limits)
        runner.run(tasks, horizon=9, seed=repeat)
        best = min(best, runner.stats.overhead_us)
    envs.close()
    return best


def credit_seconds() -> float:
    """Return the seconds that turn-level credit takes on a million action tokens."""
    episodes, turns = 8192, 8
    tokens = TOKENS // (episodes * turns)
    rng = np.random.default_rng(0)
    batch = Batch.from_trajectories(
        turn_tokens=[[tokens] * turns] * episodes,
        rewards=rng.random((episodes, turns)).tolist(),
        groups=[index // 8 for index in range(episodes)],
    )
    preset = get_preset("default")
    best = float("inf")
    for _ in range(REPEATS):
        began = time.perf_counter()
        advantage(batch, preset.terms, preset.post)
        best = min(best, time.perf_counter() - began)
    return best * TOKENS / batch.n_tokens


def main() -> None:
    """Measure and print."""
    figures = {
        "rollout_microseconds_per_turn": rollout_overhead(),
        "credit_seconds_per_million_tokens": credit_seconds(),
    }
    met = {name: figures[name] <= bar for name, bar in BARS.items()}
    print(json.dumps({"figures": figures, "bars": BARS, "met": met}, indent=2))


if __name__ == "__main__":
    main()
