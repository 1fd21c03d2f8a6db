"""What a task gives away: policies that understand neither observation nor action, as JSON.

They choose by the order, length or hash of the admissible actions, by tokens of the task id and of
``details``, by ``state_key``, or type such tokens themselves. The floor of a family is honest if
none of them comes near a policy that reads: each family is played with its id's defaults and with
the settings of its default training, or with ``--set`` alone, beside the random policy and the
expert.

Two more policies sort the actions by the alphabet. That is a fixed ranking of verbs (unlock, take,
put and open before go and examine, or the reverse), which no order of the list can hide: their
figures show how far one gets with a preference for some verbs, without reading the task.

Usage:
    python benchmarks/blind_policies.py [--families alfworld textworld webshop] [--n 500]
        [--set difficulty=easy] [--split test]
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agentgym.core import TextEnv
from agentgym.making import parse_pairs
from agentgym.registration import FAMILIES, family
from agentgym.statistics import wilson_ci95
from trainers.config.families import defaults_for

SPLIT = "train"
"""Training tasks, unless others are asked for: what a policy could exploit while it learns."""
Info = Mapping[str, Any]
Chooser = Callable[["Memory", Info], str]


class Memory:
    """What a blind policy remembers of an episode."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.typed: list[str] = []
        self.tried: dict[str, set[str]] = {}
        self.names: list[str] = []

    def new(self, info: Info) -> list[str]:
        """Return the actions on offer that were not typed yet, or all if there are none."""
        offered = list(info["admissible_actions"])
        return [action for action in offered if action not in self.typed] or offered

    def untried(self, info: Info) -> list[str]:
        """Return the actions on offer that were not tried in a state with this key."""
        tried = self.tried.setdefault(info["state_key"], set())
        offered = list(info["admissible_actions"])
        return [action for action in offered if action not in tried] or offered


def by_order(position: int) -> Chooser:
    """Choose by the place in the list."""
    return lambda memory, info: info["admissible_actions"][position]


def new_by_order(position: int) -> Chooser:
    """Choose by the place in the list of actions not typed yet."""
    return lambda memory, info: memory.new(info)[position]


def by_length(sign: int) -> Chooser:
    """Choose the shortest (1) or longest (-1) action not typed yet."""
    return lambda memory, info: min(memory.new(info), key=lambda action: sign * len(action))


def by_alphabet(position: int) -> Chooser:
    """Choose by the alphabet among the actions not typed yet."""
    return lambda memory, info: sorted(memory.new(info))[position]


def by_hash(*keys: str) -> Chooser:
    """Choose the action not typed yet whose hash, with parts of the info dict, is the smallest."""

    def choose(memory: Memory, info: Info) -> str:
        salt = "".join(str(info[key]) for key in keys)
        return min(memory.new(info), key=lambda a: hashlib.blake2b((salt + a).encode()).digest())

    return choose


def by_tokens(*keys: str) -> Chooser:
    """Choose the action not typed yet that shares most tokens with parts of the info dict."""

    def choose(memory: Memory, info: Info) -> str:
        found = {token for key in keys for token in tokens(str(info[key]))}
        return max(
            memory.new(info),
            key=lambda action: (len(found & set(tokens(action))), memory.rng.random()),
        )

    return choose


def type_tokens(memory: Memory, info: Info) -> str:
    """Fill the tokens of the task id into the actions on offer, whether that is admissible or not.

    Where nothing of the kind is left, choose an action not typed yet, the last words first.
    """
    for token in tokens(info["task_id"]):
        for action in info["admissible_actions"]:
            head = re.match(r"[a-z]+(\[| )", action)
            filled = head and f"{head[0]}{token}{']' if head[1] == '[' else ''}"
            if filled and filled not in memory.typed:
                return filled
    return memory.rng.choice(memory.new(info))


def explore(memory: Memory, info: Info) -> str:
    """Draw an action that was not tried in a state with this ``state_key``."""
    action = memory.rng.choice(memory.untried(info))
    memory.tried[info["state_key"]].add(action)
    return action


def by_key(memory: Memory, info: Info) -> str:
    """Look for a name on offer whose hash, alone or with the task id, is the ``state_key``."""
    for action in info["admissible_actions"]:
        memory.names += [name for name in tokens(action) if name not in memory.names]
    for name in memory.names:
        for text in (name, f"{info['task_id']}{name}", f"{info['task_id']}/{name}"):
            if hashlib.blake2b(text.encode(), digest_size=8).hexdigest() == info["state_key"]:
                return next(a for a in info["admissible_actions"] if name in a)
    return memory.rng.choice(memory.new(info))


def tokens(text: str) -> Iterator[str]:
    """Yield the words and numbers of a text."""
    return (found[0] for found in re.finditer(r"[a-z0-9]+", text.lower()))


BLIND: Mapping[str, Chooser] = {
    "random": lambda memory, info: memory.rng.choice(info["admissible_actions"]),
    "random_new": lambda memory, info: memory.rng.choice(memory.new(info)),
    "first": by_order(0),
    "last": by_order(-1),
    "first_new": new_by_order(0),
    "last_new": new_by_order(-1),
    "second_new": lambda memory, info: memory.new(info)[:2][-1],
    "shortest_new": by_length(1),
    "longest_new": by_length(-1),
    "hash_of_action": by_hash(),
    "hash_with_task_id": by_hash("task_id"),
    "hash_with_state_key": by_hash("state_key"),
    "tokens_of_task_id": by_tokens("task_id"),
    "tokens_of_details": by_tokens("details"),
    "type_task_id": type_tokens,
    "explore_by_state_key": explore,
    "state_key_of_names": by_key,
}
"""Policies that read no word. Most avoid what they have typed before, which costs no reading."""

VERBS: Mapping[str, Chooser] = {
    "alphabet_first_new": by_alphabet(0),
    "alphabet_last_new": by_alphabet(-1),
}
"""Policies that prefer some verbs to others, whatever the task is."""


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
        action = choose(memory, info) if info["admissible_actions"] else "look"
        memory.typed.append(action)
        info = env.step(action)[4]
    return bool(info["success"])


def solved(env: TextEnv, choose: Chooser, n: int, split: str = SPLIT) -> int:
    """Return how many of n tasks, spread over a split, a policy solves."""
    size = env.tasks.len(split)
    return sum(play(env, choose, number * size // n, split) for number in range(n))


def settings(name: str) -> dict[str, dict[str, Any]]:
    """Return the arguments of a family's id and of its default training."""
    training = defaults_for(name)
    return {
        "default": {},
        "training": {**training.env, "max_turns": max(training.horizon)},
    }


def expert(env: TextEnv) -> Chooser:
    """Return the expert as a policy of this kind."""
    return lambda memory, info: str(env.oracle_action())


def measure(
    names: Sequence[str], n: int, split: str = SPLIT, given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Play every policy.

    Args:
        names: Short names of families.
        n: Tasks of each.
        split: Their split.
        given: Arguments of the environments in place of the two settings.

    Returns:
        Success with its 95 % interval, by family, settings and policy.
    """
    result: dict[str, Any] = {"split": split, "n": n}
    for name in names:
        for label, kwargs in ({"given": dict(given)} if given else settings(name)).items():
            env = gymnasium.make(family(name).id, **kwargs).unwrapped
            assert isinstance(env, TextEnv)
            rows: dict[str, Any] = {}
            for policy, choose in {**BLIND, **VERBS, "expert": expert(env)}.items():
                rate, low, high = wilson_ci95(solved(env, choose, n, split), n)
                rows[policy] = {"success": rate, "ci95": [round(low, 4), round(high, 4)]}
            env.close()
            worst = max(BLIND, key=lambda policy: rows[policy]["success"])
            result[f"{name}, {label}"] = {"kwargs": kwargs, "highest": worst, "policies": rows}
    return result


def main() -> None:
    """Print the result as JSON."""
    from provenance import to_json

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [entry.name for entry in FAMILIES]
    parser.add_argument("--families", nargs="+", choices=names, default=names)
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--split", default=SPLIT)
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()
    given = parse_pairs(arguments.set, "--set")
    print(to_json(measure(arguments.families, arguments.n, arguments.split, given)))


if __name__ == "__main__":
    main()
