"""TextWorld as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from agentgym.actions import ActionSpec, Param
from agentgym.core.attribution import end_after_failure
from agentgym.core.options import arguments, choice, flag
from agentgym.core.outcome import Outcome
from agentgym.core.tasks import Task
from agentgym.envs.hesitation import with_checks
from agentgym.envs.session_env import SessionEnv
from agentgym.envs.textworld import guessing
from agentgym.envs.textworld.games.game_set import EXPERTS
from agentgym.envs.textworld.generator.config import (
    CHALLENGES,
    REFUSED,
    SHORT,
    GeneratorConfig,
)
from agentgym.envs.textworld.rewards import REWARDS, Status, potential, progress, value
from agentgym.envs.textworld.sanitise import read_command
from agentgym.envs.textworld.session import ENGINES, GameSession
from agentgym.envs.textworld.tasks import open_tasks
from agentgym.errors import ConfigurationError
from agentgym.support.guesses import with_guesses

if TYPE_CHECKING:
    from agentgym.envs.textworld.games.files import Files
    from agentgym.envs.textworld.original.isolated_session import StoryProcess

PARAMETERS = frozenset(
    (
        *SHORT,
        *REFUSED,
        *(parameter.name for kind in CHALLENGES.values() for parameter in fields(kind)),
    )
)
"""Names that are parameters of some challenge, or would be in ``tw-make``."""

NOT_ADMISSIBLE = (
    "the rules of the game know no such command in this state, so nothing changed; what the game "
    "says to it is the observation"
)
"""Value of ``info["details"]["reason"]`` for an invalid turn that the game itself answered."""

_LOOKS = ("look", "l")
"""Commands that ask for the room's description."""

_FORKED = ("_plan", "_turns_left", "_script", "_phi", "_value", "_typed", "_cook")
"""Attributes of an episode that a snapshot contains, besides the state of the game."""


class TextWorldEnv(SessionEnv[GameSession]):
    """Reach the objective of a TextWorld game with typed commands.

    Args:
        difficulty: Size and difficulty of generated games, by a name such as ``w2-o3-q4`` or
            ``cooking-easy``, or a
            :class:`~agentgym.envs.textworld.generator.config.GeneratorConfig`;
            None is ``w2-o12-q4,quest_end=place``.
        challenge: Kind of generated games, instead of a difficulty; its parameters become further
            arguments: ``custom``, ``coin_collector``, ``treasure_hunter``, ``simple`` or
            ``cooking``.
        games: Number of games by split, or of the train split; None: the difficulty's number.
        data: Your own game files, used instead of generated games; see
            :class:`~agentgym.envs.textworld.games.files.FileTasks`.
        engine: ``native``, the same games in pure Python, or ``inform7``, TextWorld's story files
            in their interpreter (needs the ``textworld`` package).
        reward: ``sparse`` (1 for a won game), ``score`` (the game's points when they are scored) or
            ``dense`` (progress along the remaining plan); each sums to 1 over a won game.
        expert: The demonstrator, which also defines ``oracle_turns``: ``oracle`` types the
            remaining commands of the quest, ``hesitant`` checks its inventory before each of them
            in 60% of tasks, ``guessing`` (``cooking`` only) opens the cookbook in 15% of tasks and
            guesses the preparation of the meal in the others. Score and rewards do not depend on
            it.
        brief: Whether entering a room shows only its name, as with ``superbrief`` in interactive
            fiction; ``look`` still describes it.
        description: Whether each observation ends with the description of the room.
        inventory: Whether each observation ends with the player's inventory.
        show_admissible: Whether each observation ends with the admissible commands.
        horizon: Turn budget; None: the difficulty's default, or 50 for game files.
        **kwargs: Parameters of the challenge (see
            :mod:`agentgym.envs.textworld.generator.config`), and arguments of
            :class:`~agentgym.core.TextEnv`.

    Raises:
        ConfigurationError: A value is out of range or contradicts another.
        DataError: A game file cannot be played; the message names the file and the problem.

    A turn is one command: if an action has several sentences, only the first is executed, and
    ``info["details"]["ignored"]`` contains the rest. Commands to the interpreter instead of the
    game (``save``, ``undo``, ``quit``) are refused. Inadmissible commands get the game's reply;
    ``info["details"]["reason"]`` says why a turn was invalid.
    """

    action_specs: ClassVar[tuple[ActionSpec, ...]] = (
        ActionSpec(
            "command",
            "Type one command of the game, such as: look, inventory, examine ..., go north, "
            "open ..., close ..., take ..., take ... from ..., drop ..., put ... on ..., "
            "insert ... into ..., unlock ... with ..., lock ... with ..., eat ...; where there is "
            "cooking to do, also: cook ... with ..., slice, dice or chop ... with ..., "
            "prepare meal.",
            (Param("command", description="The command, one short sentence."),),
            examples=("go east", "take old key from chest"),
            native="{command}",
        ),
    )

    def __init__(
        self,
        difficulty: str | GeneratorConfig | None = None,
        *,
        challenge: str | None = None,
        games: Mapping[str, int] | int | None = None,
        data: Files | Mapping[str, Files] | None = None,
        engine: str = "native",
        reward: str = "sparse",
        expert: str = "oracle",
        brief: bool = False,
        description: bool = False,
        inventory: bool = False,
        show_admissible: bool = False,
        horizon: int | None = None,
        **kwargs: Any,
    ) -> None:
        own_arguments = arguments(type(self))
        parameters = {name: kwargs.pop(name) for name in list(kwargs) if name not in own_arguments}
        _check_parameters(parameters, own_arguments)
        self.engine = choice(engine, "engine", ENGINES)
        self.reward = choice(reward, "reward", REWARDS)
        self.brief = flag(brief, "brief")
        self.description = flag(description, "description")
        if self.brief and self.description:
            raise ConfigurationError(
                "expected rooms with or without their descriptions, got brief=True and "
                "description=True; leave one out"
            )
        self.inventory = flag(inventory, "inventory")
        self.show_admissible = flag(show_admissible, "show_admissible")
        self._tasks, fitting = open_tasks(
            difficulty, challenge, games, data, parameters, native=engine == "native"
        )
        self.expert = self._tasks.expert = choice(expert, "expert", EXPERTS)
        if expert == "guessing" and not self._tasks.has_cookbook:
            raise ConfigurationError(
                "expected games with a cookbook for expert='guessing', such as "
                "difficulty='cooking-easy' or challenge='cooking'; choose these, or another expert"
            )
        self._process: StoryProcess | None = None
        self._playing = ""
        self._plan = 1
        self._turns_left: int | None = None
        self._script: tuple[str, ...] | None = None
        self._phi = self._value = 0.0
        self._typed: tuple[str, ...] = ()
        self._cook: tuple[str, ...] | None = None
        turns = fitting if horizon is None else horizon
        super().__init__(self._tasks, horizon=turns, **kwargs)

    @property
    def _made_with(self) -> dict[str, str]:
        """Settings that must be equal in a snapshot and in the environment that restores it."""
        return {"engine": self.engine, "reward": self.reward}

    def close(self) -> None:
        """Free the engine; may be called twice."""
        self._running = False
        self._leave()
        if self._process is not None:
            self._process.close()
        super().close()

    # -- the contract of a family ---------------------------------------------------------------

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        session = self._enter(task)
        intro, plan = session.start(), session.policy()
        # Some games (cooking with slots) have no policy, only commands that win from the start.
        self._script = None if plan else self._tasks.plan(task)
        plan = plan if self._script is None else self._script
        self._turns_left = None if plan is None else len(plan)
        self._plan = max(1, self._turns_left or 0)
        self._phi = self._value = 0.0
        self._typed, self._cook = (), None
        return self._observation_of(self._room_named(intro))

    def _act(self, action: str) -> Outcome:
        command = read_command(action)
        details: dict[str, Any] = {
            "command": command.text, "ignored": command.ignored, "reason": command.refusal
        }  # fmt: skip
        if command.refusal:
            text = self._observation_of(command.refusal)
            return Outcome(text, valid=False, details=details)
        session = self.session
        # Only others' engines can fail on a command, so only their state is kept.
        state = None if self.engine == "native" else session.snapshot()
        try:
            turn = session.act(command.text)
        except Exception as failure:
            if state is None:
                raise
            return end_after_failure(
                failure, command.text, session.act, partial(self._admissible_again, state)
            )
        self._follow(command.text, turn.valid)
        self._typed += (command.text,)
        self._cook = self._cook[1:] if self._cook and self._cook[0] == command.text else None
        plan = self._expert_plan()
        self._turns_left = None if plan is None else len(plan)
        status = Status(
            turn.score, session.max_score, self._turns_left, self._plan, turn.won, turn.lost
        )
        old_value = self._value
        self._phi = potential(status, self._phi)
        self._value = value(self.reward, status, self._phi)
        is_over = turn.won or turn.lost
        details |= {"points": turn.score, "lost": turn.lost}
        details["reason"] = "" if turn.valid else NOT_ADMISSIBLE
        return Outcome(
            turn.text
            if is_over
            else self._observation_of(self._room_named(turn.text, command.text)),
            reward=self._value - old_value,
            terminated=is_over,
            valid=turn.valid,
            success=turn.won,
            score=progress(status),
            details=details,
        )

    def _admissible_again(self, state: Any) -> Sequence[str]:
        """Return to a state, and list its admissible commands."""
        self.session.restore(state)
        return self.session.offered()

    def _admissible(self) -> Sequence[str]:
        return self.session.offered()

    def _state(self) -> str:
        # Includes the task, so that initial states of different tasks have different keys.
        return f"{self.task.id}\n{self.session.state_text()}"

    def _oracle_turns(self) -> int | None:
        if self._turns_left and self._tasks.hesitates(self.task):
            return 2 * self._turns_left - self.turn % 2
        if self.expert == "guessing":
            turns = len(self._cooking())
            return turns if turns < guessing.LONGEST else None
        return self._turns_left

    def _oracle_action(self) -> str | None:
        return next(iter(self._expert_plan() or ()), None)

    def _demonstrator_action(self) -> str | None:
        plan = self._expert_plan()
        if plan and self._tasks.hesitates(self.task):
            # It checks on every other turn, beginning with the first.
            return with_checks(plan)[self.turn % 2]
        if self.expert == "guessing":
            return next(iter(self._cooking()), None)
        return plan[0] if plan else None

    def _potential(self) -> float:
        return self._phi

    def _snapshot(self) -> Any:
        episode = {name: getattr(self, name) for name in _FORKED}
        return {**self._made_with, "game": self.session.snapshot(), "episode": episode}

    def _restore(self, state: Any) -> None:
        settings = {name: state.get(name) for name in self._made_with if isinstance(state, dict)}
        if settings != self._made_with:
            raise ConfigurationError(
                f"expected a snapshot of an environment with {self._made_with}, got one with "
                f"{settings}; restore it in an environment that is made as its own was"
            )
        try:
            episode = {name: state["episode"][name] for name in _FORKED}
            self._continue(self.task, state["game"])
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise ConfigurationError(
                f"expected a snapshot as env.snapshot() returns it, but the game of "
                f"{self.task.id} has no such state ({type(error).__name__}: {error})"
            ) from error
        for name, value_of in episode.items():
            setattr(self, name, value_of)

    # -- parts ----------------------------------------------------------------------------------

    def _expert_plan(self) -> tuple[str, ...] | None:
        """Return commands that win from this state; None if none are known."""
        return self.session.policy() if self._script is None else self._script

    def _cooking(self) -> tuple[str, ...]:
        """Return the commands of a cook who mostly guesses, cached while they are followed."""
        if self._cook is None:
            self._cook = guessing.script(self.session, self.task.id, self._typed)
        return self._cook

    def _follow(self, command: str, valid: bool) -> None:
        """Strike a command off the script; another one that does something makes it void."""
        if self._script and command == self._script[0]:
            self._script = self._script[1:]
        elif self._script is not None and valid and command not in ("look", "inventory"):
            self._script = None

    def _room_named(self, answer: str, command: str = "") -> str:
        """Shorten a room's description to its name, unless the command asked to look."""
        if not self.brief or command in _LOOKS:
            return answer
        description = self.session.description()
        return answer.replace(description, description.partition("\n")[0])

    def _observation_of(self, answer: str) -> str:
        """Add the requested parts to the game's answer."""
        parts = [answer]
        if self.description:
            description = self.session.description()
            parts += [] if description in answer else [description]
        if self.inventory:
            listing = self.session.inventory()
            parts += [] if listing in answer else [listing]
        if self.show_admissible:
            parts.append("Possible commands: " + ", ".join(self._shuffled(self._admissible())))
        return "\n\n".join(parts)

    def _enter(self, task: Task) -> GameSession:
        """Open a task's game, unless it is open already."""
        if self._session is None or self._playing != task.id:
            self._leave()
            self._session = self._open_session(task)
            self._playing = task.id
        return self._session

    def _continue(self, task: Task, state: Any) -> None:
        """Bring a task's game into a state; after a failure the game is unchanged."""
        old_session = self._session
        session = (
            old_session if old_session and self._playing == task.id else self._open_session(task)
        )
        then = old_session.snapshot() if old_session else None
        try:
            session.restore(state)
        # An interrupt counts, too: a game left half restored would answer for another state.
        except BaseException:
            if session is not old_session:
                session.close()
            if old_session:
                old_session.restore(then)
            raise
        if session is not old_session:
            self._leave()
        self._session, self._playing = session, task.id

    def _open_session(self, task: Task) -> GameSession:
        """Start the engine on a task's game."""
        # Imported here, as making an environment should be quick, and one engine is enough.
        if self.engine == "inform7" and self._tasks.foreign:
            from agentgym.envs.textworld.original.isolated_session import (
                IsolatedSession,
                StoryProcess,
            )

            self._process = self._process or StoryProcess()
            return IsolatedSession(self._tasks.story(task), self._process)
        if self.engine == "inform7":
            from agentgym.envs.textworld.original.inform7 import InformSession

            return InformSession(self._tasks.story(task))
        from agentgym.envs.textworld.engine.session import NativeSession

        return NativeSession(self._tasks.source(task))

    def _leave(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the engine, which is found again by its state."""
        return {**super().__getstate__(), "_process": None}

    def _resume(self, state: Any) -> None:
        self._continue(self.task, state)


def _check_parameters(parameters: Mapping[str, Any], own_arguments: Mapping[str, Any]) -> None:
    """Raise for names that are neither parameters of a challenge nor environment arguments."""
    for name in parameters:
        if name not in PARAMETERS:
            raise ConfigurationError(
                f"expected arguments of TextWorldEnv among {', '.join(own_arguments)}, or "
                f"parameters of a challenge among {', '.join(sorted(PARAMETERS - REFUSED.keys()))}"
                f"; got {with_guesses([name], [*own_arguments, *sorted(PARAMETERS)])}"
            )
