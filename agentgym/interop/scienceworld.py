"""``scienceworld:TASK``: tasks of elementary science, by ScienceWorld, which runs in Java.

Its variations are the tasks, in its own splits; its gold path is the expert. It pays the change of
its score, in hundredths here, so that a solved task pays 1, but for what the first look earns that
an episode begins with; one that is failed for good ends below 0.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from agentgym.core.options import flag
from agentgym.core.tasks import Task, TaskList
from agentgym.errors import ConfigurationError, DependencyNotInstalled, require
from agentgym.interop.imported_env import ImportedEnv, share
from agentgym.interop.request import ImportRequest
from agentgym.interop.world import World, WorldTurn

HORIZON = 100
"""Turn budget, that of the paper."""
LONG_HORIZON = 250
"""Turn budget of `LONG_TASKS`, whose gold paths have 108 to 194 actions in 12 variations."""
LONG_TASKS = (
    "inclined-plane-friction-unnamed-surfaces",
    "mendelian-genetics-known-plant",
    "mendelian-genetics-unknown-plant",
)
MOST_STEPS = 2**31 - 1
"""Limit of steps that the peer is given, as ours holds."""
FULL = 100
"""Score of a solved task."""
UNKNOWN = "No known action matches that input."
"""How the peer answers what it does not understand."""
JAVA_OPTIONS = "JAVA_TOOL_OPTIONS"
"""Variable whose options every Java takes."""
SAME_HASHES = "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockExperimentalVMOptions -XX:hashCode=2"
"""Options that give all objects one hash. Otherwise what a room lists, and the gold path, follow
from the objects that the process made before, as the peer keeps objects in sets."""
_starting = threading.Lock()


def make(
    reference: str, *, simplifications: str = "", list_actions: bool = True, **options: Any
) -> ImportedEnv:
    """Make an environment of a task.

    Args:
        reference: Its name, such as ``boil``.
        simplifications: What the peer makes easier: ``easy``, or names with commas between them.
        list_actions: Whether ``info["admissible_actions"]`` holds what the peer lists, up to
            thousands; False is faster.
        **options: Arguments of :class:`~agentgym.interop.imported_env.ImportedEnv`.

    Raises:
        DependencyNotInstalled: ScienceWorld or Java is missing.
        ConfigurationError: There is no such task or simplification, or an unknown argument.
    """
    env_options, peer_options = share(options)
    if peer_options:
        raise ConfigurationError(
            f"expected arguments of scienceworld: among simplifications, list_actions and those "
            f"of every imported environment, got {', '.join(sorted(peer_options))[:80]}"
        )
    arguments = {"simplifications": simplifications} if simplifications else {}
    request = ImportRequest("scienceworld", reference, arguments)
    request.check(names())
    world = ScienceWorld(reference, simplifications, flag(list_actions, "list_actions"))
    try:
        with request.opening():
            tasks = world.tasks(request)
        horizon = LONG_HORIZON if reference in LONG_TASKS else HORIZON
        return ImportedEnv(world, tasks, has_expert=True, **{"horizon": horizon, **env_options})
    except BaseException:
        world.close()
        raise


def names() -> list[str]:
    """Return the names of the tasks.

    Raises:
        DependencyNotInstalled: ScienceWorld is missing.
    """
    require("scienceworld", "scienceworld")
    return sorted(require("scienceworld.constants", "scienceworld").ID2TASK.values())


class ScienceWorld(World):
    """A task of ScienceWorld in a separate Java process.

    Args:
        name: Name of the task.
        simplifications: What is made easier.
        list_actions: Whether actions are listed.

    Raises:
        DependencyNotInstalled: Java is missing.
    """

    def __init__(self, name: str, simplifications: str, list_actions: bool) -> None:
        if shutil.which("java") is None:
            raise DependencyNotInstalled(
                "expected Java (8 or newer) to run ScienceWorld, but there is no command java; "
                "run: apt-get install default-jre-headless"
            )
        self._name, self._simplifications = name, simplifications
        self._list_actions = list_actions
        self._peer: Any = None
        self._variation = 0
        self._actions: list[str] = []
        self._gold: list[str] | None = None
        self._score = 0

    def tasks(self, request: ImportRequest) -> TaskList:
        """Return the variations in the peer's splits.

        Args:
            request: What was asked for, which is part of the tasks' hash.
        """
        self._load(0)
        facts = request.facts("scienceworld")
        variations = {
            "train": self._peer.get_variations_train(),
            "valid": self._peer.get_variations_dev(),
            "test": self._peer.get_variations_test(),
        }
        goal = f"Do the task of ScienceWorld: {self._name}."
        splits = {
            split: [
                Task(f"{request.name}/{split}/{index}", split, index, goal,
                     {**facts, "task_type": self._name, "variation": int(variation)})
                for index, variation in enumerate(numbers)
            ]
            for split, numbers in variations.items()
        }  # fmt: skip
        return TaskList(request.name, {split: tasks for split, tasks in splits.items() if tasks})

    def reset(self, task: Task, seed: int) -> str:
        """Begin a variation; its description comes first."""
        self._actions, self._gold = [], None
        self._load(int(task.content["variation"]))
        described = str(self._peer.taskdescription()).removeprefix("Task Description:\n").strip()
        return f"{described}\n\n{self._begin()}"

    def step(self, text: str) -> WorldTurn:
        """Pass the text on."""
        # The peer's own step also looks around and lists all actions, which takes far longer.
        observation = str(self._peer.server.step(text))
        self._actions.append(text)
        old_score, self._score = self._score, self._scored()
        failed = self._score < 0
        terminated = failed or bool(self._peer.server.getCompleted())
        return WorldTurn(
            observation,
            (self._score - old_score) / FULL,
            terminated,
            valid=observation != UNKNOWN,
            success=self._score >= FULL,
            score=max(0, self._score) / FULL,
        )

    def expert(self) -> str | None:
        """Return the next action of the gold path; None after a deviation."""
        if self._gold is None:
            self._plan()
        gold, played_count = self._gold or [], len(self._actions)
        return (
            gold[played_count]
            if gold[:played_count] == self._actions and played_count < len(gold)
            else None
        )

    def admissible(self) -> Sequence[str]:
        """Return what the peer lists."""
        if not self._list_actions or self._peer is None:
            return ()
        return [str(action) for action in self._peer.get_valid_action_object_combinations()]

    def close(self) -> None:
        """End the Java process."""
        peer, self._peer = self._peer, None
        if peer is not None:
            peer.close()

    # -- parts ----------------------------------------------------------------------------------

    def _load(self, variation: int, gold: bool = False) -> None:
        if self._peer is None:
            module = require("scienceworld", "scienceworld")
            with _same_hashes():
                self._peer = module.ScienceWorldEnv("", envStepLimit=MOST_STEPS)
        self._variation = variation
        self._peer.load(self._name, variation, self._simplifications, generateGoldPath=gold)

    def _begin(self) -> str:
        """Return the first view, as the peer's reset shows it."""
        self._peer.server.reset()
        observation = str(self._peer.server.step("look around"))
        self._score = self._scored()
        return observation

    def _scored(self) -> int:
        return round(FULL * float(self._peer.server.getScore()))

    def _plan(self) -> None:
        """Ask for the gold path, which is made while a task loads, and come back to this state."""
        self._load(self._variation, gold=True)
        self._gold = [str(action) for action in self._peer.get_gold_action_sequence()]
        self._begin()
        for action in self._actions:
            self._peer.server.step(action)
        self._score = self._scored()


@contextmanager
def _same_hashes() -> Iterator[None]:
    """Let a Java that is started meanwhile give all objects one hash."""
    with _starting:
        before = os.environ.get(JAVA_OPTIONS)
        os.environ[JAVA_OPTIONS] = f"{before or ''} {SAME_HASHES}".strip()
        try:
            yield
        finally:
            if before is None:
                del os.environ[JAVA_OPTIONS]
            else:
                os.environ[JAVA_OPTIONS] = before
