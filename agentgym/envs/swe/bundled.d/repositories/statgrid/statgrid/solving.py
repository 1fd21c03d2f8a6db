"""Systems of linear equations, by elimination with exact fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from statgrid.matrix import Matrix, Number, ShapeError


class SingularError(ArithmeticError):
    """A system has no single solution, or a matrix no inverse."""


def _reduced(rows: list[list[Fraction]], width: int) -> int:
    """Bring rows into reduced echelon form in place; return the rank of the first columns."""
    done = 0
    for column in range(width):
        pivot = next((r for r in range(done, len(rows)) if rows[r][column] != 0), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        lead = rows[done][column]
        rows[done] = [value / lead for value in rows[done]]
        for r in range(len(rows)):
            if r != done:
                factor = rows[r][column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[done], strict=True)]
        done += 1
        if done == len(rows):
            break
    return done


def rank(matrix: Matrix) -> int:
    """Return how many rows of a matrix are independent."""
    rows = [[Fraction(value) for value in row] for row in matrix.rows]
    return _reduced(rows, matrix.shape[1])


def inverse(matrix: Matrix) -> Matrix:
    """Return the inverse of a square matrix.

    Raises:
        ShapeError: The matrix is not square.
        SingularError: It has no inverse.
    """
    if not matrix.is_square:
        raise ShapeError(f"expected a square matrix, got {matrix.shape}")
    size = matrix.shape[0]
    unit = Matrix.identity(size).rows
    pairs = zip(matrix.rows, unit, strict=True)
    rows = [[Fraction(value) for value in (*left, *right)] for left, right in pairs]
    if _reduced(rows, size) < size:
        raise SingularError("the matrix has no inverse")
    return Matrix([row[size:] for row in rows])


def solve(matrix: Matrix, values: Sequence[Number]) -> list[Fraction]:
    """Return the numbers that a square matrix turns into these values.

    Raises:
        ShapeError: There are not as many values as rows, or the matrix is not square.
        SingularError: There is no solution, or more than one.
    """
    if len(values) != matrix.shape[0]:
        raise ShapeError(f"expected {matrix.shape[0]} values, got {len(values)}")
    try:
        found = inverse(matrix) @ Matrix([[value] for value in values])
    except SingularError:
        raise SingularError("the system has no single solution") from None
    return [Fraction(value) for value in found.column(0)]
