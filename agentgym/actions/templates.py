"""Native templates: find the first complete action in free text, in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from agentgym.actions.specs import OPTIONAL, PLACEHOLDER, ActionSpec, Param, check_specs
from agentgym.errors import ConfigurationError

_BRACKETS = re.compile(r"[\[\]]")
_MARKED = re.compile(r"[\n\[\](){}<>`\"|]|[^\w\s]\s*$")
_SPACE = re.compile(r"\s*")
_MARKER = re.compile(r"(?:^|(?<=\n))([`<=>])\1{2,}")
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
        self._stop = self._last = -1

    def lines(self, word: str) -> list[Line]:
        """Return the lines that begin with a lower-case word; all non-blank lines for ""."""
        if self._lines is None:
            self._lines = {"": []}
            for match in _LINES.finditer(self.text):
                words = match[0].split()
                if words:
                    line = Line(match.start() + match[0].index(words[0]), match.end(), words)
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
            if opening > self._stop:  # once for each line
                stop = self.text.find("\n", opening)
                self._stop = len(self.text) if stop < 0 else stop
                self._last = self.text.rfind("]", opening, self._stop)
            return self._last if self._last > opening else -1
        while self.text.startswith("]", close + 1):
            close += 1
        return close


class Template:
    """A native template, split into literal parts and parameter names.

    There are three kinds: `delimited` (``search[{query}]``, a fenced block) may occur anywhere;
    `tail` (ends in a verbatim parameter) takes the rest of the text; any other must fill a line.

    As in Markdown, a template that begins with a fence-like marker may be written with a longer
    one (every marker longer by the same number of characters), so that values can contain the
    shorter marker.
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
        # Lines are indexed by their first word, if the template fixes the whole word.
        words = head.lower().split()
        complete = len(words) > 1 or head[-1:].isspace() or not self.names
        self._word = words[0] if words and complete else ""
        marker = _MARKER.match(head)
        self._fence = len(marker[0]) if marker and self.delimited else 0
        pattern = _fence_pattern(head) if self._fence else _head_pattern(head)
        self._head = re.compile(pattern, re.IGNORECASE)

    def takes(self, names: Set[str]) -> bool:
        """Return whether the template has exactly these arguments."""
        return names == set(self.names)

    def fill(self, arguments: Mapping[str, str]) -> str:
        """Write a call with arguments that the template `takes`."""
        literals = self.widened(self.needed(arguments.values()))
        parts = [literals[0]]
        for name, literal in zip(self.names, literals[1:], strict=True):
            parts += [arguments[name], literal]
        return "".join(parts)

    def find(self, page: Page) -> Match | None:
        """Return the first complete match of the template, or None."""
        if self.delimited or self.tail:
            unclosed = len(page.text)
            for head in self._head.finditer(page.text):
                more = len(head[1]) - self._fence if self._fence else 0
                literals = self.widened(more)
                # If a shorter marker is never closed, a longer one is not either.
                if more >= unclosed or (more and len(head[0]) != len(literals[0])):
                    continue
                values, end, hopeless = self._rest(page, head.end(), literals)
                if values is not None:
                    return Match(head.start(), end, self.spec, values)
                unclosed = more if hopeless else unclosed
                if not unclosed:
                    return None
            return None
        for line in page.lines(self._word):
            values = self._line(" ".join(line.words))
            if values is not None:
                return Match(line.start, line.end, self.spec, values)
        return None

    def widened(self, more: int) -> tuple[str, ...]:
        """Return the literal parts with every marker longer by ``more`` characters."""
        if not more:
            return self.literals
        return tuple(
            _MARKER.sub(lambda marker: marker[0] + marker[1] * more, literal)
            for literal in self.literals
        )

    def needed(self, values: Iterable[str]) -> int:
        """Return by how much to widen the markers so that no line of the values closes one."""
        if not self._fence:
            return 0
        longest: dict[str, int] = {}
        for value in values:
            for marker in _MARKER.finditer(value):
                longest[marker[1]] = max(len(marker[0]), longest.get(marker[1], 0))
        markers = [marker for literal in self.literals for marker in _MARKER.finditer(literal)]
        return max(0, *(longest.get(marker[1], 0) - len(marker[0]) + 1 for marker in markers))

    def _rest(
        self, page: Page, position: int, literals: tuple[str, ...]
    ) -> tuple[dict[str, str] | None, int, bool]:
        """Match everything after the head.

        Returns:
            The values or None, the end of the match, and whether no later head can succeed either
            (its closing text does not occur in the rest): without this flag, many unclosed heads
            would take quadratic time.
        """
        values: dict[str, str] = {}
        for index, name in enumerate(self.names):
            literal = literals[index + 1]
            if not literal:
                values[name] = page.text[position:]
                return values, len(page.text), False
            bracket = literal[0] == "]" and literals[index].endswith("[")
            verbatim = name in self._verbatim
            if bracket:
                end = page.closing(position - 1)
            else:  # a plain value ends on its line
                stop = -1 if verbatim else page.text.find("\n", position)
                end = page.text.find(
                    literal, position, len(page.text) if stop < 0 else stop + len(literal)
                )
            if end < 0:
                return None, 0, verbatim and not bracket
            if not page.text.startswith(literal, end):
                return None, 0, False
            values[name] = page.text[position:end]
            position = end + len(literal)
        return values, position, False

    def _line(self, line: str) -> dict[str, str] | None:
        """Match a whole line, white space already collapsed."""
        head, last = self.literals[0].lstrip(), self.literals[-1].rstrip()
        if not line or line[: len(head)].lower() != head.lower():
            return None
        if not self.names:
            return {} if len(line) == len(head) else None
        position, stop = len(head), len(line) - len(last)
        if stop < position or line[stop:].lower() != last.lower():
            return None
        values: dict[str, str] = {}
        lowered = line.lower()
        search = lowered if len(lowered) == len(line) else line
        for index, name in enumerate(self.names[:-1]):
            literal = self.literals[index + 1]
            end = search.find(literal.lower() if search is lowered else literal, position, stop)
            if end < 0:
                return None
            values[name], position = line[position:end], end + len(literal)
        values[self.names[-1]] = line[position:stop]
        return values if all(value.strip() for value in values.values()) else None


class RowsTemplate(Template):
    """A block of lines with one argument each, in any order; optional ones may be left out.

    A value ends where its closing text is followed by another line of the template or by its end.
    """

    def __init__(self, spec: ActionSpec, source: str) -> None:
        super().__init__(spec, source)
        first, *lines, self._last = source.split("\n")
        self._head = re.compile(re.escape(f"{first}\n"), re.IGNORECASE)
        self._rows: dict[str, tuple[str, str]] = {}
        for line in lines:
            prefix, *name, suffix = PLACEHOLDER.split(line)
            if len(name) != 1 or not prefix or not suffix:
                raise ConfigurationError(
                    f"action {spec.name!r}: expected lines with text around one parameter each, as "
                    f"some of them may be left out, got {line!r} in {source!r}"
                )
            self._rows[name[0]] = prefix, suffix
        self._required = frozenset(param.name for param in spec.params if param.required)

    def takes(self, names: Set[str]) -> bool:
        """Return whether these are the required arguments and possibly optional ones."""
        return self._required <= names <= self._rows.keys()

    def fill(self, arguments: Mapping[str, str]) -> str:
        """Write a call."""
        rows = [
            f"{prefix}{arguments[name]}{suffix}\n"
            for name, (prefix, suffix) in self._rows.items()
            if name in arguments
        ]
        return "".join((self.source.partition("\n")[0], "\n", *rows, self._last))

    def find(self, page: Page) -> Match | None:
        """Return the first complete match of the template, or None."""
        unclosed: set[str] = set()
        for head in self._head.finditer(page.text):
            values: dict[str, str] = {}
            end = self._read(page.text, head.end(), values, unclosed)
            if end >= 0:
                return Match(head.start(), end, self.spec, values)
        return None

    def _read(self, text: str, position: int, values: dict[str, str], unclosed: set[str]) -> int:
        """Read the lines behind the head; return where they end, or -1."""
        while True:
            position = end_of_space(text, position)
            unread_names = [name for name in self._rows if name not in values]
            name = next(
                (name for name in unread_names if text.startswith(self._rows[name][0], position)),
                "",
            )
            if not name:
                complete = self._required <= values.keys() and text.startswith(self._last, position)
                return position + len(self._last) if complete else -1
            prefix, suffix = self._rows[name]
            position += len(prefix)
            behind = (
                self._last,
                *(self._rows[name_left][0] for name_left in unread_names if name_left != name),
            )
            end = -1 if name in unclosed else self._closing(text, position, name, behind)
            if end < 0:
                if name not in unclosed and text.find(suffix, position) < 0:
                    unclosed.add(name)  # a later head cannot find the closing text either
                return -1
            values[name] = text[position:end]
            position = end + len(suffix)

    def _closing(self, text: str, position: int, name: str, behind: tuple[str, ...]) -> int:
        """Return where a value ends, or -1."""
        suffix, stop = self._rows[name][1], len(text)
        if name not in self._verbatim:  # a plain value ends on its line
            line = text.find("\n", position)
            stop = line if line >= 0 else stop
        end = text.find(suffix, position, stop)
        while end >= 0 and not text.startswith(behind, end_of_space(text, end + len(suffix))):
            end = text.find(suffix, end + 1, stop)
        return end


def end_of_space(text: str, position: int) -> int:
    """Return the first position from ``position`` that is not white space."""
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _fence_pattern(head: str) -> str:
    """Build the regular expression that finds a fence of any length, and the text behind it."""
    parts, position = [], 0
    for marker in _MARKER.finditer(head):
        sign, least = marker[1], len(marker[0])
        # The lookarounds match a run of signs only as a whole, so it is tried only once.
        parts += [
            re.escape(head[position : marker.start()]),
            f"(?<!{sign})({sign}{{{least},}})(?!{sign})",
        ]
        position = marker.end()
    return "".join((*parts, re.escape(head[position:])))


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
    templates = [
        (RowsTemplate if OPTIONAL.search(source) else Template)(spec, source)
        for spec in specs
        for source in spec.templates
    ]
    return tuple(sorted(templates, key=lambda template: -template.weight))


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


def call_templates(word: str, params: Sequence[Param]) -> str | tuple[str, ...]:
    """Return the templates of a call; a line of an argument that may be left out is marked."""
    if not params:
        return ""
    if len(params) == 1:
        name, free = params[0].name, params[0].verbatim
        short = (f"{word}[{{{name}}}]",)
        # Brackets end a value in which they do not pair, as in code; a fence does not.
        fenced = (f"```{word}\n<{name}>{{{name}}}</{name}>\n```",) if free else ()
        return (*short, *fenced) if params[0].required else (*short, *fenced, word)
    marks = {param.name: "" if param.required else "?" for param in params}
    rows = [f"<{name}>{{{name}{mark}}}</{name}>" for name, mark in marks.items()]
    return "\n".join((f"```{word}", *rows, "```"))
