"""An environment's actions as Python functions, with the signatures that frameworks read."""

from __future__ import annotations

import asyncio
import inspect
import keyword
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import Any, Literal

from agentgym.actions import ActionSpec, Param
from agentgym.actions.specs import JSON_TYPES

TYPES: Mapping[str, type] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    **JSON_TYPES,
}
"""Python's types of arguments, by JSON's."""


def tool_function(
    spec: ActionSpec, call: Callable[[str, Mapping[str, Any]], str]
) -> Callable[..., str]:
    """Make a Python function of an action, with its signature and docstring.

    Args:
        spec: The action.
        call: Executes a call, given the name of the tool and its arguments by name.
    """
    names = {_python_name(param.name): param.name for param in spec.params}

    def tool(*args: Any, **kwargs: Any) -> str:
        if len(args) > len(names):
            raise TypeError(
                f"{tool.__name__}() takes {len(names)} arguments, but {len(args)} were given"
            )
        values = {**dict(zip(names, args, strict=False)), **kwargs}
        return call(spec.name, {names.get(key, key): values[key] for key in values})

    hints = {_python_name(param.name): _hint(param) for param in spec.params}
    parameters = [
        inspect.Parameter(
            _python_name(param.name),
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=inspect.Parameter.empty if param.required else None,
            annotation=hints[_python_name(param.name)],
        )
        # Python requires parameters with defaults to come last.
        for param in sorted(spec.params, key=lambda param: not param.required)
    ]
    # Positional arguments come in the order of this signature, so bind them by it.
    names = {parameter.name: names[parameter.name] for parameter in parameters}
    tool.__name__ = tool.__qualname__ = _python_name(spec.name)
    tool.__doc__ = _docstring(spec, names)
    tool.__annotations__ = {**hints, "return": str}
    signature = inspect.Signature(parameters, return_annotation=str)
    tool.__signature__ = signature  # type: ignore[attr-defined]  # read by inspect
    return tool


def make_async(tool: Callable[..., str]) -> Callable[..., Coroutine[Any, Any, str]]:
    """Make a coroutine function of a tool, which runs it in a thread."""

    @wraps(tool)
    async def later(*args: Any, **kwargs: Any) -> str:
        return await asyncio.to_thread(tool, *args, **kwargs)

    later.__annotations__ = tool.__annotations__  # not by wraps from Python 3.14 on
    del later.__wrapped__  # whoever unwraps would call the other one
    return later


def _python_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def _hint(param: Param) -> Any:
    """Return the type of an argument, as its values are written in Python."""
    hint: Any = TYPES[param.type]
    if param.enum and param.type == "string":
        hint = Literal[param.enum]  # known at run time only
    return hint if param.required else hint | None


def _docstring(spec: ActionSpec, names: Mapping[str, str]) -> str:
    """Write a docstring in the form that frameworks parse."""
    lines = [spec.description]
    if names:
        lines += ["", "Args:"]
    for python_name, name in names.items():
        param = spec.param(name)
        assert param is not None
        lines.append(f"    {python_name}: {param.description or name}")
    return "\n".join([*lines, "", "Returns:", "    What the environment answers."])
