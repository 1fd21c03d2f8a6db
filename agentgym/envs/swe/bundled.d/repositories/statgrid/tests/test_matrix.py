"""Matrices."""

from fractions import Fraction as F

import pytest
from statgrid import Matrix, ShapeError, SingularError, inverse, rank, solve

M = Matrix([[2, 1], [1, 3]])
WIDE = Matrix([[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize("rows", [[], [[]]])
def test_empty(rows):
    """A matrix without numbers is refused."""
    with pytest.raises(ShapeError, match="at least one number"):
        Matrix(rows)


def test_ragged():
    """Rows of different lengths are refused."""
    with pytest.raises(ShapeError, match="same length"):
        Matrix([[1, 2], [3]])


def test_shape():
    """The shape is the number of rows and of columns."""
    assert (WIDE.shape, WIDE.is_square, M.is_square) == ((2, 3), False, True)


def test_item():
    """A number is found by row and column, counted from 0."""
    assert WIDE[1, 0] == 4


def test_equality():
    """Matrices are equal if all their numbers are, and then share a hash."""
    assert (Matrix([[2, 1], [1, 3]]) == M, M == WIDE, M.rows == M) == (True, False, False)
    assert hash(M) == hash(Matrix([[2, 1], [1, 3]]))


def test_repr():
    """The repr of a matrix shows its rows."""
    assert repr(Matrix([[1, F(1, 2)], [3, 4]])) == "Matrix([[1, 1/2], [3, 4]])"


def test_transpose():
    """Transposing exchanges rows and columns."""
    assert WIDE.transpose() == Matrix([[1, 4], [2, 5], [3, 6]])


def test_add_and_subtract():
    """Sums and differences are made number by number."""
    other = Matrix([[1, 2], [3, 4]])
    assert M + other == Matrix([[3, 3], [4, 7]])
    assert M - other == Matrix([[1, -1], [-2, -1]])


def test_add_other_shape():
    """Matrices of different shapes cannot be added."""
    with pytest.raises(ShapeError, match="differ"):
        M + WIDE


def test_product():
    """The product multiplies rows by columns."""
    assert Matrix([[6, 9, 12], [13, 17, 21]]) == M @ WIDE


def test_product_of_wrong_shapes():
    """A product needs as many columns on the left as rows on the right."""
    with pytest.raises(ShapeError, match="cannot multiply"):
        WIDE @ M


@pytest.mark.parametrize(
    ("exponent", "result"),
    [(0, [[1, 0], [0, 1]]), (1, [[1, 1], [1, 0]]), (5, [[8, 5], [5, 3]]), (6, [[13, 8], [8, 5]])],
)
def test_power(exponent, result):
    """Powers of a square matrix are repeated products."""
    assert Matrix([[1, 1], [1, 0]]).power(exponent) == Matrix(result)


def test_negative_power():
    """A negative power is refused."""
    with pytest.raises(ValueError, match="negative"):
        M.power(-1)


def test_trace():
    """The trace is the sum of the diagonal."""
    assert M.trace() == 5


@pytest.mark.parametrize("method", ["trace", "determinant"])
def test_not_square(method):
    """Trace and determinant need a square matrix."""
    with pytest.raises(ShapeError, match="square"):
        getattr(WIDE, method)()


def test_minor():
    """A minor lacks one row and one column."""
    assert Matrix([[1, 2, 3], [4, 5, 6], [7, 8, 9]]).minor(0, 1) == Matrix([[4, 6], [7, 9]])


@pytest.mark.parametrize(
    ("rows", "value"),
    [
        ([[7]], 7),
        ([[2, 1], [1, 3]], 5),
        ([[0, 1], [1, 0]], -1),
        ([[1, 2], [2, 4]], 0),
        ([[0, 1], [0, 5]], 0),
        ([[2, 0, 1], [1, 3, 2], [1, 1, 4]], 18),
        ([[0, 2, 1], [1, 1, 0], [3, 0, 1]], -5),
        ([[1, 2, 0, 1], [0, 1, 3, 1], [2, 1, 1, 0], [1, 0, 2, 1]], 12),
    ],
)
def test_determinant(rows, value):
    """The determinant is exact, whatever the order of the rows."""
    assert Matrix(rows).determinant() == value


def test_inverse():
    """A matrix times its inverse is the identity."""
    assert inverse(M) == Matrix([[F(3, 5), F(-1, 5)], [F(-1, 5), F(2, 5)]])


def test_inverse_with_exchange():
    """A matrix with a 0 in its corner may have an inverse."""
    assert inverse(Matrix([[0, 2], [4, 0]])) == Matrix([[0, F(1, 4)], [F(1, 2), 0]])


def test_no_inverse():
    """A matrix with dependent rows has no inverse."""
    with pytest.raises(SingularError, match="no inverse"):
        inverse(Matrix([[1, 2], [2, 4]]))


def test_inverse_of_wide_matrix():
    """Only square matrices have an inverse."""
    with pytest.raises(ShapeError, match="square"):
        inverse(WIDE)


@pytest.mark.parametrize(
    ("rows", "value"),
    [
        ([[1, 2], [2, 4]], 1),
        ([[1, 2, 3], [4, 5, 6]], 2),
        ([[0, 0]], 0),
        ([[0, 1], [0, 2], [1, 0]], 2),
    ],
)
def test_rank(rows, value):
    """The rank is the number of independent rows."""
    assert rank(Matrix(rows)) == value


def test_solve():
    """A system of equations is solved exactly."""
    assert solve(M, [3, 5]) == [F(4, 5), F(7, 5)]


def test_solve_singular():
    """A system without a single solution is refused."""
    with pytest.raises(SingularError, match="no single solution"):
        solve(Matrix([[1, 1], [1, 1]]), [1, 2])


def test_solve_wrong_length():
    """A system needs one value for each row."""
    with pytest.raises(ShapeError, match="expected 2 values, got 3"):
        solve(M, [1, 2, 3])
