"""Finding values in areas."""

from __future__ import annotations

from collections.abc import Sequence

from cellmill.functions.registry import function
from cellmill.values.blocks import Argument, Block, as_block, scalar
from cellmill.values.comparison import compare, criterion, sort_key
from cellmill.values.conversion import to_truth, to_whole
from cellmill.values.kinds import ErrorValue, Failed, Value


@function("VLOOKUP", 3, 4, takes="blocks")
def _upright(wanted: Argument, area: Argument, column: Argument, near: Argument = True) -> Value:
    """Find a value in the first column and return what stands in another of its row."""
    block = as_block(area)
    place = _offset(column, block.width)
    keys = [block.at(row, 0) for row in range(_used(block, upright=True))]
    return block.at(_found(scalar(wanted), keys, near), place)


@function("HLOOKUP", 3, 4, takes="blocks")
def _across(wanted: Argument, area: Argument, row: Argument, near: Argument = True) -> Value:
    """Find a value in the first row and return what stands in another of its column."""
    block = as_block(area)
    place = _offset(row, block.height)
    keys = [block.at(0, column) for column in range(_used(block, upright=False))]
    return block.at(place, _found(scalar(wanted), keys, near))


def _used(block: Block, upright: bool) -> int:
    """Return the number of rows or columns up to the last with a value."""
    return max((place[0 if upright else 1] + 1 for place, _ in block.filled()), default=0)


def _offset(argument: Argument, most: int) -> int:
    number = to_whole(scalar(argument))
    if number < 1:
        raise Failed(ErrorValue.VALUE)
    if number > most:
        raise Failed(ErrorValue.REF)
    return number - 1


def _found(wanted: Value, keys: Sequence[Value], near: Argument) -> int:
    mode = 1 if to_truth(scalar(near)) else 0
    return position(wanted, keys, mode)


@function("MATCH", 2, 3, takes="blocks")
def _match(wanted: Argument, area: Argument, mode: Argument = 1) -> int:
    """Return at which place of a row or column a value stands."""
    number = to_whole(scalar(mode))
    return position(scalar(wanted), as_block(area).line(), (number > 0) - (number < 0)) + 1


def position(wanted: Value, keys: Sequence[Value], mode: int) -> int:
    """Return the place of a value.

    Args:
        wanted: The value; texts may have ``*`` and ``?`` if it has to be equal.
        keys: The values that are looked through.
        mode: 0 for the first that is equal; 1 for the last that is not larger, where values
            rise; -1 for the last that is not smaller, where they fall.

    Raises:
        Failed: There is none.
    """
    if isinstance(wanted, ErrorValue):
        raise Failed(wanted)
    if mode == 0:
        # a text with an operator in front is a text here, other than in COUNTIF
        wanted = "=" + wanted if isinstance(wanted, str) else wanted
        equal = criterion(wanted)
        for place, key in enumerate(keys):
            if equal(key):
                return place
        raise Failed(ErrorValue.NA)
    best = -1
    for place, key in enumerate(keys):
        if not _comparable(wanted, key):
            continue
        if compare(key, wanted) * mode > 0:
            break
        best = place
    if best < 0:
        raise Failed(ErrorValue.NA)
    return best


def _comparable(wanted: Value, key: Value) -> bool:
    """Say whether two values are of one kind."""
    return key is not None and sort_key(key)[0] == sort_key(0 if wanted is None else wanted)[0]


@function("XLOOKUP", 3, 4, takes="thunks")
def _find_across(wanted, area, results, other=None):  # type: ignore[no-untyped-def]
    """Find a value in one row or column and return what stands at its place in another."""
    keys, block = as_block(area()), as_block(results())
    if keys.size != block.size or (keys.height > 1) != (block.height > 1):
        raise Failed(ErrorValue.VALUE)
    try:
        place = position(scalar(wanted()), keys.line(), 0)
    except Failed as failure:
        if failure.error is not ErrorValue.NA or other is None:
            raise
        return other()
    return block.at(place, 0) if block.height > 1 else block.at(0, place)


@function("INDEX", 2, 3, takes="blocks")
def _index(area: Argument, row: Argument, column: Argument = None) -> Value:
    """Return a value by its row and column; in a single row one number is enough."""
    block = as_block(area)
    first = to_whole(scalar(row))
    if column is None and block.height == 1:
        return _cell(block, 1, first)
    return _cell(block, first, 1 if column is None else to_whole(scalar(column)))


def _cell(block: Block, row: int, column: int) -> Value:
    if row < 1 or column < 1:
        raise Failed(ErrorValue.VALUE)
    return block.at(row - 1, column - 1)


@function("ROWS", 1, takes="blocks")
def _rows(area: Argument) -> int:
    return as_block(area).height


@function("COLUMNS", 1, takes="blocks")
def _columns(area: Argument) -> int:
    return as_block(area).width
