"""There is no cheat sheet: who reads neither observation nor actions solves next to nothing."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import gymnasium
import pytest

from agentgym.core.env import TextEnv
from agentgym.evaluation import demonstrate
from agentgym.policies.blind import BLIND
from agentgym.policies.transcriber import TRANSCRIBERS
from agentgym.registration import FAMILIES, family
from tests.contract.choices import BOXED, CONFIGURATIONS, over
from tests.contract.solutions import solutions

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "blind_policies.py"
TASKS = 40
COUNTS = {
    "mathpython-default": 20, "mathpython-training": 20, "shell-training": 1, "swe-training": 1,
    "search-training": 200, "webshop-training": 200,
}  # fmt: skip
"""Of Shell and SWE every action runs in a sandbox, and what is offered changes no file. In a small
shop two blind policies come near the limit, so that many tasks have to tell."""
SHORT = {name: {"horizon": 10} for name in BOXED}
"""For the same reason."""
LIMITS = {"search-training": 0.3, "alfworld-training": 0.25}
"""What one search of Search's tasks shows are four names, one of which is right: random actions
solve a quarter of them, and no blind policy many more. Where ALFWorld's thing is clean already, it
has only to be found and carried: a ranking of verbs solves .185 of 200 tasks."""
MOST = 0.15
"""The highest of any blind policy elsewhere, over 200 tasks, is below .12."""


def script() -> ModuleType:
    """Load the benchmark, so that the test and the published figures are of one kind."""
    spec = importlib.util.spec_from_file_location("blind_policies", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault("blind_policies", module)
    spec.loader.exec_module(module)
    return module


blind = script()
Chooser = Callable[..., str]


class Trial(NamedTuple):
    """An environment, how many of its tasks are played, and who plays them."""

    env: TextEnv
    count: int
    most: float
    """So many a blind policy may solve."""
    choosers: Mapping[str, Chooser]


@pytest.fixture(
    scope="module",
    params=[
        (entry.name, label)
        for entry in FAMILIES
        for label in ("default", "training")
        if entry.name not in BOXED or label != "default"  # the same on other tasks, in sandboxes
    ],
    ids="-".join,
)
def trial(request: pytest.FixtureRequest) -> Iterator[Trial]:
    """A family's environment, and policies that a few episodes of its expert were given to."""
    name, label = request.param
    kwargs = {**blind.settings(name)[label], **SHORT.get(name, {})}
    env = gymnasium.make(family(name).id, **kwargs).unwrapped
    assert isinstance(env, TextEnv)
    count = COUNTS.get(f"{name}-{label}", TASKS)
    most_steps = LIMITS.get(f"{name}-{label}", MOST) * count
    yield Trial(env, count, most_steps, blind.choosers(env, demonstrate(env, count)))
    env.close()


@pytest.mark.parametrize("policy", (*BLIND, *TRANSCRIBERS, *blind.LEAKS))
def test_no_blind_policy_comes_near_one_that_reads(policy: str, trial: Trial) -> None:
    choose, size, solved = trial.choosers[policy], trial.env.tasks.len(blind.SPLIT), 0
    for number in range(trial.count):
        if solved + trial.count - number <= trial.most:
            break  # whatever it does with the rest
        solved += blind.play(trial.env, choose, number * size // trial.count)
    assert solved <= trial.most


def test_the_limit_can_be_exceeded() -> None:
    """The games that were the default once are won by a ranking of verbs."""
    env = gymnasium.make("agentgym/TextWorld-v0", difficulty="w2-o3-q4").unwrapped
    assert isinstance(env, TextEnv)
    verbs = blind.choosers(env, demonstrate(env, TASKS))["blind-verbs"]
    assert blind.solved(env, verbs, TASKS) > 3 * MOST * TASKS
    env.close()


SAME_TASKS = {"allow_unsafe", "expert", "reward"}
"""Arguments that change no task."""


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]*[a-z][a-z0-9]*", text.lower()))


@over(
    config for config in CONFIGURATIONS if not config.slow or SAME_TASKS.isdisjoint(config.kwargs)
)
def test_task_ids_name_nothing(configuration):
    """What differs between the ids of a split is numbers, or else no word of goal or solution."""
    env = configuration.make()
    shared = words(env.tasks.name)
    if "games" not in configuration.kwargs:  # of which each has to be generated, in seconds
        compared = {*range(min(env.tasks.len("test"), 40))}
        compared |= {*configuration.indices(env.tasks.len("test"))}
        names = [words(env.tasks.task("test", index).id) for index in compared]
        shared = set.intersection(*names)
    env.close()
    for solution in solutions(configuration):
        vocabulary = words(solution.begin["goal"]).union(*map(words, map(str, solution.actions)))
        assert not (words(solution.end["task_id"]) - shared) & vocabulary


@pytest.mark.parametrize("name", [entry.name for entry in FAMILIES])
def test_the_order_of_actions_depends_on_the_task(name):
    """Of two actions that are on offer in many tasks neither comes always first."""
    env = gymnasium.make(family(name).id).unwrapped
    assert isinstance(env, TextEnv)
    order: dict[tuple[str, str], list[bool]] = {}
    for index in range(0, env.tasks.len("train"), env.tasks.len("train") // 40):
        _, info = env.reset(seed=0, options={"split": "train", "index": index})
        offered = info["admissible_actions"]
        for place, first in enumerate(offered):
            for second in offered[place + 1 :]:
                pair = (min(first, second), max(first, second))
                order.setdefault(pair, []).append(first < second)
    often = [directions for directions in order.values() if len(directions) >= 16]
    # These offer words of the task, only searches at first, or names that are drawn anew.
    assert often or name in ("mathpython", "search", "textcraft", "webshop")
    assert all(len(set(directions)) == 2 for directions in often)
    env.close()
