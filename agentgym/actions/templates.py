"""Native templates: find the first complete action in free text, in linear time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from agentgym.actions.specs import PLACEHOLDER, ActionSpec, check_specs

_BRACKETS = re.compile(r"[\[\]]")
_MARKED = re.compile(r"[\n\[\](){}<>`\"|]|[^\w\s]\s*$")
_LINES = re.compile(r"[^\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")


@dataclass(frozen=True)
class Match:
    """An action in a text: its span and the raw text of its arguments."""

    start: int
    end: int
    spec: ActionSpec
    values: dict[str, str]


class Line(NamedTuple):
    """A non-blank line of a text: its span without leading white space, and its words."""

    start: int
    end: int
    words: list[str]


class Page:
    """A text to search, with bracket pairs matched once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._pairs: dict[int, int] | None = None
        self._lines: dict[str, list[Line]] | None = None

    def lines(self, word: str) -> list[Line]:
        """Return the lines that begin with a lower-case word; all non-blank lines for ""."""
        if self._lines is None:
            self._lines = {"": []}
            for found in _LINES.finditer(self.text):
                words = found[0].split()
                if words:
                    line = Line(found.start() + found[0].index(words[0]), found.end(), words)
                    self._lines[""].append(line)
                    self._lines.setdefault(words[0].lower(), []).append(line)
        return self._lines.get(word, [])

    def closing(self, opening: int) -> int:
        """Return the index of the ``]`` that closes the ``[`` at an index, or -1.

        A bracket without a partner ends at the last ``]`` of its line; ``]`` characters that
        directly follow the partner belong to the value.
        """
        if self._pairs is None:
            self._pairs, stack = {}, []
            for mark in _BRACKETS.finditer(self.text):
                if mark[0] == "[":
                    stack.append(mark.start())
                elif stack:
                    self._pairs[stack.pop()] = mark.start()
        close = self._pairs.get(opening, -1)
        if close < 0:
            stop = self.text.find("\n", opening)
            return self.text.rfind("]", opening, len(self.text) if stop < 0 else stop)
        while self.text.startswith("]", close + 1):
            close += 1
        return close


class Template:
    """A native template, split into literal parts and parameter names.

    There are three kinds: `delimited` (``search[{query}]``, a fenced block) may occur anywhere;
    `tail` (ends in a verbatim parameter) takes the rest of the text; any other must fill a line.
    """

    def __init__(self, spec: ActionSpec, source: str) -> None:
        parts = PLACEHOLDER.split(source)
        self.spec = spec
        self.source = source
        self.literals: tuple[str, ...] = tuple(parts[0::2])
        self.names: tuple[str, ...] = tuple(parts[1::2])
        self.weight = sum(map(len, self.literals))
        self._verbatim = {param.name for param in spec.params if param.verbatim}
        head, last = self.literals[0], self.literals[-1]
        self.tail = not last and bool(self.names) and self.names[-1] in self._verbatim
        self.delimited = not self.tail and bool(
            last and (self._verbatim & set(self.names) or _MARKED.search(head))
        )
        # The first word of a line decides, if the template says where that word ends.
        words = head.lower().split()
        whole = len(words) > 1 or head[-1:].isspace() or not self.names
        self._word = words[0] if words and whole else ""
        self._head = re.compile(_head_pattern(head), re.IGNORECASE)

    def find(self, page: Page) -> Match | None:
        """Return the first complete match of the template, or None."""
        if self.delimited or self.tail:
            for head in self._head.finditer(page.text):
                values, end, hopeless = self._rest(page, head.end())
                if values is not None:
                    return Match(head.start(), end, self.spec, values)
                if hopeless:
                    return None
            return None
        for line in page.lines(self._word):
            values = self._line(" ".join(line.words))
            if values is not None:
                return Match(line.start, line.end, self.spec, values)
        return None

    def _rest(self, page: Page, at: int) -> tuple[dict[str, str] | None, int, bool]:
        """Match everything after the head; the flag says that no later head can succeed."""
        values: dict[str, str] = {}
        for index, name in enumerate(self.names):
            literal = self.literals[index + 1]
            if not literal:
                values[name] = page.text[at:]
                return values, len(page.text), False
            bracket = literal[0] == "]" and self.literals[index].endswith("[")
            verbatim = name in self._verbatim
            if bracket:
                end = page.closing(at - 1)
            else:  # a plain value ends on its line
                stop = -1 if verbatim else page.text.find("\n", at)
                end = page.text.find(
                    literal, at, len(page.text) if stop < 0 else stop + len(literal)
                )
            if end < 0:
                return None, 0, verbatim and not bracket
            if not page.text.startswith(literal, end):
                return None, 0, False
            values[name] = page.text[at:end]
            at = end + len(literal)
        return values, at, False

    def _line(self, line: str) -> dict[str, str] | None:
        """Match a whole line, white space already collapsed."""
        head, last = self.literals[0].lstrip(), self.literals[-1].rstrip()
        if not line or line[: len(head)].lower() != head.lower():
            return None
        if not self.names:
            return {} if len(line) == len(head) else None
        at, stop = len(head), len(line) - len(last)
        if stop < at or line[stop:].lower() != last.lower():
            return None
        values: dict[str, str] = {}
        lowered = line.lower()
        search = lowered if len(lowered) == len(line) else line
        for index, name in enumerate(self.names[:-1]):
            literal = self.literals[index + 1]
            end = search.find(literal.lower() if search is lowered else literal, at, stop)
            if end < 0:
                return None
            values[name], at = line[at:end], end + len(literal)
        values[self.names[-1]] = line[at:stop]
        return values if all(value.strip() for value in values.values()) else None


def _head_pattern(head: str) -> str:
    """Build the regular expression that finds a template's opening text."""
    boundary = r"(?<!\w)" if re.match(r"\w", head) else ""
    if not head:
        return r"\A"
    if re.fullmatch(r"\w+\[", head):
        return boundary + re.escape(head[:-1]) + r"[ \t]{0,8}\["
    return boundary + re.escape(head)


@lru_cache(maxsize=256)
def compile_specs(specs: tuple[ActionSpec, ...]) -> tuple[Template, ...]:
    """Compile the native templates of the action specs, the most specific first.

    Where several match at one position of a text, the first wins.

    Raises:
        ConfigurationError: The specs are invalid.
    """
    check_specs(specs)
    found = [Template(spec, source) for spec in specs for source in spec.templates]
    return tuple(sorted(found, key=lambda template: -template.weight))


def find_native(text: str, specs: tuple[ActionSpec, ...]) -> Match | None:
    """Find the first complete native action in a text of bounded length, thinking removed.

    At one position the most specific template has precedence.
    """
    page = Page(text)
    best: Match | None = None
    for template in compile_specs(specs):
        match = template.find(page)
        if match and (best is None or match.start < best.start):
            best = match
    return best


def fill(template: Template, arguments: dict[str, str]) -> str:
    """Write a call in a native template whose parameters are exactly its arguments."""
    parts = [template.literals[0]]
    for name, literal in zip(template.names, template.literals[1:], strict=True):
        parts += [arguments[name], literal]
    return "".join(parts)
