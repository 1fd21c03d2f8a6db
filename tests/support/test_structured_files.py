"""Files of settings: plain data, of bounded size and nesting, every key once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from agentgym.errors import DataError
from agentgym.support.structured_files import (
    LARGEST,
    parse_toml,
    parse_yaml,
    read_structured,
    read_text,
)

LAUGHS = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: 2\na: 3", "the key 'a' comes twice"),
        ("x:\n  - {k: 1, 'k': 2}", "the key 'k' comes twice"),
        ("1: a\n0x1: b", "the key 1 comes twice"),
        ("yes: 1\ntrue: 2", "the key True comes twice"),
        ("? [a]\n: 1", "unhashable key"),
        ("? !!set {a}\n: 1", "unhashable key"),
        ("[" * 20_000 + "]" * 20_000, "more than|nesting"),
        ("[" * 150 + "]" * 150, "more than 100 lists and mappings"),
        ("\n".join(" " * n + "a:" for n in range(300)), "more than 100 lists and mappings"),
        ("a: &a [*a]", "holds itself"),
        ("a: &a {b: {c: *a}}", "holds itself"),
        (LAUGHS, "more than 100,000 values"),
        ("a: !!python/object/apply:os.system [ls]", "could not determine a constructor"),
        ("a: [1", "expected ',' or ']'"),
        ("a: 1\n---\nb: 2", "but found another document"),
    ],
)
def test_yaml_that_is_no_plain_data_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_yaml(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\nb: [x, {c: null}]\nd: 2.5",
        "base: &b {x: 1, y: 2}\nmore: {<<: *b, y: 3}\nlast: {<<: *b}",
        "all: &a [1, 2]\nagain: [*a, *a]",
        "a: &a {x: 1}\nb: &b {<<: *a, x: 2}\nc: {<<: [*a, *b], z: *b}",
        "",
        "- " * 50 + "x",
    ],
)
def test_plain_yaml_is_read_as_before(text: str) -> None:
    assert parse_yaml(text) == yaml.safe_load(text)


@pytest.mark.parametrize(
    "text", ["a: &a [1]\nb: *a", "a: &a x\nb: *a", "a: &a {x: 1}\nb: {<<: *a}"]
)
def test_references_are_refused_where_they_have_no_place(text: str) -> None:
    with pytest.raises(ValueError, match="a reference"):
        parse_yaml(text, references=False)
    assert parse_yaml("a: &a [1, 1]\nb: [1, 1]", references=False) == {"a": [1, 1], "b": [1, 1]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = 1\na = 2", "overwrite|twice|duplicate"),
        (".".join(["a"] * 150) + " = 1", "more than 100"),
        (f"[{'.'.join(['a'] * 150)}]", "more than 100"),
        ("a = " + "[" * 150 + "]" * 150, "more than 100"),
        ("a = " + "[" * 20_000 + "]" * 20_000, "more than 100"),
        ("a =", "Invalid value"),
    ],
)
def test_toml_is_bounded(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_toml(text)


@pytest.mark.parametrize("ending", [".yaml", ".yml", ".toml", ".json", ".cfg"])
def test_a_file_is_bounded_and_its_faults_name_it(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"settings{ending}"
    faults: list[Any] = [b"x" * (LARGEST + 1), b"\xff", b"a: [", None]
    for content in faults:
        if content is not None:
            file.write_bytes(content)
        else:
            file.unlink()
        with pytest.raises(DataError, match=r"expected a suite .*settings") as caught:
            read_structured(file, "a suite")
        assert len(str(caught.value)) < 1000
    sound = {".toml": "[a]\nb = 1", ".json": '{"a": {"b": 1}}'}.get(ending, "a: {b: 1}")
    file.write_text(sound)
    assert read_structured(file, "a suite") == {"a": {"b": 1}}


def test_a_file_without_an_end_is_not_read_to_it() -> None:
    with pytest.raises(DataError, match="more than 1,000 bytes"):
        read_text(Path("/dev/zero"), "a text", 1000)
