"""Reading a command: which action it means, with which things.

A port of the decisions of Inform's parser to Python: a verb has several lines of grammar, which are
tried in order; of the failing lines, the one that got furthest determines the error. If a noun is
missing or ambiguous, the parser asks a question, which the next command may answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.envs.textworld.inform.dictionary import ALL, CommandWords, split
from agentgym.envs.textworld.inform.grammar import REFUSED, GrammarLine, ParserError, verbs
from agentgym.envs.textworld.inform.line_parser import SEVERAL, LineMismatch, LineParser, MoreNeeded
from agentgym.envs.textworld.inform.story import COMPASS, DIRECTION_WORDS, PLAYER
from agentgym.envs.textworld.inform.world_view import WorldView


@dataclass(frozen=True)
class ParsedRequest:
    """A requested action.

    Attributes:
        action: Name of the action in ``grammar``.
        nouns: Its objects; several for ``drop the key and the lamp``, one after another.
        second: The other thing, if there is one.
        several: Whether the nouns are a list, so that each is announced by its name.
        note: The parser's assumption, such as ``(the old key)``.
        words: The command.
    """

    action: str
    nouns: tuple[str, ...] = ()
    second: str = ""
    several: bool = False
    note: str = ""
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pending:
    """A question that the parser asked.

    Attributes:
        words: The command that was not clear.
        at: Where an answer belongs: words that name a thing more closely go in front of the
            words at this index; at the end where a noun was missing.
        glue: Words that were assumed and go between the command and the answer.
        only_one: Whether the answer must not be ``all``.
    """

    words: tuple[str, ...]
    at: int
    glue: tuple[str, ...] = ()
    only_one: bool = False


@dataclass
class Parser:
    """Read the commands of an episode.

    Attributes:
        antecedent: What the word ``it`` stands for; empty at first.
        pending: The question asked after the previous line, if any.
        tail: The text after the verb in the last command that was understood only in part; Inform
            repeats it after a direction that is followed by other words.
    """

    antecedent: str = ""
    pending: Pending | None = None
    tail: str = ""

    def read(self, line: str, view: WorldView) -> ParsedRequest | str:
        """Return the action that a line asks for, or the parser's answer, which takes no turn."""
        words = split(line)
        if not words:
            return "I beg your pardon?"
        table = verbs(bool(view.story.kitchen))
        pending, self.pending = self.pending, None
        if words[0] in REFUSED:
            return ParserError.VERB.text()
        if pending is not None and pending.only_one and words[0] in ALL:
            self.pending = pending
            return "Sorry, you can only have one item here. Which exactly?"
        if pending is not None and words[0] not in table:
            preceding, following = pending.words[: pending.at], pending.words[pending.at :]
            words = CommandWords([*preceding, *pending.glue, *words.typed, *following])
        if words[0] not in table:
            return self._direction(words)
        return self._lines(words, table[words[0]], view)

    def _direction(self, words: CommandWords) -> ParsedRequest | str:
        """Read a command that does not begin with a verb."""
        direction = DIRECTION_WORDS.get(words[0])
        if words[0] == "it" and self.antecedent in COMPASS:
            direction = self.antecedent
        if direction is None:
            return ParserError.VERB.text()
        if len(words) > 1:
            # The tail is that of an earlier command (sic): Inform does not forget it.
            understood = f"{words[0]} {self.tail}".rstrip()
            return f"I only understood you as far as wanting to (go) {understood}."
        return ParsedRequest("Go", (direction,), words=tuple(words.typed))

    def _lines(
        self, words: CommandWords, lines: tuple[GrammarLine, ...], view: WorldView
    ) -> ParsedRequest | str:
        """Try the lines of a verb in order."""
        parser = LineParser(view, words, self.antecedent)
        for line in lines:
            try:
                nouns = parser.line(line)
            except LineMismatch:
                self.tail = self.tail if parser.tail is None else parser.tail
                continue
            except MoreNeeded as question:
                if question.notice:
                    self.antecedent = question.notice
                self.pending = Pending(tuple(words.typed), question.at, question.glue,
                                       question.only_one)  # fmt: skip
                return question.text
            first, second = [*nouns, "", ""][:2]
            if line.swapped:
                first, second = second, first
            # "It" is the first noun even where the action will be refused: the parser decides it.
            several = first == SEVERAL
            if first and not several and first != PLAYER:
                self.antecedent = first
            first_nouns = tuple(parser.several) if several else (first,) if first else ()
            return ParsedRequest(
                line.action, first_nouns, second, several, parser.note(), tuple(words.typed)
            )
        return parser.complaint()
