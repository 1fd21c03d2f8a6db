from words.counting import count, most


def test_counts():
    assert count("a b A") == {"a": 2, "b": 1}


def test_most():
    assert most("b a b") == "b"


def test_nothing():
    assert most("") is None
