"""From a record of a question set to a question.

These published forms are read, and whatever has their fields, in upper or lower case:

* FlashRAG (Jin et al., 2024, arXiv:2405.13576): ``{"id", "question", "golden_answers": [...],
  "metadata"}``.
* Search-R1 (Jin et al., 2025, arXiv:2503.09516): the answers are ``reward_model.ground_truth
  .target``, the question is ``question`` or, where that is missing, what follows the last
  ``Question:`` of the prompt; ``data_source`` names the set, ``extra_info.split`` the split.
* The sets as their authors publish them: NQ-open (``answer``, a list), HotpotQA and 2WikiMultihopQA
  (``answer``, a text; ``type``), MuSiQue (``answer``, ``answer_aliases``), TriviaQA (``Question``,
  ``Answer`` with ``Value`` and ``Aliases``), PopQA (``possible_answers``, a list written as JSON).

One's own records may also hold ``gold``, the ids of the passages with the evidence, and ``hops``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from agentgym.core.outcome import well_formed
from agentgym.core.row_splits import named_split
from agentgym.envs.search.engine.scoring import normalise
from agentgym.envs.search.question import Question

FIELDS = (
    "question", "golden_answers", "answers", "answer", "answer_aliases", "possible_answers",
    "reward_model", "prompt", "data_source", "type", "extra_info", "split", "gold", "hops",
)  # fmt: skip
"""Fields of records that mean something."""


class Unusable(Exception):
    """A record cannot be used; says what was expected and what it holds."""


class QuestionEntry(NamedTuple):
    """A question and where it belongs."""

    question: Question
    """The question."""
    split: str | None
    """Its split, if the record tells."""


def read_record(record: Any) -> QuestionEntry:
    """Read one record.

    Raises:
        Unusable: It holds no question or no answers.
    """
    if not isinstance(record, Mapping):
        raise Unusable(f"expected an object, got {record!r:.80}")
    record = {str(name).lower(): value for name, value in record.items()}
    text = " ".join(well_formed(_question(record)).split())
    if not text:
        raise Unusable(f"expected a question, got the fields {', '.join(map(str, record))!r:.200}")
    if not text.endswith("?"):
        text += "?"  # as Search-R1 does
    kinds = [record.get(name) for name in ("data_source", "type")]
    question = Question(
        text,
        _answers(record),
        kind=next((kind for kind in kinds if isinstance(kind, str)), ""),
        hops=_hops(record),
        gold=_texts(record.get("gold"), "gold") if record.get("gold") is not None else (),
    )
    return QuestionEntry(question, _split(record))


def content_of(question: Question) -> str:
    """Return what makes a question the one that it is: its words, however they are written."""
    return normalise(question.text)


def _question(record: Mapping[str, Any]) -> str:
    found = record.get("question")
    if isinstance(found, str) and found.strip():
        return found
    prompt = record.get("prompt")
    if isinstance(prompt, Sequence) and prompt and isinstance(prompt[0], Mapping):
        content = prompt[0].get("content")
        if isinstance(content, str) and "Question:" in content:
            return content.rpartition("Question:")[2]
    return ""


def _answers(record: Mapping[str, Any]) -> tuple[str, ...]:
    rule = record.get("reward_model")
    truth = rule.get("ground_truth") if isinstance(rule, Mapping) else None
    found = truth.get("target") if isinstance(truth, Mapping) else None
    for name in ("golden_answers", "answers", "answer", "possible_answers"):
        found = record.get(name) if found is None else found
    texts = [*_spellings(found), *_texts(record.get("answer_aliases"), "answer_aliases")]
    answers = tuple(dict.fromkeys(one for one in texts if one.strip()))
    if not answers:
        raise Unusable(f"expected answers in golden_answers, got {found!r:.80}")
    return answers


def _spellings(found: Any) -> tuple[str, ...]:
    """Read the answers of a record: a text, a list of texts, or a text with its aliases."""
    if isinstance(found, Mapping):
        parts = {str(name).lower(): value for name, value in found.items()}
        if {"value", "aliases"} <= set(parts):
            aliases = _texts(parts["aliases"], "aliases")
            return (*_texts(parts["value"], "value"), *aliases)
    if isinstance(found, str) and found.startswith("[") and found.endswith("]"):
        with suppress(ValueError):  # an answer in brackets
            found = json.loads(found)
    return _texts(found, "golden_answers")


def _texts(found: Any, name: str) -> tuple[str, ...]:
    """Read a text or a list of texts; numbers are texts, too."""
    values = [found] if isinstance(found, str | int) else [] if found is None else found
    if not isinstance(values, Iterable) or isinstance(values, Mapping | bytes):
        raise Unusable(f"expected {name} to be a list of texts, got {found!r:.80}")
    texts = [str(one) if isinstance(one, int | float) else one for one in values]
    if not all(isinstance(one, str) for one in texts):
        raise Unusable(f"expected {name} to be a list of texts, got {found!r:.80}")
    return tuple(map(well_formed, texts))


def _hops(record: Mapping[str, Any]) -> int:
    hops = record.get("hops")
    if hops is None:
        return 0
    if not isinstance(hops, int) or isinstance(hops, bool) or not 0 <= hops <= 100:
        raise Unusable(f"expected hops to be a small number, got {hops!r:.80}")
    return hops


def _split(record: Mapping[str, Any]) -> str | None:
    extra = record.get("extra_info")
    name = extra.get("split") if isinstance(extra, Mapping) else None
    name = record.get("split") if name is None else name
    try:
        return named_split(name)
    except ValueError as error:
        raise Unusable(str(error)) from None
