"""The reference engine: TextWorld's own story files, played by the Z-machine in Jericho.

Text and points come from the story file; facts, admissible commands and the plan come from
TextWorld's state tracker, which follows the actions that the story reports. The ``textworld``
package is imported when the first game is opened.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentgym.envs.textworld.original.story_file import check_story
from agentgym.envs.textworld.session import ONE_THING, PREPARE_MEAL, Fact, GameTurn, describe_state
from agentgym.errors import DataError, EnvFailure, require
from agentgym.support.text_lines import split_lines

NO_EFFECT = "That does not work. Try to say it in another way."

_ASIDES = re.compile(r"\[[^]]+\]\n?|<(score|moves)>.*?</\1>", re.DOTALL)
"""Text that the interpreter appends for the tracker: actions, points and moves."""

_FINISHED = re.compile(r"\[(?!\()([^]]*) - (succeeded|failed)")
"""Reports of actions; one in brackets belongs to the action before it."""

_BANNER_END = "\\$$$$$$$$ \\$$$$$$$"
_FINAL_QUESTION = "Would you like to RESTART"
_BLANK_LINES = re.compile(r"\n{3,}")
_CENTRED = re.compile(r"^ {20,}", re.MULTILINE)
_STATUS = re.compile(r"-= (.*) =-")
_SEED = 1


class InformSession:
    """One game in its own interpreter.

    Raises:
        DataError: The story, or the game beside it, is damaged.
        DependencyNotInstalled: The ``textworld`` package is absent.
    """

    def __init__(self, story: str | Path) -> None:
        self._story = Path(story)
        self._checksum = check_story(self._story)
        self._engine: Any = _open_story(str(story))
        self._commands: list[str] = []
        self._turn: Any = None
        self._initial: frozenset[Fact] = frozenset()

    @property
    def max_score(self) -> float:
        """Points of a game that is won; infinite where a quest pays again and again."""
        return float(self._turn.max_score)

    def start(self) -> str:
        """Begin, or begin anew.

        Raises:
            DataError: The story file was damaged or replaced since it was opened.
            EnvFailure: The session is closed or its interpreter does not answer.
        """
        if check_story(self._story) != self._checksum:  # the interpreter reads it once more
            raise DataError(
                f"expected {self._story} to stay as it is while it is played, but it was replaced; "
                "close the environment and make it again"
            )
        self._commands = []
        self._turn = self._running().reset()
        self._initial = _facts(self._turn)
        return clean(_answered(self._turn.raw))

    def act(self, command: str) -> GameTurn:
        """Give the game one command.

        A story understands commands that the tracker does not, which would then lose the state: a
        list of things (refused here), *get* for a thing on a supporter, and walking to a door
        instead of in a direction (both reworded for the tracker).

        Raises:
            EnvFailure: The session is closed, its interpreter does not answer, or the command is
                not one printable line, which could hang it.
        """
        if not (command.isascii() and command.isprintable()) or "\\" in command:
            raise EnvFailure(f"expected a command from read_command(), got {command!r:.80}")
        # Where a command is only tried, Jericho's memory is put back without the tracker's knowing.
        memory = self._machine.get_state()
        old_state, admissible, score = self.snapshot(), self.admissible(), int(self._turn.score)
        turn = self._step(command)
        finished = _FINISHED.findall(self._raw)
        if len(finished) > 1:
            self.restore(old_state)
            return GameTurn(ONE_THING, False, score, False, False)
        if turn.valid or not finished or finished[0][1] == "failed":
            return turn
        # From here on the story did something that the tracker did not recognise.
        if (
            command in admissible
        ):  # examining food: the story says "raw", which the tracker does not
            return replace(turn, valid=True)
        alternatives = _in_other_words(finished[0][0], admissible)
        if alternatives is None:
            return turn
        room = _room(self._raw)
        self._commands.pop()
        for words in alternatives:
            self._machine.set_state(memory)
            answer = self._machine.step(words)[0]
            self._machine.set_state(memory)
            # Of several actions, the one that leads to the story's room, not merely one that is
            # possible.
            if _room(answer) == room:
                return self._step(words)
        self._machine.set_state(memory)
        return GameTurn(NO_EFFECT, False, score, False, False)

    def admissible(self) -> tuple[str, ...]:
        """Return the commands that the rules allow in this state, sorted."""
        return tuple(self._turn.admissible_commands)

    def offered(self) -> tuple[str, ...]:
        """Return the admissible commands that the story carries out, too."""
        commands = self.admissible()
        if PREPARE_MEAL not in commands or self._turn.won or self._turn.lost:
            return commands
        memory = self._machine.get_state()
        answer = self._machine.step(PREPARE_MEAL)[0]
        self._machine.set_state(memory)
        if any(result == "succeeded" for _, result in _FINISHED.findall(answer)):
            return commands
        return tuple([command for command in commands if command != PREPARE_MEAL])

    def policy(self) -> tuple[str, ...] | None:
        """Return the commands that win from this state; None if nothing does."""
        if self._turn.won:
            return ()
        return None if self._turn.lost else tuple(self._turn.policy_commands) or None

    def description(self) -> str:
        """Describe the room without taking a turn."""
        return self._aside("look")

    def inventory(self) -> str:
        """List what the player carries without taking a turn."""
        return self._aside("inventory")

    def state_text(self) -> str:
        """Return a text that is equal for equal states."""
        turn = self._turn
        return describe_state(
            self._initial, _facts(turn), int(turn.score), bool(turn.won), bool(turn.lost)
        )

    def snapshot(self) -> tuple[str, ...]:
        """Return the commands so far: a story has no chance in it, so they lead back here.

        The memory of the interpreter and the tracker would make 70 to 280 KB instead.
        """
        return tuple(self._commands)

    def restore(self, state: tuple[str, ...]) -> None:
        """Return to a state of the same game by playing it again."""
        self.start()
        for command in state:
            self._step(command)

    def close(self) -> None:
        """Free the interpreter."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _step(self, command: str) -> GameTurn:
        """Let the story take a step and the tracker follow."""
        moves = self._turn.moves
        self._turn, score, _ = self._running().step(command)
        self._commands.append(command)
        text = clean(_answered(self._turn.feedback))
        won, failed = bool(self._turn.won), bool(self._turn.lost)
        return GameTurn(text, self._turn.moves > moves, int(score), won, failed)

    def _aside(self, command: str) -> str:
        """Ask for a text and take the interpreter back to before it was asked."""
        if self._turn.won or self._turn.lost:
            return ""  # it would only ask whether to play again
        memory = self._machine.get_state()
        answer = self._machine.step(command)[0]
        self._machine.set_state(memory)
        return clean(_ASIDES.sub("", _answered(answer)))

    def _running(self) -> Any:
        if self._engine is None:
            raise EnvFailure("expected a running game, but its session is closed; open another")
        return self._engine

    @property
    def _machine(self) -> Any:
        return self._running().unwrapped._jericho

    @property
    def _raw(self) -> str:
        return str(self._running().unwrapped.state.raw)


@lru_cache(maxsize=16)
def _game(description: str) -> Any:
    """Load a game's description once for the members of a group; sessions only read it."""
    return require("textworld", "textworld").Game.load(description)


def _open_story(story: str) -> Any:
    """Start TextWorld's interpreter with only those extras that a session uses."""
    textworld = require("textworld", "textworld")
    envs = require("textworld.envs", "textworld")
    infos = textworld.EnvInfos(admissible_commands=True, policy_commands=True, moves=True)
    machine = envs.JerichoEnv(infos)
    machine.seed(_SEED)
    engine = envs.TWInform7(machine)
    try:
        # Else the wrapper loads it again.
        machine._game = _game(str(Path(story).with_suffix(".json")))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Jericho's word that it does not know the game
            engine.load(story)
    except Exception as error:  # TextWorld takes every part of a game for granted
        raise DataError(
            f"expected the game of {story} in the .json beside it, but TextWorld cannot read it "
            f"({type(error).__name__}: {error}); make both again with tw-make"
        ) from error
    return engine


def _in_other_words(event: str, admissible: Sequence[str]) -> list[str] | None:
    """Return commands that may have caused a change that the tracker did not recognise.

    ``event`` is the action as the story reports it, such as ``taking the latchkey``. None: it
    changes nothing.
    """
    verb, _, noun = event.partition(" ")
    if verb == "taking":
        start = f"take {noun.removeprefix('the ')} from "
        return [command for command in admissible if command.startswith(start)]
    if verb in ("going", "entering"):
        return [command for command in admissible if command.startswith("go ")]
    return None


def _facts(turn: Any) -> frozenset[Fact]:
    """Return the facts that TextWorld's tracker assumes."""
    return frozenset(
        (fact.name, *(entity.name for entity in fact.arguments)) for fact in turn._facts
    )


def _room(output: str) -> str:
    """Read the name of the room off the status line."""
    rooms = _STATUS.findall(output[output.rfind("\n>") :])
    return rooms[0] if rooms else ""


def _answered(output: str) -> str:
    """Check that the interpreter stands at its prompt.

    Raises:
        EnvFailure: It does not, so that later answers would belong to earlier commands.
    """
    if "\n>" not in output:
        raise EnvFailure(f"the interpreter stopped without a prompt; it said {output!r:.200}")
    return output


def clean(output: str) -> str:
    """Reduce an interpreter's output to the story.

    Removed are the banner at the start, the prompt with the status line, and the question whether
    to play again. Runs of blank lines become one, and centred lines start at the margin.
    """
    banner = output.rfind(_BANNER_END)
    if banner >= 0:
        output = output[output.find("\n", banner) :]
    prompt = output.rfind("\n>")
    if prompt >= 0:
        output = output[:prompt]
    question = output.rfind(_FINAL_QUESTION)
    if question >= 0:
        output = output[:question]
    lines = "\n".join(line.rstrip() for line in split_lines(output))
    return _BLANK_LINES.sub("\n\n", _CENTRED.sub("", lines)).strip()
