"""`ActionSpec` declares an action of an environment; `ActionCall` is one use of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from agentgym.errors import ConfigurationError

GRAMMARS = ("native", "xml", "react", "tool_call", "action_tag")
"""Names of the text grammars in which an action can be written."""

MAX_ACTION_CHARS = 32_768
"""Maximum number of characters of an action, and of text without one that an environment sees."""

MAX_TEXT_CHARS = 1 << 17
"""Maximum number of characters of an agent's text (thinking removed) that are searched for an
action; larger than an action, because models also reason without thinking markers."""

PLAIN_TYPES = ("string", "integer", "number", "boolean")
"""JSON types of arguments that are written without JSON syntax."""

ANY = "any"
"""Type of an argument that takes any JSON value; text that is not JSON becomes a JSON string."""

JSON_TYPES: Mapping[str, type] = {"array": list, "object": dict, ANY: object}
"""Types of arguments that are written as JSON, mapped to Python types."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_RESERVED = frozenset({"think", "tool_call", "tool_response"})
PLACEHOLDER = re.compile(r"\{([A-Za-z][A-Za-z0-9_]{0,63})\??\}")
OPTIONAL = re.compile(r"\{([A-Za-z][A-Za-z0-9_]{0,63})\?\}")
"""A placeholder whose whole line may be left out."""


def _check_name(kind: str, name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"{kind} names are 1 to 64 ASCII letters, digits or '_' and start with a letter, "
            f"got {name!r}: choose such a name"
        )
    if name.lower() in _RESERVED:
        raise ConfigurationError(
            f"{kind} name {name!r} is reserved for the grammars ({', '.join(sorted(_RESERVED))}): "
            "choose another name"
        )


@dataclass(frozen=True)
class Param:
    """One argument of an action.

    Values are always text. White space in a plain value is collapsed (``" red shoes "`` becomes
    ``"red shoes"``); a verbatim value is kept exactly, as shell commands and file contents require.
    """

    name: str
    """Identifier, unique within its action."""
    type: str = "string"
    """JSON type: ``string``, ``integer``, ``number``, ``boolean``, or ``array``, ``object`` and
    ``any``, whose values are JSON on one line."""
    description: str = ""
    """One line for prompts and schemas."""
    required: bool = True
    """Whether a call must include it."""
    enum: tuple[str, ...] = ()
    """Allowed values, case-insensitive; empty means any."""
    verbatim: bool = False
    """Keep white space and line breaks exactly (strings only)."""
    items: str = ""
    """JSON type of the values of an array, for schemas; empty means any."""
    schema: str = ""
    """JSON schema of a value that is JSON, as text; empty means one of ``type`` and ``items``."""

    def __post_init__(self) -> None:
        """Validate the declaration."""
        _check_name("parameter", self.name)
        types = (*PLAIN_TYPES, *JSON_TYPES)
        if self.type not in types:
            raise ConfigurationError(
                f"parameter {self.name!r}: type must be one of {', '.join(types)}, "
                f"got {self.type!r}"
            )
        if self.items and (self.type != "array" or self.items not in types):
            raise ConfigurationError(
                f"parameter {self.name!r}: items needs type 'array' and must be one of "
                f"{', '.join(types)}, got type {self.type!r} and items {self.items!r}"
            )
        if self.schema and self.type not in JSON_TYPES:
            raise ConfigurationError(
                f"parameter {self.name!r}: schema needs one of the types {', '.join(JSON_TYPES)}, "
                f"got {self.type!r}"
            )
        if self.enum and self.type in JSON_TYPES:
            raise ConfigurationError(
                f"parameter {self.name!r}: enum needs one of the types {', '.join(PLAIN_TYPES)}, "
                f"got {self.type!r}"
            )
        object.__setattr__(self, "enum", tuple(self.enum))
        if self.verbatim and (self.type != "string" or self.enum):
            raise ConfigurationError(
                f"parameter {self.name!r}: verbatim needs type 'string' and no enum, "
                f"got type {self.type!r} and enum {self.enum!r}"
            )
        for value in self.enum:
            if not isinstance(value, str) or value != " ".join(value.split()) or not value:
                raise ConfigurationError(
                    f"parameter {self.name!r}: enum values are non-empty strings with single "
                    f"spaces, got {value!r}"
                )


@dataclass(frozen=True)
class ActionSpec:
    """An action of an environment, from which prompts, parsers and schemas are derived."""

    name: str
    """Identifier, unique in the environment."""
    description: str
    """One sentence that describes the action."""
    params: tuple[Param, ...] = ()
    """Arguments, in order."""
    terminal: bool = False
    """Whether the action ends the episode."""
    examples: tuple[str, ...] = ()
    """Example calls in native text; prompts of other grammars show them translated."""
    native: str | tuple[str, ...] = ""
    """Template(s) of the native text such as ``search[{query}]``. A call is written with the first
    template that has exactly its arguments and keeps every value intact. In a block of lines with
    one argument each, those with ``{name?}`` may be left out, and the order does not matter.
    Empty: ``name`` or ``name[{param}]``."""

    def __post_init__(self) -> None:
        """Validate the declaration."""
        _check_name("action", self.name)
        object.__setattr__(self, "params", tuple(self.params))
        object.__setattr__(self, "examples", tuple(self.examples))
        if not isinstance(self.native, str):
            object.__setattr__(self, "native", tuple(self.native))
        names = [param.name for param in self.params]
        if len(set(names)) != len(names):
            raise ConfigurationError(
                f"action {self.name!r}: parameter names must differ, got {names}"
            )
        for template in self.templates:
            self._check_template(template, names)

    def __hash__(self) -> int:
        """Hash once: tuples of specs are keys of the parsers' caches, looked up on every turn."""
        digest = self.__dict__.get("_hash")
        if digest is None:
            digest = hash((self.name, self.description, self.params, self.native, self.examples))
            object.__setattr__(self, "_hash", digest)
        return int(digest)

    def __getstate__(self) -> dict[str, object]:
        """Leave the hash out of pickles: ``hash`` of a string differs from process to process."""
        return {key: value for key, value in self.__dict__.items() if key != "_hash"}

    def _check_template(self, template: str, names: list[str]) -> None:
        placeholders = PLACEHOLDER.findall(template)
        required = {param.name for param in self.params if param.required}
        if (
            not template.strip()
            or len(set(placeholders)) != len(placeholders)
            or not required <= set(placeholders) <= set(names)
        ):
            raise ConfigurationError(
                f"action {self.name!r}: a native template must name each of {sorted(required)} "
                f"once and nothing beyond {names}, got {template!r}"
            )
        if not required.isdisjoint(OPTIONAL.findall(template)):
            raise ConfigurationError(
                f"action {self.name!r}: only parameters that are not required may be left out of "
                f"{template!r}"
            )
        if "}{" in template and re.search(r"\}\{[A-Za-z]", template):
            raise ConfigurationError(
                f"action {self.name!r}: put text between the parameters of {template!r}, "
                "else their values cannot be told apart"
            )

    @property
    def templates(self) -> tuple[str, ...]:
        """The native templates, with the default filled in.

        Raises:
            ConfigurationError: The action has several parameters and no template.
        """
        if self.native:
            return (self.native,) if isinstance(self.native, str) else self.native
        if len(self.params) > 1:
            raise ConfigurationError(
                f"action {self.name!r} has {len(self.params)} parameters: give it a native "
                "template such as 'put {object} in {place}'"
            )
        if not self.params:
            return (self.name,)
        filled = f"{self.name}[{{{self.params[0].name}}}]"
        return (filled,) if self.params[0].required else (filled, self.name)

    def param(self, name: str) -> Param | None:
        """Return the parameter with this name, or None."""
        return next((param for param in self.params if param.name == name), None)


@dataclass(frozen=True, slots=True)
class ActionCall:
    """An action with its arguments."""

    name: str
    """Name of the `ActionSpec`."""
    arguments: dict[str, str] = field(default_factory=dict)
    """Values of the arguments as text, by parameter name."""


class Parsed(NamedTuple):
    """Result of parsing an agent's text."""

    call: ActionCall | None
    """The first complete action, or None."""
    native: str = ""
    """The action in native text, which the environment executes. In the native grammar, text that
    matches no template is passed to the environment unchanged."""
    trailing: str = ""
    """Text after the action."""
    error: str = ""
    """Why there is no action to execute; empty if there is one."""


def check_specs(specs: tuple[ActionSpec, ...]) -> Mapping[str, ActionSpec]:
    """Validate the actions of an environment and index them by lower-cased name.

    Raises:
        ConfigurationError: There is no action, or two names differ only by case.
    """
    table = {spec.name.lower(): spec for spec in specs}
    if not specs or len(table) != len(specs):
        raise ConfigurationError(
            "an environment needs at least one action and names that differ by more than case, "
            f"got {[spec.name for spec in specs]}"
        )
    return table


def check_grammar(grammar: str) -> str:
    """Return the name of a grammar after checking it.

    Raises:
        ConfigurationError: The name is not one of `GRAMMARS`.
    """
    if grammar not in GRAMMARS:
        raise ConfigurationError(
            f"expected grammar to be one of {', '.join(GRAMMARS)}; got {grammar!r:.80}"
        )
    return grammar
