"""Measure rollout overhead per turn and turn-level credit, without a model.

Usage: ``python benchmarks/trainer_overhead.py``. Prints JSON.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

import numpy as np
from provenance import to_json

from agentgym.vector import TextVectorEnv
from trainers.algorithms.advantage import advantage
from trainers.algorithms.batch import Batch
from trainers.algorithms.presets import get_preset
from trainers.models.tiny import build_tokenizer
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines.base import Completion, Request, Sampling
from trainers.rollouts.rollout_runner import RolloutRunner

EPISODES = 128
HORIZON = 9
REPEATS = 5
TOKENS = 1_000_000
BARS = {"rollout_microseconds_per_turn": 100.0, "credit_seconds_per_million_tokens": 1.0}


class FreeEngine:
    """An engine that answers from a list of actions, each used once, at no cost."""

    name = "free"
    exact = True
    version = 0

    def __init__(self, actions: list[list[int]]) -> None:
        self._actions = iter(actions)
        self._submitted: list[Request] = []

    @property
    def running(self) -> int:
        """Number of requests in flight."""
        return len(self._submitted)

    def submit(self, requests: Sequence[Request], sampling: Sampling) -> None:
        """Queue requests."""
        self._submitted += requests

    def advance(self, timeout: float | None = None) -> list[tuple[int, Completion]]:
        """Return the next actions."""
        requests, self._submitted = self._submitted, []
        actions = [(request.key, next(self._actions)) for request in requests]
        return [(key, Completion(list(ids), [-0.1] * len(ids))) for key, ids in actions]

    def abort(self) -> None:
        """Drop all requests in flight."""
        self._submitted.clear()

    def sync(self, named_params: object, version: int) -> None:
        """Do nothing: there are no weights."""

    def close(self) -> None:
        """Do nothing."""


def rollout_overhead() -> float:
    """Return the microseconds per turn of a WebShop rollout outside engine and environment.

    Every action and nearly every page is new, so the tokenizer's cache seldom hits.
    """
    kwargs = {"difficulty": "easy", "observation_mode": "compact"}
    envs = TextVectorEnv.make("webshop", EPISODES, kwargs)
    tasks = [{"split": "train", "index": index} for index in range(EPISODES)]
    words = sorted(
        {w for text, _ in envs.reset_slots(range(EPISODES), None, tasks) for w in text.split()}
    )
    words = [word for word in words if word.isalpha()]
    chat = TurnTokenizer(build_tokenizer(["search[ ] " + " ".join(words)]))
    needed = iter(itertools.permutations(words, 3))
    best = float("inf")
    for repeat in range(REPEATS):
        queries = itertools.islice(needed, EPISODES * HORIZON)
        engine = FreeEngine([chat.encode_action(f"search[{' '.join(q)}]") for q in queries])
        budget = TokenBudget(turn_tokens=16, episode_tokens=4096, context=8192)
        runner = RolloutRunner(envs, chat, engine, budget)
        runner.run(tasks, horizon=HORIZON, seed=repeat)
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
        start = time.perf_counter()
        advantage(batch, preset.terms, preset.post)
        best = min(best, time.perf_counter() - start)
    return best * TOKENS / batch.n_tokens


def main() -> None:
    """Measure and print."""
    figures = {
        "rollout_microseconds_per_turn": rollout_overhead(),
        "credit_seconds_per_million_tokens": credit_seconds(),
    }
    within_bars = {name: figures[name] <= bar for name, bar in BARS.items()}
    print(to_json({"figures": figures, "bars": BARS, "met": within_bars}))


if __name__ == "__main__":
    main()
