"""Conversations of a data set, back to recorded episodes: their responses are played.

A row has the messages of an episode (``messages``), or those before a response and the response
(``prompt`` and ``completion``), as TRL's data sets do; and in the column ``agentgym`` its task.
Rewards and observations are those of the environment. A row that the next one continues is not
played by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from agentgym.agents import call_text
from agentgym.core.outcome import well_formed
from agentgym.core.tasks import canonical_json
from agentgym.episodes import Episode, Recorder
from agentgym.episodes.task_reference import COLUMN, TaskReference, read_reference
from agentgym.errors import DataError, EnvFailure
from agentgym.interop.prompt_rows import recorded_env
from agentgym.support.datafiles import ENDINGS, read_records
from agentgym.support.typed_json import read_json

__all__ = ["has_tasks", "play_rows"]


class _Function(TypedDict):
    name: str
    arguments: dict[str, Any] | str


class _Call(TypedDict):
    function: _Function


class _Sent(TypedDict):
    role: str
    content: str | None


class Message(_Sent, total=False):
    """A message of a conversation."""

    tool_calls: list[_Call] | None


class Conversation(TypedDict):
    """The messages of a row."""

    messages: list[Message]


class Talk(NamedTuple):
    """The conversation of a row."""

    place: str
    """Its place, for messages."""
    task: TaskReference
    """Its task."""
    messages: list[Message]
    """Its messages."""

    def continued_by(self, later: Talk) -> bool:
        """Return whether another conversation begins with this one."""
        shared = later.messages[: len(self.messages)]
        return (later.task, shared) == (self.task, self.messages)


def has_tasks(path: Path) -> bool:
    """Return whether a file has rows that name their tasks."""
    if not path.is_file() or not path.name.endswith(ENDINGS):
        return False
    try:
        _, first = next(read_records(path, "search"), ("", None))
    except DataError:
        return False  # the reader of records explains
    return isinstance(first, Mapping) and isinstance(first.get(COLUMN), str)


def play_rows(path: Path) -> Iterator[Episode]:
    """Yield the episode of each conversation of a file.

    Raises:
        DataError: A row has no task or no response, or the environment answers otherwise than in
            the row; the message has its place.
        NotTrusted: A row names more than plain data.
        ConfigurationError: The environment cannot be made.
    """
    talks = (_talk(path, place, row) for place, row in read_records(path, "search"))
    made_reference, env = "", None
    try:
        for talk, later in pairwise(chain(talks, [None])):
            if talk is None or (later is not None and talk.continued_by(later)):
                continue
            key = canonical_json([talk.task.env, talk.task.kwargs])
            if env is None or key != made_reference:
                if env is not None:
                    env.close()
                env, made_reference = recorded_env(talk.task.env, talk.task.kwargs), key
            yield _play(talk, env)
    finally:
        if env is not None:
            env.close()


def _talk(path: Path, place: str, row: Any) -> Talk:
    place_in_file = f"{path}, {place}"
    try:
        task = read_reference(row)
        messages = row.get("messages")
        if messages is None:
            completion = row.get("completion")
            if isinstance(completion, str):
                completion = [{"role": "assistant", "content": completion}]
            parts = (row.get("prompt"), completion)
            messages = [message for part in parts if isinstance(part, list) for message in part]
        messages = read_json(Conversation, {"messages": messages}, "the row")["messages"]
    except (AttributeError, TypeError, DataError) as error:
        raise DataError(f"{place_in_file}: {error}") from error
    if not any(message["role"] == "assistant" for message in messages[task.opening :]):
        raise DataError(
            f"expected responses to play in messages or completion of {place_in_file}, got none: a "
            "model has to write them first"
        )
    return Talk(place_in_file, task, messages)


def _play(talk: Talk, env: Recorder) -> Episode:
    task = talk.task
    with suppress(EnvFailure):  # recorded as such
        observation, _ = env.reset(
            seed=task.seed, options={"task_id": task.task_id, "horizon": task.horizon}
        )
        over = False
        for message in talk.messages[max(task.opening - 1, 0) :]:
            if message["role"] == "assistant":
                if over:
                    raise DataError(
                        f"expected no more responses than turns of {task.task_id} in {talk.place}, "
                        "got one after the end of the episode"
                    )
                observation, _, terminated, truncated, _ = env.step(_response(message))
                over = terminated or truncated
            elif well_formed(observation) not in (message["content"] or ""):
                raise DataError(
                    f"expected {task.task_id} to answer as in {talk.place}, where a message has "
                    f"{message['content']!r:.80}, got {observation!r:.80}"
                )
        env.end("stopped")
    assert env.last is not None
    return env.last


def _response(message: Message) -> str:
    """Return the text of a response, with its call in the grammar ``tool_call``."""
    functions = [call["function"] for call in message.get("tool_calls") or ()]
    calls = [call_text(function["name"], function["arguments"]) for function in functions]
    return "\n".join([text for text in (message["content"],) if text] + calls)
