"""The native engine: the same games without compiler, interpreter or the ``textworld`` package.

The state machine of :mod:`agentgym.envs.textworld.engine` decides what happens, the narrator of
:mod:`agentgym.envs.textworld.inform` parses the commands and words the answers as Inform does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from agentgym.envs.textworld.engine.machine import Machine
from agentgym.envs.textworld.engine.world import GameWorld
from agentgym.envs.textworld.inform.narrator import WAIT, Narrator, StateAfter
from agentgym.envs.textworld.inform.story import Story
from agentgym.envs.textworld.record import Record
from agentgym.envs.textworld.session import PREPARE_MEAL, GameTurn, describe_state
from agentgym.support.caching import BoundedCache


class _Compiled(NamedTuple):
    """A game as the engine needs it, shared by all its sessions."""

    game: Mapping[str, Any] | Record
    world: GameWorld
    story: Story


class NativeSession:
    """One game, whose record or JSON must not be changed.

    Raises:
        DataError: It is not a game of TextWorld 1.x, or has texts that cannot be parsed.
    """

    def __init__(self, game: Mapping[str, Any] | Record) -> None:
        self._compiled = _compile(game)
        self._machine = Machine(self._compiled.world)
        self._voice: Narrator | None = None

    @property
    def max_score(self) -> float:
        """Points of a game that is won; infinite where a quest pays again and again."""
        return self._compiled.story.max_score

    def start(self) -> str:
        """Begin, or begin anew."""
        self._machine.reset()
        self._voice = None
        return self._narrator.intro()

    def act(self, command: str) -> GameTurn:
        """Give the game one command."""
        machine = self._machine
        moves = machine.moves
        text = self._narrator.play(command, self._execute)
        result = machine.result
        return GameTurn(text, machine.moves > moves, int(result.score), result.won, result.lost)

    def admissible(self) -> tuple[str, ...]:
        """Return the commands that the rules allow in this state, sorted."""
        return self._machine.admissible()

    def offered(self) -> tuple[str, ...]:
        """Return the admissible commands that the story carries out, too."""
        commands = self._machine.admissible()
        # The rules admit a meal of any ingredients, however raw; the story wants the recipe's.
        if PREPARE_MEAL in commands and self._narrator.refuses("Prepare"):
            return tuple([command for command in commands if command != PREPARE_MEAL])
        return commands

    def policy(self) -> tuple[str, ...] | None:
        """Return the commands that win from this state; None if nothing does."""
        result = self._machine.result
        if result.won:
            return ()
        return None if result.lost else self._machine.policy() or None

    def description(self) -> str:
        """Describe the room without taking a turn."""
        return "" if self._ended else self._narrator.description()

    def inventory(self) -> str:
        """List what the player carries without taking a turn."""
        return "" if self._ended else self._narrator.inventory()

    def state_text(self) -> str:
        """Return a text that is equal for equal states."""
        result = self._machine.result
        return describe_state(
            self._compiled.story.facts, self._machine.facts, int(result.score), result.won,
            result.lost,
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
    def _narrator(self) -> Narrator:
        """The narrator of this episode, made when it first has something to say."""
        if self._voice is None:
            self._voice = Narrator(self._compiled.story, one_thing=True)
        return self._voice

    @property
    def _ended(self) -> bool:
        result = self._machine.result
        return result.won or result.lost

    def _execute(self, command: str) -> StateAfter | None:
        """Carry out a command in the words of the machine, or let a turn pass."""
        if command == WAIT:
            self._machine.wait()
        else:
            action = self._machine.command(command)
            if action is None:
                return None
            self._machine.apply(action)
        result = self._machine.result
        return StateAfter(self._machine.facts, int(result.score), result.won, result.lost)


_compiled: BoundedCache[int, _Compiled] = BoundedCache(128)  # as many as tasks keep


def _compile(game: Mapping[str, Any] | Record) -> _Compiled:
    """Compile a game, or find it among those compiled before."""
    # A task set gives out the same object while it remembers a game, so objects are compared: to
    # hash a game would take longer than to play it. The entry keeps its game alive, and so its id.
    cached = _compiled.refresh(id(game))
    if cached is None or cached.game is not game:
        world = GameWorld.of(game)
        compiled = _Compiled(game, world, Story(world.record))
        cached = _compiled.put(id(game), compiled)
    return cached
