"""Episodes as conversations for supervised fine-tuning, in which only actions are learnt.

Two shapes, both of which TRL's ``SFTTrainer`` reads (and other trainers, too):

- ``episode``: a row ``{"messages": [...]}`` for each episode, in which every assistant message is
  to be learnt (``SFTConfig(assistant_only_loss=True)``).
- ``turn``: a row ``{"prompt": [...], "completion": [...]}`` for each turn to be learnt. The loss is
  on the completion alone, whatever the chat template is.

No field marks a single message of a conversation, because TRL reads none. A turn that is not to be
learnt is left out of the conversation in the first shape, and has no row of its own in the second.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, get_args

from agentgym.actions import parse, render, strip_think
from agentgym.core.language import Language
from agentgym.core.outcome import well_formed
from agentgym.episodes.environments import made_alike
from agentgym.episodes.records import Episode, Turn
from agentgym.episodes.replay import make_env
from agentgym.errors import ConfigurationError
from agentgym.policies.instructions import tool_instructions

Message = dict[str, Any]
Text = Literal["raw", "action"]
Shape = Literal["episode", "turn"]

_MARK = "\x00call\x00"
_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_TAG, _BRACE = re.compile(_OPEN, re.IGNORECASE), re.compile(r"\{")
_PLACES = 64
"""Most places of a text at which its call is looked for."""


@dataclass(frozen=True)
class ChatOptions:
    """How conversations are made of episodes."""

    text: Text = "raw"
    """What an assistant says: ``raw``, the model's whole text with its thinking, or ``action``,
    what was understood of it, written in the environment's grammar."""
    shape: Shape = "episode"
    """A row for each ``episode`` or for each ``turn``."""
    valid_actions_only: bool = False
    """Do not learn turns whose action was invalid. In the shape ``episode`` such a turn is dropped
    with its answer; in the shape ``turn`` later prompts still show it."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: A field is out of its domain.
        """
        for name, known in (("text", get_args(Text)), ("shape", get_args(Shape))):
            if (value := getattr(self, name)) not in known:
                raise ConfigurationError(
                    f"expected {name} to be one of {', '.join(known)}; got {value!r:.80}"
                )


class ChatWriter:
    """Turn episodes into rows of conversations.

    The system message is the environment's action prompt; observations are user messages. Where
    the grammar is ``tool_call``, calls are native: ``tool_calls`` of the assistant, answers with
    the role ``tool``, the actions in the row's field ``tools``, and no notation in the system
    message, as `agentgym.policies.ChatPolicy` sends it.

    Args:
        options: How.
    """

    def __init__(self, options: ChatOptions | None = None) -> None:
        self.options = options or ChatOptions()
        self._speech: dict[str, tuple[str, Language, int]] = {}

    def rows(self, episode: Episode) -> list[dict[str, Any]]:
        """Return the rows of an episode; none if `why_not` has a reason.

        Raises:
            ConfigurationError: The environment cannot be made from the record, which is needed for
                the action prompt.
        """
        if self.why_not(episode):
            return []
        prompt, language, turns = self._of(episode)
        if language.grammar == "tool_call":
            prompt = tool_instructions(episode.options.get("horizon") or turns)
        messages: list[Message] = [
            {"role": "system", "content": well_formed(prompt)},
            {"role": "user", "content": well_formed(episode.start.observation)},
        ]
        tools = {"tools": language.tools()} if language.grammar == "tool_call" else {}
        rows: list[dict[str, Any]] = []
        ends = 0
        for number, turn in enumerate(episode.turns, 1):
            learnt = self._learnt(turn)
            if self.options.shape == "episode" and not learnt:
                continue
            said = _assistant(turn, number, language, self.options.text)
            if self.options.shape == "turn" and learnt:
                rows.append({"prompt": [*messages], "completion": [said], **tools})
            messages.append(said)
            ends = len(messages)
            messages.append(_answer(turn, said))
        return rows if self.options.shape == "turn" else [{"messages": messages[:ends], **tools}]

    def why_not(self, episode: Episode) -> str:
        """Say why an episode has no rows; empty if it has."""
        if not any(map(self._learnt, episode.turns)):
            return "no turn to learn"
        if self.options.shape == "episode":
            before = episode.start.state_key
            for turn in episode.turns:
                if not self._learnt(turn) and turn.after.state_key != before:
                    return "an invalid action changed the state, so it cannot be dropped"
                before = turn.after.state_key
        return ""

    def _learnt(self, turn: Turn) -> bool:
        return turn.action_valid or not self.options.valid_actions_only

    def _of(self, episode: Episode) -> tuple[str, Language, int]:
        """Return the action prompt, the language and the turn budget of a record's environment."""
        key = made_alike(episode)
        if key not in self._speech:
            env = make_env(episode, {"reward_hooks": ()})  # which say nothing of actions
            unwrapped: Any = env.unwrapped
            said = unwrapped.action_prompt(), unwrapped.language, unwrapped.default_horizon
            self._speech[key] = said
            env.close()
        return self._speech[key]


def _assistant(turn: Turn, number: int, language: Language, text: Text) -> Message:
    """Return what an assistant says in a turn."""
    said = language.write(turn.executed)
    if text == "raw":
        said = turn.action if turn.raw_text is None else turn.raw_text
    message: Message = {"role": "assistant", "content": well_formed(said)}
    call = _call(turn, language) if language.grammar == "tool_call" else None
    if call is not None:
        message["content"] = well_formed(_before_call(said)) if text == "raw" else ""
        function = {"id": f"call_{number}", "type": "function", "function": call}
        message["tool_calls"] = [function]
    if text == "raw" and turn.reasoning:
        message["reasoning_content"] = well_formed(turn.reasoning)
    return message


def _answer(turn: Turn, said: Message) -> Message:
    """Return the environment's answer."""
    content = well_formed(turn.after.observation)
    if "tool_calls" not in said:
        return {"role": "user", "content": content}
    call = said["tool_calls"][0]
    return {
        "role": "tool",
        "tool_call_id": call["id"],
        "name": call["function"]["name"],
        "content": content,
    }


def _call(turn: Turn, language: Language) -> dict[str, Any] | None:
    """Return the call of a turn, with arguments of the declared types; None if there is none."""
    found = parse(well_formed(turn.action), language.specs, language.grammar).call
    if found is None:
        return None
    try:
        written = render(found, language.specs, language.grammar)
    except ConfigurationError:
        return None
    call: dict[str, Any] = json.loads(written.removeprefix(_OPEN).removesuffix(_CLOSE))
    return call


def _before_call(text: str) -> str:
    """Return what a model wrote before its call, thinking included."""
    tag = _TAG if _TAG.search(strip_think(text)) else _BRACE
    for found in islice(tag.finditer(text), _PLACES):
        at = found.start()
        # Inside of thinking a call is none: with it the mark would go.
        if _MARK in strip_think(text[:at] + _MARK + text[at:]):
            return text[:at].rstrip()
    return ""
