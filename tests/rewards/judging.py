"""A judge behind a real endpoint: a server that reads the question and grades by what it finds."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.policies.endpoint import Answer, completion

MARK = re.compile(r"VERDICT (\w{12}) (?:GRADE|DECISION)")


def question(body: dict[str, Any]) -> str:
    text: str = body["messages"][-1]["content"]
    return text


def mark(body: dict[str, Any]) -> str:
    match = MARK.search(question(body))
    assert match is not None
    return match[1]


def record(body: dict[str, Any]) -> str:
    """The part of a question that shows the episode."""
    text, its = question(body), mark(body)
    return text.partition(f"{its} begins\n")[2].partition(f"\n{its} ends")[0]


def judging(grade: Callable[[str], object]) -> Answer:
    """Answer with what a function of the record says."""

    def answer(body: dict[str, Any], number: int) -> Any:
        return completion(f"Fine.\nVERDICT {mark(body)} {grade(record(body))}")

    return answer


def last_action(record: str) -> str:
    return record.rpartition(", action, the last:\n| ")[2].partition("\n")[0]


def even(record: str) -> object:
    """Grade by the colour: what tells turns apart."""
    return {"press red": 9, "press blue": 6, "press green": 3, "press gold": 1}.get(
        last_action(record), 0
    )
