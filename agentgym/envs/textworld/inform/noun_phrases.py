"""Reading a noun in a command: articles, the name, lists joined by ``and``, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentgym.envs.textworld.inform import words as lexicon
from agentgym.envs.textworld.inform.disambiguation import Chooser, Place, Wanted
from agentgym.envs.textworld.inform.errors import Error
from agentgym.envs.textworld.inform.grammar import MULTIPLE, Line
from agentgym.envs.textworld.inform.nouns import (
    COMPASS,
    DIRECTION_WORDS,
    Match,
    Vocabulary,
    find,
    in_scope,
)
from agentgym.envs.textworld.inform.story import PLAYER
from agentgym.envs.textworld.inform.words import BUT, CONNECTIVES, ME, PRONOUNS, THEN, Words
from agentgym.envs.textworld.inform.world_view import Scene

SEVERAL = "*"
"""Stands for the list of things in place of one."""

_SHOWN = {"i": "take inventory", "inv": "take inventory", "inventory": "take inventory",
          "l": "look", "x": "examine", "z": "wait"}  # fmt: skip
_NO_LINE = Line((), "", False, 0)


class Stuck(Exception):
    """The line of grammar does not fit."""


class Question(Exception):
    """The player must say more.

    Attributes:
        text: The question.
        at: Where the answer belongs among the words.
        glue: Words that go before it.
        notice: A thing that ``it`` stands for from now on.
        only_one: Whether the answer must not be ``all``.
    """

    def __init__(
        self, text: str, at: int, glue: tuple[str, ...] = (), notice: str = "", *,
        only_one: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(text)
        self.text, self.at, self.glue, self.notice = text, at, glue, notice
        self.only_one = only_one


@dataclass
class NounReader:
    """Reads the nouns of one command, line of grammar after line.

    Attributes:
        scene: The state.
        vocabulary: Names of the game.
        words: The command.
        it: What the word ``it`` stands for.
        several: Things of a list.
        best: The most telling error of the lines so far.
        error: The error of this line.
        few: How many things there were where more were wanted.
        pronoun: The pronoun that an error is about.
    """

    scene: Scene
    vocabulary: Vocabulary
    words: Words
    it: str
    several: list[str] = field(default_factory=list)
    best: Error = Error.STUCK
    error: Error = Error.STUCK
    few: int = 0
    pronoun: str = ""
    _multiflag: bool = False  # a noun that may be a list has been read in some line
    _line: Line = _NO_LINE
    _place: int = 0
    _at: int = 1
    _infer: int = 0  # one more than the index of the first token that was assumed
    _context: str = ""  # the token that was read as a list
    _warning: str = ""  # the second noun, where it was found early
    _made: list[str] = field(default_factory=list)
    _pattern: list[str] = field(default_factory=list)
    _nouns: list[str] = field(default_factory=list)
    _wanted: Wanted = field(default_factory=Wanted)
    _pronoun_here: str = ""
    _scopes: dict[bool, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the chooser, whose memory lasts for the whole command."""
        self._chooser = Chooser(self.scene, self.vocabulary, self.words, self.it)

    def _fail(self, error: Error) -> Stuck:
        self.error = error
        return Stuck()

    def _word(self, at: int) -> str:
        return self.words[at] if at < len(self.words) else ""

    @property
    def _last(self) -> bool:
        return self._place == len(self._line.tokens) - 1

    def _command(self, start: int) -> str:
        """Return the command as it is understood so far, from a token on; -1 for the verb."""
        shown = [_SHOWN.get(self.words[0], self.words[0])] if start < 0 else []
        shown += [self._name(entry) for entry in self._pattern[max(start, 0) :] if entry]
        return " ".join(shown)

    def _name(self, entry: str) -> str:
        """Return a thing, direction or word as the parser quotes it."""
        if entry == SEVERAL:
            return "those things"
        if entry == PLAYER:
            return "yourself"
        return self.scene.the(entry) if entry in self.scene.book.entities else entry

    def _noun_list(self, token: str) -> str:
        """Read one noun, or a list joined by ``and`` and ``but``; `SEVERAL` for a list."""
        many, adding, single = False, True, ""
        while True:
            found = self._one(token)
            if not many and found != SEVERAL:
                single = found
            else:
                many = True
                self._merge(self._made if found == SEVERAL else [found], adding)
            word = self._word(self._at)
            if word not in CONNECTIVES:
                break
            self._at += 1
            if token not in MULTIPLE:
                if self._multiflag:
                    break
                raise self._fail(Error.MULTI)
            adding ^= word in BUT
            if not many:
                self.several, many = [single], True
            self._infer = 0
        if many:
            self._context = token
            return SEVERAL
        if self._wanted.plural and token in ("multiexcept", "multiinside"):
            self._context = token
        if 1 < self._wanted.count < lexicon.EVERY:
            self.few = 1
            raise self._fail(Error.TOOFEW)
        return single

    def _merge(self, things: list[str], adding: bool) -> None:
        for thing in things:
            if adding and thing not in self.several:
                self.several.append(thing)
            elif not adding and thing in self.several:
                self.several.remove(thing)

    def _one(self, token: str) -> str:
        """Read one noun phrase; `SEVERAL` where it means several things, kept in ``_made``."""
        word, start = self._word(self._at), self._at
        self._pronoun_here = word if word in PRONOUNS | ME else ""
        if word in PRONOUNS and word != "her" and not (word == "it" and self.it):
            self.pronoun = word
            raise self._fail(Error.VAGUE)
        numbers = True
        while True:
            wanted = self._descriptors(numbers)
            try:
                return self._phrase(token, wanted, start)
            except Stuck:
                if numbers and wanted.guessed:
                    numbers, self._at = False, start
                    continue
                if wanted.count and not self._multiflag:
                    self.error = Error.MULTI
                raise

    def _phrase(self, token: str, wanted: Wanted, start: int) -> str:
        """Read a name after its descriptors; once more with them as part of it if that fails."""
        while True:
            self._wanted = wanted
            found, match = self._domain(token, wanted)
            if not found and wanted.count == lexicon.EVERY and not match.things:
                self._made, found = [], SEVERAL
            if token in MULTIPLE and not self._multiflag:
                self.best = Error.STUCK if self.best is Error.MULTI else self.best
                self._multiflag = True
            unnamed = match.length == 0 and found != SEVERAL
            if (not found or unnamed) and wanted.loose:
                wanted, self._at = Wanted(), start
                continue
            if not found:
                if self.error is Error.MULTI and self._multiflag and token != "held":
                    self.error = Error.STUCK
                raise self._fail(self._cannot_see())
            if token == "creature" and found != PLAYER:
                raise self._fail(Error.ANIMATE)
            self._at = match.start + match.length
            return found

    def _cannot_see(self) -> Error:
        """Choose the best error for a noun that means nothing here."""
        pronoun, ended = self._pronoun_here, self._at >= len(self.words)
        if not pronoun or self._word(self._at - 1) != pronoun or (self._last and not ended):
            return max(Error.CANTSEE, self.error)
        self.pronoun = pronoun
        return max(Error.ITGONE, self.error)

    def _match(self, token: str, wanted: Wanted) -> Match:
        """Match the words at the present place against everything that may be meant."""
        scene = self.scene
        if token == "direction":
            things = list(COMPASS)
        elif token == "switched":
            things = []
        elif token == "multiinside" and self._warning:
            inside = scene.shows(self._warning) or self._warning == PLAYER
            things = scene.contents(self._warning) if inside else []
        else:
            things = self._scope(held_first=token == "held")
            word = self._word(self._at)
            directed = word in DIRECTION_WORDS or word in ("", "it")
            if directed and token not in ("creature", "held") and not wanted.indefinite:
                things = [*COMPASS, *things]
        return find(scene, self.vocabulary, self.words, self._at, things, self.it,
                    loose=wanted.indefinite)  # fmt: skip

    def _scope(self, *, held_first: bool) -> list[str]:
        """Return what is in scope; it stays the same for all lines of grammar."""
        if held_first not in self._scopes:
            self._scopes[held_first] = list(in_scope(self.scene, held_first=held_first))
        return self._scopes[held_first]

    def _domain(self, token: str, wanted: Wanted) -> tuple[str, Match]:
        """Decide on a thing; nothing if none fits, `SEVERAL` if several are wanted."""
        match = self._match(token, wanted)
        self._at = match.start + match.length
        if not match.things:
            self._at += 1
            return "", match
        if match.start < len(self.words):
            if len(match.things) == 1:
                return match.things[0], match
            word = self._word(self._at)
            if word and word not in CONNECTIVES | THEN and self._last:
                return "", match
        place = Place(self._line, self._place, token, self._nouns, self._warning)
        chosen = self._chooser.choose(place, wanted, match)
        if isinstance(chosen, Error):
            self.error, self.few = chosen, self._chooser.few
            return "", match
        if isinstance(chosen, list):
            self._made = chosen
            return SEVERAL, match
        if not chosen:
            raise self._ask(token, match)
        self._infer = self._infer or self._place + 1
        return chosen, match

    def _ask(self, token: str, match: Match) -> Question:
        """Make the question for a noun that is missing or not clear."""
        if match.start < len(self.words):
            names = [self._name(thing) for thing in match.things]
            listed = " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
            return Question(f"Which do you mean, {listed}?", match.start,
                            only_one=token not in MULTIPLE)  # fmt: skip
        who = "Whom" if token == "creature" else "What"
        text = f"{who} do you want to {self._command(-1)}?"
        assumed = [entry for entry in self._pattern[self._infer - 1 :] if entry not in ("", PLAYER)]
        assumed *= bool(self._infer)
        known = self.scene.book.entities
        notice = next((entry for entry in reversed(assumed) if entry in known), "")
        glue = tuple("it" if entry in known else entry for entry in assumed)
        return Question(text, len(self.words), glue, notice)

    def _descriptors(self, numbers: bool) -> Wanted:
        """Read articles, possessives, numbers and ``all`` in front of a name."""
        wanted = Wanted()
        while word := self._word(self._at):
            number = numbers and bool(self._word(self._at + 1))
            if not wanted.take(word, self.it, number=number):
                break
            self._at += 1
            if self._word(self._at) == "of":
                self._at += 1
        return wanted
