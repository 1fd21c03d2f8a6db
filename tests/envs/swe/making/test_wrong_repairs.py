"""Repairs with an error in them: next to the fault, and anywhere in a library."""

from __future__ import annotations

import ast

import pytest

from agentgym.envs.swe.making import wrong_repairs as searched
from agentgym.envs.swe.making.wrong_repairs import edits_anywhere, wrong_repairs
from agentgym.support.random_stream import Stream

SOURCE = b"""\
class Span:
    def holds(self, value):
        \"\"\"Say whether a value lies in it.\"\"\"
        if value < self.low:
            return False
        return value + 0 <= self.high


def size(span): return span.high - span.low
"""
FILE = "span.py"


def test_edits_anywhere_are_of_all_functions_and_comparisons_come_first() -> None:
    edits = edits_anywhere({FILE: SOURCE}, Stream("a"))
    texts = [edit.files[FILE] for edit in edits]
    assert len(set(texts)) == len(texts) > 6 and SOURCE not in texts
    assert {edit.place for edit in edits} == {"span.py::Span.holds", "span.py::size"}
    assert b"value <= self.low" in (texts[0] or b"") + (texts[1] or b"")
    assert edits == edits_anywhere({FILE: SOURCE}, Stream("a"))
    other_edits = edits_anywhere({FILE: SOURCE}, Stream("b"))
    assert other_edits != edits and {str(edit) for edit in other_edits} == {
        str(edit) for edit in edits
    }


def test_the_function_of_an_edit_is_wrecked_to_find_its_tests() -> None:
    wrecked = {
        edit.place: edit.wrecked[FILE] for edit in edits_anywhere({FILE: SOURCE}, Stream("a"))
    }
    for name, text in wrecked.items():
        assert text is not None
        ast.parse(text)
        assert text.count(b"raise RuntimeError") == 1
        assert (b"    raise RuntimeError\n        " in text) == name.endswith("holds")


def test_there_are_at_most_so_many_edits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searched, "MOST_EDITS", 3)
    assert len(edits_anywhere({FILE: SOURCE}, Stream("a"))) == 3
    assert edits_anywhere({FILE: b"no python("}, Stream("a")) == []


def test_wrong_repairs_are_near_the_fault_and_never_the_fault() -> None:
    faulty = SOURCE.replace(b"value + 0 <=", b"value + 0 <")
    repairs = [files[FILE] for files in wrong_repairs({FILE: SOURCE}, {FILE: faulty})]
    assert 0 < len(repairs) <= searched.MOST and SOURCE not in repairs and faulty not in repairs
