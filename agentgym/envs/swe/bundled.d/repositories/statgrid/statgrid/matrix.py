"""Matrices of exact numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Number = int | Fraction


class ShapeError(ValueError):
    """Matrices do not fit together, or a list of rows is no matrix."""


class Matrix:
    """A matrix, which does not change.

    Args:
        rows: Its rows, all of the same length.

    Raises:
        ShapeError: There is no number, or the rows differ in length.
    """

    def __init__(self, rows: Sequence[Sequence[Number]]) -> None:
        if not rows or not rows[0]:
            raise ShapeError("a matrix needs at least one number")
        if any(len(row) != len(rows[0]) for row in rows):
            raise ShapeError("all rows of a matrix must have the same length")
        self.rows: tuple[tuple[Number, ...], ...] = tuple(tuple(row) for row in rows)

    @classmethod
    def identity(cls, size: int) -> Matrix:
        """Return the matrix with ones on its diagonal and zeros elsewhere."""
        return cls([[int(i == j) for j in range(size)] for i in range(size)])

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return len(self.rows), len(self.rows[0])

    @property
    def is_square(self) -> bool:
        """Whether there are as many rows as columns."""
        return self.shape[0] == self.shape[1]

    def __getitem__(self, place: tuple[int, int]) -> Number:
        """Return the number in a row and a column, both counted from 0."""
        row, column = place
        return self.rows[row][column]

    def __eq__(self, other: object) -> bool:
        """Say whether two matrices have the same numbers."""
        return isinstance(other, Matrix) and self.rows == other.rows

    def __hash__(self) -> int:
        """Return a hash that equal matrices share."""
        return hash(self.rows)

    def __repr__(self) -> str:
        """Return the rows."""
        rows = ", ".join("[" + ", ".join(str(value) for value in row) + "]" for row in self.rows)
        return f"Matrix([{rows}])"

    def column(self, index: int) -> list[Number]:
        """Return a column."""
        return [row[index] for row in self.rows]

    def transpose(self) -> Matrix:
        """Return the matrix with rows and columns exchanged."""
        return Matrix([self.column(index) for index in range(self.shape[1])])

    def __add__(self, other: Matrix) -> Matrix:
        """Return the sum; ShapeError if the shapes differ."""
        self._check_same(other)
        pairs = zip(self.rows, other.rows, strict=True)
        return Matrix([[a + b for a, b in zip(x, y, strict=True)] for x, y in pairs])

    def __sub__(self, other: Matrix) -> Matrix:
        """Return the difference; ShapeError if the shapes differ."""
        return self + other.scaled(-1)

    def scaled(self, factor: Number) -> Matrix:
        """Return the matrix with every number multiplied."""
        return Matrix([[factor * value for value in row] for row in self.rows])

    def __matmul__(self, other: Matrix) -> Matrix:
        """Return the product; ShapeError if the inner sizes differ."""
        if self.shape[1] != other.shape[0]:
            raise ShapeError(f"cannot multiply {self.shape} by {other.shape}")
        columns = other.transpose().rows
        return Matrix(
            [
                [sum(a * b for a, b in zip(row, column, strict=True)) for column in columns]
                for row in self.rows
            ]
        )

    def power(self, exponent: int) -> Matrix:
        """Return a power of a square matrix, by repeated squaring.

        Raises:
            ShapeError: The matrix is not square.
            ValueError: The exponent is negative.
        """
        self._check_square()
        if exponent < 0:
            raise ValueError(f"exponent must not be negative, got {exponent}")
        result, factor = Matrix.identity(self.shape[0]), self
        while exponent:
            if exponent % 2 == 1:
                result = result @ factor
            factor = factor @ factor
            exponent //= 2
        return result

    def trace(self) -> Number:
        """Return the sum of the diagonal of a square matrix."""
        self._check_square()
        return sum(self.rows[index][index] for index in range(self.shape[0]))

    def minor(self, row: int, column: int) -> Matrix:
        """Return the matrix without a row and a column."""
        kept = [values for index, values in enumerate(self.rows) if index != row]
        return Matrix([values[:column] + values[column + 1 :] for values in kept])

    def determinant(self) -> Number:
        """Return the determinant of a square matrix, by the fraction-free method of Bareiss."""
        self._check_square()
        size = self.shape[0]
        rows = [list(row) for row in self.rows]
        sign, previous = 1, Fraction(1)
        for pivot in range(size - 1):
            swap = next((r for r in range(pivot, size) if rows[r][pivot] != 0), None)
            if swap is None:
                return 0
            if swap != pivot:
                rows[pivot], rows[swap] = rows[swap], rows[pivot]
                sign = -sign
            for r in range(pivot + 1, size):
                for c in range(pivot + 1, size):
                    cross = rows[r][c] * rows[pivot][pivot] - rows[r][pivot] * rows[pivot][c]
                    rows[r][c] = cross / previous
            previous = Fraction(rows[pivot][pivot])
        return sign * rows[-1][-1]

    def _check_same(self, other: Matrix) -> None:
        """Refuse a matrix of another shape."""
        if self.shape != other.shape:
            raise ShapeError(f"the shapes {self.shape} and {other.shape} differ")

    def _check_square(self) -> None:
        """Refuse a matrix that is not square."""
        if not self.is_square:
            raise ShapeError(f"expected a square matrix, got {self.shape}")
