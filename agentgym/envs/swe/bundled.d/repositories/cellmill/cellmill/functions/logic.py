"""Conditions, and what kind of value there is."""

from __future__ import annotations

from collections.abc import Callable

from cellmill.functions.gathering import is_number
from cellmill.functions.registry import function
from cellmill.values.blocks import Argument, Block, scalar
from cellmill.values.comparison import holds
from cellmill.values.conversion import to_truth, to_whole
from cellmill.values.kinds import ErrorValue, Failed, Value

Thunk = Callable[[], Argument]
"""An argument that is computed only when it is called."""


@function("IF", 2, 3, takes="thunks")
def _if(test: Thunk, then: Thunk, other: Thunk | None = None) -> Argument:
    if to_truth(scalar(test())):
        return then()
    return False if other is None else other()


@function("IFS", 2, None, takes="thunks")
def _ifs(*pairs: Thunk) -> Argument:
    """Return what follows the first condition that holds."""
    if len(pairs) % 2:
        raise Failed(ErrorValue.VALUE)
    for test, result in zip(pairs[::2], pairs[1::2], strict=True):
        if to_truth(scalar(test())):
            return result()
    raise Failed(ErrorValue.NA)


@function("SWITCH", 3, None, takes="thunks")
def _switch(subject: Thunk, *rest: Thunk) -> Argument:
    """Return what follows the first value that is equal; a last single one is the default."""
    wanted = scalar(subject())
    for value, result in zip(rest[::2], rest[1::2], strict=False):
        if holds("=", wanted, scalar(value())):
            return result()
    if len(rest) % 2:
        return rest[-1]()
    raise Failed(ErrorValue.NA)


@function("CHOOSE", 2, None, takes="thunks")
def _choose(number: Thunk, *choices: Thunk) -> Argument:
    place = to_whole(scalar(number()))
    if not 1 <= place <= len(choices):
        raise Failed(ErrorValue.VALUE)
    return choices[place - 1]()


@function("IFERROR", 2, takes="thunks")
def _if_error(tried: Thunk, other: Thunk) -> Argument:
    value = _caught(tried)
    return other() if isinstance(value, ErrorValue) else value


@function("IFNA", 2, takes="thunks")
def _if_not_available(tried: Thunk, other: Thunk) -> Argument:
    value = _caught(tried)
    return other() if value is ErrorValue.NA else value


def _caught(tried: Thunk) -> Argument:
    """Return a value, or the error that came instead."""
    try:
        value = tried()
        return scalar(value)
    except Failed as failure:
        return failure.error


@function("AND", 1, None, takes="blocks")
def _and(*arguments: Argument) -> bool:
    return all(_truths(arguments))


@function("OR", 1, None, takes="blocks")
def _or(*arguments: Argument) -> bool:
    return any(_truths(arguments))


@function("XOR", 1, None, takes="blocks")
def _xor(*arguments: Argument) -> bool:
    return sum(_truths(arguments)) % 2 == 1


def _truths(arguments: tuple[Argument, ...]) -> list[bool]:
    """Return the truth values among arguments; texts in areas are passed over."""
    found = []
    for argument in arguments:
        if isinstance(argument, Block):
            found += [to_truth(value) for value in argument.values() if not isinstance(value, str)]
        else:
            found.append(to_truth(argument))
    if not found:
        raise Failed(ErrorValue.VALUE)
    return found


@function("NOT", 1)
def _not(value: Value) -> bool:
    return not to_truth(value)


@function("NA", 0)
def _not_available() -> ErrorValue:
    return ErrorValue.NA


@function("ISBLANK", 1, takes="blocks")
def _is_blank(argument: Argument) -> bool:
    return scalar(argument) is None


@function("ISNUMBER", 1, takes="blocks")
def _is_number(argument: Argument) -> bool:
    return is_number(scalar(argument))


@function("ISTEXT", 1, takes="blocks")
def _is_text(argument: Argument) -> bool:
    return isinstance(scalar(argument), str)


@function("ISLOGICAL", 1, takes="blocks")
def _is_truth_value(argument: Argument) -> bool:
    return isinstance(scalar(argument), bool)


@function("ISERROR", 1, takes="thunks")
def _is_error(tried: Thunk) -> bool:
    return isinstance(_caught(tried), ErrorValue)


@function("ISNA", 1, takes="thunks")
def _is_not_available(tried: Thunk) -> bool:
    return _caught(tried) is ErrorValue.NA
