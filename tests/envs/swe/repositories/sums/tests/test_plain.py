from sums import add, mul, sign


def test_add():
    assert add(2, 3) == 5


def test_add_twice():
    assert add(add(1, 1), 1) == 3


def test_mul():
    assert mul(2, 3) == 6


class TestSign:
    def test_zero(self):
        assert sign(0) == 0
