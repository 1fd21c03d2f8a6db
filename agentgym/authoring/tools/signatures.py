"""Python functions as tools: what a signature and a docstring say becomes an action."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from agentgym.actions import ActionSpec
from agentgym.actions.specs import JSON_TYPES, ActionCall
from agentgym.authoring.tools.docstrings import read_docstring
from agentgym.authoring.tools.hints import fitted, optional, schema_of, words
from agentgym.authoring.tools.tool_actions import ToolAction, make_tool
from agentgym.errors import ConfigurationError

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True)
class TypedTool:
    """A function as an action, and the types of its arguments."""

    tool: ToolAction
    """The action."""
    hints: Mapping[str, Any]
    """Annotations of its arguments."""
    filled: tuple[str, ...]
    """Arguments that may be None and have no default: left out, they are None."""

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.tool.name

    @property
    def spec(self) -> ActionSpec:
        """The action."""
        return self.tool.spec

    def arguments(self, call: ActionCall) -> dict[str, Any]:
        """Return the arguments of a call, of the types that the function asks for.

        Raises:
            BadArgument: One is of another type; the message is for the policy.
        """
        arguments = self.tool.arguments(call)
        checked = {name: fitted(value, self.hints[name], name) for name, value in arguments.items()}
        return {**dict.fromkeys(self.filled), **checked}


def typed_tool(
    function: Callable[..., Any], used_names: Iterable[str] = (), *, method: bool = False
) -> TypedTool:
    """Make a tool of a function.

    Args:
        function: The function, sync or async.
        used_names: Names, in lower case, that other actions have.
        method: Whether its first argument is the object, which no call gives.

    Raises:
        ConfigurationError: It has no docstring, or an argument that a call cannot give; the message
            says which.
    """
    name = getattr(function, "__name__", "")
    if not inspect.isroutine(function) or not name.isidentifier():
        raise ConfigurationError(
            f"expected a tool to be a function with a name, got {function!r:.120}; use def"
        )
    about, descriptions = read_docstring(function.__doc__)
    if not about:
        raise ConfigurationError(
            f"expected the tool {name} to have a docstring, which tells the agent what it does"
        )
    hints = _hints(function, name)
    parameters = list(inspect.signature(function).parameters.values())[method:]
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in parameters:
        owner = f"the argument {parameter.name} of the tool {name}"
        if parameter.kind not in _NAMED:
            raise ConfigurationError(f"expected {owner} to be given by its name, got {parameter}")
        if parameter.name not in hints:
            raise ConfigurationError(f"expected {owner} to have an annotation, such as `: int`")
        hint, nullable = optional(hints[parameter.name])
        schema = schema_of(hint, owner)
        schema["description"] = _describe_argument(
            descriptions.get(parameter.name, ""), schema, hint, parameter
        )
        properties[parameter.name] = schema
        if parameter.default is inspect.Parameter.empty and not nullable:
            required.append(parameter.name)
    tool = make_tool(name, about, {"properties": properties, "required": required}, used_names)
    argument_hints = {parameter.name: hints[parameter.name] for parameter in parameters}
    filled = tuple(
        parameter.name
        for parameter in parameters
        if parameter.name not in required and parameter.default is inspect.Parameter.empty
    )
    return TypedTool(tool, argument_hints, filled)


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    """Return the annotations of a function, those written as text resolved."""
    try:
        return get_type_hints(function)
    except Exception as error:
        raise ConfigurationError(
            f"expected the annotations of the tool {name} to name types that its module knows: "
            f"{type(error).__name__}: {error}"
        ) from error


def _describe_argument(
    about: str, schema: Mapping[str, Any], hint: Any, parameter: inspect.Parameter
) -> str:
    """Describe an argument: its words, what JSON it is, and what holds where it is left out."""
    parts = [about]
    if schema["type"] in JSON_TYPES:
        parts.append(f"JSON: {words(hint)}.")
    if parameter.default not in (inspect.Parameter.empty, None):
        parts.append(f"Default: {parameter.default!r:.80}.")
    return " ".join(part for part in parts if part)
