"""The native engine: the same games without compiler, interpreter or the ``textworld`` package.

The state machine of :mod:`agentgym.envs.textworld.engine` decides what happens, the narrator of
:mod:`agentgym.envs.textworld.inform` reads the commands and tells it in Inform's words.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from agentgym.envs.textworld.engine import Fact, Machine, World
from agentgym.envs.textworld.engine.protocol import ONE_THING, PREPARE_MEAL, Turn, canonical
from agentgym.envs.textworld.inform.narrator import WAIT, After, Do, Narrator, Story
from agentgym.envs.textworld.inform.reader import Request

KEPT = 64
"""Most compiled games to keep."""


class _Compiled(NamedTuple):
    """A game as the engine needs it, shared by all its sessions."""

    game: Mapping[str, Any]
    world: World
    story: Story
    initial: frozenset[Fact]


class _Several(Exception):
    """The command asks for several things at once."""


class _Narrator(Narrator):
    """A narrator who takes one thing at a time."""

    def _carry_out(self, request: Request, do: Do) -> tuple[list[str], After | None]:
        if len(request.nouns) > 1:
            raise _Several
        return super()._carry_out(request, do)


class NativeSession:
    """One game.

    Args:
        game: JSON of the game, which must not be changed.

    Raises:
        DataError: It is no game of TextWorld 1.x, or has texts that are not understood.
    """

    def __init__(self, game: Mapping[str, Any]) -> None:
        self._compiled = _compile(game)
        self._machine = Machine(self._compiled.world)
        self._narrator = _Narrator(self._compiled.story)

    @property
    def max_score(self) -> float:
        """Points of a game that is won; infinite where a quest pays again and again."""
        return self._compiled.story.most

    def start(self) -> str:
        """Begin, or begin anew."""
        self._machine.reset()
        self._narrator = _Narrator(self._compiled.story)
        return self._narrator.intro()

    def act(self, command: str) -> Turn:
        """Give the game one command."""
        machine, narrator = self._machine, self._narrator
        moves, reader = machine.moves, narrator.reader
        kept = reader.it, reader.pending, reader.tail
        try:
            text = narrator.play(command, self._do)
        except _Several:
            reader.it, reader.pending, reader.tail = kept
            text = ONE_THING
        verdict = machine.verdict
        return Turn(text, machine.moves > moves, int(verdict.score), verdict.won, verdict.lost)

    def admissible(self) -> tuple[str, ...]:
        """Return the commands that the rules allow in this state, sorted."""
        return self._machine.admissible()

    def offered(self) -> tuple[str, ...]:
        """Return the admissible commands that the story carries out, too."""
        commands = self._machine.admissible()
        if PREPARE_MEAL in commands and self._narrator.refuses("Prepare"):
            return tuple([command for command in commands if command != PREPARE_MEAL])
        return commands

    def policy(self) -> tuple[str, ...] | None:
        """Return the commands that win from this state; None if nothing does."""
        verdict = self._machine.verdict
        if verdict.won:
            return ()
        return None if verdict.lost else self._machine.policy() or None

    def description(self) -> str:
        """Describe the room without taking a turn."""
        return "" if self._ended else self._narrator.description()

    def inventory(self) -> str:
        """List what the player carries without taking a turn."""
        return "" if self._ended else self._narrator.inventory()

    def state_text(self) -> str:
        """Return a text that is equal for equal states."""
        verdict = self._machine.verdict
        return canonical(
            self._compiled.initial, self._machine.facts, int(verdict.score), verdict.won,
            verdict.lost,
        )  # fmt: skip

    def snapshot(self) -> Any:
        """Return the state of machine and narrator."""
        return self._machine.snapshot(), self._narrator.snapshot()

    def restore(self, state: Any) -> None:
        """Return to a state of the same game."""
        machine, narrator = state
        self._machine.restore(machine)
        self._narrator.restore(narrator)

    def close(self) -> None:
        """Do nothing: there is no engine outside the process to free."""

    @property
    def _ended(self) -> bool:
        verdict = self._machine.verdict
        return verdict.won or verdict.lost

    def _do(self, command: str) -> After | None:
        """Carry out a command in the words of the machine, or let a turn pass."""
        if command == WAIT:
            self._machine.wait()
        else:
            action = self._machine.command(command)
            if action is None:
                return None
            self._machine.apply(action)
        verdict = self._machine.verdict
        return After(self._machine.facts, int(verdict.score), verdict.won, verdict.lost)


_lock = threading.Lock()
_kept: OrderedDict[int, _Compiled] = OrderedDict()


def _compile(game: Mapping[str, Any]) -> _Compiled:
    """Compile a game, or find it among those compiled before.

    A task set gives out the same object while it remembers a game, so objects are compared.
    """
    with _lock:
        found = _kept.get(id(game))
        if found is not None and found.game is game:
            _kept.move_to_end(id(game))
            return found
    world = World.of(game)
    found = _Compiled(game, world, Story.of(game), Machine(world).facts)
    with _lock:
        _kept[id(game)] = found
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return found
