"""Environments for TRL's trainers: an ``environment_factory``, and a data set of tasks.

For one environment::

    tasks = TrlTasks("webshop", num_tasks=64, difficulty="easy")
    args = GRPOConfig(max_completion_length=2 * tasks.completion_tokens(tokenizer))
    GRPOTrainer(model, args=args, train_dataset=tasks.dataset(),
                environment_factory=tasks.environment_factory)

The trainer uses one environment for each rollout: its methods are the actions, ``reset`` begins the
task of the row and returns the model's first text, and ``get_reward`` returns the sum of the turns'
rewards. For several environments in one run, pass a dict of factories and the rows of
``dataset(environment=NAME)`` of each. TRL gives every token of an episode the same advantage;
``agentgym train`` assigns credit per turn.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from agentgym.actions import ActionSpec
from agentgym.agents import GRAMMAR, Session, tool_function
from agentgym.conversation.prompt import call_function
from agentgym.core.extensions import require_one_message_list
from agentgym.core.guard import GuardedEnv
from agentgym.errors import ConfigurationError, require
from agentgym.interop.early_ends import warn_of_early_end
from agentgym.registration.making import make, resolve

__all__ = ["TrlTasks"]

RESERVED = ("reset", "get_reward")
"""Methods that TRL does not treat as tools."""
CAUSES = (
    "either the model answered without a call, or a result did not fit into max_completion_length, "
    "of which TrlTasks.completion_tokens(tokenizer) counts what the solver needs"
)
"""Why TRL ends an episode."""


class TrlTasks:
    """Tasks of an environment for TRL's trainers.

    Args:
        env: A short name such as ``webshop``, an id, or ``MODULE:ID``.
        split: Split of the tasks.
        num_tasks: Number of tasks; None: all of the split.
        seed: Seed of the draw.
        **kwargs: Arguments of the environment.

    Attributes:
        task_ids: The tasks, in the order of the data set.

    Raises:
        ConfigurationError: The environment does not exist, an argument is wrong, or an action has
            the name of a method that TRL uses.
    """

    def __init__(
        self,
        env: str,
        *,
        split: str = "train",
        num_tasks: int | None = None,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        self._name, self._kwargs = env, {**kwargs, "grammar": GRAMMAR}
        text_env: Any = make(env, **self._kwargs).unwrapped
        try:
            require_one_message_list(text_env)
            count = text_env.tasks.len(split) if num_tasks is None else num_tasks
            self.task_ids: tuple[str, ...] = text_env.tasks.panel(split, count, seed).ids
            specs: tuple[ActionSpec, ...] = text_env.language.specs
        finally:
            text_env.close()
        clashes = [spec.name for spec in specs if spec.name in RESERVED]
        if clashes:
            raise ConfigurationError(
                f"expected actions without the names that TRL uses ({', '.join(RESERVED)}), got "
                f"{', '.join(clashes)} in {env}: name the action otherwise"
            )
        methods = {spec.name: _method(spec) for spec in specs}
        # TRL logs the reward under the name of the class.
        self._class = type(resolve(env).short, (_TrlEnvironment,), methods)

    def environment_factory(self) -> object:
        """Make the environment of successive rollouts."""
        return self._class(self._name, self._kwargs)

    def dataset(self, environment: str | None = None) -> Any:
        """Return a ``datasets.Dataset`` with a row for each task.

        Args:
            environment: Key of this environment, if a run has a dict of several.

        Raises:
            DependencyNotInstalled: The package ``datasets`` is missing.
        """
        rows: dict[str, list[Any]] = {
            "prompt": [[{"role": "user", "content": ""}] for _ in self.task_ids],
            "task_id": list(self.task_ids),
        }
        if environment is not None:
            rows["environment"] = [environment] * len(self.task_ids)
        return require("datasets", "train").Dataset.from_dict(rows)

    def completion_tokens(self, tokenizer: Any, num_tasks: int = 8) -> int:
        """Count the tokens of the longest of some solved episodes, for ``max_completion_length``.

        TRL counts the calls and results of all turns, by default up to 512 tokens. A result that
        does not fit is dropped and the episode ends there, with the reward so far and without a
        message. A policy that thinks, or needs more turns than the solver, needs more.

        Args:
            tokenizer: The model's tokenizer, with its chat template.
            num_tasks: The solver plays so many of the tasks.

        Raises:
            ConfigurationError: The environment has no solver.
        """
        text_env: Any = make(self._name, **self._kwargs).unwrapped
        try:
            return max(
                _played_tokens(Session(text_env, options={"task_id": task_id}), text_env, tokenizer)
                for task_id in self.task_ids[:num_tasks]
            )
        finally:
            text_env.close()


def _played_tokens(session: Session, text_env: Any, tokenizer: Any) -> int:
    """Let the solver play an episode; return the tokens after its first message."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": session.instruction}]

    def count(**kwargs: Any) -> int:
        text = tokenizer.apply_chat_template(
            messages, tools=session.openai_tools, tokenize=False, **kwargs
        )
        return len(tokenizer(text, add_special_tokens=False)["input_ids"])

    prompt_tokens = count(add_generation_prompt=True)
    while not session.over:
        action = text_env.oracle_action()
        if action is None:
            raise ConfigurationError(
                f"expected an environment with a solver, got {text_env.task.id} without a next "
                "action: choose max_completion_length by the length of your own episodes"
            )
        call = {"type": "function", "function": call_function(action)}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "content": session.act(action)})
    return count() - prompt_tokens


class _TrlEnvironment:
    """One environment at a time; subclasses have a method for each action."""

    def __init__(self, name: str, kwargs: dict[str, Any]) -> None:
        self._name, self._env = name, GuardedEnv(make(name, **kwargs))
        self._session: Session | None = None

    def reset(self, task_id: str, **columns: Any) -> str:
        """Begin a task; return what the model is to be told first.

        Args:
            task_id: The task.
            **columns: The other columns of its row, which are not read.
        """
        self._session = Session(self._env, options={"task_id": task_id})
        return self._session.instruction

    def get_reward(self) -> float | None:
        """Return the sum of the rewards of the turns; None, which TRL leaves out, after a failure.

        Before the first reset it is None, too.
        """
        session = self._session
        if session is None or session.failure is not None:
            return None
        if not session.over:
            warn_of_early_end("TRL", self._name, session.turns, session.horizon, CAUSES)
        return session.reward

    def _call(self, name: str, arguments: Any) -> str:
        """Take a turn."""
        if self._session is None:
            raise ConfigurationError("expected a task: call reset first")
        return self._session.call(name, arguments)


def _method(spec: ActionSpec) -> Callable[..., str]:
    """Make the method of an action: the tool of a session, with a ``self`` before its arguments."""

    def method(self: _TrlEnvironment, *args: Any, **kwargs: Any) -> str:
        return tool_function(spec, self._call)(*args, **kwargs)

    # Only what it looks like is taken of this one.
    tool = tool_function(spec, lambda name, arguments: "")
    signature = inspect.signature(tool)
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    method.__name__ = method.__qualname__ = tool.__name__
    method.__doc__, method.__annotations__ = tool.__doc__, dict(tool.__annotations__)
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]  # read by inspect
        parameters=[first, *signature.parameters.values()]
    )
    return method
