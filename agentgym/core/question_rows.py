"""Assemble the complete question of a data set's row from its fields.

Many data sets spread a question over several fields: SVAMP has its story in ``Body`` and only "How
many are left?" in ``Question``; a multiple-choice question has its options in ``options`` or
``choices``, and a letter or an index as its answer. The field ``question`` alone cannot be solved.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

STORIES = (
    "background", "story", "scenario", "premise", "body", "context", "passage", "paragraph",
    "table",
)  # fmt: skip
"""Fields with the text that a question is about, in the order in which they are shown."""
SEARCHED = ("context", "passage", "paragraph", "table")
"""The fields among `STORIES` that contain the evidence, which a search task must not show."""
QUESTIONS = ("problem", "question")
"""Fields with the question itself."""
OPTIONS = ("options", "choices")
"""Fields with the answers to choose from."""
UNSEEN = ("image", "images", "figure", "figures", "diagram", "image_path", "audio", "video")
"""Fields with content that is not text; rows with such a field are rejected."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MARK = r"(?:\(([A-Z])\)|([A-Z])\s?[).:])"
_BEGIN = re.compile(rf"\s*{_MARK}\s*")
_BETWEEN = re.compile(rf"(?:^|\s){_MARK}\s*")


def unnested(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the fields of a row under lower-case names, with those that trainers nest.

    verl and SkyRL keep the answer in ``ground_truth`` of ``reward_model`` or ``reward_spec``, and
    the question and the split in ``extra_info``. Otherwise the question is the last message of the
    user in ``prompt``, after ``Question:`` if it says so; so it is in TRL's data sets, whose answer
    may be a ``completion``. Fields at the top of a row win, but for the split and the spellings of
    an answer (``ground_truth.target``), which become ``golden_answers``.
    """
    fields = {str(name).lower(): value for name, value in row.items()}
    rule = fields.get("reward_model") or fields.get("reward_spec")
    truth = rule.get("ground_truth") if isinstance(rule, Mapping) else None
    if isinstance(truth, Mapping):
        if truth.get("target") is not None:
            fields["golden_answers"] = truth["target"]
    elif truth is not None and fields.get("answer") is None:
        fields["answer"] = truth
    extra = fields.get("extra_info")
    nested = {"question": "", "split": None, **(extra if isinstance(extra, Mapping) else {})}
    if not any(fields.get(name) for name in QUESTIONS):
        prompt_text = _last_text(fields.get("prompt"), "user") or ""
        fields["question"] = nested["question"] or prompt_text.rpartition("Question:")[2] or None
    if nested["split"] is not None:
        fields["split"] = nested["split"]
    if fields.get("solution") is None:
        fields["solution"] = _last_text(fields.get("completion"), "assistant")
    return fields


def _last_text(messages: object, role: str) -> str | None:
    """Return the last message of a role as text; a text stands for the only message."""
    if isinstance(messages, str):
        return messages
    parts = messages if isinstance(messages, list | tuple) else ()
    role_messages = [
        part for part in parts if isinstance(part, Mapping) and part.get("role") == role
    ]
    text = role_messages[-1].get("content") if role_messages else None
    return text if isinstance(text, str) else None


def with_story(question: str, row: Mapping[str, Any], names: Sequence[str] = STORIES) -> str:
    """Return a question preceded by the text that it is about.

    Args:
        question: The question.
        row: The fields of its row; their names are in lower case.
        names: Fields with such text. Empty fields are skipped, and text that the question contains.

    Raises:
        ValueError: Such a field is not text, or the row has an image, audio or video.
    """
    unseen = next((name for name in UNSEEN if row.get(name)), None)
    if unseen is not None:
        raise ValueError(
            f"expected a question in words alone, got the field {unseen!r}; leave such rows out"
        )
    parts = []
    for name in names:
        words = row.get(name)
        if words is None or words == "":
            continue
        if not isinstance(words, str):
            raise ValueError(
                f"expected {name} to be a text, which is shown before the question, got "
                f"{words!r:.80}"
            )
        if words.strip() and words.strip() not in question:
            parts.append(words.strip())
    return "\n".join([*parts, question])


def read_options(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the options of a row in order, without their letters; empty if it has none.

    Accepts a list of texts, a mapping from letters to texts, ``{"text": [...], "label": [...]}``,
    or one text such as ``A) 3 B) 4``.

    Raises:
        ValueError: The field has another form.
    """
    name = next((name for name in OPTIONS if row.get(name)), None)
    if name is None:
        return ()
    options = row[name]
    if isinstance(options, Mapping):
        options = {str(key).lower(): value for key, value in options.items()}
        texts = options.get("text")
        options = texts if isinstance(texts, list) else [options[key] for key in sorted(options)]
    elif isinstance(options, str):
        options = _split(options)
    is_plain = isinstance(options, list | tuple) and all(
        isinstance(option, str | int | float) and not isinstance(option, bool) for option in options
    )
    if not is_plain or not 2 <= len(options) <= len(LETTERS):
        raise ValueError(
            f"expected {name} to be a list of 2 to {len(LETTERS)} texts, got {row[name]!r:.80}"
        )
    return tuple(_unmarked(str(option), place) for place, option in enumerate(options))


def with_options(question: str, options: Sequence[str]) -> str:
    """Return a question followed by its lettered options; unchanged if there are none."""
    if not options:
        return question
    lines = [f"{letter}) {text}" for letter, text in zip(LETTERS, options, strict=False)]
    return "\n".join([question, *lines, "Answer with the letter of the right option."])


def right_option(answer: object, options: Sequence[str]) -> int:
    """Return the index, from 0, of the option that is the answer of a row.

    Args:
        answer: The index, the letter, or the text of the option.
        options: The options.

    Raises:
        ValueError: The answer matches no option, or the text of several.
    """
    if isinstance(answer, int) and not isinstance(answer, bool) and 0 <= answer < len(options):
        return answer
    text = str(answer).strip()
    mark = re.fullmatch(r"\(?([A-Za-z])[).:]?", text)
    if mark and (place := LETTERS.find(mark[1].upper())) < len(options):
        return place
    matches = [n for n, option in enumerate(options) if option.casefold() == text.casefold()]
    if isinstance(answer, str) and len(matches) == 1:
        return matches[0]
    raise ValueError(
        "expected the answer to be the letter, the place (from 0) or the text of one of "
        f"{len(options)} options, got {answer!r:.80}"
    )


def _unmarked(option: str, place: int) -> str:
    """Return an option without its own letter."""
    mark = _BEGIN.match(option)
    matches = mark is not None and (mark[1] or mark[2]) == LETTERS[place]
    return option[mark.end() :].strip() if mark is not None and matches else option.strip()


def _split(text: str) -> list[str]:
    """Split one text into its options, each of which begins with its letter."""
    parts, begin, place = [], None, 0
    for mark in _BETWEEN.finditer(text):
        if place < len(LETTERS) and (mark[1] or mark[2]) == LETTERS[place]:
            if begin is not None:
                parts.append(text[begin : mark.start()].strip())
            begin, place = mark.end(), place + 1
    return parts if begin is None else [*parts, text[begin:].strip()]
