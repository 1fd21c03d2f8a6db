"""The tools of an episode: plain functions, or the methods of an object."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from agentgym.authoring.tools.signatures import TypedTool, typed_tool
from agentgym.errors import ConfigurationError, EnvFailure, NotSupported

OWN = ("close", "snapshot", "restore")
"""Public methods that are no tools: they free an object, and copy its state where `copy.deepcopy`
cannot."""
EXPECTED = (
    "expected tools to be a list of functions, a class whose methods are the tools, or a function "
    "of a task that returns an object of such a class or a list of functions"
)

Functions = Mapping[str, Callable[..., Any]]


class ToolState(NamedTuple):
    """The state of an episode's tools."""

    from_object: bool
    """Whether the object's own ``snapshot`` returned it."""
    state: Any
    """It, or a copy of the object; None for plain functions."""


class ToolSet:
    """The tools of one episode.

    Args:
        functions: They, by their names.
        holder: The object whose methods they are; None for plain functions.
        stateless: Whether they may be taken to hold no state of an episode.
    """

    def __init__(self, functions: Functions, holder: object, stateless: bool) -> None:
        self.functions, self.holder, self._stateless = functions, holder, stateless

    def snapshot(self) -> ToolState:
        """Return a copy of the state.

        Raises:
            NotSupported: It cannot be copied.
        """
        if self.holder is None:
            if self._stateless:
                return ToolState(False, None)
            raise NotSupported(
                "expected tools that can be copied to fork an episode, got functions made for a "
                "task, whose state nobody knows: return an object whose methods are the tools"
            )
        name = type(self.holder).__name__
        try:
            if hasattr(self.holder, "snapshot"):
                return ToolState(True, self.holder.snapshot())
            return ToolState(False, copy.deepcopy(self.holder))
        except NotSupported:
            raise
        except Exception as error:
            raise NotSupported(
                f"expected {name} to be one that copy.deepcopy copies, to fork an episode, got "
                f"{type(error).__name__}: {error}; give it `snapshot` and `restore`"
            ) from error

    def close(self) -> None:
        """Free the object, if it has something to free."""
        if hasattr(self.holder, "close"):
            self.holder.close()


class ToolSource:
    """What makes the tools of each episode.

    Args:
        tools: Functions, a class, or a function that makes one of these of a task.
        example: Returns a task's row, from which such a function tells what tools there are.

    Attributes:
        typed: The tools, which are the same in every episode.

    Raises:
        ConfigurationError: It is none of these, or a function cannot be a tool.
    """

    def __init__(self, tools: Any, example: Callable[[], Mapping[str, Any]]) -> None:
        self._tools = tools
        self._looked_at: type | None = None
        self.typed: tuple[TypedTool, ...] = declared(tools)
        if not self.typed:
            toolbox = self._make_toolbox(example(), np.random.Generator(np.random.PCG64(0)))
            self.typed = _typed_result(toolbox)
            if not _is_list(toolbox):
                self.around(toolbox).close()

    def make(self, row: Mapping[str, Any], rng: np.random.Generator) -> ToolSet:
        """Make the tools of an episode.

        Raises:
            EnvFailure: They are others than those of another task.
        """
        if _is_list(self._tools):
            return ToolSet(_by_name(self._tools), None, stateless=True)
        toolbox = self._make_toolbox(row, rng)
        if not inspect.isclass(self._tools):
            self._check(toolbox)
        if _is_list(toolbox):
            return ToolSet(_by_name(toolbox), None, stateless=False)
        return self.around(toolbox)

    def around(self, holder: object) -> ToolSet:
        """Return the tools that are methods of an object."""
        methods = {tool.name: getattr(holder, tool.name) for tool in self.typed}
        return ToolSet(methods, holder, stateless=False)

    def restored(self, snapshot: ToolState, row: Mapping[str, Any]) -> ToolSet:
        """Return the tools as they were when `ToolSet.snapshot` kept them."""
        if not snapshot.from_object and snapshot.state is not None:
            return self.around(copy.deepcopy(snapshot.state))
        fresh = self.make(row, np.random.Generator(np.random.PCG64(0)))
        if snapshot.from_object:
            holder: Any = fresh.holder
            holder.restore(snapshot.state)
        return fresh

    def _check(self, toolbox: object) -> None:
        """Refuse other tools than those of another task; a class is looked at once."""
        if type(toolbox) is self._looked_at:
            return
        if _typed_result(toolbox) != self.typed:
            raise EnvFailure("expected the same tools for every task, got others for this one")
        if not _is_list(toolbox):
            self._looked_at = type(toolbox)

    def _make_toolbox(self, row: Mapping[str, Any], rng: np.random.Generator) -> Any:
        """Call the class or function with as much as it takes: nothing, the row, the generator."""
        parameters = [
            parameter
            for parameter in inspect.signature(self._tools).parameters.values()
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ]
        return self._tools(*(copy.deepcopy(dict(row)), rng)[: len(parameters)])


def declared(tools: Any) -> tuple[TypedTool, ...]:
    """Return the tools of a list or a class; none of a function, which has to be asked.

    Raises:
        ConfigurationError: It is none of these, or a function cannot be a tool.
    """
    if inspect.isclass(tools):
        return _methods(tools)
    if _is_list(tools):
        return _typed(tools, method=False)
    if inspect.isroutine(tools):
        return ()
    raise ConfigurationError(f"{EXPECTED}; got {tools!r:.120}")


def _is_list(tools: object) -> bool:
    return isinstance(tools, list | tuple)


def _by_name(functions: Sequence[Callable[..., Any]]) -> Functions:
    return {function.__name__: function for function in functions}


def _typed_result(toolbox: object) -> tuple[TypedTool, ...]:
    """Return the tools that a function made."""
    if toolbox is None or inspect.isroutine(toolbox) or inspect.isclass(toolbox):
        raise ConfigurationError(f"{EXPECTED}; the function returned {toolbox!r:.120}")
    return declared(toolbox) if _is_list(toolbox) else _methods(type(toolbox))


def _methods(kind: type) -> tuple[TypedTool, ...]:
    """Return the public methods of a class as tools, those of its bases first."""
    names = dict.fromkeys(
        name
        for base in reversed(kind.__mro__[:-1])
        for name, member in vars(base).items()
        if not name.startswith("_")
        and name not in OWN
        and (inspect.isfunction(member) or isinstance(member, staticmethod | classmethod))
    )
    bare = [name for name in names if isinstance(_static(kind, name), staticmethod | classmethod)]
    if not names:
        raise ConfigurationError(f"{EXPECTED}; got {kind.__name__}, which has no public method")
    functions = [(getattr(kind, name), name not in bare) for name in names]
    return _each_typed(functions)


def _static(kind: type, name: str) -> object:
    return inspect.getattr_static(kind, name)


def _typed(functions: Sequence[Any], *, method: bool) -> tuple[TypedTool, ...]:
    if not functions:
        raise ConfigurationError(f"{EXPECTED}; got an empty list")
    return _each_typed([(function, method) for function in functions])


def _each_typed(functions: Sequence[tuple[Any, bool]]) -> tuple[TypedTool, ...]:
    """Make tools whose names differ."""
    tools: list[TypedTool] = []
    for function, method in functions:
        tool = typed_tool(function, [earlier.spec.name.lower() for earlier in tools], method=method)
        if tool.name in [earlier.name for earlier in tools]:
            raise ConfigurationError(f"expected tools of different names, got {tool.name} twice")
        tools.append(tool)
    return tuple(tools)
