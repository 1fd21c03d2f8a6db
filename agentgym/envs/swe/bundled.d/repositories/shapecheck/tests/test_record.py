"""Records."""

import pytest
from shapecheck import Field, ListOf, Number, Record, Text, check, is_valid, problems

POINT = Record(x=Number(), y=Field(Number(), required=False))


def test_record():
    """A record accepts its keys."""
    assert check(POINT, {"x": 1, "y": 2}) == {"x": 1, "y": 2}


def test_missing_key():
    """A key that is required and missing is reported."""
    assert problems(POINT, {"y": 1}) == ["x: missing"]


def test_optional_key():
    """A key that is not required may be missing, also in the result."""
    assert check(POINT, {"x": 1}) == {"x": 1}


def test_unknown_key():
    """A key that is not known is reported."""
    assert problems(POINT, {"x": 1, "z": 2}) == ["z: unknown key"]


def test_unknown_key_kept():
    """Unknown keys are kept on request."""
    assert check(Record("keep", x=Number()), {"x": 1, "z": 2}) == {"x": 1, "z": 2}


def test_unknown_key_dropped():
    """Unknown keys are dropped on request."""
    assert check(Record("drop", x=Number()), {"x": 1, "z": 2}) == {"x": 1}


def test_unknown_way_with_keys():
    """Another way to treat unknown keys is refused."""
    with pytest.raises(ValueError, match=r"extra is forbid, keep or drop, not 'warn'"):
        Record("warn")


def test_no_record():
    """A list is not accepted as a record."""
    assert problems(POINT, []) == ["a mapping expected, got a list"]


def test_default():
    """A key that is missing gets its default."""
    assert check(Record(x=Field(Number(), default=7)), {}) == {"x": 7}


def test_default_of_none():
    """A default may be None."""
    assert check(Record(x=Field(Number(), default=None)), {}) == {"x": None}


def test_default_is_copied():
    """Changing a default in a result does not change the next result."""
    schema = Record(tags=Field(ListOf(Text()), default=[]))
    check(schema, {})["tags"].append("a")
    assert check(schema, {}) == {"tags": []}


def test_alias():
    """A key may stand under another name, and has its own in the result."""
    schema = Record(size=Field(Number(), alias="length"))
    assert check(schema, {"length": 3}) == {"size": 3}


def test_name_before_alias():
    """If a key stands under both of its names, its own counts and the other is unknown."""
    schema = Record(size=Field(Number(), alias="length"))
    assert problems(schema, {"size": 1, "length": 3}) == ["length: unknown key"]


def test_data_are_not_changed():
    """Checking does not change the data."""
    data = {"name": " a "}
    check(Record(name=Text(strip=True), n=Field(Number(), default=1)), data)
    assert data == {"name": " a "}


def test_rule_about_several_keys():
    """A rule about several keys is reported at the key that is named."""
    schema = Record(low=Number(), high=Number()).rule(
        "high", lambda record: record["low"] <= record["high"], "less than low"
    )
    assert problems(schema, {"low": 2, "high": 1}) == ["high: less than low"]
    assert is_valid(schema, {"low": 1, "high": 1}) is True


def test_rule_is_not_asked_about_wrong_keys():
    """A rule about several keys is not asked if a key is wrong."""
    schema = Record(low=Number(), high=Number()).rule(
        "high", lambda record: record["low"] <= record["high"], "less than low"
    )
    assert problems(schema, {"low": 2}) == ["high: missing"]


def test_rule_leaves_the_record():
    """Adding a rule about several keys does not change the record it is added to."""
    POINT.rule("x", lambda record: False, "never")
    assert is_valid(POINT, {"x": 1}) is True


def test_extend():
    """An extended record has more keys, the original has not."""
    schema = POINT.extend(z=Number())
    assert (is_valid(schema, {"x": 1, "z": 2}), is_valid(POINT, {"x": 1, "z": 2})) == (True, False)


def test_extend_replaces():
    """An extended record may have another schema for a key."""
    assert is_valid(POINT.extend(x=Text()), {"x": "a"}) is True
