"""From a record of a question set to a question.

These published forms are read, and whatever has their fields, in upper or lower case:

* FlashRAG (Jin et al., 2024, arXiv:2405.13576): ``{"id", "question", "golden_answers": [...],
  "metadata"}``.
* Search-R1 (Jin et al., 2025, arXiv:2503.09516), verl, SkyRL and TRL: see
  `agentgym.core.question_rows.unnested`; ``data_source`` names the set.
* The sets as their authors publish them: NQ-open (``answer``, a list), HotpotQA and 2WikiMultihopQA
  (``answer``, a text; ``type``), MuSiQue (``answer``, ``answer_aliases``), TriviaQA (``Question``,
  ``Answer`` with ``Value`` and ``Aliases``), PopQA (``possible_answers``, a list written as JSON).

One's own records may also hold ``gold``, the ids of the passages with the evidence, and ``hops``.
``options`` and ``choices`` are shown behind the question, ``body`` and the like before it; evidence
such as ``context`` is not, as it has to be found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from agentgym.core.outcome import well_formed
from agentgym.core.question_rows import (
    LETTERS,
    OPTIONS,
    SEARCHED,
    STORIES,
    UNSEEN,
    read_options,
    right_option,
    unnested,
    with_options,
    with_story,
)
from agentgym.core.row_splits import named_split
from agentgym.envs.search.engine.scoring import normalise
from agentgym.envs.search.question import Question
from agentgym.support.strict_json import parse_json

SHOWN_BEFORE = tuple(name for name in STORIES if name not in SEARCHED)
"""Fields that are shown before the question."""
LISTS = ("golden_answers", "answers", "possible_answers")
"""Fields of answers, each a list of spellings, which may be written as JSON."""
LABELS = ("answer", "answers", "golden_answers", "label", "answerkey", "answer_idx")
"""Fields that say which option is right."""
ANSWERABLE: Mapping[str, bool] = {
    "answerable": True, "is_answerable": True, "is_impossible": False, "unanswerable": False,
}  # fmt: skip
"""Fields that say whether a question has an answer, and their value if it has (MuSiQue-Full, SQuAD
2). The answer of one that has none is that of its twin with the evidence."""
FIELDS = (
    "question", "golden_answers", "answers", "answer", "answer_aliases", "possible_answers",
    "reward_model", "reward_spec", "prompt", "data_source", "type", "extra_info", "split", "gold",
    "hops", "label", "answerkey", "answer_idx", "metadata", *SHOWN_BEFORE, *OPTIONS, *UNSEEN,
    *ANSWERABLE,
)  # fmt: skip
"""Fields of records that mean something."""


class UnusableRecord(Exception):
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
        UnusableRecord: It holds no question or no answers, or says that there is none.
    """
    if not isinstance(record, Mapping):
        raise UnusableRecord(f"expected an object, got {record!r:.80}")
    record = unnested(record)
    _check_answerable(record)
    phrase = record.get("question")
    text = " ".join(well_formed(phrase if isinstance(phrase, str) else "").split())
    if not text:
        raise UnusableRecord(
            f"expected a question, got the fields {', '.join(map(str, record))!r:.200}"
        )
    if not text.endswith("?"):
        text += "?"  # as Search-R1 does
    try:
        options = read_options(record)
        text = with_options(with_story(text, record, SHOWN_BEFORE), options)
        answers = _option(record, options) if options else _answers(record)
    except ValueError as error:
        raise UnusableRecord(str(error)) from None
    kinds = [record.get(name) for name in ("data_source", "type")]
    question = Question(
        well_formed(text),
        answers,
        kind=next((kind for kind in kinds if isinstance(kind, str)), ""),
        hops=_hops(record),
        gold=_texts(record.get("gold"), "gold") if record.get("gold") is not None else (),
    )
    return QuestionEntry(question, _split(record))


def content_of(question: Question) -> str:
    """Return what makes a question the one that it is: its words, however they are written."""
    return normalise(question.text)


def _check_answerable(record: Mapping[str, Any]) -> None:
    """Refuse a question that its own record calls unanswerable."""
    places = (record, record.get("metadata"), record.get("extra_info"))
    for place in (place for place in places if isinstance(place, Mapping)):
        for name, usual in ANSWERABLE.items():
            if str(place.get(name)).lower() in (("false", "0") if usual else ("true", "1")):
                raise UnusableRecord(
                    f"expected a question that can be answered, got {name}={place[name]!r}, whose "
                    "right answer would be that there is none"
                )


def _option(record: Mapping[str, Any], options: Sequence[str]) -> tuple[str, ...]:
    """Return the answers of a question with options: the letter and the text of the right one."""
    label = next((record[name] for name in LABELS if record.get(name) is not None), None)
    if isinstance(label, list | tuple) and len(label) == 1:
        label = label[0]
    place = right_option(label, options)
    return LETTERS[place], well_formed(options[place])


def _answers(record: Mapping[str, Any]) -> tuple[str, ...]:
    target, listed = None, True
    for name in ("golden_answers", "answers", "answer", "possible_answers"):
        if target is None and (target := record.get(name)) is not None:
            listed = name in LISTS
    texts = [*_spellings(target, listed), *_texts(record.get("answer_aliases"), "answer_aliases")]
    answers = tuple(dict.fromkeys(text for text in texts if text.strip()))
    if not answers:
        raise UnusableRecord(f"expected answers in golden_answers, got {target!r:.80}")
    return answers


def _spellings(answers: Any, listed: bool) -> tuple[str, ...]:
    """Read the answers of a record: a text, a list of texts, or a text with its aliases.

    A text of JSON is a list only where a field holds several; ``"[7, 9]"`` is an answer, too.
    """
    if isinstance(answers, Mapping):
        parts = {str(name).lower(): value for name, value in answers.items()}
        if {"value", "aliases"} <= set(parts):
            aliases = _texts(parts["aliases"], "aliases")
            return (*_texts(parts["value"], "value"), *aliases)
    if listed and isinstance(answers, str) and answers.startswith("[") and answers.endswith("]"):
        with suppress(ValueError):  # an answer in brackets
            answers = parse_json(answers)
    return _texts(answers, "golden_answers")


def _texts(raw: Any, name: str) -> tuple[str, ...]:
    """Read a text or a list of texts; numbers and truth values are texts, too."""
    values = [raw] if isinstance(raw, str | int | float) else [] if raw is None else raw
    if not isinstance(values, Iterable) or isinstance(values, Mapping | bytes):
        raise UnusableRecord(f"expected {name} to be a list of texts, got {raw!r:.80}")
    texts = [text for value in values for text in _as_texts(value)]
    if not all(isinstance(text, str) for text in texts):
        raise UnusableRecord(f"expected {name} to be a list of texts, got {raw!r:.80}")
    return tuple(map(well_formed, texts))


def _as_texts(value: Any) -> tuple[Any, ...]:
    """Write a number or a truth value as it is answered; anything else stays as it is."""
    if isinstance(value, bool):
        return ("yes", "true") if value else ("no", "false")
    if isinstance(value, float) and not math.isfinite(value):
        return (None,)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return (str(int(value)),)
    return (str(value),) if isinstance(value, int | float) else (value,)


def _hops(record: Mapping[str, Any]) -> int:
    hops = record.get("hops")
    if hops is None:
        return 0
    if not isinstance(hops, int) or isinstance(hops, bool) or not 0 <= hops <= 100:
        raise UnusableRecord(f"expected hops to be a small number, got {hops!r:.80}")
    return hops


def _split(record: Mapping[str, Any]) -> str | None:
    try:
        return named_split(record.get("split"))
    except ValueError as error:
        raise UnusableRecord(str(error)) from None
