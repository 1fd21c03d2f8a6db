"""A layout applied to an environment: the texts of its messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from agentgym.conversation.layout import (
    BARE,
    DEFAULT,
    Layout,
    Shot,
    fields_of,
    fill,
    tool_instructions,
)
from agentgym.core.env import TextEnv
from agentgym.errors import ConfigurationError


class SeenTurn(NamedTuple):
    """The information that a policy sees in one turn."""

    observation: str
    """The environment's text."""
    admissible: Sequence[str] = ()
    """Admissible actions, in the environment's grammar."""
    reason: str = ""
    """Why the last action was invalid, if the info dict contains the reason."""
    agent: str = ""
    """The agent that acts next, if the policy plays several (`agentgym.core.delegation`)."""
    agent_task: str = ""
    """Task of that agent as text."""
    forgets: bool = False
    """Whether the last action was a summary, which replaces all turns before it."""

    @classmethod
    def of(cls, observation: str, info: Mapping[str, Any]) -> SeenTurn:
        """Build the turn from the results of a reset or a step.

        Args:
            observation: The environment's text.
            info: The info dict that came with it.
        """
        return cls(
            observation,
            info.get("admissible_actions") or (),
            invalid_reason(info),
            info.get("agent", ""),
            info.get("agent_task", ""),
            info.get("forgets", False),
        )

    @property
    def explained(self) -> str:
        """The observation, followed by the reason of an invalid action unless it contains it."""
        if not self.reason or self.reason in self.observation:
            return self.observation
        reason = self.reason.removeprefix("invalid: ")
        return f"{self.observation}\n[The last action was invalid: {reason}]"


class Past(NamedTuple):
    """A completed turn."""

    turn: SeenTurn
    """Observation before the action."""
    answer: str
    """Its whole answer."""


@dataclass(frozen=True)
class Prompt:
    """A layout applied to an environment.

    Two prompts with the same layout produce the same bytes for the same episode, whichever
    component queries the model.
    """

    layout: Layout
    """The layout."""
    actions: str = ""
    """How to write actions, from ``env.unwrapped.action_prompt()``."""
    read: Callable[[str], str] = str
    """Returns the native action in a text of the environment's grammar, or an empty text. Default:
    the environment's grammar is the native one."""
    name: str = "default"
    """Name of the layout in reports."""
    instructions: str = ""
    """Text that begins the system message, before the text of the layout."""
    calls_tools: bool = False
    """Whether the model acts with tool calls, so that worked examples are such calls, too."""

    @classmethod
    def at(cls, env: TextEnv, layout: Layout = DEFAULT, name: str = "default") -> Prompt:
        """Apply a layout to an environment.

        Args:
            env: The environment, or another one with the same actions; it may be closed afterwards.
            layout: The layout.
            name: Name of the layout in reports.
        """
        language = env.spoken
        return cls(layout, env.action_prompt(), lambda text: language.read(text).native, name)

    @property
    def identity(self) -> str:
        """Name and version, which identify the prompt."""
        return f"{self.name} {self.layout.sha256}"

    @property
    def texts(self) -> Iterator[str]:
        """The fixed words of the templates, without the values that an episode fills in."""
        yield from (message["content"] for message in self.opening(""))
        layout = self.layout
        history = (layout.history,) if layout.kind == "step" else ()
        for template in (layout.first, layout.later, *history):
            yield fill(
                template, {**dict.fromkeys(fields_of(template), ""), "actions": self.actions}
            )

    def windowed(self, window: int | None) -> Prompt:
        """Return the prompt with another window; None keeps the current one."""
        return replace(self, layout=self.layout.windowed(window))

    def with_shots(self, shots: Sequence[Shot]) -> Prompt:
        """Return the prompt with other worked examples."""
        return replace(self, layout=self.layout.with_shots(shots))

    def for_tools(self, horizon: int | None = None) -> Prompt:
        """Return the prompt for a model that acts with tool calls, without a notation for actions.

        Args:
            horizon: Maximum number of turns of the episode, if known.

        Raises:
            ConfigurationError: The layout has its own opening, which explains actions as text.
        """
        if self.layout.opening != DEFAULT.opening or self.layout.kind != DEFAULT.kind:
            raise ConfigurationError(
                f"expected actions as text in the prompt {self.name}, got tool calls; choose "
                "another grammar than tool_call, or leave the prompt out"
            )
        instructions = "\n\n".join(filter(None, (self.instructions, tool_instructions(horizon))))
        layout = replace(self.layout, opening=())
        return replace(self, layout=layout, instructions=instructions, calls_tools=True)

    def opening(self, task: str) -> list[dict[str, Any]]:
        """Return the messages before the first observation, worked examples included.

        Args:
            task: The task in words.
        """
        return [*self._head(task), *map(dict, self._shot_messages)]

    @cached_property
    def _shot_messages(self) -> list[dict[str, Any]]:
        """The worked examples as messages, the same for every task."""
        messages: list[dict[str, Any]] = []
        for shot in self.layout.shots:
            messages += (
                self._tool_shot(shot, len(messages)) if self.calls_tools else self._shot(shot)
            )
        return messages

    def _shot(self, shot: Shot) -> Iterator[dict[str, Any]]:
        """Yield a worked example as the model would have read and written it."""
        turns: list[Past] = []
        for example in shot.turns:
            turn = SeenTurn(example.observation, example.admissible)
            yield {"role": "user", "content": self.text(shot.task, turns, turn)}
            yield {"role": "assistant", "content": example.action}
            turns.append(Past(turn, example.action))

    def _tool_shot(self, shot: Shot, number: int) -> Iterator[dict[str, Any]]:
        """Yield a worked example as tool calls and their results; ``number`` keeps ids apart."""
        later = [turn.observation for turn in shot.turns[1:]]
        yield {"role": "user", "content": shot.turns[0].observation}
        for index, (turn, result) in enumerate(zip(shot.turns, [*later, shot.result], strict=True)):
            call_id = f"example_{number}_{index}"
            call = {"id": call_id, "type": "function", "function": call_function(turn.action)}
            yield {"role": "assistant", "content": None, "tool_calls": [call]}
            yield {"role": "tool", "tool_call_id": call_id, "content": result}

    def _head(self, task: str) -> list[dict[str, Any]]:
        """Return the messages of the layout before worked examples."""
        values = {"task": task, "actions": self.actions}
        messages: list[dict[str, Any]] = [
            {"role": message.role, "content": fill(message.content, values)}
            for message in self.layout.opening
        ]
        if not self.instructions:
            return messages
        if messages and messages[0]["role"] == "system":
            head = messages.pop(0)["content"]
            return [{"role": "system", "content": f"{self.instructions}\n\n{head}"}, *messages]
        return [{"role": "system", "content": self.instructions}, *messages]

    def text(self, task: str, turns: Sequence[Past], turn: SeenTurn, first: int = 0) -> str:
        """Return the user message of a turn.

        Args:
            task: The task in words.
            turns: Earlier turns.
            turn: The current turn, as the policy sees it.
            first: Number of earlier turns that a summary has replaced.
        """
        layout = self.layout
        template = layout.later if turns else layout.first
        if layout.kind == "turns":
            return self._filled(template, task, len(turns), turn, ())
        text = self._filled(template, task, len(turns), turn, self.recent(turns[first:]))
        if layout.longest is not None and turns and len(text) > layout.longest:
            return self._filled(layout.first, task, len(turns), turn, ())
        return text

    def recent(self, turns: Sequence[Any]) -> Sequence[Any]:
        """Return the turns within the window."""
        window = self.layout.window
        return turns if window is None else turns[max(0, len(turns) - window) :]

    def _filled(
        self, template: str, task: str, count: int, turn: SeenTurn, recent: Sequence[Past]
    ) -> str:
        """Fill a template with a turn; values of unused fields are not computed."""
        layout = self.layout
        observation = layout.observation.write(self._observation(turn), task)
        if template == BARE.later:  # so in most turns of training, whose time counts
            return observation
        field_names = fields_of(template)
        values = {
            "task": task,
            "step": count + 1,
            "taken": count,
            "shown": len(recent),
            "observation": observation,
            "actions": self.actions,
        }
        if "history" in field_names:
            values["history"] = self._history(task, count, recent)
        if "admissible" in field_names:
            # Papers list native actions, without the notation that a grammar puts around them.
            native = [self.read(action) or action for action in map(str, turn.admissible)]
            values["admissible"] = layout.admissible.write(native)
        return fill(template, values)

    def _history(self, task: str, count: int, recent: Sequence[Past]) -> str:
        layout = self.layout
        parts = [
            {
                "number": number,
                "observation": layout.observation.write(self._observation(past.turn), task),
                "action": self.read(past.answer),
            }
            for number, past in enumerate(recent, count - len(recent) + 1)
        ]
        return layout.history_separator.join(fill(layout.history, part) for part in parts)

    def _observation(self, turn: SeenTurn) -> str:
        return turn.explained if self.layout.reasons else turn.observation


def call_function(action: str) -> dict[str, str]:
    """Return the ``function`` of the tool call that an action of the grammar ``tool_call`` is."""
    payload = json.loads(action.removeprefix("<tool_call>").removesuffix("</tool_call>"))
    return {"name": payload["name"], "arguments": json.dumps(payload["arguments"])}


def invalid_reason(info: Mapping[str, Any]) -> str:
    """Return why the last action was invalid, if the info dict says so.

    Environments put the reason there when observations must keep the original's words
    (`agentgym.core.Outcome`).
    """
    details = info.get("details")
    if info.get("action_valid", True) or not isinstance(details, Mapping):
        return ""
    reason = details.get("reason")
    return reason if isinstance(reason, str) else ""
