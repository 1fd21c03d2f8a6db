"""Read JSON into annotated classes, with one clear sentence for invalid files."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints, is_typeddict

from agentgym.errors import DataError

Kind = TypeVar("Kind")
_Reader = Callable[[Any], Any]
_ABSENT, _OBJECT = "there", "an object"
_SCALARS: Mapping[Any, Callable[[Any], bool]] = {
    str: lambda value: isinstance(value, str),
    bool: lambda value: isinstance(value, bool),
    int: lambda value: isinstance(value, int) and not isinstance(value, bool),
    float: lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    types.NoneType: lambda value: value is None,
}
"""Type -> whether a value of JSON is one."""


def _is_finite(value: Any) -> bool:
    # Compared and not converted: JSON holds integers that no float does.
    return _SCALARS[float](value) and bool(abs(value) <= sys.float_info.max)


class _Mismatch(Exception):
    """A value is not what its place asks for.

    Args:
        expected: What was expected.
        value: What came.
    """

    def __init__(self, expected: str, value: object) -> None:
        super().__init__(expected)
        self.expected, self.value = expected, value
        self.path: list[str] = []

    def describe(self, where: str) -> str:
        """Say it, with the place of the value."""
        place = (where + "".join(reversed(self.path))).removeprefix(".")
        if self.expected == _ABSENT:
            return f"expected the field {place!r}, but it is missing"
        if self.expected == _OBJECT:
            return f"expected an object at {place or 'the top'}, got {self.value!r:.80}"
        return f"expected {place!r} to be {self.expected}, got {self.value!r:.80}"


def read_json(
    kind: type[Kind],
    value: Any,
    where: str = "",
    *,
    may_lack: Collection[str] | None = None,
    finite: bool = True,
) -> Kind:
    """Read a value of JSON as a dataclass or a ``TypedDict``, down to its last element.

    Objects become dataclasses and dicts, lists become tuples or lists, as the annotations say; what
    is ``Any`` stays as it is. Keys that a class does not know are for later versions: a dataclass
    drops them, a ``TypedDict`` keeps them.

    Args:
        kind: The class.
        value: What ``json.loads`` gave, or `dataclasses.asdict`.
        where: Its place, for the message.
        may_lack: Names of the fields of dataclasses that may be missing; None: all with a default.
        finite: Whether NaN and the infinities, which Python writes and JSON lacks, are no numbers.

    Returns:
        The value.

    Raises:
        DataError: It is not what the class says; names the place.
    """
    hint: Any = kind
    lacking = None if may_lack is None else frozenset(may_lack)
    try:
        instance: Kind = _reader(hint, lacking, finite)(value)
    except _Mismatch as mismatch:
        raise DataError(mismatch.describe(where)) from None
    return instance


@cache
def _reader(kind: Any, may_lack: frozenset[str] | None, finite: bool) -> _Reader:
    """Return what reads a value of a type; made once, as files hold many of each."""
    of = partial(_reader, may_lack=may_lack, finite=finite)
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda value: value
    if origin is Literal:
        return _choice(arguments)
    if origin in (Union, types.UnionType):
        return _either(kind, [of(part) for part in arguments])
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return _object(
            kind, {entry.name: of(hints[entry.name]) for entry in fields(kind)}, may_lack
        )
    if is_typeddict(kind):
        return _table(kind, {name: of(hint) for name, hint in get_type_hints(kind).items()})
    if origin is tuple and arguments[-1] is not ...:
        return _pair(kind, [of(part) for part in arguments])
    if origin in (tuple, list):
        return _list(kind, origin, of(arguments[0]))
    if origin is not None and issubclass(origin, Mapping):
        # Truth values add up like numbers, and environments of others name such parts.
        values = of(bool | float if arguments[1] is float else arguments[1])
        return _mapping(kind, values)
    return _scalar(kind, finite)


def _scalar(kind: Any, finite: bool) -> _Reader:
    fits, name = _SCALARS[kind], _name(kind)
    if kind is float and finite:
        fits = _is_finite

    def read(value: Any) -> Any:
        if not fits(value):
            raise _Mismatch(name, value)
        return value

    return read


def _choice(choices: tuple[Any, ...]) -> _Reader:
    name = " | ".join(map(repr, choices))

    def read(value: Any) -> Any:
        if value not in choices:
            raise _Mismatch(name, value)
        return value

    return read


def _either(kind: Any, readers: list[_Reader]) -> _Reader:
    name = _name(kind)

    def read(value: Any) -> Any:
        mismatch = _Mismatch(name, value)
        for reader in readers:
            try:
                return reader(value)
            except _Mismatch as error:
                if error.path:  # it is one of these, and something in it is wrong
                    mismatch = error
        raise mismatch

    return read


def _list(kind: Any, container: Callable[[Any], Any], element: _Reader) -> _Reader:
    name = _name(kind)

    def read(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise _Mismatch(name, value)
        return container([_inside(element, part, f"[{at}]") for at, part in enumerate(value)])

    return read


def _pair(kind: Any, elements: list[_Reader]) -> _Reader:
    name = _name(kind)

    def read(value: Any) -> Any:
        if not isinstance(value, list | tuple) or len(value) != len(elements):
            raise _Mismatch(name, value)
        return tuple(reader(part) for reader, part in zip(elements, value, strict=True))

    return read


def _mapping(kind: Any, element: _Reader) -> _Reader:
    name = _name(kind)

    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise _Mismatch(name, value)
        return {key: _inside(element, part, f".{key:.80}") for key, part in value.items()}

    return read


def _table(kind: Any, readers: Mapping[str, _Reader]) -> _Reader:
    required = kind.__required_keys__

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _Mismatch(_OBJECT, value)
        _by_name(readers, value, required)
        return value

    return read


def _object(kind: Any, readers: Mapping[str, _Reader], may_lack: frozenset[str] | None) -> _Reader:
    if may_lack is None:
        may_lack = frozenset(
            entry.name
            for entry in fields(kind)
            if entry.default is not MISSING or entry.default_factory is not MISSING
        )
    required = readers.keys() - may_lack

    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise _Mismatch(_OBJECT, value)
        return kind(**_by_name(readers, value, required))

    return read


def _by_name(
    readers: Mapping[str, _Reader], value: Mapping[str, Any], required: Collection[str]
) -> dict[str, Any]:
    """Read what an object holds of the names that are known."""
    values = {}
    for name, read in readers.items():
        if name in value:
            values[name] = _inside(read, value[name], f".{name}")
        elif name in required:
            mismatch = _Mismatch(_ABSENT, None)
            mismatch.path.append(f".{name}")
            raise mismatch
    return values


def _inside(read: _Reader, value: Any, step: str) -> Any:
    """Read a part; what is wrong with it is told with its place in the whole."""
    try:
        return read(value)
    except _Mismatch as mismatch:
        mismatch.path.append(step)
        raise


def _name(kind: Any) -> str:
    """Return what a type is called in Python, without the modules of its parts."""
    if isinstance(kind, type) and get_origin(kind) is None:
        return "None" if kind is types.NoneType else kind.__name__
    if get_origin(kind) in (Union, types.UnionType):
        return " | ".join(map(_name, get_args(kind)))
    if get_origin(kind) is Literal:
        return " | ".join(map(repr, get_args(kind)))
    parts = ("..." if part is ... else _name(part) for part in get_args(kind))
    origin = get_origin(kind)
    return "Any" if origin is None else f"{origin.__name__}[{', '.join(parts)}]"
