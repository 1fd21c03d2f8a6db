"""Quoted parts of a text: in an action, a code fence or a tool call's JSON, no marker counts.

A thinking marker such as ``</think>`` is quoted if the last opening of an action before it belongs
to the first closing after it. If another action begins between the marker and the closing, the
opening was only mentioned ("I need the <search> tag</think><search>red</search>"). All searches
move forward, so any text is processed in linear time.
"""

from __future__ import annotations

import re
from functools import lru_cache

from agentgym.actions.call_forms import TOOL_CALL_END, find_json
from agentgym.actions.json_values import DECODER
from agentgym.actions.specs import ActionSpec
from agentgym.actions.templates import compile_specs, end_of_space

_LABEL = r"(?:[ \t]{0,8}action[ \t]{0,8}\d{0,4}[ \t]{0,8}:)?[ \t]{0,3}"
_FENCE = re.compile(rf"^{_LABEL}(`{{3,}})([^`\n]*)$", re.MULTILINE | re.IGNORECASE)
_FENCE_HERE = re.compile(rf"\s{{0,64}}{_LABEL}(`{{3,}})([^`\n]*)$", re.MULTILINE | re.IGNORECASE)
_TOOL = "<tool_call>"
_MOST_FAILURES = 64
"""Maximum number of failed attempts to decode JSON in a text: ``JSONDecodeError`` counts all lines
before the error, so unlimited attempts would take quadratic time."""
_LONGEST_LINE = 2000
"""Maximum number of characters of a line that are searched for backticks."""


class _Delimiter:
    """The opening and the closing text of an action; ``]`` closes on its line."""

    def __init__(self, head: str, tail: str) -> None:
        self.head, self.tail = head.lower(), tail.lower()


class Quotes:
    """Decides whether a position of a text is quoted.

    Args:
        text: The text.
        specs: The environment's actions; empty: only fences and tool calls quote.
        grammar: The grammar in which the actions are written.
    """

    def __init__(self, text: str, specs: tuple[ActionSpec, ...], grammar: str) -> None:
        self._text, self._grammar = text, grammar
        lowered = text.lower()
        # Lower-casing some characters changes the length, and offsets would no longer fit.
        self._lowered = lowered if len(lowered) == len(text) else text
        self._delimiters = _delimiters(specs, grammar) if specs else ()
        self._heads = [delimiter.head for delimiter in self._delimiters]
        self._tails: dict[str, int] = {}
        self._fences: dict[int, int] = {}
        self._start = self._failures = 0
        self._fence = 0, 0

    def end(self, start: int, position: int, stop: int) -> int:
        """Return the end of the quotation that contains the span ``[at, stop)``, or -1.

        Args:
            start: Start of the answer so far: quotations cannot open before it. ``start`` and
                ``position`` must not decrease from call to call.
            position: Start of the span.
            stop: End of the span, exclusive.
        """
        if start > self._start:
            self._start, self._fence = start, (start, 0)
        if end_of_space(self._text, self._start) >= position:
            return -1
        if is_in_code(self._text, position, stop):
            return stop
        end = max(
            self._end_of_json(position),
            self._end_of_fence(position, stop),
            *(self._end_of_action(delimiter, position, stop) for delimiter in self._delimiters),
            -1,
        )
        if end > self._start:  # later searches begin here, which keeps the total time linear
            self._start, self._fence = end, (end, 0)
        return end

    def _end_of_json(self, position: int) -> int:
        """Return the end of a complete tool call's JSON that begins before ``position``, or -1."""
        text = self._text
        opening = self._lowered.rfind(_TOOL, self._start, position)
        tagged = opening >= 0
        begin = opening + len(_TOOL) if tagged else self._start
        if not tagged and self._grammar == "tool_call":
            foreign = find_json(text[begin:position])
            begin += foreign[1] if foreign else 0
        begin = end_of_space(text, begin)
        if self._failures >= _MOST_FAILURES or not text.startswith(("{", "["), begin):
            return -1
        try:
            _, end = DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError):
            self._failures += 1
            return -1
        if tagged and not TOOL_CALL_END.match(text, end) and text[end : end + 64].strip():
            return -1
        return end if end > position else -1

    def _end_of_fence(self, position: int, stop: int) -> int:
        ticks = self._open_fence(position)
        if not ticks:
            return -1
        end = self._fences.get(ticks, 0)
        if 0 <= end < stop:
            closing = re.compile(rf"^[ \t]{{0,3}}`{{{ticks},}}[ \t\r]*$", re.MULTILINE)
            closed = closing.search(self._text, stop)
            end = self._fences[ticks] = closed.end() if closed else -1
        longer_fence = re.compile(rf"^{_LABEL}`{{{ticks},}}[ \t]*\w", re.MULTILINE | re.IGNORECASE)
        return -1 if end < 0 or longer_fence.search(self._text, stop, end) else end

    def _open_fence(self, position: int) -> int:
        """Return the number of backticks of the fence open at ``position``; 0 outside a fence."""
        begin, opened = self._fence
        text = self._text
        if begin == self._start and (first := _FENCE_HERE.match(text, begin, position)):
            begin, opened = first.end(), len(first[1])
        while (place := text.find("```", begin, position)) >= 0:
            # A fence begins its line, after at most a short label: look back 40 characters.
            fence = _FENCE.match(text, max(begin, text.rfind("\n", max(0, place - 40), place) + 1))
            stop = text.find("\n", place, position)
            begin = position if stop < 0 else stop
            if fence is None or fence.start(1) != place:
                continue
            if not opened:
                opened = len(fence[1])
            elif len(fence[1]) >= opened and not fence[2].strip():
                opened = 0
        self._fence = position, opened
        return opened

    def _end_of_action(self, delimiter: _Delimiter, position: int, stop: int) -> int:
        text, head, tail = self._lowered, delimiter.head, delimiter.tail
        opening = text.rfind(head, self._start, position)
        if opening < 0:
            return -1
        opening += len(head)
        if tail == "]":
            if _closes(text, opening, position):
                return -1
            line = text.find("\n", stop)
            end = text.find("]", stop, len(text) if line < 0 else line) + 1
        else:
            end = self._tails.get(tail, 0)
            if 0 <= end < opening:
                end = text.find(tail, opening)
                end = self._tails[tail] = end if end < 0 else end + len(tail)
        if end < stop or any(text.find(head, stop, end) >= 0 for head in self._heads):
            return -1
        return end


def begins_action(text: str, specs: tuple[ActionSpec, ...], grammar: str) -> bool:
    """Return whether a text begins with the opening of an action."""
    heads = tuple(delimiter.head for delimiter in _delimiters(specs, grammar))
    return text.lstrip().lower().startswith(heads)


def _closes(text: str, begin: int, end: int) -> bool:
    """Return whether ``text[begin:end]`` closes a bracket that is open at ``begin``."""
    depth = 1
    for mark in re.finditer(r"[\[\]]", text[begin:end]):
        depth += 1 if mark[0] == "[" else -1
        if not depth:
            return True
    return False


def is_in_code(text: str, position: int, stop: int) -> bool:
    """Return whether ``text[at:stop]`` is in single backticks, as when prose mentions a marker."""
    if text[position - 1 : position] != "`" or text[stop : stop + 1] != "`":
        return False
    if text[position - 2 : position - 1] == "`" or text[stop + 1 : stop + 2] == "`":
        return False
    line = text.rfind("\n", max(0, position - _LONGEST_LINE), position)
    if line < 0 and position > _LONGEST_LINE:
        return False
    return text.count("`", line + 1, position) % 2 == 1


@lru_cache(maxsize=256)
def _delimiters(specs: tuple[ActionSpec, ...], grammar: str) -> tuple[_Delimiter, ...]:
    """Return the openings and closings of actions in a grammar, except fences.

    Fences quote in every grammar. An action that ends with its line cannot quote a marker.
    """
    if grammar == "xml":
        return tuple(_Delimiter(f"<{spec.name}>", f"</{spec.name}>") for spec in specs)
    if grammar == "action_tag":
        return (_Delimiter("<action>", "</action>"),)
    if grammar == "tool_call":
        return ()
    delimiters: dict[tuple[str, str], _Delimiter] = {}
    for template in compile_specs(specs):
        head, tail = template.literals[0], template.literals[-1]
        if template.delimited and template.names and not head.startswith("```"):
            delimiters[head, tail] = _Delimiter(head, "]" if tail.startswith("]") else tail)
    return tuple(delimiters.values())
