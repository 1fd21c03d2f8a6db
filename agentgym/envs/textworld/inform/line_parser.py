"""Fitting a command into one line of grammar: its prepositions, and the nouns between them.

Nouns come with articles, numbers and ``all``, in lists joined by ``and``, or are missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agentgym.envs.textworld.inform.dictionary import (
    ALL_COUNT,
    BUT,
    CONNECTIVES,
    ME,
    PRONOUNS,
    THEN,
    CommandWords,
)  # fmt: skip
from agentgym.envs.textworld.inform.grammar import MULTIPLE, GrammarLine, ParserError, prepositions
from agentgym.envs.textworld.inform.nouns import (
    Descriptors,
    Disambiguator,
    NounMatch,
    NounPosition,
    find,
    in_scope,
)  # fmt: skip
from agentgym.envs.textworld.inform.story import COMPASS, DIRECTION_WORDS, PLAYER
from agentgym.envs.textworld.inform.world_view import WorldView, number_words

SEVERAL = "*"
"""Stands for the list of things in place of one."""

_SHOWN = {"i": "take inventory", "inv": "take inventory", "inventory": "take inventory",
          "l": "look", "x": "examine", "z": "wait"}  # fmt: skip
_NO_LINE = GrammarLine((), "", False, 0)
_SPOKEN = frozenset(("Ask", "Answer", "Tell"))


class LineMismatch(Exception):
    """The line of grammar does not fit."""


class MoreNeeded(Exception):
    """The player must say more.

    Attributes:
        text: The question.
        at: Where the answer belongs among the words.
        glue: Words that go before it.
        notice: A thing that ``it`` stands for from now on.
        only_one: Whether the answer must not be ``all``.
    """

    def __init__(
        self, text: str, number: int, glue: tuple[str, ...] = (), notice: str = "", *,
        only_one: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(text)
        self.text, self.at, self.glue, self.notice = text, number, glue, notice
        self.only_one = only_one


@dataclass
class LineParser:
    """The attempts to parse one command, one grammar line after another.

    Attributes:
        view: The state.
        words: The command.
        antecedent: What the word ``it`` stands for.
        several: Things of a list.
        best: The most telling error of the lines so far.
        error: The error of this line.
        available: The number of things found, where the command asks for more.
        pronoun: The pronoun that an error is about.
        tail: The text after the verb in the last line that matched only the beginning of the
            command; None if there is none.
    """

    view: WorldView
    words: CommandWords
    antecedent: str
    several: list[str] = field(default_factory=list)
    best: ParserError = ParserError.STUCK
    error: ParserError = ParserError.STUCK
    available: int = 0
    pronoun: str = ""
    tail: str | None = None
    # State of the whole command: Inform keeps it between lines, so that a failed line can still
    # change the answer of a later one.
    _multiple_read: bool = False  # a noun that may be a list has been read in some line
    _emptied: str = ""
    _last_descriptors: Descriptors = field(default_factory=Descriptors)
    _pronoun_here: str = ""
    _selection: list[str] = field(default_factory=list)
    _scopes: dict[bool, list[str]] = field(default_factory=dict)
    # State of one line.
    _line: GrammarLine = _NO_LINE
    _index: int = 0
    _place: int = 1
    _inferred: int = 0  # one more than the index of the first token that was assumed
    _context: str = ""  # the token that was read as a list
    _second: str = ""  # the second noun, where it was found early
    _pattern: list[str] = field(default_factory=list)
    _nouns: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the object that disambiguates nouns; its memory lasts for the whole command."""
        self._disambiguator = Disambiguator(self.view, self.words, self.antecedent)

    def line(self, line: GrammarLine) -> list[str]:
        """Fit the command into a line.

        Returns:
            The nouns in the order of the line, ``SEVERAL`` for the list ``several``.

        Raises:
            LineMismatch: It does not fit.
            Question: The player must say more.
        """
        self._line, self._place, self._index = line, 1, 0
        self.several, self._context, self._second = [], "", ""
        self.error, self._inferred = ParserError.STUCK, 0
        self._pattern, self._nouns = [], []
        try:
            self._second = self._look_ahead()
            self._place = 1
            self._check_last_word()
            for self._index, token in enumerate(line.tokens):
                self._token(token)
            self._finish()
        except LineMismatch:
            self.best = max(self.best, self.error)
            raise
        return self._nouns

    def note(self) -> str:
        """Return the parser's assumption, in brackets, or nothing."""
        return f"({self._command(self._inferred - 1)})" if self._inferred else ""

    def complaint(self) -> str:
        """Return the best error of all lines."""
        error = self.best
        if error is ParserError.UPTO:
            self._pattern = []
            return error.text(" ".join(filter(None, (self._command(-1), self.tail))))
        if error is ParserError.NOTHING and self._emptied:
            return self._emptied
        if error in (ParserError.VAGUE, ParserError.ITGONE):
            if self.pronoun in ME:
                return ParserError.ITGONE.text(self.pronoun, "nothing")
            if not (self.antecedent and self.pronoun == "it"):
                return ParserError.VAGUE.text(self.pronoun)
            return ParserError.ITGONE.text(self.pronoun, self._name(self.antecedent))
        if error is ParserError.TOOFEW:
            count = f"Only {number_words(self.available)}" if self.available else "None"
            return error.text(count, "is" if self.available == 1 else "are")
        return error.text()

    # Quoting the command

    def _command(self, start: int) -> str:
        """Return the command as it is understood so far, from a token on; -1 for the verb."""
        parts = [_SHOWN.get(self.words[0], self.words[0])] if start < 0 else []
        parts += [self._name(entry) for entry in self._pattern[max(start, 0) :] if entry]
        return " ".join(parts)

    def _name(self, entry: str) -> str:
        """Return a thing, direction or word as the parser quotes it."""
        if entry == SEVERAL:
            return "those things"
        if entry == PLAYER:
            return "yourself"
        return self.view.the(entry) if entry in self.view.story.entities else entry

    # Fitting tokens

    def _fail(self, error: ParserError) -> LineMismatch:
        self.error = error
        return LineMismatch()

    def _word(self, number: int) -> str:
        return self.words[number] if number < len(self.words) else ""

    @property
    def _last(self) -> bool:
        return self._index == len(self._line.tokens) - 1

    def _token(self, token: str | tuple[str, ...]) -> None:
        """Fit one token."""
        if isinstance(token, tuple):
            self._preposition(token)
        elif token == "topic":
            self._topic()
        else:
            self._nouns.append(self._noun_list(token))
            self._pattern.append(self._nouns[-1])

    def _look_ahead(self) -> str:
        """Find the second noun early where the first one's meaning depends on it."""
        tokens = self._line.tokens
        if len(tokens) < 3 or tokens[0] not in ("multiexcept", "multiinside"):
            return ""
        all_prepositions, chain = prepositions(bool(self.view.story.kitchen)), tokens[1]
        places = [
            number for number in range(1, len(self.words)) if self.words[number] in all_prepositions
        ]
        if not places or places[0] == len(self.words) - 1:
            return ""
        fitting = [number for number in places if self.words[number] in chain]
        if not fitting:
            raise LineMismatch
        self._place = fitting[0] + 1
        descriptors = self._descriptors(numbers=True)
        match = self._match("noun", descriptors)
        if len(match.candidates) < 2:
            return match.candidates[0] if match.candidates else ""
        place = NounPosition(self._line, len(tokens) - 1, "noun", [""], "")
        choice = self._disambiguator.choose(place, descriptors, match)
        return choice if isinstance(choice, str) and choice else match.candidates[0]

    def _check_last_word(self) -> None:
        """Reject a line that ends with a preposition where the command ends otherwise."""
        # Else a bare "take" would be read as "take ... off" with both left out.
        last = self._line.tokens[-1] if self._line.tokens else ""
        if isinstance(last, tuple) and (len(self.words) < 2 or self.words[-1] not in last):
            raise LineMismatch

    def _preposition(self, chain: tuple[str, ...]) -> None:
        if self._place < len(self.words):
            self._pattern.append(self.words[self._place])
            self._place += 1
            if self._pattern[-1] not in chain:
                raise LineMismatch
            return
        if not self._inferred:
            if len(self._nouns) >= self._line.nouns:
                raise LineMismatch
            self._inferred = self._index + 1
        self._pattern.append(chain[0])

    def _topic(self) -> None:
        """Skip any words up to the preposition that ends them."""
        next_tokens = self._line.tokens[self._index + 1 : self._index + 2]
        start = self._place
        while self._place < len(self.words) and not (
            next_tokens and self.words[self._place] in next_tokens[0]
        ):
            self._place += 1
        missing, spoken = (
            bool(next_tokens) and self._place >= len(self.words),
            self._line.action in _SPOKEN,
        )
        if self._place == start or (missing and not spoken):
            raise LineMismatch
        self._pattern.append("that" if spoken else "")

    def _finish(self) -> None:
        """Check a line all of whose tokens matched."""
        if self._place < len(self.words):
            self.tail = self._command(0)
            raise self._fail(ParserError.UPTO)
        first, second = [*self._nouns, "", ""][:2]
        inside = self.view.contents(second) if second else []
        if first == SEVERAL:
            if self._context == "multiexcept":
                self.several = [noun for noun in self.several if noun != second]
            elif self._context == "multiinside":
                self.several = [noun for noun in self.several if noun in inside]
            empty = not self.several
        else:
            is_same, apart = first == second, first not in inside
            empty = bool(first and second) and (
                (self._context == "multiexcept" and is_same)
                or (self._context == "multiinside" and apart)
            )
        if empty:
            self._emptied = self._nothing_in(second)
            raise self._fail(ParserError.NOTHING)

    def _nothing_in(self, holder: str) -> str:
        """Say why nothing can be taken from a thing; nothing if the command is another one."""
        if self._line.action != "Remove" or not holder or holder in COMPASS:
            return ""
        if holder == PLAYER:
            return "You seem to belong to yourself."
        kinds, name = self.view.story.entities[holder].kinds, self.view.capital_the(holder)
        if not kinds & {"c", "s"}:
            return "That can't contain things."
        if "c" in kinds and not self.view.state_of(holder, "open"):
            return f"{name} isn't open."
        return "" if self.view.contents(holder) else f"{name} is empty."

    # Reading nouns

    def _noun_list(self, token: str) -> str:
        """Read one noun, or a list joined by ``and`` and ``but``; ``SEVERAL`` for a list."""
        plural, adding, single = False, True, ""
        while True:
            noun = self._read_noun(token)
            if not plural and noun != SEVERAL:
                single = noun
            else:
                plural = True
                self._merge(self._selection if noun == SEVERAL else [noun], adding)
            word = self._word(self._place)
            if word not in CONNECTIVES:
                break
            self._place += 1
            if token not in MULTIPLE:
                if self._multiple_read:
                    break  # Inform's error about lists gives way where an earlier line read one.
                raise self._fail(ParserError.MULTI)
            adding ^= word in BUT
            if not plural:
                self.several, plural = [single], True
            self._inferred = 0
        if plural:
            self._context = token
            return SEVERAL
        if self._last_descriptors.plural and token in ("multiexcept", "multiinside"):
            self._context = token
        if 1 < self._last_descriptors.count < ALL_COUNT:
            self.available = 1
            raise self._fail(ParserError.TOOFEW)
        return single

    def _merge(self, nouns: list[str], adding: bool) -> None:
        for noun in nouns:
            if adding and noun not in self.several:
                self.several.append(noun)
            elif not adding and noun in self.several:
                self.several.remove(noun)

    def _read_noun(self, token: str) -> str:
        """Read one noun phrase; ``SEVERAL`` where it means several, kept in ``_selection``."""
        word, start = self._word(self._place), self._place
        self._pronoun_here = word if word in PRONOUNS | ME else ""
        if word in PRONOUNS and word != "her" and not (word == "it" and self.antecedent):
            self.pronoun = word
            raise self._fail(ParserError.VAGUE)
        numbers = True
        while True:
            descriptors = self._descriptors(numbers)
            try:
                return self._phrase(token, descriptors, start)
            except LineMismatch:
                if numbers and descriptors.guessed:
                    numbers, self._place = False, start
                    continue
                if descriptors.count and not self._multiple_read:
                    self.error = ParserError.MULTI
                raise

    def _phrase(self, token: str, descriptors: Descriptors, start: int) -> str:
        """Read a name after its descriptors; once more with them as part of it if that fails."""
        while True:
            self._last_descriptors = descriptors
            noun, match = self._domain(token, descriptors)
            if not noun and descriptors.count == ALL_COUNT and not match.candidates:
                self._selection, noun = [], SEVERAL
            if token in MULTIPLE and not self._multiple_read:
                self.best = ParserError.STUCK if self.best is ParserError.MULTI else self.best
                self._multiple_read = True
            unnamed = match.length == 0 and noun != SEVERAL
            if (not noun or unnamed) and descriptors.loose:
                descriptors, self._place = Descriptors(), start
                continue
            if not noun:
                if self.error is ParserError.MULTI and self._multiple_read and token != "held":
                    self.error = ParserError.STUCK
                raise self._fail(self._cannot_see())
            if token == "creature" and noun != PLAYER:
                raise self._fail(ParserError.ANIMATE)
            self._place = match.start + match.length
            return noun

    def _cannot_see(self) -> ParserError:
        """Choose the best error for a noun that means nothing here."""
        pronoun, at_end = self._pronoun_here, self._place >= len(self.words)
        if not pronoun or self._word(self._place - 1) != pronoun or (self._last and not at_end):
            return max(ParserError.CANTSEE, self.error)
        self.pronoun = pronoun
        return max(ParserError.ITGONE, self.error)

    def _match(self, token: str, descriptors: Descriptors) -> NounMatch:
        """Match the words at the present place against everything that may be meant."""
        view = self.view
        if token == "direction":
            candidates = list(COMPASS)
        elif token == "switched":
            candidates = []
        elif token == "multiinside" and self._second:
            inside = view.shows(self._second) or self._second == PLAYER
            candidates = view.contents(self._second) if inside else []
        else:
            candidates = self._scope(held_first=token == "held")
            word = self._word(self._place)
            directed = word in DIRECTION_WORDS or word in ("", "it")
            if directed and token not in ("creature", "held") and not descriptors.indefinite:
                candidates = [*COMPASS, *candidates]
        return find(view, self.words, self._place, candidates, self.antecedent,
                    loose=descriptors.indefinite)  # fmt: skip

    def _scope(self, *, held_first: bool) -> list[str]:
        """Return what is in scope; it stays the same for all lines of grammar."""
        if held_first not in self._scopes:
            self._scopes[held_first] = list(in_scope(self.view, held_first=held_first))
        return self._scopes[held_first]

    def _domain(self, token: str, descriptors: Descriptors) -> tuple[str, NounMatch]:
        """Decide on a thing; nothing if none fits, ``SEVERAL`` if several are wanted."""
        match = self._match(token, descriptors)
        self._place = match.start + match.length
        if not match.candidates:
            self._place += 1
            return "", match
        if match.start < len(self.words):
            if len(match.candidates) == 1:
                return match.candidates[0], match
            word = self._word(self._place)
            if word and word not in CONNECTIVES | THEN and self._last:
                return "", match
        place = NounPosition(self._line, self._index, token, self._nouns, self._second)
        choice = self._disambiguator.choose(place, descriptors, match)
        if isinstance(choice, ParserError):
            self.error, self.available = choice, self._disambiguator.available
            return "", match
        if isinstance(choice, list):
            self._selection = choice
            return SEVERAL, match
        if not choice:
            raise self._ask(token, match)
        self._inferred = self._inferred or self._index + 1
        return choice, match

    def _ask(self, token: str, match: NounMatch) -> MoreNeeded:
        """Make the question for a noun that is missing or not clear."""
        if match.start < len(self.words):
            names = [self._name(candidate) for candidate in match.candidates]
            listed = " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
            return MoreNeeded(f"Which do you mean, {listed}?", match.start,
                            only_one=token not in MULTIPLE)  # fmt: skip
        pronoun = "Whom" if token == "creature" else "What"
        text = f"{pronoun} do you want to {self._command(-1)}?"
        assumed = [
            entry for entry in self._pattern[self._inferred - 1 :] if entry not in ("", PLAYER)
        ]
        assumed *= bool(self._inferred)
        entities = self.view.story.entities
        notice = next((entry for entry in reversed(assumed) if entry in entities), "")
        glue = tuple("it" if entry in entities else entry for entry in assumed)
        return MoreNeeded(text, len(self.words), glue, notice)

    def _descriptors(self, numbers: bool) -> Descriptors:
        """Read articles, possessives, numbers and ``all`` in front of a name."""
        descriptors = Descriptors()
        while word := self._word(self._place):
            number = numbers and bool(self._word(self._place + 1))
            if not descriptors.take(word, self.antecedent, number=number):
                break
            self._place += 1
            if self._word(self._place) == "of":
                self._place += 1
        return descriptors
