"""The voice of a TextWorld game: reads commands, has them done, tells what Inform would print."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple

from agentgym.envs.textworld.inform import rooms
from agentgym.envs.textworld.inform.action_rules import attempt
from agentgym.envs.textworld.inform.feedback import Report, ending, score_change
from agentgym.envs.textworld.inform.nouns import Vocabulary
from agentgym.envs.textworld.inform.preconditions import Deed
from agentgym.envs.textworld.inform.reader import Pending, Reader, Request
from agentgym.envs.textworld.inform.story import PLAYER, Book
from agentgym.envs.textworld.inform.world_view import Fact, Scene

FREE = frozenset(("Score", "Pronouns"))
"""Actions outside the world, which take no turn."""


HARMLESS = frozenset(("Examine", "Look", "Inv", "Cook"))
"""Actions that a game tells of even where its rules do not know them: nothing changes."""


class After(NamedTuple):
    """The state after a command was carried out.

    Attributes:
        facts: Every fact that holds.
        score: Points so far.
        won: Whether the game is won.
        lost: Whether the game is lost.
    """

    facts: frozenset[Fact]
    score: int
    won: bool
    lost: bool


Do = Callable[[str], "After | None"]
"""Carries out one of the game's own commands; `None` if it is not admissible now."""

WAIT = ""
"""The command for a turn in which nothing is done; a `Do` that has no use for it returns `None`."""


@dataclass(frozen=True)
class Story:
    """A game as the narrator needs it; one for all episodes.

    Attributes:
        book: What never changes.
        vocabulary: How things may be called.
        most: The maximum score.
    """

    book: Book
    vocabulary: Vocabulary
    most: int | float

    @classmethod
    def of(cls, game: Mapping[str, Any]) -> Story:
        """Compile the JSON of a game.

        Args:
            game: ``game.serialize()`` of a TextWorld game, or what its ``.json`` file holds.
        """
        book = Book.of(game)
        most: int | float = 0
        for quest in game.get("quests", ()):
            if not quest.get("optional") or quest.get("reward", 0) > 0:
                most += quest.get("reward", 0)
                if quest.get("repeatable"):
                    most = float("inf")
        return cls(book, Vocabulary(book), most)


class Narrator:
    """Tells one episode.

    Args:
        story: The game.
    """

    def __init__(self, story: Story) -> None:
        self.story = story
        self.scene = Scene(story.book)
        self.reader = Reader(story.vocabulary, rooms.last_seen(self.scene))
        self.turns = 1
        self.score = 0

    def intro(self) -> str:
        """Return what the game prints at the start: the objective and the first room."""
        objective = self.story.book.objective
        return tidy(f"{objective}\n\n{rooms.look(self.scene)}")

    def play(self, line: str, do: Do) -> str:
        """Take a command.

        Args:
            line: What the player typed: one sentence without line breaks.
            do: Carries out the game's own commands.

        Returns:
            What the game prints.
        """
        request = self.reader.read(line, self.scene)
        if isinstance(request, str):
            return tidy(request)
        if request.action in FREE:
            return tidy(self._aside(request))
        said, after = self._carry_out(request, do)
        self.turns += 1
        after = after or do(WAIT)
        if after is not None:
            said += self._consequences(after)
        return tidy("\n\n".join(said))

    def _carry_out(self, request: Request, do: Do) -> tuple[list[str], After | None]:
        """Do what was asked for, thing after thing."""
        said, last = [request.note] if request.note else [], None
        for noun in request.nouns or ("",):
            deed = attempt(self.scene, request.action, noun, request.second, request.words)
            label = ""
            if request.several:
                label = f"{'yourself' if noun == PLAYER else self.scene.printed_name(noun)}: "
                self.reader.it = self.reader.it if noun == PLAYER else noun
            if isinstance(deed, str):
                self.reader.it, self.scene.noticed = self.scene.noticed or self.reader.it, ""
                said.append(label + deed)
                continue
            text, after = self._perform(deed, do, request.several)
            said.append(label + text)
            last = after or last
        return (["\n".join(said)] if request.several or request.note else said), last

    def _perform(self, deed: Deed, do: Do, several: bool) -> tuple[str, After | None]:
        report = Report(self.scene, deed, several=several)
        after = do(deed.command)
        if after is not None:
            self.scene.follow(after.facts)
        elif deed.action not in HARMLESS:
            return "You can't do that now.", None
        if deed.action in ("Go", "Look"):
            self.reader.it = rooms.last_seen(self.scene) or self.reader.it
        elif deed.action == "Prepare":
            self.reader.it = deed.noun
        return report.text(), after

    def _consequences(self, after: After) -> list[str]:
        """Tell of points and of the end."""
        said = []
        if after.score != self.score:
            said.append(score_change(after.score - self.score))
            self.score = after.score
        if after.won or after.lost:
            said.append(ending(after.won, after.score, self.story.most,
                               self.turns - after.lost))  # fmt: skip
        return said

    def _aside(self, request: Request) -> str:
        """Answer a question about the game."""
        if request.action == "Score":
            return ending(True, self.score, self.story.most, self.turns).split("\n\n")[1].replace(
                "You scored", "You have so far scored")  # fmt: skip
        if not self.reader.it:
            return '"it", "him", "her" and "them" are unset.'
        return f'"it" means {self.scene.the(self.reader.it)}, "him", "her" and "them" are unset.'

    def description(self) -> str:
        """Return what ``look`` prints."""
        return tidy(rooms.look(self.scene))

    def inventory(self) -> str:
        """Return what ``inventory`` prints."""
        return tidy(rooms.inventory(self.scene))

    def refuses(self, action: str) -> bool:
        """Tell whether an action without nouns would be refused now."""
        return isinstance(attempt(self.scene, action, "", "", ()), str)

    def snapshot(self) -> tuple[Any, ...]:
        """Return a picklable state."""
        reader = self.reader
        asked = astuple(reader.pending) if reader.pending else None
        return self.scene.snapshot(), reader.it, reader.tail, asked, self.turns, self.score

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Return to a snapshot of the same game."""
        scene, self.reader.it, self.reader.tail, asked, self.turns, self.score = snapshot
        self.scene.restore(scene)
        self.reader.pending = Pending(*asked) if asked else None


def tidy(text: str) -> str:
    """Strip blanks at the ends of lines and let no more than one empty line stand."""
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    while "\n\n\n" in lines:
        lines = lines.replace("\n\n\n", "\n\n")
    return lines.strip()
