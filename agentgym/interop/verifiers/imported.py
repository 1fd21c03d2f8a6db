"""``verifiers:NAME``: tasksets of verifiers that ask for one reply, scored by their own rewards.

verifiers plays tasks with tools, containers or several turns in a harness that owns the loop;
those are refused here, with the reason.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agentgym.core.options import integer, look_here
from agentgym.core.tasks import SPLITS, Task, TaskList
from agentgym.core.verifiers_scoring import make_trace
from agentgym.errors import ConfigurationError, require
from agentgym.interop.imported_env import SINGLE_ANSWER, ImportedEnv, share
from agentgym.interop.request import ImportRequest
from agentgym.interop.world import World, WorldTurn

MOST_TASKS = 1_000
"""Tasks that are read, if nothing else is asked for; a taskset may have no end."""
DEAL = ("test", "valid", "train", "train", "train")
"""Splits to which tasks are dealt in turn: a taskset has none."""


def make(
    reference: str, *, limit: int = MOST_TASKS, answer_field: str = "", **options: Any
) -> ImportedEnv:
    """Make an environment of a taskset.

    Args:
        reference: Name of its package, as verifiers takes it.
        limit: Most tasks that are read of it.
        answer_field: Field of its data that holds the right reply, which makes it the expert's;
            empty: there is no expert.
        **options: Arguments of :class:`~agentgym.interop.imported_env.ImportedEnv`, and of the
            taskset's configuration.

    Raises:
        DependencyNotInstalled: verifiers is missing.
        ConfigurationError: There is no such taskset, an argument is wrong, or its tasks ask for
            more than a reply.
    """
    env_options, peer_options = share(options)
    limit = integer(limit, "limit", 1)
    request = ImportRequest("verifiers", reference, peer_options)
    require("verifiers.v1", "verifiers")
    look_here()
    with request.opening():
        rows = _rows(reference, request, limit)
    field_names = set(dir(rows[0].data))
    if answer_field and answer_field not in field_names:
        raise ConfigurationError(
            f"expected answer_field to be a field of the data of {reference}, got {answer_field!r}"
        )
    tasks, by_id = _deal(request, rows)
    return ImportedEnv(
        VerifiersWorld(by_id, answer_field),
        tasks,
        specs=SINGLE_ANSWER,
        has_expert=bool(answer_field),
        **{"horizon": 1, **env_options},
    )


def _rows(reference: str, request: ImportRequest, limit: int) -> list[Any]:
    """Read the tasks of a taskset.

    Raises:
        ConfigurationError: There are none, or they ask for more than a reply.
    """
    loaders = require("verifiers.v1.utils.loaders", "verifiers")
    taskset_type = loaders.taskset_class(reference)
    config_type = require("verifiers.v1.configs.taskset", "verifiers").TasksetConfig
    generic = require("verifiers.v1.utils.generic", "verifiers")
    config = (generic.concrete_type(taskset_type, config_type) or config_type)(
        id=reference, **request.arguments
    )
    single = require("verifiers.v1.envs.single_agent", "verifiers").SingleAgentEnv
    if loaders.environment_class(reference) is not single:
        raise _refusal(reference, "plays them in an environment of its own")
    if taskset_type.toolsets(config):
        raise _refusal(reference, "gives them tools")
    rows = list(itertools.islice(taskset_type(config), limit))
    if not rows:
        raise ConfigurationError(f"expected tasks in {reference}, got none")
    if reason := _more_than_a_reply(rows[0]):
        raise _refusal(reference, reason)
    return rows


def _more_than_a_reply(row: Any) -> str:
    """Return what a task needs besides a reply; empty if nothing."""
    base = require("verifiers.v1", "verifiers").Task
    if row.NEEDS_CONTAINER or row.data.image:
        return "needs a container"
    if type(row).setup is not base.setup or type(row).finalize is not base.finalize:
        return "prepares a runtime"
    if type(row).toolsets(row.config):
        return "gives them tools"
    if row.plugged_judges():
        return "asks a judge"
    hooks = row.hooks("reward")
    if not hooks:
        return "has no rewards"
    for hook in hooks:
        runtime = inspect.signature(hook).parameters.get("runtime")
        if runtime is not None and runtime.default is inspect.Parameter.empty:
            return "scores what is left in a runtime"
    return ""


def _refusal(reference: str, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"expected a taskset whose tasks ask for one reply and score it themselves, got "
        f"{reference!r}, which {reason}: evaluate it with verifiers"
    )


def _deal(request: ImportRequest, rows: Sequence[Any]) -> tuple[TaskList, dict[str, Any]]:
    """Deal the tasks to splits; return them, and each row by the id of its task."""
    facts = request.facts("verifiers")
    splits: dict[str, list[Task]] = {split: [] for split in SPLITS}
    by_id: dict[str, Any] = {}
    for number, row in enumerate(rows):
        split = DEAL[number % len(DEAL)]
        name = f"{request.name}/{row.key[:16]}"
        content = {**facts, "hash": row.hash}
        splits[split].append(Task(name, split, len(splits[split]), row.data.prompt_text, content))
        by_id[name] = row
    # A few tasks may not reach every split.
    return TaskList(request.name, {name: tasks for name, tasks in splits.items() if tasks}), by_id


class VerifiersWorld(World):
    """One prompt and the rewards of its task.

    Args:
        rows: The tasks of verifiers, by the ids of ours.
        answer_field: Field of the data that holds the right reply, or empty.
    """

    def __init__(self, rows: dict[str, Any], answer_field: str) -> None:
        self._rows, self._field = rows, answer_field
        self._row: Any = None
        # verifiers scores in an event loop; the caller may be in one, which cannot be entered.
        self._scorer = ThreadPoolExecutor(1, "verifiers")

    def reset(self, task: Task, seed: int) -> str:
        """Return the prompt, after the system prompt if there is one."""
        self._row = self._rows[task.id]
        parts = (self._row.data.system_prompt, self._row.data.prompt_text)
        return "\n\n".join(part for part in parts if part)

    def step(self, text: str) -> WorldTurn:
        """Score the reply, which ends the episode."""
        trace = make_trace(self._row, [{"role": "assistant", "content": text}])
        self._scorer.submit(asyncio.run, self._row.score(trace)).result()
        unscored = [name for name, reward in trace.rewards.items() if reward is None]
        if unscored or not trace.rewards:
            raise RuntimeError(f"no score of {', '.join(unscored) or 'any reward'}")
        rewards = {name: reward.value for name, reward in trace.rewards.items()}
        full = sum(reward.weight for reward in trace.rewards.values() if reward.weight > 0)
        value = sum(rewards.values())
        return WorldTurn(
            f"scored {value:g}",
            value,
            done=True,
            success=bool(full) and value >= full,
            score=value / full if full else 0.0,
            details={"rewards": rewards},
        )

    def expert(self) -> str | None:
        """Return the field that holds the right reply."""
        return str(getattr(self._row.data, self._field))

    def close(self) -> None:
        """End the thread of the scorer."""
        self._scorer.shutdown(wait=False, cancel_futures=True)
