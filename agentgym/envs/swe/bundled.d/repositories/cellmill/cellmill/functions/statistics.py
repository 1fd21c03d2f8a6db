"""Counting, means, order."""

from __future__ import annotations

import math
from collections import Counter

from cellmill.functions.gathering import is_number, matching, numbers, numbers_at
from cellmill.functions.registry import function
from cellmill.values.blocks import Argument, Block, as_block, scalar
from cellmill.values.conversion import to_number, to_whole
from cellmill.values.kinds import ErrorValue, Failed


@function("COUNT", 1, None, takes="blocks")
def _count(*arguments: Argument) -> int:
    """Count numbers; in the formula itself also texts that can be read as one."""
    total = 0
    for argument in arguments:
        if isinstance(argument, Block):
            total += sum(is_number(value) for value in argument.values())
            continue
        try:
            to_number(argument)
        except Failed:
            continue
        total += 1
    return total


@function("COUNTA", 1, None, takes="blocks")
def _count_all(*arguments: Argument) -> int:
    return sum(
        sum(1 for _ in argument.values()) if isinstance(argument, Block) else 1
        for argument in arguments
    )


@function("COUNTBLANK", 1, takes="blocks")
def _count_blank(argument: Argument) -> int:
    block = as_block(argument)
    return block.size - sum(value != "" for value in block.values())


@function("COUNTIF", 2, takes="blocks")
def _count_if(area: Argument, wanted: Argument) -> int:
    return len(matching([area, wanted]))


@function("COUNTIFS", 2, None, takes="blocks")
def _count_ifs(*pairs: Argument) -> int:
    return len(matching(pairs))


@function("AVERAGE", 1, None, takes="blocks")
def _average(*arguments: Argument) -> float:
    return _mean(list(numbers(arguments)))


@function("AVERAGEIF", 2, 3, takes="blocks")
def _average_if(area: Argument, wanted: Argument, averaged: Argument = None) -> float:
    places = matching([area, wanted])
    return _mean(list(numbers_at(as_block(area if averaged is None else averaged), places)))


def _mean(found: list[float]) -> float:
    if not found:
        raise Failed(ErrorValue.DIV0)
    return math.fsum(found) / len(found)


@function("MIN", 1, None, takes="blocks")
def _least(*arguments: Argument) -> float:
    return min(numbers(arguments), default=0)


@function("MAX", 1, None, takes="blocks")
def _most(*arguments: Argument) -> float:
    return max(numbers(arguments), default=0)


@function("MEDIAN", 1, None, takes="blocks")
def _median(*arguments: Argument) -> float:
    return _quantile(list(numbers(arguments)), 0.5)


@function("PERCENTILE", 2, takes="blocks")
def _percentile(area: Argument, share: Argument) -> float:
    return _quantile(list(numbers([area])), to_number(scalar(share)))


def _quantile(found: list[float], share: float) -> float:
    """Return the number below which a share lies, between two neighbours in proportion."""
    if not found or not 0 <= share <= 1:
        raise Failed(ErrorValue.NUM)
    ordered = sorted(found)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


@function("MODE", 1, None, takes="blocks")
def _mode(*arguments: Argument) -> float:
    """Return the most frequent number, of several the one that comes first."""
    counts = Counter(numbers(arguments))
    if not counts or max(counts.values()) < 2:
        raise Failed(ErrorValue.NA)
    return counts.most_common(1)[0][0]


@function("LARGE", 2, takes="blocks")
def _large(area: Argument, rank: Argument) -> float:
    return _ranked(sorted(numbers([area]), reverse=True), rank)


@function("SMALL", 2, takes="blocks")
def _small(area: Argument, rank: Argument) -> float:
    return _ranked(sorted(numbers([area])), rank)


def _ranked(ordered: list[float], rank: Argument) -> float:
    place = to_whole(scalar(rank))
    if not 1 <= place <= len(ordered):
        raise Failed(ErrorValue.NUM)
    return ordered[place - 1]


@function("RANK", 2, 3, takes="blocks")
def _rank(value: Argument, area: Argument, rising: Argument = None) -> int:
    """Return the place of a number among others, equal ones share the best place."""
    number = to_number(scalar(value))
    found = list(numbers([area]))
    if number not in found:
        raise Failed(ErrorValue.NA)
    if to_number(scalar(rising)):
        return 1 + sum(other < number for other in found)
    return 1 + sum(other > number for other in found)


@function("VAR", 1, None, takes="blocks")
def _variance(*arguments: Argument) -> float:
    """Return the variance of a sample."""
    found = list(numbers(arguments))
    if len(found) < 2:
        raise Failed(ErrorValue.DIV0)
    mean = _mean(found)
    return math.fsum((float(number) - mean) ** 2 for number in found) / (len(found) - 1)


@function("STDEV", 1, None, takes="blocks")
def _deviation(*arguments: Argument) -> float:
    return math.sqrt(_variance(*arguments))
