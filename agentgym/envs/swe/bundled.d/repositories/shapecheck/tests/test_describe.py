"""Describing and guessing schemas."""

import pytest
from shapecheck import (
    Any,
    Constant,
    Field,
    Flag,
    ListOf,
    MapOf,
    Nullable,
    Number,
    OneOf,
    Record,
    Text,
    TupleOf,
    describe,
    infer,
)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (Text(), "text"),
        (Text(min_length=1), "text(1..)"),
        (Text(max_length=5), "text(..5)"),
        (Text(min_length=2, max_length=2), "text(2)"),
        (Number(minimum=0, maximum=5), "number(0..5)"),
        (Number(whole=True), "whole number"),
        (Flag(), "flag"),
        (Any(), "anything"),
        (Constant("a", 1), "'a' | 1"),
        (ListOf(Text(), max_items=3), "list(..3) of text"),
        (TupleOf(Text(), Flag()), "(text, flag)"),
        (MapOf(Number()), "mapping to number"),
        (Nullable(Text()), "text | nothing"),
        (OneOf(Text(), Flag()), "text | flag"),
    ],
)
def test_describe(schema, text):
    """A schema is described in a few words with its bounds."""
    assert describe(schema) == text


def test_describe_a_record():
    """A record takes a line for each key, marked if it is optional or has a default."""
    schema = Record(a=Text(), b=Field(Flag(), required=False), c=Field(Number(), default=1))
    assert describe(schema) == "record\n  a: text\n  b?: flag\n  c = 1: number"


def test_describe_a_nested_record():
    """The keys of an inner record stand further right."""
    assert describe(Record(a=ListOf(Record(b=Text())))) == (
        "record\n  a: list of record\n    b: text"
    )


@pytest.mark.parametrize(
    ("examples", "text"),
    [
        (["a", "b"], "text"),
        ([1, 2], "whole number"),
        ([1, 2.5], "number"),
        ([True], "flag"),
        ([1, None], "whole number | nothing"),
        ([None], "anything"),
        ([], "anything"),
        (["a", 1], "text | whole number"),
        ([[1], [2, 3]], "list of whole number"),
        ([[], []], "list of anything"),
        ([b"x"], "anything"),
    ],
)
def test_infer(examples, text):
    """A schema is guessed from examples of it."""
    assert describe(infer(examples)) == text


def test_infer_a_record():
    """Keys that some examples lack are not required."""
    examples = [{"a": 1, "b": "x"}, {"a": 2}]
    assert describe(infer(examples)) == "record\n  a: whole number\n  b?: text"
