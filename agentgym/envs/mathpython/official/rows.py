r"""Convert a row of a published set to a problem.

These forms are supported; other fields are ignored:

* GSM8K (Cobbe et al., 2021, arXiv:2110.14168): ``{"question", "answer"}``, where the answer is a
  solution that ends in ``#### 42``.
* MATH (Hendrycks et al., 2021, arXiv:2103.03874): ``{"problem", "solution", "level", "type"}``,
  with the answer in the last ``\boxed{}`` of the solution; MATH-500 has it as ``answer`` and the
  type as ``subject``.
* AIME and similar sets: ``{"problem", "answer"}``, in upper or lower case; the answer is a number
  or a text.

* Data sets of verl, SkyRL and TRL: see `agentgym.core.question_rows.unnested`.

A story before the question (``Body`` of SVAMP and ASDiv, ``context``, ``passage``) and its options
(``options`` of SAT, ``choices`` of MMLU) are shown with it, see `agentgym.core.question_rows`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from agentgym.core.outcome import well_formed
from agentgym.core.question_rows import (
    LETTERS,
    QUESTIONS,
    read_options,
    right_option,
    unnested,
    with_options,
    with_story,
)
from agentgym.core.row_splits import named_split
from agentgym.envs.mathpython.engine.tokens import LONGEST, answer_text
from agentgym.envs.mathpython.problem import Problem

LABELS = ("answer", "label", "correct", "answer_idx", "answerkey", "correct_answer")
"""Names of the field that says which option is right; the first that is filled is used."""
KINDS = ("type", "subject", "level", "source", "data_source")
"""Names of the field for the kind of a problem."""
MARK = "####"
"""Marker before an answer of GSM8K."""
BOXES = (r"\boxed", r"\fbox")
"""Commands that contain the answer of a solution."""


class UnusableRow(Exception):
    """A row cannot be used; the message says what was expected and what it contains."""


def read_row(row: object) -> tuple[Problem, str | None]:
    """Read a row; return its problem, and its split if it has one.

    Raises:
        UnusableRow: It has no question or no answer, or an unknown split.
    """
    if not isinstance(row, Mapping):
        raise UnusableRow(f"expected an object, got {row!r:.80}")
    fields = unnested(row)
    kind = next((str(fields[name]) for name in KINDS if fields.get(name)), "listed")
    try:
        text, answer = _posed(fields)
        problem = Problem(well_formed(text), well_formed(answer), kind)
        return problem, named_split(fields.get("split"))
    except ValueError as error:
        raise UnusableRow(str(error)) from None


def _posed(fields: Mapping[str, Any]) -> tuple[str, str]:
    """Return the question of a row, whole, and its answer."""
    question = with_story(_question(fields), fields)
    options = read_options(fields)
    if not options:
        return question, _answer(fields)
    label = next((fields[name] for name in LABELS if fields.get(name) not in (None, "")), None)
    return with_options(question, options), LETTERS[right_option(label, options)]


def _question(fields: Mapping[str, Any]) -> str:
    """Return the words of the question's fields, of which the second stands behind the first."""
    texts = [fields[name] for name in QUESTIONS if name in fields]
    first = texts[0] if texts else None
    if not isinstance(first, str) or not first.strip():
        raise UnusableRow(f"expected a question as {' or '.join(QUESTIONS)}, got {first!r:.80}")
    question = first.strip()
    for text in texts[1:]:
        if isinstance(text, str) and text.strip() not in question:
            question = text.strip() if question in text else f"{question}\n{text.strip()}"
    return question


def _answer(fields: Mapping[str, Any]) -> str:
    """Return the right answer of a row."""
    answer = fields.get("answer")
    number = isinstance(answer, int | float) and math.isfinite(answer)
    if isinstance(answer, bool) or not (number or isinstance(answer, str | None)):
        raise UnusableRow(f"expected an answer as a text or a number, got {answer!r:.80}")
    source = fields.get("solution") if answer is None else str(answer)
    text = source if isinstance(source, str) else ""
    boxed = any(box in text for box in BOXES)
    if answer is None and not (boxed or MARK in text):
        raise UnusableRow(
            f"expected an answer, or a solution with \\boxed{{}} or {MARK}, got {source!r:.80}"
        )
    if MARK in text and not (boxed and answer is None):
        text = text.rpartition(MARK)[2]
    text = answer_text(text)
    if not text or len(text) > LONGEST:
        raise UnusableRow(f"expected an answer of 1 to {LONGEST} characters, got {text!r:.80}")
    return text
