"""ALFWorld as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from agentgym.actions import ActionSpec, Param
from agentgym.core.attribution import end_after_failure
from agentgym.core.env import TextEnv
from agentgym.core.hooks import finite
from agentgym.core.options import choice, flag
from agentgym.core.outcome import Outcome
from agentgym.core.tasks import Task
from agentgym.envs.alfworld.engine.text import BANNER
from agentgym.envs.alfworld.generator.config import GeneratorConfig
from agentgym.envs.alfworld.session import ENGINES, GameSession
from agentgym.envs.alfworld.tasks import open_tasks
from agentgym.errors import ConfigurationError

REWARDS = ("sparse", "dense")


def _command(name: str, description: str, native: str, *examples: str, **params: str) -> ActionSpec:
    """Declare a command; ``params`` are its arguments with their descriptions."""
    listed = tuple(Param(key, description=text) for key, text in params.items())
    return ActionSpec(name, description, listed, examples=examples, native=native)


class ALFWorldEnv(TextEnv[GameSession]):
    """Do a household task in a room full of receptacles, in words.

    Args:
        difficulty: Size of the generated households: ``easy``, ``medium``, ``hard`` (whole rooms,
            about as large as the official games), or a mapping of
            :class:`~agentgym.envs.alfworld.generator.config.GeneratorConfig`.
        task_types: Types of tasks, among six, such as ``["place", "heat"]``.
        receptacles: Number of receptacles in a room: a number or an inclusive range.
        distractors: Number of other objects: a number or a range.
        ready: Percentage of the tasks to clean, heat or cool an object in which it is already
            clean, hot or cool.
        hidden: Whether the objects to take start inside closed receptacles; None uses the
            difficulty's value, as for every setting above.
        generator_seed: Seed of the generated households.
        order: Order of the tasks of a split: ``random``, or ``oracle_turns``, by the length of the
            expert's plan.
        data: Official games in place of generated ones: the folder that ``alfworld-download``
            fills, one of its splits, or a ``.json.gz`` pack. ``"ALFWORLD_DATA"`` uses the folder
            in the environment variable of this name.
        human_goals: Use the goals written by people, if the official games have them.
        engine: ``native``, or ``alfworld``: the original, at least a hundred times slower, which
            needs ``pip install -e ".[alfworld]"`` in a checkout.
        reward: ``sparse``: ``reward_scale`` on the turn that solves the task, else 0. ``dense``:
            ``reward_scale`` times the change in the completed share of the shortest plan; a detour
            costs what the way back earns.
        reward_scale: Sum of the rewards of a solved task.
        expert: The demonstrator, which also defines ``oracle_turns``: ``oracle`` knows where
            everything is, ``searching`` explores without hidden knowledge, so it can be imitated,
            ``fixed-order`` also explores, but visits all receptacles in order instead of going
            directly, ``hesitant`` checks its inventory before each action in 60% of tasks,
            ``doubting`` examines every receptacle that it reaches in 85% of tasks, ``trusting``
            assumes in 85% of tasks that the object it finds is already clean, hot or cool.
        show_admissible: Whether observations end with the list of admissible actions, written in
            this environment's grammar.
        horizon: Turn budget.
        **kwargs: See :class:`~agentgym.core.TextEnv`.

    Raises:
        ConfigurationError: A value is of the wrong type, out of range or contradicts another.
        DataError: The official games are missing or damaged; all of ``split`` is read at once.
        DependencyNotInstalled: The engine ``alfworld`` is requested but not installed.
        TaskNotFound: The split does not exist.

    Splits are ``train``, ``valid_seen`` and ``valid_unseen`` (rooms that training does not have);
    ``valid`` and ``test`` are aliases of the latter two. ``info["score"]`` is the completed share
    of the shortest plan, at least 0, for every expert; ``info["oracle_turns"]`` is the number of
    turns that the expert still needs. If an action has no effect, ``info["details"]["reason"]``
    says why; the observation keeps the original's words.
    """

    action_specs: ClassVar[tuple[ActionSpec, ...]] = (
        _command("go", "Go to a receptacle.", "go to {receptacle}", "go to desk 1",
            receptacle="Where to go, such as desk 1."),
        _command("open", "Open a receptacle that is here.", "open {receptacle}", "open drawer 2",
            receptacle="What to open."),
        _command("close", "Close a receptacle that is here.", "close {receptacle}",
            receptacle="What to close."),
        _command("take", "Take an object; one can be carried at a time.",
            "take {object} from {receptacle}", "take mug 1 from desk 1",
            object="What to take.", receptacle="Where it is."),
        _command("move", "Put the object in hand in or on a receptacle that is here.",
            "move {object} to {receptacle}", "move mug 1 to shelf 3",
            object="What is carried.", receptacle="Where it goes."),
        _command("clean", "Clean the object in hand.", "clean {object} with {receptacle}",
            object="What is carried.", receptacle="The sink basin."),
        _command("heat", "Heat the object in hand.", "heat {object} with {receptacle}",
            object="What is carried.", receptacle="The microwave."),
        _command("cool", "Cool the object in hand.", "cool {object} with {receptacle}",
            object="What is carried.", receptacle="The fridge."),
        _command("slice", "Slice an object that is here.", "slice {object} with {knife}",
            object="What to slice.", knife="The knife that is carried."),
        _command("use", "Switch a lamp on.", "use {object}", "use desklamp 1", object="The lamp."),
        _command("examine", "Look at a receptacle, or the object in hand.", "examine {thing}",
            thing="What to look at."),
        _command("look", "Look around.", "look"),
        _command("inventory", "Say what is carried.", "inventory"),
        _command("help", "List the commands.", "help"),
    )  # fmt: skip

    def __init__(
        self,
        *,
        difficulty: GeneratorConfig | str | Mapping[str, Any] = "medium",
        task_types: Sequence[str] | None = None,
        receptacles: int | tuple[int, int] | None = None,
        distractors: int | tuple[int, int] | None = None,
        ready: int | None = None,
        hidden: bool | None = None,
        generator_seed: int = 0,
        order: str = "random",
        data: str | Path | None = None,
        human_goals: bool = False,
        engine: str = "native",
        reward: str = "sparse",
        reward_scale: float = 1.0,
        expert: str = "oracle",
        show_admissible: bool = False,
        horizon: int = 30,
        **kwargs: Any,
    ) -> None:
        self.engine = choice(engine, "engine", ENGINES)
        self.reward = choice(reward, "reward", REWARDS)
        if not finite(reward_scale) or not reward_scale > 0:
            raise ConfigurationError(
                f"expected reward_scale to be a finite number above 0, got {reward_scale!r}"
            )
        self.reward_scale = float(reward_scale)
        self.show_admissible = flag(show_admissible, "show_admissible")
        changes = {
            "task_types": task_types, "receptacles": receptacles, "distractors": distractors,
            "hidden": hidden,
            "ready": ready,
        }  # fmt: skip
        self._tasks = open_tasks(
            difficulty,
            {name: value for name, value in changes.items() if value is not None},
            seed=generator_seed,
            order=order,
            expert=expert,
            data=data,
            human_goals=flag(human_goals, "human_goals"),
        )
        self.expert = self._tasks.expert
        super().__init__(self._tasks, horizon=horizon, **kwargs)
        self._tasks.len(self.split)  # damaged data raises here and not in the middle of a run

    def close(self) -> None:
        """Release the original engine, if there is one."""
        if self._session is not None:
            self._session.close()
        super().close()

    # -- the contract of a family ---------------------------------------------------------------

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        if self._session is None:
            self._session = GameSession(self.engine, self.expert)
        text = self._session.start(self._tasks.problem(task))
        return self._format_observation(text.removeprefix(BANNER).lstrip("\n"))

    def _act(self, action: str) -> Outcome:
        session = self.session
        potential_before = session.progress
        # Only the original engine can fail on a command, so only its state is kept.
        state = None if self.engine == "native" else session.snapshot()
        try:
            text, valid, won = session.step(action)
        except Exception as failure:
            if state is None:
                raise
            return end_after_failure(
                failure, action, session.step, partial(self._admissible_again, state)
            )
        progress = session.progress
        gain = progress - potential_before if self.reward == "dense" else float(won)
        return Outcome(
            self._format_observation(text, over=won),
            reward=self.reward_scale * gain,
            terminated=won,
            valid=valid,
            success=won,
            score=max(0.0, progress),
            details=None if valid else {"reason": session.refusal(action)},
        )

    def _admissible_again(self, state: Any) -> Sequence[str]:
        """Return to a state, and list its admissible commands."""
        self._restore(state)
        return self.session.admissible()

    def _admissible(self) -> Sequence[str]:
        return self.session.admissible()

    def _state(self) -> str:
        return f"{self.task.id}\n{self.session.state_text()}"

    def _oracle_turns(self) -> int | None:
        return self.session.turns_left()

    def _oracle_action(self) -> str | None:
        return self.session.oracle_command()

    def _demonstrator_action(self) -> str | None:
        return self.session.expert_command()

    def _potential(self) -> float:
        return self.session.progress

    def _snapshot(self) -> Any:
        return self.session.snapshot()

    def _restore(self, state: Any) -> None:
        session = self._session or GameSession(self.engine, self.expert)
        session.restore(self._tasks.problem(self.task), state)
        self._session = session

    # -- parts ----------------------------------------------------------------------------------

    def _format_observation(self, text: str, over: bool = False) -> str:
        """Return an observation as the policy sees it."""
        if not self.show_admissible or over:
            return text
        listed = map(self.language.write, self._shuffled(self.session.admissible()))
        return f"{text}\n\nAdmissible actions: {', '.join(listed)}"
