"""Lists, mappings and alternatives."""

import pytest
from shapecheck import (
    Constant,
    Invalid,
    ListOf,
    MapOf,
    Nullable,
    Number,
    OneOf,
    Text,
    TupleOf,
    check,
    is_valid,
    problems,
)


def test_list():
    """The items of a list are checked, and the problem says which one is wrong."""
    assert problems(ListOf(Number()), [1, "a", 3]) == ["[1]: a number expected, got a text"]


def test_tuple_becomes_a_list():
    """A tuple is accepted as a list and becomes one."""
    assert check(ListOf(Number()), (1, 2)) == [1, 2]


def test_no_list():
    """A text is not accepted as a list."""
    assert problems(ListOf(Text()), "abc") == ["a list expected, got a text"]


@pytest.mark.parametrize(
    ("items", "found"),
    [
        ([], ["at least 1 item, got 0"]),
        ([1], []),
        ([1, 2], []),
        ([1, 2, 3], ["at most 2 items, got 3"]),
    ],
)
def test_size_of_a_list(items, found):
    """The bounds of the number of items are themselves allowed."""
    assert problems(ListOf(Number(), min_items=1, max_items=2), items) == found


def test_unique():
    """Equal items are reported at the later place with the place of the first."""
    assert problems(ListOf(Number(), unique=True), [5, 6, 5]) == ["[2]: the same as item 0"]


def test_unique_after_conversion():
    """Items are compared in their final form."""
    assert is_valid(ListOf(Text(strip=True), unique=True), ["a", " a"]) is False


def test_not_unique_by_default():
    """Equal items are allowed unless they must be unique."""
    assert check(ListOf(Number()), [1, 1]) == [1, 1]


def test_places_with_schemas_of_their_own():
    """Each place of a fixed list has its schema, and the result is a tuple."""
    assert check(TupleOf(Text(), Number()), ["a", 1]) == ("a", 1)


def test_length_of_a_fixed_list():
    """A fixed list of another length is reported."""
    assert problems(TupleOf(Text(), Number()), ["a"]) == ["2 items expected, got 1"]


def test_place_of_a_fixed_list():
    """A problem of a fixed list says at which place it is."""
    assert problems(TupleOf(Text(), Number()), ["a", "b"]) == ["[1]: a number expected, got a text"]


def test_fixed_list_of_another_type():
    """A mapping is not accepted as a fixed list."""
    assert problems(TupleOf(Text()), {}) == ["a list expected, got a mapping"]


def test_mapping():
    """The values of a mapping are checked, and the problem says at which key."""
    assert problems(MapOf(Number()), {"a": 1, "b c": "x"}) == [
        "['b c']: a number expected, got a text"
    ]


def test_no_mapping():
    """A list is not accepted as a mapping."""
    assert problems(MapOf(Number()), [1]) == ["a mapping expected, got a list"]


def test_keys_of_a_mapping():
    """The keys of a mapping are checked by a schema of their own."""
    assert problems(MapOf(Number(), key=Text(max_length=1)), {"ab": 1}) == [
        "ab: key: at most 1 character, got 2"
    ]


def test_converted_key():
    """A key is in the result in its final form."""
    assert check(MapOf(Number(), key=Text(strip=True)), {" a ": 1}) == {"a": 1}


def test_key_that_is_no_text():
    """A key that is no text is reported."""
    assert problems(MapOf(Number()), {5: 1}) == ["['5']: the key is a number, not a text"]


def test_paths():
    """The path of a problem leads through keys and places."""
    schema = MapOf(ListOf(MapOf(Number())))
    assert problems(schema, {"a": [{}, {"b": None}]}) == ["a[1].b: a number expected, got nothing"]


def test_nullable():
    """A value that may be missing is accepted as None and checked otherwise."""
    schema = Nullable(Number())
    assert (check(schema, None), problems(schema, "a")) == (None, ["a number expected, got a text"])


def test_first_alternative_that_fits():
    """Of several schemas the first that fits gives the result."""
    assert check(OneOf(Number(), Text(), Text(strip=True)), " a") == " a"


def test_no_alternative():
    """If no schema fits, all messages are given."""
    assert problems(OneOf(Number(), Constant("auto")), "x") == [
        "a number expected, got a text or one of 'auto' expected, got 'x'"
    ]


def test_same_message_once():
    """A message that several schemas give is written once."""
    assert problems(OneOf(Number(), Number(minimum=3)), "x") == ["a number expected, got a text"]


def test_deepest_alternative():
    """If no schema fits, the problems of the one that fits furthest are given."""
    assert problems(OneOf(Text(), ListOf(Number())), [1, "a"]) == [
        "[1]: a number expected, got a text"
    ]


def test_alternatives_within_a_list():
    """Alternatives that all fail at their own place give all messages there."""
    assert problems(ListOf(OneOf(Number(), Text())), [None]) == [
        "[0]: a number expected, got nothing or a text expected, got nothing"
    ]


def test_no_alternatives_at_all():
    """Alternatives without any schema are refused."""
    with pytest.raises(ValueError, match=r"at least one schema"):
        OneOf()


def test_error_lists_all_problems():
    """The error of a check lists all problems, one on each line."""
    with pytest.raises(Invalid) as info:
        check(ListOf(Number(minimum=0)), [-1, "a"])
    assert str(info.value) == "[0]: at least 0, got -1\n[1]: a number expected, got a text"
    assert [problem.path for problem in info.value.problems] == [(0,), (1,)]
