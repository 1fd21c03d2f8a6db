import pytest
from ranges import inside


@pytest.mark.parametrize("value", [0, 9])
def test_ends(value):
    assert inside(value, 0, 9)


def test_outside():
    assert not inside(-1, 0, 9) and not inside(10, 0, 9)
