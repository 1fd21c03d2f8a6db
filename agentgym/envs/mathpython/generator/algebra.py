"""Problems of algebra: systems of equations, coefficients, and roots."""

from __future__ import annotations

from fractions import Fraction

from agentgym.envs.mathpython.engine.exact import write_number
from agentgym.envs.mathpython.problem import Problem
from agentgym.support.random_stream import Stream

LETTERS = "xyz"


def linear(draw: Stream, level: int) -> Problem:
    """One unknown of a system of equations in 2 unknowns, or in 3 above the first level."""
    size = 2 if level == 1 else 3
    while True:
        rows = [[_nonzero(draw, 3 + 3 * level) for _ in range(size + 1)] for _ in range(size)]
        solution = _solved(rows)
        if solution is not None:
            break
    unknown = draw.below(size)
    equations = ", ".join(f"{_terms(row[:-1])} = {row[-1]}" for row in rows)
    program = (
        "from fractions import Fraction as F\n"
        f"rows = [[F(v) for v in row] for row in {rows}]\n"
        "for k in range(len(rows)):\n"
        "    p = next(i for i in range(k, len(rows)) if rows[i][k])\n"
        "    rows[k], rows[p] = rows[p], rows[k]\n"
        "    rows[k] = [v / rows[k][k] for v in rows[k]]\n"
        "    for i in range(len(rows)):\n"
        "        if i != k:\n"
        "            rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k])]\n"
        f"print(rows[{unknown}][-1])"
    )
    return Problem(
        f"Solve {equations}. What is {LETTERS[unknown]}?",
        write_number(solution[unknown]),
        "linear",
        size * size,
        program,
    )


def _nonzero(draw: Stream, limit: int) -> int:
    number = draw.between(1, limit)
    return -number if draw.percent(40) else number


def _terms(row: list[int]) -> str:
    """Write a sum of multiples of the unknowns: ``3x - 2y``."""
    text = ""
    for factor, letter in zip(row, LETTERS, strict=False):
        sign = "- " if factor < 0 else "+ "
        text += f" {sign}{abs(factor) if abs(factor) > 1 else ''}{letter}"
    return text.removeprefix(" + ").replace(" - ", "-", 1) if text[1] == "-" else text[3:]


def _solved(rows: list[list[int]]) -> list[Fraction] | None:
    """Solve a system by elimination; None if it has not one solution."""
    table = [[Fraction(value) for value in row] for row in rows]
    for k in range(len(table)):
        pivot = next((i for i in range(k, len(table)) if table[i][k]), None)
        if pivot is None:
            return None
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [value / table[k][k] for value in table[k]]
        for i, row in enumerate(table):
            if i != k:
                table[i] = [a - row[k] * b for a, b in zip(row, table[k], strict=True)]
    return [row[-1] for row in table]


def coefficient(draw: Stream, level: int) -> Problem:
    """A coefficient of a product of ``level + 1`` powers of binomials."""
    factors = [
        (_nonzero(draw, 5), _nonzero(draw, 7), draw.between(2, 2 + level)) for _ in range(level + 1)
    ]
    degree = sum(power for _, _, power in factors)
    exponent = draw.between(1, degree - 1)
    product = [1]
    for a, b, power in factors:
        for _ in range(power):
            product = [
                a * (product[k - 1] if k else 0) + b * (product[k] if k < len(product) else 0)
                for k in range(len(product) + 1)
            ]
    product_text = "".join(
        f"({_terms([a])} {'-' if b < 0 else '+'} {abs(b)})^{p}" for a, b, p in factors
    )
    program = (
        "product = [1]\n"
        f"for a, b, power in {factors}:\n"
        "    for _ in range(power):\n"
        "        low, high = [b * c for c in product] + [0], [0] + [a * c for c in product]\n"
        "        product = [x + y for x, y in zip(low, high)]\n"
        f"print(product[{exponent}])"
    )
    return Problem(
        f"What is the coefficient of x^{exponent} in the product {product_text}?",
        str(product[exponent]),
        "coefficient",
        degree,
        program,
    )


def roots(draw: Stream, level: int) -> Problem:
    """The integer roots of a polynomial with ``level + 1`` of them, possibly repeated."""
    integer_roots = [draw.between(-12 * level, 12 * level) for _ in range(level + 1)]
    product = [1]
    for root in integer_roots:
        low, high = [-root * c for c in product] + [0], [0, *product]
        product = [x + y for x, y in zip(low, high, strict=True)]
    distinct = sorted(set(integer_roots))
    reach = 12 * level + 3
    program = (
        f"p = {product}\n"
        f"found = [x for x in range(-{reach}, {reach + 1})"
        " if sum(c * x ** k for k, c in enumerate(p)) == 0]\n"
        "print(*found, sep=', ')"
    )
    return Problem(
        f"Which integers x satisfy {_polynomial(product)} = 0? List all of them.",
        ", ".join(map(str, distinct)),
        "roots",
        2 * (level + 1),
        program,
    )


def _polynomial(coefficients: list[int]) -> str:
    """Write a polynomial whose leading coefficient is 1, the highest power first."""
    text = ""
    for power in range(len(coefficients) - 1, -1, -1):
        factor = coefficients[power]
        if factor:
            letter = {0: "", 1: "x"}.get(power, f"x^{power}")
            number = "" if abs(factor) == 1 and power else str(abs(factor))
            text += f" {'-' if factor < 0 else '+'} {number}{letter}"
    return text.removeprefix(" + ")
