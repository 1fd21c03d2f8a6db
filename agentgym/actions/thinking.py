"""Remove thinking from a model's text, so that an action in it is not executed.

The rules, for the markers of every model family (`agentgym.actions.thinking_marks`):

1. An opening marker begins thinking, and the first closing marker of the same family ends it. If
   there is none, the rest of the text is thinking.
2. A closing marker without an opening one also ends thinking, and everything before it is removed,
   because some chat templates put the opening marker into the prompt. Markers that also end other
   messages count only after an opening one.
3. A quoted marker does not count: inside a complete action of the environment, code fence or tool
   call's JSON, or in single backticks. Within thinking only backticks quote, because servers end
   thinking at the first marker. If an action was only mentioned, so that another one begins between
   the marker and the closing text, the marker counts.
4. If a text is ambiguous, it is removed: an action that was only thought must not be executed.

Markers around the answer, such as ``<|START_TEXT|>``, are removed, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from agentgym.actions.quotes import Quotes, begins_action, is_in_code
from agentgym.actions.specs import ActionSpec
from agentgym.actions.thinking_marks import (
    ANSWER_TAGS,
    FAMILIES,
    TAG_NAMES,
    Marks,
)

_NAMES = "|".join(re.escape(name) for name in sorted(TAG_NAMES, key=len, reverse=True))
_TAG = (
    r"<\s{0,8}(?P<slash>/?)\s{0,8}(?P<name>(?i:" + _NAMES + r")(?::\w{1,32})?)"
    r"(?:\s[^<>]{0,200})?>"
)


def _alternatives(rows: tuple[Marks, ...]) -> str:
    """Combine the markers of all families; a group's name is a kind of `_kind` and a row number."""
    parts: list[str] = []
    for number, marks in enumerate(rows):
        for kind, pattern in (
            ("a", marks.begins_answer),
            ("o", marks.opening),
            ("c", marks.closing),
            ("d", marks.answer),
        ):
            if pattern:
                parts.append(f"(?P<{kind}{number}>{pattern})")
    return "|".join(parts)


_MARK = re.compile(f"{_TAG}|{_alternatives(FAMILIES)}")
# Where markers may begin. These cheap expressions find candidates, and only there the large _MARK
# is tried. Nearly all markers begin with "<", which is found fast in long thinking.
_TAG_PLACE = re.compile(
    r"<[\s/]{0,17}(?:think|thought|reason|seed:|mm:|longcat_|ifm\||\||channel)", re.IGNORECASE
)
_PLACE = re.compile(r"[<\[◁]|Here|a(?:nalysis|ssistantfinal)|to=(?:self|user)|/think")
_ANSWER = re.compile(rf"\s{{0,64}}<({'|'.join(ANSWER_TAGS)})>", re.IGNORECASE)


def may_hold_thinking(text: str) -> bool:
    """Return whether a text may contain a thinking marker: a cheap test before a full search."""
    return "<" in text or _has_words(text)


def _has_words(text: str) -> bool:
    """Return whether a text may contain a marker that does not begin with ``<``.

    Substring tests instead of a regular expression, because every action of a model is tested.
    """
    return (
        ("]" in text and ("THINK]" in text or "[unused1" in text))
        or "◁" in text
        or (":" in text and "my thought process:" in text)
        or ("=" in text and "to=self<" in text)
        or "assistantfinal" in text
        or text.startswith("analysis")
        or ("/" in text and text.startswith("/think\n"))
    )


def _marks(text: str) -> Iterator[re.Match[str]]:
    """Yield the markers of a text; they do not overlap."""
    end = 0
    for place in (_PLACE if _has_words(text) else _TAG_PLACE).finditer(text):
        if place.start() >= end and (mark := _MARK.match(text, place.start())):
            end = mark.end()
            yield mark


def strip_think(text: str, specs: tuple[ActionSpec, ...] = (), grammar: str = "native") -> str:
    """Remove thinking, so that an action quoted inside it is not played.

    The docstring of this module, `agentgym.actions.thinking`, lists the rules.

    Args:
        text: A model's text.
        specs: The environment's actions; markers inside an action are ignored. Empty: markers are
            ignored only in fences, tool calls and backticks.
        grammar: The grammar in which the actions are written.

    Returns:
        The text without thinking, stripped of surrounding white space; the same object when there
        is no thinking.
    """
    if not may_hold_thinking(text):
        return text
    marks = _marks(text)
    first = next(marks, None)
    return text if first is None else _Cutter(text, specs, grammar).cut(chain((first,), marks))


def first_mark(text: str) -> tuple[str, str]:
    """Return the first thinking marker of a text and its model family; empty if there is none.

    The family of a tag such as ``<think>`` is also empty, because many families write it.
    """
    mark = next(_marks(text), None)
    if mark is None:
        return "", ""
    number = (mark.lastgroup or "")[1:]
    return mark[0].strip(), FAMILIES[int(number)].family if number.isdigit() else ""


class _Cutter:
    """Collects the parts of a text outside of thinking, marker by marker."""

    def __init__(self, text: str, specs: tuple[ActionSpec, ...], grammar: str) -> None:
        self._text, self._specs, self._grammar = text, specs, grammar
        self._actions = {spec.name.lower() for spec in specs} if grammar == "xml" else set()
        self._quotes: Quotes | None = None
        self._parts: list[str] = []
        self._position = 0
        self._inside = ""
        self._changed = False

    def cut(self, marks: Iterable[re.Match[str]]) -> str:
        """Return the text without thinking."""
        skipped = 0
        for mark in marks:
            kind, family, lone = _kind(mark)
            if mark.start() < skipped or family in self._actions:
                continue
            if self._inside:
                self._end(mark, kind, family)
                continue
            if kind == "c" and not lone:
                kind = "d"
            skipped = self._quoted(mark)
            if skipped < 0:
                self._take(mark, kind, family)
        if not self._changed:
            return self._text
        if not self._inside:
            self._parts.append(self._text[self._position :])
        return self._unwrapped("".join(self._parts)).strip()

    def _quoted(self, mark: re.Match[str]) -> int:
        """Return the end of the quotation that contains a marker, or -1."""
        if mark.start() == self._position:
            return -1
        if self._quotes is None:
            self._quotes = Quotes(self._text, self._specs, self._grammar)
        return self._quotes.end(self._position, mark.start(), mark.end())

    def _end(self, mark: re.Match[str], kind: str, family: str) -> None:
        """Inside thinking: end it at a closing marker of its family, or where the answer begins."""
        if kind not in "ac" or family != self._inside:
            return
        if not is_in_code(self._text, mark.start(), mark.end()):
            self._inside, self._position = "", mark.end()
            if kind == "a":
                self._parts.clear()

    def _take(self, mark: re.Match[str], kind: str, family: str) -> None:
        """Outside thinking: cut at a marker, and begin thinking if it is an opening one."""
        self._changed = True
        if kind in "ac":
            self._parts.clear()
        else:
            self._parts.append(self._text[self._position : mark.start()])
        self._position = mark.end()
        self._inside = family if kind == "o" else ""

    def _unwrapped(self, text: str) -> str:
        """Return an answer without the ``<answer>`` or ``<response>`` tag of some families.

        If the environment has an action of this name, the tag is removed only if another action is
        inside it.
        """
        opening = _ANSWER.match(text)
        if opening is None:
            return text
        name = opening[1].lower()
        closing = text.lower().rfind(f"</{name}>", opening.end())
        inner = text[opening.end() : closing if closing >= 0 else len(text)]
        is_action = any(spec.name.lower() == name for spec in self._specs)
        if is_action and not (closing >= 0 and begins_action(inner, self._specs, self._grammar)):
            return text
        return inner + ("" if closing < 0 else text[closing + len(name) + 3 :])


def _kind(mark: re.Match[str]) -> tuple[str, str, bool]:
    """Classify a marker.

    Returns:
        Its kind: "o" opens thinking, "c" closes it, "a" begins the answer, "d" is dropped; its
        family; and whether it ends thinking without an opening marker.
    """
    group = mark.lastgroup or ""
    if group in ("name", "slash"):
        return ("c" if mark["slash"] else "o"), mark["name"].lower(), True
    marks = FAMILIES[int(group[1:])]
    return group[0], marks.family, marks.lone
