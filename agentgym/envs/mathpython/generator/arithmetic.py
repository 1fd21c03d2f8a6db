"""Problems of arithmetic: filled boxes, and chains of steps."""

from __future__ import annotations

from fractions import Fraction

from agentgym.envs.mathpython.engine.exact import calculated, write_number
from agentgym.envs.mathpython.problem import Problem
from agentgym.support.random_stream import Stream

NOUNS = (
    "apples", "pears", "plums", "cherries", "lemons", "figs", "peaches", "melons", "grapes", "nuts",
)  # fmt: skip
LARGEST_STEP = 999
"""Largest intermediate number in a chain of the first level."""


def boxes(draw: Stream, level: int) -> Problem:
    """How many boxes are full: a sum of ``level + 1`` numbers, divided and rounded down.

    One of the numbers is small, and omitting it changes the answer in some of the problems; which
    ones cannot be predicted without calculating.
    """
    size = draw.between(12, 30)
    counts = [draw.between(60, 220) for _ in range(level)]
    place = draw.below(level + 1)
    counts.insert(place, draw.between(5, 16))
    nouns = draw.sample(NOUNS, level + 1)
    parts = [f"{count} {noun}" for count, noun in zip(counts, nouns, strict=True)]
    text = (
        f"We pack {', '.join(parts[:-1])} and {parts[-1]} in boxes of {size}. "
        "How many boxes are full?"
    )
    other_counts = [count for number, count in enumerate(counts) if number != place]
    return Problem(
        text,
        str(sum(counts) // size),
        "boxes",
        level + 2,
        f"print(({_sum(counts)}) // {size})",
        f"floor(({_sum(counts)}) / {size})",
        f"floor(({_sum(other_counts)}) / {size})",
    )


def _sum(numbers: list[int]) -> str:
    return " + ".join(map(str, numbers))


def steps(draw: Stream, level: int) -> Problem:
    """A chain of ``level + 1`` steps; above the first level with quotients."""
    value = Fraction(draw.between(2, 99 if level < 3 else 9999))
    sentences, expression = [f"Start with {value}."], str(value)
    for number in range(level + 1):
        word, sign, operand = _step(draw, level, value, number)
        sentences.append(f"{word} {operand}.")
        expression = (
            f"({expression} {sign} {operand})"
            if number < level
            else f"{expression} {sign} {operand}"
        )
        value = calculated(f"({value}) {sign} {operand}")
    program = f"from fractions import Fraction as F\nprint({_exact(expression)})"
    return Problem(
        f"{' '.join(sentences)} What is the result?",
        write_number(value),
        "steps",
        level + 1,
        program,
        expression,
    )


def _step(draw: Stream, level: int, value: Fraction, number: int) -> tuple[str, str, int]:
    """Draw a step that keeps numbers short in the first level."""
    largest = 99 if level < 3 else 999
    while True:
        kind = draw.below(4 if level > 1 and number else 3)
        if kind == 0:
            step = "Add", "+", draw.between(2, largest)
        elif kind == 1:
            step = "Subtract", "-", draw.between(2, largest)
        elif kind == 2:
            step = "Multiply by", "*", draw.between(2, 9 if level < 3 else 99)
        else:
            step = "Divide by", "/", draw.between(2, 9 if level < 3 else 99)
        next_value = calculated(f"({value}) {step[1]} {step[2]}")
        if level > 1 or 0 < next_value <= LARGEST_STEP:
            return step


def _exact(expression: str) -> str:
    """Write an expression so that Python calculates with fractions: its first number is one."""
    opened = len(expression) - len(expression.lstrip("("))
    first, _, tail = expression[opened:].partition(" ")
    return f"{'(' * opened}F({first}) {tail}"
