"""Rewards of verifiers: its record of an episode, and the rewards of its tasks on it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from agentgym.errors import ConfigurationError, require

MARK, WEIGHT = "reward", "_vf_weight"
"""Attributes that ``@vf.reward`` gives to a function."""


def is_reward(candidate: object) -> bool:
    """Return whether something is marked with ``@vf.reward``, or a class with such methods."""
    if isinstance(candidate, type):
        return bool(_methods(candidate))
    return getattr(candidate, MARK, None) is True and hasattr(candidate, WEIGHT)


def unfit(reward: Callable[..., Any]) -> list[str]:
    """Return what rewards need besides texts."""
    functions = _methods(reward) if isinstance(reward, type) else [reward]
    needs = [inspect.signature(function).parameters.get("runtime") for function in functions]
    return ["runtime"] if any(p and p.default is inspect.Parameter.empty for p in needs) else []


def score_trace(
    reward: Callable[..., Any],
    columns: Mapping[str, Any],
    prompt: Sequence[Mapping[str, str]],
    completion: Sequence[Mapping[str, str]],
    run: Callable[[Any], Any],
) -> float:
    """Return the weighted value of a reward, or of all rewards of a task class.

    Args:
        reward: A function marked with ``@vf.reward``, or a task class.
        columns: The content of the task, for the fields of its data.
        prompt: The messages before the completion.
        completion: The messages to score.
        run: Waits for an asynchronous result.

    Raises:
        ConfigurationError: The data of the task class cannot be made from these columns.
    """
    v1 = require("verifiers.v1", "verifiers")
    owner = reward if isinstance(reward, type) else _owner(reward)
    row = _make_task(owner or v1.Task, columns, prompt)
    trace = make_trace(row, completion)
    if isinstance(reward, type):
        run(row.score(trace))
        return float(sum(entry.value for entry in trace.rewards.values()))
    decorators = require("verifiers.v1.utils.decorators", "verifiers")
    function = getattr(row, reward.__name__) if owner else reward
    result = run(decorators.invoke(function, {"task": row.data, "trace": trace}))
    value = sum(result.values()) if isinstance(result, Mapping) else result
    return float(value) * float(getattr(reward, WEIGHT, 1.0))


def make_trace(row: Any, completion: Sequence[Mapping[str, str]]) -> Any:
    """Return what verifiers records of a task and the messages that followed its prompt."""
    v1 = require("verifiers.v1", "verifiers")
    traces = require("verifiers.v1.trace", "verifiers")
    graph = require("verifiers.v1.graph", "verifiers")
    types = require("verifiers.v1.types", "verifiers")
    prompt = row.data.prompt
    prompt_messages = (
        [types.UserMessage(content=prompt)] if isinstance(prompt, str) else list(prompt or ())
    )
    kinds = {"assistant": types.AssistantMessage, "user": types.UserMessage}
    reply_messages = [kinds[message["role"]](content=message["content"]) for message in completion]
    nodes = [
        graph.MessageNode(
            parent=number - 1 if number else None,
            message=message,
            sampled=number >= len(prompt_messages) and isinstance(message, types.AssistantMessage),
        )
        for number, message in enumerate([*prompt_messages, *reply_messages])
    ]
    task = traces.TraceTask(type=type(row).__name__, data=row.data, key=row.key, hash=row.hash)
    agent = traces.AgentInfo(config=v1.AgentConfig())
    return traces.Trace(task=task, agent=agent, nodes=nodes)


def _make_task(kind: Any, columns: Mapping[str, Any], prompt: Sequence[Mapping[str, str]]) -> Any:
    """Make a task of a class from the columns that its data has fields for.

    Raises:
        ConfigurationError: A field lacks a value, or has one of another type.
    """
    v1 = require("verifiers.v1", "verifiers")
    data_type = kind.data_type() if kind is not v1.Task else v1.task.WireTaskData
    known_fields = data_type.model_fields
    open_to_all = data_type.model_config.get("extra") == "allow"
    values = {name: value for name, value in columns.items() if open_to_all or name in known_fields}
    text = prompt[0]["content"] if len(prompt) == 1 else None
    values["prompt"] = list(prompt) if text is None else text
    try:
        return kind(data_type(**values))
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"expected tasks with the fields of {data_type.__name__}, got {', '.join(columns)}: "
            f"{error}"
        ) from error


def _methods(kind: type) -> list[Callable[..., Any]]:
    return [
        function
        for name in dir(kind)
        if callable(function := getattr(kind, name, None))
        and getattr(function, MARK, None) is True
        and hasattr(function, WEIGHT)
    ]


def _owner(function: Callable[..., Any]) -> type | None:
    """Return the class in whose body a function stands, if its module can reach it."""
    path = getattr(function, "__qualname__", "").rpartition(".")[0]
    if not path:
        return None
    start: Any = sys.modules.get(getattr(function, "__module__", ""))
    owner = reduce(lambda place, part: getattr(place, part, None), path.split("."), start)
    return owner if isinstance(owner, type) else None
