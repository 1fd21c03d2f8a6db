"""What several functions do with their arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cellmill.values.blocks import Argument, Block, as_block
from cellmill.values.comparison import criterion
from cellmill.values.conversion import to_number
from cellmill.values.kinds import ErrorValue, Failed, Value


def numbers(arguments: Sequence[Argument]) -> Iterator[float]:
    """Yield the numbers among arguments.

    In areas everything that is no number is passed over; a value that stands in the formula
    itself is read as a number.

    Raises:
        Failed: There is an error, or a text in the formula that is no number.
    """
    for argument in arguments:
        if not isinstance(argument, Block):
            yield to_number(argument)
            continue
        for value in argument.values():
            if isinstance(value, ErrorValue):
                raise Failed(value)
            if is_number(value):
                yield to_number(value)


def is_number(value: Value) -> bool:
    """Say whether a value is a number; truth values are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def matching(pairs: Sequence[Argument]) -> list[tuple[int, int]]:
    """Return the places at which all criteria hold.

    Args:
        pairs: An area, its criterion, another area, its criterion, and so on.

    Raises:
        Failed: The areas differ in size, or an area has no criterion.
    """
    if len(pairs) % 2:
        raise Failed(ErrorValue.VALUE)
    blocks = [as_block(argument) for argument in pairs[::2]]
    shape = blocks[0].height, blocks[0].width
    if any((block.height, block.width) != shape for block in blocks):
        raise Failed(ErrorValue.VALUE)
    tests = [criterion(as_block(argument).at(0, 0)) for argument in pairs[1::2]]
    if all(test(None) for test in tests):
        places = [(row, column) for row in range(shape[0]) for column in range(shape[1])]
    else:
        chosen = next(n for n, test in enumerate(tests) if not test(None))
        places = [place for place, _ in blocks[chosen].filled()]
    return [
        place
        for place in places
        if all(test(block.at(*place)) for test, block in zip(tests, blocks, strict=True))
    ]


def numbers_at(block: Block, places: Sequence[tuple[int, int]]) -> Iterator[float]:
    """Yield the numbers of an area at some places.

    Raises:
        Failed: There is an error among them.
    """
    for row, column in places:
        if row >= block.height or column >= block.width:
            raise Failed(ErrorValue.VALUE)
        yield from numbers([as_block(block.at(row, column))])
