"""Tools that JSON schemas describe, as actions: of Python functions and of other projects."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentgym.actions import ActionSpec, Param, render
from agentgym.actions.specs import ANY, JSON_TYPES, ActionCall
from agentgym.actions.templates import call_templates
from agentgym.authoring.tools.json_schemas import (
    NULLABLE,
    fields_of,
    json_type,
    plain_schema,
    shape,
    types_of,
)
from agentgym.errors import ConfigurationError
from agentgym.support.strict_json import parse_json

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
class CallRecord:
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
class ToolAction:
    """A tool, and the action that stands for it."""

    name: str
    """Its own name."""
    spec: ActionSpec
    """The action."""
    fields: Mapping[str, str]
    """Its own names of its arguments, by those of the action's parameters."""
    kinds: Mapping[str, frozenset[str]]
    """JSON's types of the parameters whose value is JSON; empty: all."""
    null: tuple[str, ...] = ()
    """Its own names of the arguments that it needs and that may be null: left out, they are."""

    def arguments(self, call: ActionCall) -> dict[str, Any]:
        """Return the arguments of a call, as the tool takes them.

        Raises:
            BadArgument: One is no JSON where it has to be.
        """
        arguments = {
            self.fields[name]: self._value(name, text) for name, text in call.arguments.items()
        }
        return {**dict.fromkeys(self.null), **arguments}

    def _value(self, name: str, text: str) -> Any:
        param = self.spec.param(name)
        if name in self.kinds:
            return _decoded(name, text, self.kinds[name])
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
        return [
            dict(choice) for choice in itertools.islice(itertools.product(*choices), MOST_OFFERED)
        ]


def make_tool(
    name: str, description: str, schema: object, used_names: Iterable[str] = ()
) -> ToolAction:
    """Make the action of a tool.

    Args:
        name: Its name.
        description: What it does.
        schema: JSON schema of its arguments, an object.
        used_names: Names, in lower case, that other actions have.

    Raises:
        ConfigurationError: The schema is none of an object with named arguments.
    """
    arguments = _arguments(schema)
    if arguments is None:
        raise ConfigurationError(
            f"expected the tool {name!r:.80} to have a JSON schema of an object, got "
            f"{schema!r:.200}"
        )
    properties, required = arguments
    fields: dict[str, str] = {}
    params: list[Param] = []
    null = tuple(field for field in required if _may_be_left_out(properties[field]))
    needed = [field for field in required if field not in null]
    for field in sorted(properties, key=lambda field: field not in needed):
        word = identifier(field, [word.lower() for word in fields])
        fields[word] = field
        params.append(_param(word, properties[field], field in needed))
    word = identifier(name, used_names)
    spec = ActionSpec(
        word, _line(description) or name, tuple(params), native=call_templates(word, params)
    )
    kinds = {
        param.name: types_of(properties[fields[param.name]])
        for param in params
        if param.type in JSON_TYPES
    }
    return ToolAction(name, spec, fields, kinds, null)


def _arguments(schema: object) -> tuple[dict[str, Any], list[str]] | None:
    """Return the plain schemas of a tool's arguments, and which it needs; None: it names none."""
    plain_keywords = plain_schema(schema)
    schema_properties = schema.get("properties", {}) if isinstance(schema, Mapping) else None
    required = schema.get("required", []) if isinstance(schema, Mapping) else None
    if (
        not isinstance(schema_properties, Mapping)
        or not all(isinstance(part, Mapping | bool) for part in schema_properties.values())
        or not isinstance(required, list | tuple)
        or plain_keywords.get("type", "object") != "object"
    ):
        return None
    properties, needed = fields_of(plain_keywords)
    if not all(name in properties for name in (*needed, *required)):
        return None
    return properties, needed


def _may_be_left_out(schema: Mapping[str, Any]) -> bool:
    """Return whether null is a value of an argument that no text of another type can say."""
    return bool(schema.get(NULLABLE)) and len(types_of(schema)) == 1


def _decoded(name: str, text: str, kinds: frozenset[str]) -> Any:
    """Return the value that a JSON text stands for; a text, where only a text fits.

    Raises:
        BadArgument: It is of another type than the tool takes.
    """
    try:
        value = parse_json(text)
    except ValueError as error:
        raise BadArgument(f"invalid: {name} must be JSON, but: {error}") from error
    kind = json_type(value)
    if not kinds or value is None or kind in kinds or (kind == "integer" and "number" in kinds):
        return value
    if "string" in kinds:
        return text
    raise BadArgument(f"invalid: {name} must be JSON of type {' or '.join(sorted(kinds))}")


def neutral_call(tool: ToolAction) -> str:
    """Write a call with plain values, to try whether a tool works where no call is known to."""
    neutral_schema = {
        "boolean": "false", "integer": "1", "number": "1", "array": "[]", "object": "{}", ANY: "1"
    }  # fmt: skip
    arguments = {
        param.name: param.enum[0] if param.enum else neutral_schema.get(param.type, "a")
        for param in tool.spec.params
        if param.required
    }
    return render(ActionCall(tool.spec.name, arguments), (tool.spec,), "native")


def identifier(name: str, used_names: Iterable[str]) -> str:
    """Write a name as that of an action or a parameter; ``used_names`` are in lower case."""
    word = re.sub(r"[^A-Za-z0-9_]+", "_", name)[:LONGEST]
    if not re.match(r"[A-Za-z]", word) or word.lower() in RESERVED:
        word = f"x_{word}"[:LONGEST]
    if word.lower() not in set(used_names):
        return word
    return (
        f"{word[: LONGEST - 9]}_{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"
    )


def _param(word: str, schema: Mapping[str, Any], required: bool) -> Param:
    """Declare an argument."""
    kinds, text = types_of(schema), _line(str(schema.get("description", "")))
    if schema.get("default") is not None:
        text = _sentences(text, f"Default: {json.dumps(schema['default'])[:80]}.")
    kind = next(iter(kinds)) if len(kinds) == 1 else ANY
    if kind in JSON_TYPES:
        inner = types_of(schema.get("items", {})) if kind == "array" else frozenset()
        items = next(iter(inner)) if len(inner) == 1 else ""
        if "JSON:" not in text and shape(schema) not in (kind, f"[{items}, ...]", shape({})):
            text = _sentences(text, f"JSON: {_line(shape(schema))}")
        return Param(word, kind, text, required, items=items, schema=_schema_text(schema))
    enum = _enum(schema.get("enum"), kind)
    free = kind == "string" and not enum
    return Param(word, kind, text, required, enum, verbatim=free)


def _sentences(text: str, more: str) -> str:
    """Return a description and a sentence behind it."""
    return f"{text}{'' if text.endswith('.') else '.'} {more}" if text else more


def _schema_text(schema: Mapping[str, Any]) -> str:
    """Return what a function-calling schema says of a value of JSON."""
    return json.dumps({key: value for key, value in schema.items() if key != "description"})


def _enum(values: object, kind: str) -> tuple[str, ...]:
    """Return the only values of an argument, where they can be written on a line."""
    if not isinstance(values, list) or kind == "boolean":
        return ()
    texts = [value if isinstance(value, str) else json.dumps(value) for value in values]
    writable = all(text and text == " ".join(text.split()) for text in texts)
    return tuple(texts) if writable and len({text.lower() for text in texts}) == len(texts) else ()


def _line(text: str) -> str:
    """Write a description on one line of bounded length."""
    return " ".join(text.split())[:LONGEST_TEXT]
