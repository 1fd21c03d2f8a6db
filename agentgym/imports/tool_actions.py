"""Tools of other projects, described by JSON schemas, as actions."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgym.actions import ActionSpec, Param
from agentgym.actions.specs import JSON_TYPES, PLAIN_TYPES, ActionCall
from agentgym.errors import ConfigurationError

MOST_OPTIONAL = 4
"""Most arguments of a tool that may be left out; further ones cannot be given."""
MOST_OFFERED = 64
"""Most calls of a tool that are listed as admissible."""
LONGEST = 64
"""Most characters of a name."""
LONGEST_TEXT = 2000
"""Most characters of a description that are shown."""
RESERVED = ("think", "tool_call", "tool_response")
"""Names that an action cannot have."""


class BadArgument(ValueError):
    """An argument is not what its schema says; the message is for the policy."""


@dataclass(frozen=True)
class Called:
    """A call of a tool, as a reward function reads it."""

    tool: str
    """Name of the tool."""
    arguments: Mapping[str, Any]
    """Its arguments."""
    answer: str
    """The text of its answer."""
    failed: bool
    """Whether the tool says that it failed."""


@dataclass(frozen=True)
class Tool:
    """A tool, and the action that stands for it."""

    name: str
    """Its own name."""
    spec: ActionSpec
    """The action."""
    fields: Mapping[str, str]
    """Its own names of its arguments, by those of the action's parameters."""
    encoded: frozenset[str]
    """Parameters whose value is JSON: lists, objects, and what may be of several types."""

    def arguments(self, call: ActionCall) -> dict[str, Any]:
        """Return the arguments of a call, as the tool takes them.

        Raises:
            BadArgument: One is no JSON where it has to be.
        """
        return {self.fields[name]: self._value(name, text) for name, text in call.arguments.items()}

    def _value(self, name: str, text: str) -> Any:
        param = self.spec.param(name)
        if name in self.encoded:
            try:
                return json.loads(text)
            except (ValueError, RecursionError) as error:
                raise BadArgument(f"invalid: {name} must be JSON, but: {error}") from error
        if param is None or param.type == "string":
            return text
        if param.type == "boolean":
            return text == "true"
        return int(text) if param.type == "integer" else float(text)

    def offered(self) -> list[dict[str, str]]:
        """List the arguments of calls that can be listed: every one has few values."""
        choices: list[list[tuple[str, str]]] = []
        for param in self.spec.params:
            values = param.enum or (("true", "false") if param.type == "boolean" else ())
            if param.required and not values:
                return []
            if param.required:
                choices.append([(param.name, value) for value in values])
        return [dict(each) for each in itertools.islice(itertools.product(*choices), MOST_OFFERED)]


def make_tool(name: str, description: str, schema: object, taken: Iterable[str] = ()) -> Tool:
    """Make the action of a tool.

    Args:
        name: Its name.
        description: What it does.
        schema: JSON schema of its arguments, an object.
        taken: Names, in lower case, that other actions have.

    Raises:
        ConfigurationError: The schema is none of an object with named arguments.
    """
    properties = schema.get("properties", {}) if isinstance(schema, Mapping) else None
    required = schema.get("required", ()) if isinstance(schema, Mapping) else ()
    if (
        not isinstance(properties, Mapping)
        or not isinstance(required, list | tuple)
        or not all(isinstance(each, Mapping) for each in properties.values())
        or not all(each in properties for each in required)
    ):
        raise ConfigurationError(
            f"expected the tool {name!r:.80} to have a JSON schema of an object, got "
            f"{schema!r:.200}"
        )
    given = sorted(properties, key=lambda each: each not in required)
    left_out = [each for each in given if each not in required][MOST_OPTIONAL:]
    fields: dict[str, str] = {}
    params: list[Param] = []
    for field in given:
        if field not in left_out:
            word = identifier(str(field), [each.lower() for each in fields])
            fields[word] = str(field)
            params.append(_param(word, properties[field], field in required))
    word = identifier(name, taken)
    spec = ActionSpec(word, _line(description) or name, tuple(params), native=_native(word, params))
    encoded = frozenset(
        each for each, field in fields.items() if _kind(properties[field]) not in PLAIN_TYPES
    )
    return Tool(name, spec, fields, encoded)


def identifier(name: str, taken: Iterable[str]) -> str:
    """Write a name as that of an action or a parameter; ``taken`` are in lower case."""
    word = re.sub(r"[^A-Za-z0-9_]+", "_", name)[:LONGEST]
    if not re.match(r"[A-Za-z]", word) or word.lower() in RESERVED:
        word = f"x_{word}"[:LONGEST]
    if word.lower() not in set(taken):
        return word
    return (
        f"{word[: LONGEST - 9]}_{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"
    )


def _param(word: str, schema: Mapping[str, Any], required: bool) -> Param:
    """Declare an argument."""
    kind, text = _kind(schema), _line(str(schema.get("description", "")))
    if kind in JSON_TYPES:
        return Param(word, kind, text, required, items=_items(schema))
    if kind not in PLAIN_TYPES:
        text = f"{text} As JSON.".strip()
        return Param(word, description=text, required=required, verbatim=True)
    enum = _enum(schema.get("enum"), kind)
    free = kind == "string" and not enum
    return Param(word, kind, text, required, enum, verbatim=free)


def _kind(schema: Mapping[str, Any]) -> str:
    """Return the type of an argument: of two that which is not null, "any" if there are more."""
    kinds = schema.get("type")
    if kinds is None:
        options = [each for each in schema.get("anyOf") or () if isinstance(each, Mapping)]
        kinds = [each.get("type") for each in options]
        if "enum" in schema and all(isinstance(each, str) for each in schema["enum"]):
            return "string"
    if isinstance(kinds, list):
        plain = [each for each in kinds if each != "null"]
        kinds = plain[0] if len(plain) == 1 else "any"
    return str(kinds)


def _items(schema: Mapping[str, Any]) -> str:
    """Return the type of a list's values, or "" where there is not one."""
    options = [schema, *(each for each in schema.get("anyOf") or () if isinstance(each, Mapping))]
    found = [each["items"] for each in options if isinstance(each.get("items"), Mapping)]
    kind = _kind(found[0]) if found else ""
    return kind if kind in (*PLAIN_TYPES, *JSON_TYPES) else ""


def _enum(values: object, kind: str) -> tuple[str, ...]:
    """Return the only values of an argument, where they can be written on a line."""
    if not isinstance(values, list) or kind == "boolean":
        return ()
    texts = [each if isinstance(each, str) else json.dumps(each) for each in values]
    written = all(text and text == " ".join(text.split()) for text in texts)
    return tuple(texts) if written and len({text.lower() for text in texts}) == len(texts) else ()


def _native(word: str, params: Sequence[Param]) -> str | tuple[str, ...]:
    """Return templates for every choice of the arguments that may be left out."""
    if not params:
        return ""
    if len(params) == 1:
        name, free = params[0].name, params[0].verbatim
        short = (f"{word}[{{{name}}}]",)
        # Brackets end a value in which they do not pair, as in code; a fence does not.
        fenced = (f"```{word}\n<{name}>{{{name}}}</{name}>\n```",) if free else ()
        return (*short, *fenced) if params[0].required else (*short, *fenced, word)
    needed = [param for param in params if param.required]
    others = [param for param in params if not param.required]
    templates = []
    for size in range(len(others), -1, -1):
        for some in itertools.combinations(others, size):
            names = [param.name for param in (*needed, *some)]
            rows = [f"<{name}>{{{name}}}</{name}>" for name in names]
            templates.append("\n".join((f"```{word}", *rows, "```")))
    return tuple(templates)


def _line(text: str) -> str:
    """Write a description on one line of bounded length."""
    return " ".join(text.split())[:LONGEST_TEXT]
