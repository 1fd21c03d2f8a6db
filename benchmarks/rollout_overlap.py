"""Compare streaming with lockstep rollouts, with slow environments.

Usage: ``python benchmarks/rollout_overlap.py [--engines hf vllm] [--delays 0 50 500]``.
Prints JSON.

Both play the same episodes with the same runner. Lockstep is made by two wrappers: an engine that
returns when all turns are generated, and environments that answer when all have stepped. Turn
lengths are drawn from the seed of each request, nearly equal or with a long tail; the sampled text
is ignored. Environments sleep in threads, one per slot.

Smallest run: ``--engines hf --delays 0 --repeats 1``
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

import gymnasium
import numpy as np
import torch
from provenance import to_json
from slow_env import SlowEnv

from agentgym.vector import TextVectorEnv
from trainers.config.sections import TinyConfig
from trainers.models.tiny import build_model, build_tokenizer
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines import engine_maker
from trainers.rollouts.engines.base import (
    Completion,
    EngineSettings,
    GenerationEngine,
    Request,
    Sampling,
)
from trainers.rollouts.engines.policy_weights import policy_weights
from trainers.rollouts.rollout_runner import RolloutRunner

SLOTS = 32
EPISODES = 64
HORIZON = 6
MOST_TOKENS = 64
CONTEXT = 1024
LENGTHS = {"even": (10.0, 0.15), "long_tail": (8.0, 1.0)}
"""Median, and standard deviation of the logarithm, of the tokens of a turn."""


class DrawnLengths:
    """An engine whose turn lengths are drawn from a distribution, by each request's seed."""

    name = "drawn lengths"
    exact = True

    def __init__(self, engine: GenerationEngine, lengths: tuple[float, float]) -> None:
        self.engine, self.version, self.tokens = engine, engine.version, 0
        self._lengths = lengths

    @property
    def running(self) -> int:
        """Number of requests in flight."""
        return self.engine.running

    def submit(self, requests: Sequence[Request], sampling: Sampling) -> None:
        """Forward requests with the drawn limit."""
        middle, spread = self._lengths
        for request in requests:
            drawn = middle * np.exp(spread * np.random.default_rng(request.seed).normal())
            limit = int(np.clip(round(drawn), 1, request.max_tokens))
            self.tokens += limit
            self.engine.submit([replace(request, max_tokens=limit)], replace(sampling, stop_ids=()))

    def advance(self, timeout: float | None = None) -> list[tuple[int, Completion]]:
        """Return finished completions."""
        return self.engine.advance(timeout)

    def abort(self) -> None:
        """Drop all requests in flight."""
        self.engine.abort()

    def sync(self, named_params: Iterable[Any], version: int) -> None:
        """Forward the weights."""
        self.engine.sync(named_params, version)

    def close(self) -> None:
        """Do nothing: the engine is reused."""


class LockstepEngine(DrawnLengths):
    """An engine that returns only when all completions have finished."""

    def advance(self, timeout: float | None = None) -> list[tuple[int, Completion]]:
        """Return all completions at once."""
        completions: list[tuple[int, Completion]] = []
        while self.running:
            completions += self.engine.advance(timeout)
        return completions


class LockstepEnvs:
    """Environments that answer only when all have answered."""

    concurrent = False

    def __init__(self, envs: TextVectorEnv) -> None:
        self.num_envs, self._envs, self._unanswered = envs.num_envs, envs, 0
        self.close, self.abandon_slots = envs.close, envs.abandon_slots

    def send_resets(self, slots: Sequence[int], seeds: Any, options: Any) -> None:
        """Start episodes."""
        self._unanswered += len(slots)
        self._envs.send_resets(slots, seeds, options)

    def send_slots(self, slots: Sequence[int], actions: Sequence[str]) -> None:
        """Take turns."""
        self._unanswered += len(slots)
        self._envs.send_slots(slots, actions)

    def receive(self, timeout: float | None = None) -> list[tuple[int, Any]]:
        """Return all answers at once."""
        answers: list[tuple[int, Any]] = []
        while len(answers) < self._unanswered:
            answers += self._envs.receive()
        self._unanswered = 0
        return answers


def make_env(seconds: float) -> gymnasium.Env[str, str]:
    """Make a small shop with slow steps; unchanged without a delay."""
    env = gymnasium.make(
        "agentgym/WebShop-v0",
        difficulty="easy",
        observation_mode="compact",
        disable_env_checker=True,
    )
    return SlowEnv(env, seconds) if seconds else env


def play(
    engine: GenerationEngine,
    chat: TurnTokenizer,
    seconds: float,
    lengths: tuple[float, float],
    streaming: bool,
) -> dict[str, float]:
    """Play the episodes once; return the time by part."""
    backend = "thread" if seconds else "sync"
    envs = TextVectorEnv([partial(make_env, seconds)] * SLOTS, backend=backend, workers=SLOTS)
    drawn = (DrawnLengths if streaming else LockstepEngine)(engine, lengths)
    budget = TokenBudget(MOST_TOKENS, CONTEXT - MOST_TOKENS, CONTEXT)
    runner = RolloutRunner(envs if streaming else LockstepEnvs(envs), chat, drawn, budget)
    tasks = [{"split": "train", "index": index} for index in range(EPISODES)]
    engine.sync(iter(()) if engine.name == "hf" else policy_weights(MODEL[0]), 1)
    runner.run(tasks, horizon=HORIZON)
    envs.close()
    stats = runner.stats
    return {
        "seconds": stats.seconds,
        "engine_seconds": stats.engine_seconds,
        "env_seconds": stats.env_seconds,
        "env_busy_seconds": stats.env_busy_seconds,
        "turns": stats.turns,
        "tokens": drawn.tokens,
    }


MODEL: list[Any] = []
"""The policy, made once."""


def compare(
    engine: GenerationEngine, chat: TurnTokenizer, seconds: float, lengths: str, repeats: int
) -> dict[str, Any]:
    """Alternate between both ways, so that load affects both alike."""
    runs: dict[str, list[dict[str, float]]] = {"lockstep": [], "streaming": []}
    for _ in range(repeats):
        for mode, rounds in runs.items():
            rounds.append(play(engine, chat, seconds, LENGTHS[lengths], mode == "streaming"))
    pairs = zip(runs["lockstep"], runs["streaming"], strict=True)
    gains = [lockstep["seconds"] / streaming["seconds"] for lockstep, streaming in pairs]
    best = {mode: min(rounds, key=lambda run: run["seconds"]) for mode, rounds in runs.items()}
    return {
        "engine": engine.name,
        "step_ms": 1000 * seconds,
        "turn_lengths": lengths,
        "gain": round(median(gains), 3),
        "gains": [round(gain, 3) for gain in gains],
        **{
            mode: {key: round(value, 3) for key, value in run.items()} for mode, run in best.items()
        },
    }


def main() -> None:
    """Measure and print."""
    engines = ["hf", "vllm"] if importlib.util.find_spec("vllm") else ["hf"]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engines", nargs="*", default=engines)
    parser.add_argument("--delays", nargs="*", type=float, default=[0, 50, 500], help="ms per step")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    chat = TurnTokenizer(build_tokenizer(["search[ ] click[ ] " + make_env(0).reset(seed=0)[0]]))
    MODEL.append(build_model(chat.tokenizer, TinyConfig(context=CONTEXT), 0))
    settings = EngineSettings(pad_id=chat.pad_id, context=CONTEXT, slots=SLOTS)
    rows = []
    for name in options.engines:
        engine = engine_maker(name, settings)(MODEL[0])
        play(engine, chat, 0.0, LENGTHS["even"], True)  # the first run compiles and caches
        for seconds in (delay / 1000 for delay in options.delays):
            for lengths in LENGTHS:
                rows.append(compare(engine, chat, seconds, lengths, options.repeats))
        engine.close()
    shape = {"slots": SLOTS, "episodes": EPISODES, "horizon": HORIZON}
    print(to_json({"shape": shape, "turn_lengths": LENGTHS, "runs": rows}))


if __name__ == "__main__":
    main()
