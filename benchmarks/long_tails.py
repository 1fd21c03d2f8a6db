"""Compare synchronous, fixed-lag and fully asynchronous training where turns take 0.02 to 2 s.

The tiny policy is trained on coin mazes of 1 to 6 moves whose turns sleep for log-normal times
(``slow_mazes.py``). All kinds of training of a seed start from one warm start, make the same number
of updates of as many episodes, and are compared on the same held-out tasks. They run one after the
other in one process. Episodes an hour count all updates of a training, from its first plan to its
last update, so the time until the slots of a fully asynchronous one are full, and the wait for its
last episodes, are included. It plays more episodes at a time than the others; ``equal_slots`` is
fully asynchronous training with as many as they.

Usage: ``python benchmarks/long_tails.py [--seeds 0 1 2] [--updates 20] [--held-out 144]``. Prints
JSON; every training is also printed to stderr as it ends.

Smallest run: ``--seeds 0 --updates 2 --held-out 4``
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import mean, median
from typing import Any

import numpy as np
import torch
from provenance import to_json

from agentgym.conversation import BARE, Prompt
from agentgym.support.statistics import paired_difference
from agentgym.vector import TextVectorEnv
from benchmarks.slow_mazes import SlowMazes
from trainers.config.sections import TinyConfig
from trainers.grpo.trainer import MultiTurnTrainer
from trainers.grpo.trl_arguments import grpo_arguments
from trainers.methods.async_rollouts.fully_async import FullyAsync
from trainers.methods.async_rollouts.producer import RolloutProducer
from trainers.models.copy_pretraining import CopySettings, pretrain_copying
from trainers.models.sft import Sft, SftSettings
from trainers.models.tiny import build_model, build_tokenizer
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.expert_demonstrations import encode, play
from trainers.rollouts.rollout_event import RolloutEvent
from trainers.rollouts.trajectory import to_rows

GROUPS, GROUP_SIZE, HORIZON = 4, 6, 12
EPISODES = GROUPS * GROUP_SIZE
"""Episodes of an update."""
RATE = 3e-4
"""Learning rate."""
BUDGET = TokenBudget(turn_tokens=6, episode_tokens=1400, context=1536)
SIZE = TinyConfig(hidden=48, layers=2, heads=2, head_dim=24, intermediate=128, context=1536)
DEMONSTRATIONS, IMITATION, COPYING = 200, 90, 50
"""Episodes of the expert, steps of the warm start on them, and steps before that learn to copy."""
SHOWN = ("sampling/staleness", "sampling/staleness_max", "sampling/too_old", "rollout/partial")
"""Figures of the log whose means are reported."""


@dataclass(frozen=True)
class Kind:
    """A kind of training."""

    slots: int = EPISODES
    """Episodes at a time."""
    part: Callable[..., Any] | None = None
    """Its part of the step."""


KINDS: Mapping[str, Kind] = {
    "synchronous": Kind(),
    "staleness_1": Kind(part=partial(RolloutProducer, staleness=1)),
    # As --async-rollouts.mode fully-async chooses the slots: a step's, times 1 + N / 2.
    "fully_async": Kind(3 * EPISODES, partial(FullyAsync, staleness=4)),
    "equal_slots": Kind(part=partial(FullyAsync, staleness=4)),
}
RIVALS = ("synchronous", "staleness_1")
FREE = {"fully_async": "", "equal_slots": "_of_equal_slots"}
"""Fully asynchronous kinds, and the ends of the names of their comparisons."""


def mazes() -> SlowMazes:
    """Make an environment."""
    return SlowMazes(levels="1-6", horizon=HORIZON)


def tasks(step: int, count: int, horizon: int, seed: int = 0) -> list[dict[str, Any]]:
    """Choose the tasks of a step; no two seeds of a study share the order."""
    order = np.random.default_rng((seed, 11)).permutation(600)
    return [
        {"split": "train", "index": int(order[((step - 1) * count + place) % len(order)])}
        for place in range(count)
    ]


def warm_start(seed: int) -> tuple[TurnTokenizer, Any]:
    """Imitate the expert; return the tokenizer and the policy."""
    env = mazes()
    episodes = [
        play(env, {"split": "train", "index": index}, env.oracle())
        for index in range(DEMONSTRATIONS)
    ]
    env.close()
    texts = [text for e in episodes for text in (e.observation, *(t.action for t in e.turns))]
    texts += [turn.seen_turn.observation for e in episodes for turn in e.turns]
    chat = TurnTokenizer(build_tokenizer(texts))
    rows = to_rows([*encode(episodes, chat, Prompt(BARE))])
    policy = build_model(chat.tokenizer, SIZE, seed)
    pretrain_copying(policy, CopySettings(steps=COPYING, seed=seed), first_id=6)
    Sft(policy, rows, chat.pad_id, SftSettings(steps=IMITATION, seed=seed)).run()
    return chat, policy


def train(
    kind: Kind, chat: TurnTokenizer, policy: Any, seed: int, updates: int, held_out: int
) -> tuple[dict[str, Any], list[float]]:
    """Train a copy of a policy; return figures, and the success on each held-out task."""
    envs = TextVectorEnv.make(mazes, kind.slots, backend="thread", workers=kind.slots)
    moments, events = [], list[Mapping[str, float]]()

    def note(event: RolloutEvent) -> None:
        moments.append(time.perf_counter())
        events.append(event.metrics)

    with tempfile.TemporaryDirectory() as folder:
        trainer = MultiTurnTrainer(
            copy.deepcopy(policy),
            grpo_arguments(
                folder, groups=GROUPS, group_size=GROUP_SIZE, steps=updates, lr=RATE,
                budget=BUDGET, seed=seed,
            ),
            envs=envs, chat=chat, tasks=partial(tasks, seed=seed), horizon=HORIZON,
            preset="default", budget=BUDGET, on_rollout=note, probe_every=0, full_horizon=HORIZON,
            parts={"async_rollouts": kind.part} if kind.part else {},
        )  # fmt: skip
        test = [{"split": "test", "index": index} for index in range(held_out)]
        untrained = trainer.play(test, seed=seed) if kind.part is None else []
        start, used = time.perf_counter(), time.process_time()
        trainer.train()
        seconds, processor = time.perf_counter() - start, time.process_time() - used
        solved = [float(episode.success) for episode in trainer.play(test, seed=seed)]
    trainer.runner.engine.close()
    envs.close()
    gaps = [end - begin for begin, end in pairwise(moments)]
    figures = {
        "seconds": round(seconds, 1),
        "processor_seconds": round(processor, 1),
        "episodes_per_hour": round(3600 * EPISODES * updates / seconds),
        "median_seconds_between_updates": round(median(gaps), 2) if gaps else None,
        "success": round(mean(solved), 4),
        "turns": round(mean(event["rollout/turns"] for event in events), 3),
    }
    means = {
        name.rpartition("/")[2]: round(mean(event[name] for event in events), 4)
        for name in SHOWN
        if name in events[0]
    }
    if untrained:
        figures["warm_start"] = round(mean(episode.success for episode in untrained), 4)
    return figures | means, solved


def compare(seed: int, updates: int, held_out: int) -> dict[str, Any]:
    """Train in all kinds from one warm start, and compare them."""
    chat, policy = warm_start(seed)
    row: dict[str, Any] = {"seed": seed}
    solved: dict[str, list[float]] = {}
    for name, kind in KINDS.items():
        row[name], solved[name] = train(kind, chat, policy, seed, updates, held_out)
        row[name]["load"] = round(os.getloadavg()[1], 1)
        print(json.dumps({"seed": seed, "kind": name, **row[name]}), file=sys.stderr, flush=True)
    hourly = {name: row[name]["episodes_per_hour"] for name in KINDS}
    for free, end in FREE.items():
        row[f"times{end}"] = {name: round(hourly[free] / hourly[name], 2) for name in RIVALS}
        row[f"success_minus{end}"] = {
            name: paired_difference(solved[free], solved[name])._asdict() for name in RIVALS
        }
    return row


def over_seeds(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return medians of the speed-ups and means of the successes."""
    return {
        **{
            times: {name: median(row[times][name] for row in rows) for name in RIVALS}
            for times in (f"times{end}" for end in FREE.values())
        },
        "success": {name: round(mean(row[name]["success"] for row in rows), 3) for name in KINDS},
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--held-out", type=int, default=144)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = [compare(seed, options.updates, options.held_out) for seed in options.seeds]
    result = {
        "updates": options.updates,
        "episodes_per_update": EPISODES,
        "held_out": options.held_out,
        "seeds": options.seeds,
        "runs": rows,
        "over_seeds": over_seeds(rows),
    }
    print(to_json(result))


if __name__ == "__main__":
    main()
