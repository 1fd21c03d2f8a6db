"""Our environments as tasks of Inspect, by its entry point.

    inspect eval agentgym/webshop --model openai/NAME -T split=test -T num_tasks=50
    inspect eval agentgym/environment --model openai/NAME -T env=own:own/Guess-v0

Inspect provides models, concurrency, retries, limits and logs; score and reward of the environment
are the scores of the sample. The model's messages are those of ``agentgym eval``, built by the same
prompt, and the same arguments select the same tasks and seeds. A failure of the environment is an
error of its sample, never a zero. The store of a sample contains its turns: reward, end, and the
SHA-256 of the environment's text.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from typing import Any

from agentgym.core.options import check_seed, integer
from agentgym.core.outcome import StopReason
from agentgym.errors import ConfigurationError, require
from agentgym.evaluation.plan import plan
from agentgym.interop.dialogue import Dialogue
from agentgym.registration import families
from agentgym.registration.making import resolve

_inspect = require("inspect_ai", "inspect")
_data = require("inspect_ai.dataset", "inspect")
_model = require("inspect_ai.model", "inspect")
_registry = require("inspect_ai._util.registry", "inspect")
_scorer = require("inspect_ai.scorer", "inspect")
_solver = require("inspect_ai.solver", "inspect")

__all__ = ["TASKS", "environment"]

SCORES = ("score", "success", "reward")
"""Scores of a sample: progress in [0, 1], success, and the sum of rewards."""
SEED = "seed"
"""Metadata key of a sample for the seed of its episode."""
TURNS = "turns"
"""Store key of a sample for its turns."""
LIMIT = "limit"
"""Stop reason of an episode that a limit of Inspect ended."""
NO_ACTION = {
    "model_length": StopReason.CONTEXT.value,
    "content_filter": StopReason.REFUSED.value,
}
"""Inspect's stop reasons of outputs whose text is the provider's -> ours. They end the episode."""


def _registered(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a task as ``agentgym/NAME``.

    Inspect names by its package only what lies where packages are installed, or what a distribution
    of the package's own name has as a checkout.
    """
    full_name = f"agentgym/{function.__name__}"
    is_registered = _registry.registry_name(function, function.__name__) == full_name
    task: Callable[..., Any] = _inspect.task(name=None if is_registered else full_name)(function)
    return task


@_registered
def environment(
    env: str,
    split: str = "test",
    num_tasks: int = 100,
    seed: int = 0,
    horizon: int | None = None,
    prompt: str = "default",
    arguments: str = "",
) -> Any:
    """Return tasks of any environment as a task of Inspect.

    Args:
        env: A short name such as ``webshop``, an id, ``MODULE:ID``, or a name of another project.
        split: Split of the tasks.
        num_tasks: Number of tasks, at most the size of the split.
        seed: Seed of the panel.
        horizon: Turn budget; None is the environment's default.
        prompt: Prompt of the model, as ``--prompt`` of ``agentgym eval``.
        arguments: Arguments of the environment, as a JSON object.

    Raises:
        ConfigurationError: The environment does not exist, or an argument is wrong.
        TaskNotFound: The split does not exist.
    """
    kwargs = _read_arguments(arguments)
    if horizon is not None:
        integer(horizon, "horizon", 1)
    with closing(Dialogue(env, prompt=prompt, kwargs=kwargs)) as talk:
        tasks = talk.tasks
        planned = plan(
            tasks, split, integer(num_tasks, "num_tasks", 1), check_seed(seed) or 0, None, 1
        )
        samples = [
            _data.Sample(
                id=job.task_id, input=tasks.find(job.task_id).goal, metadata={SEED: job.seed}
            )
            for job in planned.jobs
        ]
    name = resolve(env).id
    return _inspect.Task(
        dataset=_data.MemoryDataset(samples, name=name, location=planned.panel_sha256),
        solver=play(env, kwargs, horizon, prompt),
        scorer=outcome(),
        metadata={"environment": name, "panel": planned.panel_sha256},
    )


def _family(name: str) -> Callable[..., Any]:
    """Return the tasks of a family as a task of Inspect."""

    def family(
        split: str = "test",
        num_tasks: int = 100,
        seed: int = 0,
        horizon: int | None = None,
        prompt: str = "default",
        arguments: str = "",
    ) -> Any:
        return environment(name, split, num_tasks, seed, horizon, prompt, arguments)

    family.__name__ = family.__qualname__ = name
    family.__doc__ = f"Return tasks of {name}, see :func:`environment`."
    return _registered(family)


TASKS = {entry.name: _family(entry.name) for entry in families()}
"""The task of each family, by its short name."""


@_solver.solver
def play(
    env: str, arguments: Mapping[str, Any], horizon: int | None, prompt: str
) -> Callable[[Any, Any], Awaitable[Any]]:
    """Play the task of a sample with the model.

    Args:
        env: Name of the environment.
        arguments: Its arguments.
        horizon: Turn budget; None is the environment's default.
        prompt: Name of the prompt.
    """

    async def solve(state: Any, generate: Any) -> Any:
        talk = await asyncio.to_thread(Dialogue, env, prompt=prompt, kwargs=arguments)
        with closing(talk):
            return await _episode(talk, state, generate, horizon)

    return solve


async def _episode(talk: Dialogue, state: Any, generate: Any, horizon: int | None) -> Any:
    """Play one episode; an environment that fails raises, which is an error of the sample."""
    seed = state.metadata[SEED]
    messages = await asyncio.to_thread(talk.reset, str(state.sample_id), seed=seed, horizon=horizon)
    turns = [_turn(talk.observation, 0.0, False)]
    total, info, stop_reason = 0.0, {"score": 0.0, "success": False, "turn": 0}, ""
    while not stop_reason:
        _keep(state, turns, info, total, LIMIT)  # in case that one ends the next generation
        state.messages = _messages(messages)
        state = await generate(state, tool_calls="none")
        if stop_reason := NO_ACTION.get(state.output.stop_reason, ""):
            break
        answered = await asyncio.to_thread(talk.step, state.output.completion)
        total, info = total + answered.reward, dict(answered.info)
        stop_reason = str(info["stop_reason"])
        turns.append(_turn(talk.observation, answered.reward, answered.done))
        messages = talk.messages()
        if answered.done:
            end = _model.ChatMessageUser(content=answered.text)
            state.messages = [*state.messages, end]
    _keep(state, turns, info, total, stop_reason)
    return state


def _keep(
    state: Any, turns: list[Any], info: Mapping[str, Any], total: float, stop_reason: str
) -> None:
    """Store the turns of an episode and how it stands, which is what a limit leaves of it."""
    state.store.set(TURNS, turns)
    state.store.set("outcome", {
        "score": info["score"], "success": float(info["success"]), "reward": total,
        "turns": info["turn"], "stop_reason": stop_reason,
    })  # fmt: skip


@_scorer.scorer(metrics={name: [_scorer.mean(), _scorer.stderr()] for name in SCORES})
def outcome() -> Callable[[Any, Any], Awaitable[Any]]:
    """Return the environment's scores of the episode."""

    async def score(state: Any, target: Any) -> Any:
        nothing = {**dict.fromkeys(SCORES, 0.0), "stop_reason": LIMIT}
        scores = state.store.get("outcome", nothing)
        return _scorer.Score(
            value={name: float(scores[name]) for name in SCORES},
            answer=state.output.completion,
            metadata={name: value for name, value in scores.items() if name not in SCORES},
        )

    return score


def _turn(observation: str, reward: float, over: bool) -> dict[str, Any]:
    digest = hashlib.sha256(observation.encode("utf-8", "surrogatepass")).hexdigest()
    return {"reward": float(reward), "over": bool(over), "sha256": digest}


def _messages(messages: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return messages as Inspect has them."""
    kinds = {
        "system": _model.ChatMessageSystem,
        "user": _model.ChatMessageUser,
        "assistant": _model.ChatMessageAssistant,
    }
    return [kinds[message["role"]](content=message["content"]) for message in messages]


def _read_arguments(arguments: str) -> dict[str, Any]:
    try:
        fields = json.loads(arguments or "{}")
    except ValueError as error:
        raise ConfigurationError(f"expected JSON in arguments, got: {error}") from error
    if not isinstance(fields, dict):
        raise ConfigurationError(f"expected a JSON object as arguments, got {arguments!r:.80}")
    return fields
