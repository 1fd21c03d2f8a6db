"""The form of a game's JSON: every part that an engine reads, and of what type it must be.

Game files come from users. An error is reported when the file is read, with its place in the file,
not by the engine some turns later.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from agentgym.errors import DataError

Shape = Any
"""A type or several (``bool`` is no number); ``[shape]`` for a list, ``(shape, shape)`` for a pair;
a dict for an object, its keys ending in ``?`` where a part may be left out or null."""

NUMBER = (int, float)
FACT = {"name": str, "arguments": [{"name": str, "type": str}]}
ACTION = {
    "name": str, "preconditions": [FACT], "postconditions": [FACT], "command_template?": str,
    "reverse_name?": str, "reverse_command_template?": str,
}  # fmt: skip
EVENT = {"condition": {"preconditions": [FACT]}, "actions": [ACTION]}
INFO = {
    "id": str, "type": str, "synonyms?": [str],
    **{f"{name}?": str
       for name in ("name", "noun", "adj", "desc", "definite", "indefinite", "room_type")},
}  # fmt: skip
GAME = {
    "world": [FACT],
    "quests": [
        {"reward": NUMBER, "win_events": [EVENT], "fail_events": [EVENT], "optional?": bool,
         "repeatable?": bool}
    ],
    "infos": [(str, INFO)],
    "KB": {"logic": str},
    "metadata": {"agentgym?": {"plan?": [str]}, "walkthrough?": [str]},
    "objective?": str,
}  # fmt: skip
_NAMES: dict[Any, str] = {
    str: "a text", bool: "true or false", NUMBER: "a number below a billion",
}  # fmt: skip


def check_game(game: Any) -> None:
    """Refuse JSON that is not a game an engine can play.

    Raises:
        DataError: A part is missing or of another type, or a fact names something that is not in
            ``infos``; the message says where.
    """
    _check(GAME, game, "")
    entities = {key for key, _ in game["infos"]}
    for number, fact in enumerate(game["world"]):
        path = f"world[{number}].arguments"
        if not fact["arguments"]:
            raise _data_error(path, "what the fact is about", [])
        for argument in fact["arguments"]:
            if argument["name"] not in entities:
                raise _data_error(path, "names that 'infos' explains", argument["name"])


def _check(shape: Shape, value: Any, path: str) -> None:
    """Compare a value with a shape."""
    if isinstance(shape, list):
        if not isinstance(value, list):
            raise _data_error(path, "a list", value)
        for number, entry in enumerate(value):
            _check(shape[0], entry, f"{path}[{number}]")
    elif isinstance(shape, dict):
        _check_object(shape, value, path)
    elif isinstance(shape, tuple) and shape is not NUMBER:
        if not isinstance(value, list) or len(value) != len(shape):
            raise _data_error(path, f"a list of {len(shape)}", value)
        for number, (part, entry) in enumerate(zip(shape, value, strict=True)):
            _check(part, entry, f"{path}[{number}]")
    elif not isinstance(value, shape) or (shape is NUMBER and not _finite(value)):
        raise _data_error(path, _NAMES[shape], value)


def _check_object(shape: Mapping[str, Shape], value: Any, path: str) -> None:
    """Compare the parts of an object with their shapes."""
    if not isinstance(value, dict):
        raise _data_error(path, "an object", value)
    for key, part in shape.items():
        name = key.removesuffix("?")
        place = f"{path}.{name}" if path else name
        if value.get(name) is not None:
            _check(part, value[name], place)
        elif name == key:
            raise _data_error(place, _name(part), None)


def _name(shape: Shape) -> str:
    """Describe a shape in words."""
    if isinstance(shape, (list, dict)):
        return "a list" if isinstance(shape, list) else "an object"
    return _NAMES[shape]


def _finite(value: Any) -> bool:
    return not isinstance(value, bool) and math.isfinite(value) and abs(value) < 1e9


def _data_error(path: str, expected: str, value: Any) -> DataError:
    text = "nothing" if value is None else f"{value!r:.80}"
    return DataError(f"expected {expected} in {path or 'the file'}, got {text}")
