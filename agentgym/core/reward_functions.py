"""Reward functions of TRL, verl and verifiers as reward hooks, without a change to them.

The parameters of a function say which project calls it:

- TRL: ``f(completions, **columns) -> list[float]``, where ``completions`` are lists of messages, or
  texts if it is annotated with ``list[str]``
- verl: ``compute_score(data_source, solution_str, ground_truth, extra_info) -> float``
- verifiers: ``f(completion, answer, **fields) -> float``, a method marked with ``@vf.reward``, or a
  task class with such methods

Each is called with one completion at a time, and with the content of the task as its columns.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

from agentgym.core.hooks import TurnContext, TurnReward
from agentgym.core.tasks import Task
from agentgym.core.verifiers_scoring import is_reward, score_trace, unfit
from agentgym.errors import ConfigurationError

Message = dict[str, str]
Project = Literal["TRL", "verl", "rubric", "verifiers"]
FORMS = (
    "f(completions, **columns) of TRL, compute_score(data_source, solution_str, ground_truth, "
    "extra_info) of verl, or f(completion, answer) or @vf.reward of verifiers"
)
"""The signatures that are known, for messages."""
ANSWERS = ("answer", "answers", "ground_truth", "solution", "target", "gold", "label")
"""Names that projects give to a task's right answer; a task has one of them."""
_MARKS: tuple[tuple[str, Project], ...] = (
    ("solution_str", "verl"),
    ("completions", "TRL"),
    ("completion", "rubric"),
)
"""A parameter that only the functions of one project have."""
_ABSENT = ("completion_ids", "environments", "parser", "runtime", "reward_router_address")
"""Arguments that a trainer has and an environment lacks."""
_TEXTS = {"list[str]", "sequence[str]", "str", "<class'str'>"}


@dataclass
class RewardFunction:
    """A reward function of TRL, verl or verifiers, as a reward hook.

    The completion of an episode consists of its responses and of the observations between them; the
    prompt is the task's first text. A function that takes a text gets them joined by line breaks.

    Raises:
        ConfigurationError: The function has none of the known signatures, or needs what an
            environment lacks, such as token ids.
    """

    reads_state: ClassVar[Collection[str]] = ()
    texts: ClassVar[Mapping[str, Callable[[str], str]]] = {"name": str, "data_source": str}
    function: Callable[..., Any]
    """The function, or a task class of verifiers for the sum of its rewards."""
    weight: float = 1.0
    """Factor of the value in the reward."""
    each: bool = False
    """Score each turn's response by itself, after the conversation so far, instead of the whole
    episode on its last turn."""
    plain: bool = False
    """Pass texts instead of messages to a function whose annotations do not say which."""
    data_source: str = ""
    """What verl's functions are told about the data; empty: the task's own, or its task set."""
    name: str = ""
    """Key in ``info["reward_terms"]``; empty: the function's name."""
    _task: Task | None = field(default=None, init=False, repr=False, compare=False)
    _messages: list[Message] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Recognize the function."""
        self.name = self.name or name_of(self.function)
        self._project, parameters = recognize(self.function), _parameters(self.function)
        needed = [name for name in _required(parameters) if name in _ABSENT]
        if needed or (self._project == "verifiers" and (needed := unfit(self.function))):
            raise ConfigurationError(
                "expected a reward function that reads texts and columns, got "
                f"{self.name!r:.80}, which needs {', '.join(needed)}: an environment lacks that, "
                "so leave it out or give it a default"
            )
        mark = parameters.get("completions") or parameters.get("completion")
        annotation = "" if mark is None else str(mark.annotation)
        words = annotation.replace("typing.", "").replace(" ", "").lower()
        self._plain = self.plain or words in _TEXTS

    def reset(self) -> None:
        """Forget the previous episode."""
        self._task, self._messages = None, []

    def begin(self, task: Task) -> None:
        """Take the task of the episode.

        Raises:
            ConfigurationError: The function requires columns that the task lacks.
        """
        self._task = task
        known_names = {*columns_of(task), *_arguments(self._project)}
        missing = [
            name for name in _required(_parameters(self.function)) if name not in known_names
        ]
        if missing and self._project != "verifiers":
            raise ConfigurationError(
                f"expected tasks with the columns of the reward function {self.name!r:.80}, but "
                f"{task.id} lacks {', '.join(missing)}; it has {', '.join(columns_of(task))}: "
                "give the parameter a default, or wrap the function in one that takes these"
            )

    def __call__(self, context: TurnContext) -> float:
        """Return the function's value of a turn, or 0 before the last turn."""
        if not self._messages:
            observation, goal = context.before.observation, context.goal
            opening = observation if goal in observation else f"{goal}\n\n{observation}"
            self._messages.append({"role": "user", "content": opening})
        self._messages.append({"role": "assistant", "content": context.response})
        value = self._score(context) if self.each or context.done else 0.0
        self._messages.append({"role": "user", "content": context.after.observation})
        return value

    def _score(self, context: TurnContext) -> float:
        task = self._task
        assert task is not None, "begin must come first"
        cut = len(self._messages) - 1 if self.each else 1
        messages = [dict(message) for message in self._messages]
        prompt, completion = messages[:cut], messages[cut:]
        match self._project:
            case "TRL":
                return self._of_trl(task, context, prompt, completion)
            case "verl":
                return self._of_verl(task, context, completion)
            case "rubric":
                return self._of_rubric(task, prompt, completion)
        columns = columns_of(task) | {"idx": task.index, "id": task.id, "name": task.id}
        return score_trace(self.function, columns, prompt, completion, run)

    def _of_trl(
        self, task: Task, context: TurnContext, prompt: list[Message], completion: list[Message]
    ) -> float:
        def ignore(*values: object) -> None:
            """Stand for a logger of the trainer."""

        available = {
            **{name: [value] for name, value in columns_of(task).items()},
            "prompts": [_text(prompt) if self._plain else prompt],
            "completions": [_text(completion) if self._plain else completion],
            "trainer_state": SimpleNamespace(global_step=context.training_step),
            "log_extra": ignore,
            "log_metric": ignore,
        }
        rewards = [*run(_call(self.function, available))]
        if len(rewards) != 1:
            raise ConfigurationError(
                f"expected the reward function {self.name!r:.80} to return a list with a reward "
                f"for each completion, got {len(rewards)} for 1"
            )
        return 0.0 if rewards[0] is None else float(rewards[0])

    def _of_verl(self, task: Task, context: TurnContext, completion: list[Message]) -> float:
        content = task.content
        answer = ground_truth(task)
        available = {
            "data_source": self.data_source or data_source(task),
            "solution_str": _text(completion),
            "ground_truth": answer,
            "extra_info": {
                **content, "task_id": task.id, "split": task.split, "index": task.index,
                "num_turns": len(self._messages), "rollout_reward_scores": dict(context.terms),
            },
        }  # fmt: skip
        result = run(_call(self.function, available, only_named=True))
        return float(result["score"] if isinstance(result, Mapping) else result)

    def _of_rubric(self, task: Task, prompt: list[Message], completion: list[Message]) -> float:
        columns = columns_of(task)
        state = {
            "prompt": _text(prompt) if self._plain else prompt,
            "completion": _text(completion) if self._plain else completion,
            "answer": columns.get("answer", ""),
            "info": dict(task.content),
            "task": data_source(task),
        }
        return float(run(_call(self.function, {**columns, **state, "state": state})))


def read_hooks(hooks: Sequence[TurnReward | Callable[..., Any]]) -> Sequence[TurnReward]:
    """Return reward hooks, with reward functions of other projects made into hooks.

    Raises:
        ConfigurationError: A function has none of the known signatures.
    """
    if isinstance(hooks, str) or not isinstance(hooks, Sequence):
        return hooks  # HookRunner refuses it
    return [
        hook if isinstance(hook, TurnReward) or not callable(hook) else RewardFunction(hook)
        for hook in hooks
    ]


def is_reward_function(candidate: object) -> bool:
    """Return whether something has the signature of a reward function of a known project."""
    return callable(candidate) and _project(candidate) is not None


def recognize(function: Callable[..., Any]) -> Project:
    """Return the project that calls such a function.

    Raises:
        ConfigurationError: None does.
    """
    if not callable(function) or (project := _project(function)) is None:
        raise ConfigurationError(
            f"expected a reward hook, or a reward function with the signature {FORMS}, got "
            f"{function!r:.120}"
        )
    return project


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a function, as TRL logs it."""
    return str(getattr(function, "__name__", type(function).__name__))


def ground_truth(task: Task) -> Any:
    """Return a task's right answer as verl's data sets have it; None if its content has none."""
    name = next((name for name in ANSWERS if name in task.content), None)
    if name is None:
        return None
    # Search-R1's form, which verl and SkyRL share.
    return {"target": task.content[name]} if name == "answers" else task.content[name]


def data_source(task: Task) -> str:
    """Return the name of the data that a task is of."""
    return str(task.content.get("data_source") or task.id.partition("/")[0])


def columns_of(task: Task) -> dict[str, Any]:
    """Return the columns of a task: its content, and its right answer under every usual name."""
    answer = next((task.content[name] for name in ANSWERS if name in task.content), None)
    answers = {} if answer is None else dict.fromkeys(ANSWERS, answer)
    names = {"task_id": task.id, "split": task.split, "goal": task.goal}
    return {**answers, **names, **task.content}


def run(result: Any) -> Any:
    """Return the result of a function, and wait for it if it is asynchronous."""
    if not inspect.isawaitable(result):
        return result

    async def wait() -> Any:
        return await result

    # In a thread: the caller may be in an event loop, which cannot be entered again.
    with ThreadPoolExecutor(1, "reward") as thread:
        return thread.submit(asyncio.run, wait()).result()


def _project(function: Callable[..., Any]) -> Project | None:
    if is_reward(function):
        return "verifiers"
    if isinstance(function, type):
        return None
    names = _parameters(function)
    return next((project for name, project in _MARKS if name in names), None)


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # of C code
        return {}


def _required(parameters: Mapping[str, inspect.Parameter]) -> list[str]:
    """Return the names of parameters without a default."""
    variadic = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return [
        name
        for name, parameter in parameters.items()
        if parameter.default is inspect.Parameter.empty and parameter.kind not in variadic
    ]


def _arguments(project: Project) -> tuple[str, ...]:
    """Return the arguments of a project's functions besides columns."""
    return {
        "TRL": ("prompts", "completions", "trainer_state", "log_extra", "log_metric"),
        "verl": ("data_source", "solution_str", "ground_truth", "extra_info"),
        "rubric": ("prompt", "completion", "answer", "state", "info", "task"),
        "verifiers": (),
    }[project]


def _call(
    function: Callable[..., Any], available: Mapping[str, Any], only_named: bool = False
) -> Any:
    """Call a function with the arguments that it takes."""
    parameters = _parameters(function)
    kinds = {parameter.kind for parameter in parameters.values()}
    if only_named or inspect.Parameter.VAR_KEYWORD not in kinds:
        available = {name: value for name, value in available.items() if name in parameters}
    return partial(function, **available)()


def _text(messages: Sequence[Message]) -> str:
    return "\n".join(message["content"] for message in messages)
