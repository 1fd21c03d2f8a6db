"""``inspect:TASK``: text tasks of Inspect, scored by their scorers.

The task's solver runs with the policy as its model: an observation contains the new messages since
the last reply, an action is the next reply. At the end the task's scorers give the reward. Tools,
sandboxes, and images are not supported. A scorer that calls the evaluated model would ask the
policy about itself, so the episode is broken unless the scorer names another model.
"""

from __future__ import annotations

import asyncio
import json
import queue
import threading
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from agentgym.core.options import flag, integer, look_here
from agentgym.core.tasks import SPLITS, Task, TaskList
from agentgym.errors import ConfigurationError, NotSupported, require
from agentgym.interop.imported_env import FREE_TEXT, ImportedEnv, share
from agentgym.interop.request import ImportRequest
from agentgym.interop.world import World, WorldTurn

HORIZON = 10
"""Turn budget; most tasks ask once."""
MOST_SAMPLES = 10_000
"""Samples that are read, if nothing else is asked for."""
PATIENCE = 600.0
"""Seconds that a solver or scorer may think."""
DEAL = ("test", "valid", "train", "train", "train")
"""Splits to which samples are dealt in turn, if that is asked for: a task has none."""
_END = object()


def make(
    reference: str, *, limit: int = MOST_SAMPLES, deal: bool = False, **options: Any
) -> ImportedEnv:
    """Make an environment of a task.

    Args:
        reference: The task as ``inspect eval`` takes it: ``FILE.py``, ``FILE.py@TASK`` or
            ``PACKAGE/TASK``.
        limit: Most samples that are read of it.
        deal: Whether samples are dealt to ``train``, ``valid`` and ``test``; else all are ``test``.
        **options: Arguments of :class:`~agentgym.interop.imported_env.ImportedEnv`, and of the
            task.

    Raises:
        DependencyNotInstalled: Inspect is missing.
        ConfigurationError: There is no such task, an argument is wrong, or it needs more than text.
    """
    env_options, peer_options = share(options)
    limit, deal = integer(limit, "limit", 1), flag(deal, "deal")
    request = ImportRequest("inspect", reference, peer_options)
    require("inspect_ai", "inspect")
    look_here()
    with request.opening():
        inspect_tasks = require("inspect_ai._eval.loader", "inspect").load_tasks(
            [reference], dict(peer_options)
        )
    if len(inspect_tasks) != 1:
        raise ConfigurationError(
            f"expected inspect:TASK with one task, such as my_tasks.py@addition, got {reference!r}"
            f", which has {len(inspect_tasks)}"
        )
    task = inspect_tasks[0]
    samples = _samples(request, task, limit)
    world = InspectWorld(task, samples)
    tasks = _dealt(request, samples, deal)
    return ImportedEnv(
        world, tasks, specs=FREE_TEXT, has_expert=True, **{"horizon": HORIZON, **env_options}
    )


def _samples(request: ImportRequest, task: Any, limit: int) -> dict[str, Any]:
    """Return the samples of a task by the ids of our tasks.

    Raises:
        ConfigurationError: It has none, or asks for more than text, or nothing scores it.
    """
    if task.scorer is None:
        raise _refusal(request, "has no scorer")
    if task.sandbox is not None:
        raise _refusal(request, "needs a sandbox")
    try:
        dataset = list(islice(iter(task.dataset), limit))
    except TypeError as error:
        raise _refusal(request, "makes its samples while it runs") from error
    samples = {}
    for number, sample in enumerate(dataset):
        if sample.sandbox or sample.files or sample.setup:
            raise _refusal(request, "needs a sandbox")
        messages = [] if isinstance(sample.input, str) else sample.input
        if any(not isinstance(message.content, str) for message in messages):
            raise _refusal(request, "shows more than text")
        name = number if sample.id is None else sample.id
        samples[f"{request.name}/{name}"] = sample
    if not samples:
        raise _refusal(request, "has no samples")
    return samples


def _refusal(request: ImportRequest, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"expected a task of Inspect that talks in text and scores it, got {request.reference!r}, "
        f"which {reason}: evaluate it with inspect eval"
    )


def _dealt(request: ImportRequest, samples: Mapping[str, Any], deal: bool) -> TaskList:
    """Return the samples as tasks."""
    facts = request.facts("inspect-ai")
    splits: dict[str, list[Task]] = {split: [] for split in SPLITS}
    for number, (name, sample) in enumerate(samples.items()):
        split = DEAL[number % len(DEAL)] if deal else "test"
        sample_fields = sample.model_dump(mode="json", include={"input", "target", "choices"})
        content = {**facts, "sample": json.loads(json.dumps(sample_fields, default=repr))}
        text = _words(sample.input)
        splits[split].append(Task(name, split, len(splits[split]), text, content))
    return TaskList(request.name, {name: tasks for name, tasks in splits.items() if tasks})


def _words(prompt: Any) -> str:
    """Return messages as text."""
    if isinstance(prompt, str):
        return prompt
    return "\n\n".join(message.text for message in prompt)


class InspectWorld(World):
    """One sample: its solver asks, its scorers pay.

    Args:
        task: The task of Inspect.
        samples: Its samples, by the ids of our tasks.
    """

    def __init__(self, task: Any, samples: Mapping[str, Any]) -> None:
        self._task, self._samples = task, samples
        self._dialogue: SolverThread | None = None
        self._sample: Any = None

    def reset(self, task: Task, seed: int) -> str:
        """Start the solver; return what it asks."""
        self.close()
        self._sample = self._samples[task.id]
        self._dialogue = SolverThread(self._task, self._sample)
        prompt = self._dialogue.listen()
        if not isinstance(prompt, str):
            raise NotSupported("expected a solver that asks its model, got one that never does")
        return prompt

    def step(self, text: str) -> WorldTurn:
        """Reply; return what the solver asks next, or what the scorers pay."""
        assert self._dialogue is not None
        self._dialogue.reply(text)
        output = self._dialogue.listen()
        if isinstance(output, str):
            return WorldTurn(output)
        scores: Mapping[str, float] = output
        value = sum(scores.values()) / len(scores)
        summary = ", ".join(f"{name} {score:g}" for name, score in scores.items())
        return WorldTurn(
            f"scored {summary}",
            value,
            done=True,
            success=value >= 1,
            score=min(1.0, max(0.0, value)) if value == value else value,
            details={"scores": dict(scores)},
        )

    def expert(self) -> str | None:
        """Return the target of the sample, as the answer to a choice where it offers one."""
        if self._sample is None:
            return None
        target = self._sample.target
        texts = [target] if isinstance(target, str) else list(target)
        if not any(texts):
            return None
        return f"ANSWER: {','.join(texts)}" if self._sample.choices else str(texts[0])

    def close(self) -> None:
        """End the solver of the last sample."""
        dialogue, self._dialogue = self._dialogue, None
        if dialogue is not None:
            dialogue.end()


class _Ended(BaseException):
    """The episode ended, and with it the solver that waits for a reply."""


class SolverThread:
    """A solver in a separate thread, with the policy as its model.

    Args:
        task: The task of Inspect.
        sample: The sample.
    """

    def __init__(self, task: Any, sample: Any) -> None:
        self._task, self._sample = task, sample
        self._outputs: queue.Queue[Any] = queue.Queue()
        self._replies: queue.Queue[Any] = queue.Queue()
        self._message_count = 0
        self._scoring = False
        self._thread = threading.Thread(target=self._run, name="a solver of Inspect", daemon=True)
        self._thread.start()

    def listen(self) -> str | Mapping[str, float]:
        """Return what the solver asks, or the scores at the end.

        Raises:
            TimeoutError: It says nothing for :data:`PATIENCE`.
            Exception: What the solver or a scorer raised.
        """
        try:
            output = self._outputs.get(timeout=PATIENCE)
        except queue.Empty:
            raise TimeoutError(
                f"expected the solver or scorer within {PATIENCE:g} s, got nothing"
            ) from None
        if isinstance(output, BaseException):
            raise output
        prompt_or_scores: str | Mapping[str, float] = output
        return prompt_or_scores

    def reply(self, text: str) -> None:
        """Answer what was asked."""
        self._replies.put(text)

    def end(self) -> None:
        """Let the solver end, if it waits; may be called twice."""
        self._replies.put(_END)

    # -- in the thread --------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._outputs.put(asyncio.run(self._play()))
        except _Ended:
            pass
        except BaseException as error:
            self._outputs.put(error)

    async def _play(self) -> dict[str, float]:
        """Run solver and scorers; return their scores by name."""
        model_type = require("inspect_ai.model", "inspect")
        solvers = require("inspect_ai.solver", "inspect")
        scorers = require("inspect_ai.scorer", "inspect")
        active = require("inspect_ai.model._model", "inspect")
        task, sample = self._task, self._sample
        model = model_type.get_model("mockllm/model", memoize=False, custom_outputs=self._answer)
        active.init_active_model(model, model_type.GenerateConfig())
        prompt = sample.input
        messages = (
            [model_type.ChatMessageUser(content=prompt)]
            if isinstance(prompt, str)
            else list(prompt)
        )
        state = solvers.TaskState(
            model=model_type.ModelName(model),
            sample_id=sample.id or 0,
            epoch=0,
            input=prompt,
            messages=messages,
            target=scorers.Target(sample.target),
            choices=sample.choices,
            metadata=dict(sample.metadata or {}),
        )
        solver = task.solver
        for step in [*_listed(task.setup), *_listed(solver)]:
            if not state.completed:
                state = await step(state, self._generate)
        self._scoring = True
        scores = {}
        for number, scorer in enumerate(_listed(task.scorer)):
            score = await scorer(state, scorers.Target(sample.target))
            scores[f"scorer {number + 1}"] = _number(score)
        return scores

    async def _generate(self, state: Any, *_: Any, **__: Any) -> Any:
        """Be the model of a solver."""
        if state.tools:
            raise NotSupported("expected a solver that asks for text, got one that gives tools")
        output = self._answer(state.messages)
        state.output = output
        state.messages.append(output.message)
        return state

    def _answer(self, messages: Sequence[Any], tools: Sequence[Any] = (), *_: Any) -> Any:
        """Say what is new, and wait for the reply; nothing else runs in this thread's loop."""
        if self._scoring:
            raise NotSupported(
                "expected scorers that ask no model, or one that they name; got one that asks the "
                "model that is evaluated"
            )
        if tools:
            raise NotSupported("expected a solver that asks for text, got one that gives tools")
        new = messages[self._message_count :] if len(messages) > self._message_count else messages
        self._message_count = len(messages) + 1  # the reply comes behind them
        self._outputs.put(
            _words([message for message in new if message.role != "assistant"] or new)
        )
        reply = self._replies.get()
        if reply is _END:
            raise _Ended
        model = require("inspect_ai.model", "inspect")
        output = model.ModelOutput.from_content("mockllm/model", reply)
        output.usage = model.ModelUsage()  # else its tokens would be counted
        return output


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, Sequence) else [value]


def _number(score: Any) -> float:
    """Return a score as a number; of several values their mean.

    Raises:
        ValueError: There is none.
    """
    if score is None:
        raise ValueError("expected a score, got none")
    to_float = require("inspect_ai.scorer", "inspect").value_to_float()
    value = score.value
    if isinstance(value, Mapping):
        value = list(value.values())
    values = value if isinstance(value, list) else [value]
    if not values:
        raise ValueError("expected a score, got an empty one")
    return float(sum(map(to_float, values)) / len(values))
