"""Measure how many tasks blind policies solve, which do not read observations.

Each family is played, with its id's defaults and with the settings of its default training, or
with ``--set`` alone, by

* the blind policies of ``agentgym eval`` (``agentgym.policies.BLIND``): by position, length or
  alphabetical order of the admissible actions, one constant text, a ranking of verbs;
* the transcribers of ``agentgym certify`` (``agentgym.policies.TRANSCRIBERS``), which only
  rearrange the words of the task;
* policies that look for leaks: those of ``agentgym certify`` that read the task id
  (``agentgym.policies.id_readers``), and others that choose by a hash, ``details`` or
  ``state_key``;
* the random policy and the expert, for comparison.

A family is sound if none of the first three kinds comes near a policy that reads.

Usage:
    python benchmarks/blind_policies.py [--families alfworld textworld webshop] [--n 500]
        [--swe-n 20] [--set difficulty=easy] [--split test]

Smallest run: ``--families webshop --n 20``
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agentgym.core.env import TextEnv
from agentgym.evaluation import DEMONSTRATIONS, demonstrate
from agentgym.policies.base import Policy, begin, public_info
from agentgym.policies.blind import (
    BLIND,
    FITTED,
    UNFITTED,
    Turn,
    blind_policy,
    fit_blind,
    rank_verbs,
)
from agentgym.policies.id_readers import IdReader, tokens
from agentgym.policies.transcriber import TRANSCRIBERS, Transcriber
from agentgym.registration import FAMILIES, family
from agentgym.registration.making import parse_pairs
from agentgym.support.statistics import wilson_ci95
from trainers.config.family_defaults import defaults_for

SPLIT = "train"
"""Training tasks by default: those that a policy could exploit while it learns."""
Info = Mapping[str, Any]
Chooser = Callable[["Memory", Info], str]


class Memory:
    """A blind policy's memory of an episode."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.typed: list[str] = []
        self.tried_actions: dict[str, set[str]] = {}
        self.names: list[str] = []

    def new(self, info: Info) -> list[str]:
        """Return the admissible actions that were not typed yet, or all if there are none."""
        offered = list(info["admissible_actions"])
        return [action for action in offered if action not in self.typed] or offered

    def untried(self, info: Info) -> list[str]:
        """Return the admissible actions that were not tried in a state with this key."""
        tried_actions = self.tried_actions.setdefault(info["state_key"], set())
        offered = list(info["admissible_actions"])
        return [action for action in offered if action not in tried_actions] or offered


def blindly(policy: Policy) -> Chooser:
    """Let a blind policy choose; it gets the same input as every policy."""

    def choose(memory: Memory, info: Info) -> str:
        if not memory.typed:
            begin(policy, "", public_info(info))  # a transcriber reads the goal
        return policy.act("", public_info(info))

    return choose


def blind_chooser(name: str, episodes: Sequence[Sequence[Turn]]) -> Chooser:
    """Make a blind policy by name, fitted on the expert's episodes if it needs that."""
    return blindly(fit_blind(name, episodes) if name in FITTED else blind_policy(name))


def by_hash(*keys: str) -> Chooser:
    """Choose the action not typed yet whose hash, with parts of the info dict, is the smallest."""

    def choose(memory: Memory, info: Info) -> str:
        salt = "".join(str(info[key]) for key in keys)
        return min(memory.new(info), key=lambda a: hashlib.blake2b((salt + a).encode()).digest())

    return choose


def by_tokens(*keys: str) -> Chooser:
    """Choose the action not typed yet that shares most tokens with parts of the info dict."""

    def choose(memory: Memory, info: Info) -> str:
        words = {token for key in keys for token in tokens(str(info[key]))}
        return max(
            memory.new(info),
            key=lambda action: (len(words & set(tokens(action))), memory.rng.random()),
        )

    return choose


def explore(memory: Memory, info: Info) -> str:
    """Draw an action that was not tried in a state with this ``state_key``."""
    action = memory.rng.choice(memory.untried(info))
    memory.tried_actions[info["state_key"]].add(action)
    return action


def by_key(memory: Memory, info: Info) -> str:
    """Look for an admissible name whose hash, alone or with the task id, is ``state_key``."""
    for action in info["admissible_actions"]:
        memory.names += [name for name in tokens(action) if name not in memory.names]
    for name in memory.names:
        for text in (name, f"{info['task_id']}{name}", f"{info['task_id']}/{name}"):
            if hashlib.blake2b(text.encode(), digest_size=8).hexdigest() == info["state_key"]:
                return next(a for a in info["admissible_actions"] if name in a)
    return memory.rng.choice(memory.new(info))


LEAKS: Mapping[str, Chooser] = {
    "second_new": lambda memory, info: memory.new(info)[:2][-1],
    "hash_of_action": by_hash(),
    "hash_with_task_id": blindly(IdReader("hash_with_task_id")),
    "hash_with_state_key": by_hash("state_key"),
    "tokens_of_task_id": blindly(IdReader("tokens_of_task_id")),
    "tokens_of_details": by_tokens("details"),
    "type_task_id": blindly(IdReader("type_task_id")),
    "explore_by_state_key": explore,
    "state_key_of_names": by_key,
}
"""Policies that look for a leak. Most avoid what they have typed before, which costs no reading."""
COMPARED: Mapping[str, Chooser] = {
    "random": lambda memory, info: memory.rng.choice(info["admissible_actions"] or [""])
}
"""Policies for comparison, besides the expert."""


def play(env: TextEnv, choose: Chooser, index: int, split: str = SPLIT) -> bool:
    """Play a task.

    Args:
        env: The environment.
        choose: The policy.
        index: Index of the task.
        split: Its split.

    Returns:
        Whether it was solved.
    """
    memory = Memory(index)
    _, info = env.reset(seed=index, options={"split": split, "index": index})
    while not info["stop_reason"]:
        action = choose(memory, info)
        memory.typed.append(action)
        info = env.step(action)[4]
    return bool(info["success"])


def solved(env: TextEnv, choose: Chooser, n: int, split: str = SPLIT) -> int:
    """Return how many of n tasks, spread over a split, a policy solves."""
    size = env.tasks.len(split)
    return sum(play(env, choose, number * size // n, split) for number in range(n))


def settings(name: str) -> dict[str, dict[str, Any]]:
    """Return the arguments of a family's default environment and of its default training."""
    training = defaults_for(name, {})
    return {
        "default": {},
        "training": {**training.env, "horizon": max(training.horizon)},
    }


def expert(env: TextEnv) -> Chooser:
    """Return the expert as a policy of this kind."""
    return lambda memory, info: str(env.demonstrator_action())


def choosers(env: TextEnv, episodes: Sequence[Sequence[Turn]]) -> dict[str, Chooser]:
    """Return every policy by its name."""
    blind = {name: blind_chooser(name, episodes) for name in (*UNFITTED, *FITTED)}
    copying = {name: blindly(Transcriber(name, env)) for name in TRANSCRIBERS}
    return {**blind, **copying, **LEAKS, **COMPARED, "expert": expert(env)}


def measure_one(name: str, kwargs: Mapping[str, Any], n: int, split: str) -> dict[str, Any]:
    """Play every policy in one environment.

    Args:
        name: Short name of the family.
        kwargs: Arguments of the environment.
        n: Tasks.
        split: Their split.

    Returns:
        Success with its 95 % interval by policy, and the best blind policy.
    """
    env = gymnasium.make(family(name).id, **kwargs).unwrapped
    assert isinstance(env, TextEnv)
    episodes = demonstrate(env, min(n, DEMONSTRATIONS))
    rows: dict[str, Any] = {}
    for policy, choose in choosers(env, episodes).items():
        rate, low, high = wilson_ci95(solved(env, choose, n, split), n)
        rows[policy] = {"success": rate, "ci95": [round(low, 4), round(high, 4)]}
    env.close()
    highest = max((*BLIND, *LEAKS), key=lambda policy: rows[policy]["success"])
    ranking = rank_verbs(episodes)
    return {"kwargs": dict(kwargs), "n": n, "highest": highest, "verbs": ranking, "policies": rows}


def measure(
    names: Sequence[str],
    n: int,
    swe_n: int,
    split: str = SPLIT,
    env_kwargs: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Play every policy in every family.

    Args:
        names: Short names of families.
        n: Tasks of each.
        swe_n: Tasks of SWE, where every action runs in a sandbox.
        split: Their split.
        env_kwargs: Arguments of the environments in place of the two settings.

    Returns:
        The results of `measure_one`, by family and settings.
    """
    return {
        f"{name}, {label}": measure_one(name, kwargs, swe_n if name == "swe" else n, split)
        for name in names
        for label, kwargs in ({"given": env_kwargs} if env_kwargs else settings(name)).items()
    }


def main() -> None:
    """Print the result as JSON."""
    from provenance import to_json

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [entry.name for entry in FAMILIES]
    parser.add_argument("--families", nargs="+", choices=names, default=names)
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--swe-n", type=int, default=20)
    parser.add_argument("--split", default=SPLIT)
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()
    env_kwargs = parse_pairs(arguments.set, "--set")
    counts = (arguments.n, arguments.swe_n)
    results = measure(arguments.families, *counts, arguments.split, env_kwargs)
    print(to_json({"split": arguments.split, **results}))


if __name__ == "__main__":
    main()
