"""Episodes as conversations for supervised fine-tuning on actions.

The messages are those that a policy with the same prompt reads (`agentgym.conversation`). There are
two formats, which TRL's ``SFTTrainer`` and other trainers read:

- ``episode``: a row ``{"messages": [...]}`` for each episode, and where it has several agents for
  each of them, in which every assistant message is to be learnt
  (``SFTConfig(assistant_only_loss=True)``).
- ``turn``: a row ``{"prompt": [...], "completion": [...]}`` for each turn to be learnt. The loss is
  on the completion only, for any chat template.

The column ``agentgym`` names the task, so that `agentgym.interop.played_rows` can play the
responses. No field marks a single message of a conversation, because TRL reads none. A turn that is
not to be learnt is left out of the conversation in the first shape, and has no row of its own in
the second.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from agentgym.actions import parse, render, strip_think
from agentgym.conversation import EpisodeConversation, Prompt, SeenTurn
from agentgym.core.env import TextEnv
from agentgym.core.language import Language
from agentgym.core.outcome import well_formed
from agentgym.core.tasks import TaskSet
from agentgym.episodes.environment_cache import EnvCache, made_alike
from agentgym.episodes.records import Episode, Turn, clean
from agentgym.episodes.replay import make_env, set_generator
from agentgym.episodes.task_reference import COLUMN, TaskReference
from agentgym.errors import ConfigurationError, DataError

Message = dict[str, Any]
Text = Literal["raw", "action"]
Shape = Literal["episode", "turn"]

WITHOUT_HOOKS = MappingProxyType({"reward_hooks": ()})
"""Overrides of environments that are made only for their actions."""
_MARK = "\x00call\x00"
_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_TAG, _BRACE = re.compile(_OPEN, re.IGNORECASE), re.compile(r"\{")
_PLACES = 64
"""Maximum number of positions of a text that are searched for a call."""


@dataclass(frozen=True)
class ChatOptions:
    """Options of conversations."""

    text: Text = "raw"
    """Text of the assistant: ``raw``, the model's complete text with its thinking, or ``action``,
    the parsed action in the environment's grammar."""
    shape: Shape = "episode"
    """One row per ``episode`` or per ``turn``."""
    valid_actions_only: bool = False
    """Leave out turns with an invalid action. With ``episode`` such a turn is dropped with its
    observation; with ``turn`` later prompts still show it."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: A field is out of its domain.
        """
        for name, choices in (("text", get_args(Text)), ("shape", get_args(Shape))):
            if (value := getattr(self, name)) not in choices:
                raise ConfigurationError(
                    f"expected {name} to be one of {', '.join(choices)}; got {value!r:.80}"
                )


class Speech(NamedTuple):
    """The prompt, the actions and the turn budget of a policy in an environment."""

    prompt: Prompt
    """The prompt."""
    language: Language
    """How actions are written."""
    horizon: int
    """Turn budget if a reset does not set one."""
    tasks: TaskSet
    """The tasks."""


class ChatWriter:
    """Convert episodes to rows of conversations.

    By default the system message is the same as in training and the chat policy; observations are
    user messages. Where the grammar is ``tool_call``, calls are native: ``tool_calls`` of the
    assistant, answers with the role ``tool``, the actions in the row's field ``tools``, and no
    notation in the system message, as `agentgym.policies.ChatPolicy` sends it.

    Args:
        options: How.
        prompt_at: Returns the prompt for an environment. Records do not contain admissible actions:
            for a prompt that lists them, episodes are replayed.
    """

    def __init__(
        self,
        options: ChatOptions | None = None,
        prompt_at: Callable[[TextEnv], Prompt] = Prompt.at,
    ) -> None:
        self.options = options or ChatOptions()
        self._prompt_at = prompt_at
        # Cached for all records with equal arguments: making an environment is expensive.
        self._speech: dict[str, Speech] = {}
        self._envs = EnvCache(WITHOUT_HOOKS)

    def close(self) -> None:
        """Close the environments of replayed episodes."""
        self._envs.close()

    def rows(self, episode: Episode) -> list[dict[str, Any]]:
        """Return the rows of an episode; none if `why_not` has a reason.

        Raises:
            ConfigurationError: The environment cannot be made from the record, which is needed for
                the action prompt; or the prompt does not go with its grammar or with the shape.
            DataError: The prompt lists admissible actions, and the episode replays differently.
        """
        if self.why_not(episode):
            return []
        prompt, language, turns, _ = self.speech(episode)
        columns: dict[str, Any] = {}
        if language.grammar == "tool_call":
            columns["tools"] = language.tools()
            prompt = prompt.for_tools(episode.options.get("horizon") or turns)
        by_episode = self.options.shape == "episode"
        if by_episode and not prompt.layout.grows:
            raise ConfigurationError(
                f"expected rows of turns (--rows turn) with the prompt {prompt.name}, which sends "
                "one new message in each turn, got rows of episodes"
            )
        if by_episode and any(turn.after.forgets for turn in episode.turns):
            raise ConfigurationError(
                "expected rows of turns (--rows turn) with summaries, after which the model no "
                "longer reads the turns before, got rows of episodes"
            )
        conversation = EpisodeConversation(prompt, well_formed(episode.goal))
        rows: list[dict[str, Any]] = []
        of_agents: dict[str, dict[str, Any]] = {}
        states = [*self._read_states(episode, prompt)]
        state = states[0]
        opening = len(conversation.messages(state))
        columns[COLUMN] = TaskReference.of(episode, prompt.name, opening).to_cell()
        for number, turn in enumerate(episode.turns, 1):
            learnt = self._learnt(turn)
            if by_episode and not learnt:
                continue  # the turn's observation is dropped, too: the model sees the old one again
            message = _assistant(turn, number, language, self.options.text)
            if learnt:
                row = {"prompt": conversation.messages(state), "completion": [message], **columns}
                # Keep the last row of each agent: its prompt contains all earlier messages.
                of_agents[state.agent] = row
                rows.append(row)
            conversation.add(
                state, _text(turn, language, self.options.text), message, _results(message)
            )
            state = states[number]
        if not by_episode:
            return rows
        return [
            {"messages": [*row["prompt"], *row["completion"]], **columns}
            for row in of_agents.values()
        ]

    def opening(self, episode: Episode) -> list[Message]:
        """Return what the model reads before its first response, with the grammar as text.

        Raises:
            ConfigurationError: The environment cannot be made from the record.
        """
        prompt = self.speech(episode).prompt
        conversation = EpisodeConversation(prompt, well_formed(episode.goal))
        return conversation.messages(next(self._read_states(episode, prompt)))

    def why_not(self, episode: Episode) -> str:
        """Return why an episode has no rows; empty if it has rows."""
        if not any(map(self._learnt, episode.turns)):
            return "no turn to learn"
        if self.options.shape == "episode":
            old_key = episode.start.state_key
            for turn in episode.turns:
                if not self._learnt(turn) and turn.after.state_key != old_key:
                    return "an invalid action changed the state, so it cannot be dropped"
                old_key = turn.after.state_key
        return ""

    def _learnt(self, turn: Turn) -> bool:
        return turn.action_valid or not self.options.valid_actions_only

    def speech(self, episode: Episode) -> Speech:
        """Return the prompt data of a policy in a record's environment.

        Raises:
            ConfigurationError: The environment cannot be made from the record.
        """
        key = made_alike(episode)
        if key not in self._speech:
            env = make_env(episode, WITHOUT_HOOKS)
            base: Any = env.unwrapped
            self._speech[key] = Speech(
                self._prompt_at(base), base.spoken, base.default_horizon, base.tasks
            )
            env.close()
        return self._speech[key]

    def _read_states(self, episode: Episode, prompt: Prompt) -> Iterator[SeenTurn]:
        """Yield what the policy saw, turn by turn."""
        states = [episode.start, *(turn.after for turn in episode.turns)]
        reasons = ["", *("" if turn.action_valid else turn.reason or "" for turn in episode.turns)]
        listed = self._listed(episode) if prompt.layout.lists_actions else [()] * len(states)
        for state, reason, actions in zip(states, reasons, listed, strict=True):
            yield SeenTurn(
                well_formed(state.observation),
                tuple(actions),
                well_formed(reason),
                state.agent,
                well_formed(state.agent_task),
                state.forgets,
            )

    def _listed(self, episode: Episode) -> list[tuple[str, ...]]:
        """Play an episode again; return the admissible actions of each state."""
        env = self._envs.get(episode)
        set_generator(episode, env)
        observation, info = env.reset(seed=episode.seed, options=dict(episode.options))
        listed, observed = [info["admissible_actions"]], [observation]
        for turn in episode.turns:
            observation, *_, info = env.step(turn.action)
            listed.append(info["admissible_actions"])
            observed.append(observation)
        recorded = [episode.start.observation, *(turn.after.observation for turn in episode.turns)]
        if [clean(text) for text in observed] != recorded:
            raise DataError(
                f"expected {episode.task_id} to play as it was recorded, because the prompt lists "
                "admissible actions, which records do not hold; agentgym replay says what differs"
            )
        return listed


def _text(turn: Turn, language: Language, text: Text) -> str:
    """Return the assistant's text in a turn."""
    if text == "action":
        return well_formed(language.write(turn.executed))
    return well_formed(turn.action if turn.raw_text is None else turn.raw_text)


def _assistant(turn: Turn, number: int, language: Language, text: Text) -> Message:
    """Return the message of an assistant in a turn."""
    content = _text(turn, language, text)
    message: Message = {"role": "assistant", "content": content}
    call = _call(turn, language) if language.grammar == "tool_call" else None
    if call is not None:
        message["content"] = _before_call(content, turn.action) if text == "raw" else ""
        function = {"id": f"call_{number}", "type": "function", "function": call}
        message["tool_calls"] = [function]
    if text == "raw" and turn.reasoning:
        message["reasoning_content"] = well_formed(turn.reasoning)
    return message


def _results(message: Message) -> list[dict[str, Any]]:
    """Return the fields of a tool result, besides its text, for each call of a message."""
    return [
        {"tool_call_id": call["id"], "name": call["function"]["name"]}
        for call in message.get("tool_calls", ())
    ]


def _call(turn: Turn, language: Language) -> dict[str, Any] | None:
    """Return the call of a turn, with arguments of the declared types; None if there is none."""
    parsed_call = parse(well_formed(turn.action), language.specs, language.grammar).call
    if parsed_call is None:
        return None
    try:
        text = render(parsed_call, language.specs, language.grammar)
    except ConfigurationError:
        return None
    call: dict[str, Any] = json.loads(text.removeprefix(_OPEN).removesuffix(_CLOSE))
    return call


def _before_call(text: str, action: str) -> str:
    """Return the text before a model's call, including thinking."""
    if len(action) < len(text) and text.endswith(action):
        return text.removesuffix(action).rstrip()  # the endpoint returned the call separately
    tag = _TAG if _TAG.search(strip_think(text)) else _BRACE
    for match in islice(tag.finditer(text), _PLACES):
        start = match.start()
        # Insert a marker before the candidate: if strip_think removes it, the call is only thought.
        if _MARK in strip_think(text[:start] + _MARK + text[start:]):
            return text[:start].rstrip()
    return ""
