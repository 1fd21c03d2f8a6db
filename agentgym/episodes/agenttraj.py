"""Convert episodes to AgentTraj, AgentGym's format of trajectories (arXiv 2406.04151), and back.

A file is a JSON list of ``{"item_id", "conversations"}``. A conversation begins with instructions
and an ``Ok.``; then ``human`` messages are observations, and ``gpt`` messages the text of the
model. Turns to train on have ``"loss": true``. The other data of an episode is stored in a separate
field, so that `read_items` can restore the complete episode.

Items of other writers contain only the texts. The id of the item is then the task, in the split
``train``, because AgentGym publishes them for training. Rewards, scores and success are not known,
and count as 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Literal, TypedDict

from agentgym.episodes.chats import Speech
from agentgym.episodes.records import FORMAT, Episode, RecordedState, Turn, portable
from agentgym.errors import ConfigurationError, DataError
from agentgym.registration import FAMILIES
from agentgym.support.typed_json import read_json

OURS = "agentgym"
"""Field of an item with the data that AgentTraj has no field for."""
AGREED = "Ok."
"""The model's response to the instructions."""
ACTION = "Action:"
"""Prefix of the action in texts of other writers."""
SPLIT = "train"
"""Split of items of other writers."""

_Said = TypedDict("_Said", {"from": Literal["human", "gpt"], "value": str})


class Message(_Said, total=False):
    """A message of a conversation."""

    loss: bool | None


class Item(TypedDict):
    """An item of a file; other fields are ignored."""

    item_id: str
    conversations: list[Message]


def to_item(episode: Episode, speech: Speech) -> dict[str, Any]:
    """Return an episode as an item.

    Its id is the family's name with the number of the task in its split, by which AgentGym's
    servers find a task. Lone surrogates, which other readers cannot hold, become ``?``.

    Args:
        episode: The episode.
        speech: The prompt data of the policy; the opening of its prompt is the instructions.

    Raises:
        ConfigurationError: The episode has workers: an item is the conversation of one agent.
        TaskNotFound: The environment has no such task.
    """
    if len({state.agent for state in (episode.start, *(turn.after for turn in episode.turns))}) > 1:
        raise ConfigurationError(
            "expected episodes of one agent for AgentTraj, whose items are each a conversation of "
            f"one, got {episode.task_id} with a planner and workers: export to sft, which writes "
            "the conversation of each, or to atif"
        )
    record = {"format": FORMAT, **asdict(episode)}
    turns = record["turns"]
    opening = speech.prompt.opening(episode.goal)
    instructions = "\n\n".join(
        message["content"] for message in opening if message["role"] != "assistant"
    )
    agreed = "\n\n".join(
        message["content"] for message in opening if message["role"] == "assistant"
    )
    messages = [_human(instructions), _gpt(agreed or AGREED, False)]
    messages.append(_human(record["start"].pop("observation")))
    for number, turn in enumerate(turns, 1):
        text = turn.pop("raw_text")
        turn["value_is_raw_text"] = text is not None
        messages.append(_gpt(turn.pop("action") if text is None else text, True))
        if number < len(turns):
            messages.append(_human(turn["after"].pop("observation")))
    name = next((family.name for family in FAMILIES if family.id == episode.env_id), episode.env_id)
    item_id = f"{name}_{speech.tasks.find(episode.task_id).index}"
    return portable({"item_id": item_id, "conversations": messages, OURS: record})


def _human(text: str) -> dict[str, Any]:
    return {"from": "human", "loss": None, "value": text}


def _gpt(text: str, learnt: bool) -> dict[str, Any]:
    return {"from": "gpt", "loss": learnt, "value": text}


def read_items(items: Sequence[Any]) -> Iterator[Episode]:
    """Read the episodes of a list of items.

    Raises:
        DataError: An item is invalid, or has been changed; the message names it.
    """
    for number, item in enumerate(items):
        try:
            yield from_item(item)
        except DataError as error:
            raise DataError(
                f'item {number}: {error}; expected AgentTraj, a list of {{"item_id", '
                '"conversations"}'
            ) from error


def from_item(item: Any) -> Episode:
    """Return the episode of an item.

    Raises:
        DataError: The item is not an episode.
    """
    fields = read_json(Item, item)
    speakers = [message["from"] for message in fields["conversations"]]
    if len(speakers) < 3 or speakers != (["human", "gpt"] * len(speakers))[: len(speakers)]:
        raise DataError(
            "expected a conversation in which human and gpt take turns, with instructions before "
            f"the first observation, got {len(speakers)} messages of {' '.join(speakers[:8])}"
        )
    return _restore_episode(fields, item[OURS]) if OURS in item else _texts_alone(fields)


def _restore_episode(item: Item, stored: Any) -> Episode:
    """Return the episode that `to_item` wrote."""
    texts = [message["value"] for message in item["conversations"][2:]]
    try:
        record = {**stored, "turns": [dict(turn) for turn in stored["turns"]]}
        record["start"] = {"observation": texts[0], **stored["start"]}
        for turn, text in zip(record["turns"], texts[1::2], strict=True):
            raw = turn.pop("value_is_raw_text")
            turn |= {"raw_text": text} if raw else {"raw_text": None, "action": text}
        for turn, observation in zip(record["turns"], texts[2::2], strict=False):
            turn["after"] = {"observation": observation, **turn["after"]}
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"expected what `agentgym export --to agenttraj` keeps in the field {OURS}, but: "
            f"{type(error).__name__}: {error}"
        ) from error
    return Episode.from_line(json.dumps(record))


def _texts_alone(item: Item) -> Episode:
    """Return the episode of an item of another writer."""
    messages = item["conversations"]
    # The first gpt message with a loss is the first turn: the instructions and the Ok. have none.
    learnt = (
        n for n, message in enumerate(messages) if message["from"] == "gpt" and message.get("loss")
    )
    first = next(learnt, 3) - 1
    texts = [message["value"] for message in messages[first:]]
    observations = [*texts[2::2], ""]
    name = item["item_id"].rpartition("_")[0]
    return Episode(
        env_id=next((family.id for family in FAMILIES if family.name == name), name),
        env_kwargs={"grammar": "react"},
        task_id=item["item_id"],
        split=SPLIT,
        goal="",
        seed=None,
        rng=None,
        options={},
        start=_state(texts[0]),
        turns=tuple(map(_turn, texts[1::2], observations)),
        stop_reason="",
        policy="AgentTraj",
    )


def _turn(text: str, observation: str) -> Turn:
    action = text.rpartition(ACTION)[2].strip()
    return Turn(
        action=text,
        executed=action,
        after=_state(observation),
        reward=0.0,
        reward_terms={},
        action_valid=True,
        success=False,
        terminated=False,
        truncated=False,
    )


def _state(observation: str) -> RecordedState:
    return RecordedState(observation, 0.0, 0.0, "")
