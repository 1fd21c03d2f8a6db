"""Fitting a command into one line of grammar."""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.envs.textworld.inform.disambiguation import Place
from agentgym.envs.textworld.inform.errors import Error
from agentgym.envs.textworld.inform.grammar import Line, prepositions
from agentgym.envs.textworld.inform.noun_phrases import SEVERAL, NounReader, Stuck
from agentgym.envs.textworld.inform.nouns import COMPASS
from agentgym.envs.textworld.inform.story import PLAYER
from agentgym.envs.textworld.inform.words import ME
from agentgym.envs.textworld.inform.world_view import number_words

_SPOKEN = frozenset(("Ask", "Answer", "Tell"))


@dataclass
class Attempt(NounReader):
    """The tries at one command, line after line.

    Attributes:
        tail: What followed the verb in the last line that fitted the beginning of the command
            only; `None` if there was none.
    """

    tail: str | None = None
    _emptied: str = ""

    def line(self, line: Line) -> list[str]:
        """Fit the command into a line.

        Args:
            line: The line.

        Returns:
            The nouns in the order of the line, `SEVERAL` for the list ``several``.

        Raises:
            Stuck: If it does not fit.
            Question: If the player must say more.
        """
        self._line, self._at, self._place = line, 1, 0
        self.several, self._context, self._warning = [], "", ""
        self.error, self._infer = Error.STUCK, 0
        self._pattern, self._nouns = [], []
        try:
            self._warning = self._look_ahead()
            self._at = 1
            self._check_last_word()
            for self._place, token in enumerate(line.tokens):
                self._token(token)
            self._finish()
        except Stuck:
            self.best = max(self.best, self.error)
            raise
        return self._nouns

    def note(self) -> str:
        """Return what was assumed, in brackets, or nothing."""
        return f"({self._command(self._infer - 1)})" if self._infer else ""

    def complaint(self) -> str:
        """Return the best error of all lines."""
        error = self.best
        if error is Error.UPTO:
            self._pattern = []
            return error.text(" ".join(filter(None, (self._command(-1), self.tail))))
        if error is Error.NOTHING and self._emptied:
            return self._emptied
        if error in (Error.VAGUE, Error.ITGONE):
            if self.pronoun in ME:
                return Error.ITGONE.text(self.pronoun, "nothing")
            if not (self.it and self.pronoun == "it"):
                return Error.VAGUE.text(self.pronoun)
            return Error.ITGONE.text(self.pronoun, self._name(self.it))
        if error is Error.TOOFEW:
            count = f"Only {number_words(self.few)}" if self.few else "None"
            return error.text(count, "is" if self.few == 1 else "are")
        return error.text()

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
        known, chain = prepositions(bool(self.scene.book.kitchen)), tokens[1]
        places = [at for at in range(1, len(self.words)) if self.words[at] in known]
        if not places or places[0] == len(self.words) - 1:
            return ""
        fitting = [at for at in places if self.words[at] in chain]
        if not fitting:
            raise Stuck
        self._at = fitting[0] + 1
        wanted = self._descriptors(numbers=True)
        match = self._match("noun", wanted)
        if len(match.things) < 2:
            return match.things[0] if match.things else ""
        place = Place(self._line, len(tokens) - 1, "noun", [""], "")
        chosen = self._chooser.choose(place, wanted, match)
        return chosen if isinstance(chosen, str) and chosen else match.things[0]

    def _check_last_word(self) -> None:
        """Reject a line that ends with a preposition where the command ends otherwise."""
        last = self._line.tokens[-1] if self._line.tokens else ""
        if isinstance(last, tuple) and (len(self.words) < 2 or self.words[-1] not in last):
            raise Stuck

    def _preposition(self, chain: tuple[str, ...]) -> None:
        if self._at < len(self.words):
            self._pattern.append(self.words[self._at])
            self._at += 1
            if self._pattern[-1] not in chain:
                raise Stuck
            return
        if not self._infer:
            if len(self._nouns) >= self._line.nouns:
                raise Stuck
            self._infer = self._place + 1
        self._pattern.append(chain[0])

    def _topic(self) -> None:
        """Skip any words up to the preposition that ends them."""
        after = self._line.tokens[self._place + 1 : self._place + 2]
        start = self._at
        while self._at < len(self.words) and not (after and self.words[self._at] in after[0]):
            self._at += 1
        missing, spoken = bool(after) and self._at >= len(self.words), self._line.action in _SPOKEN
        if self._at == start or (missing and not spoken):
            raise Stuck
        self._pattern.append("that" if spoken else "")

    def _finish(self) -> None:
        """Check a line whose tokens all fitted."""
        if self._at < len(self.words):
            self.tail = self._command(0)
            raise self._fail(Error.UPTO)
        first, second = [*self._nouns, "", ""][:2]
        inside = self.scene.contents(second) if second else []
        if first == SEVERAL:
            if self._context == "multiexcept":
                self.several = [thing for thing in self.several if thing != second]
            elif self._context == "multiinside":
                self.several = [thing for thing in self.several if thing in inside]
            empty = not self.several
        else:
            same, apart = first == second, first not in inside
            empty = bool(first and second) and (
                (self._context == "multiexcept" and same)
                or (self._context == "multiinside" and apart)
            )
        if empty:
            self._emptied = self._nothing_in(second)
            raise self._fail(Error.NOTHING)

    def _nothing_in(self, holder: str) -> str:
        """Say why nothing can be taken from a thing; nothing if that is not what was asked."""
        if self._line.action != "Remove" or not holder or holder in COMPASS:
            return ""
        if holder == PLAYER:
            return "You seem to belong to yourself."
        kinds, name = self.scene.book.entities[holder].kinds, self.scene.capital_the(holder)
        if not kinds & {"c", "s"}:
            return "That can't contain things."
        if "c" in kinds and not self.scene.state_of(holder, "open"):
            return f"{name} isn't open."
        return "" if self.scene.contents(holder) else f"{name} is empty."
