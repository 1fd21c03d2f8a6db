"""ALFWorld as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from agentgym.actions import ActionSpec, Param
from agentgym.core import TextEnv
from agentgym.envs.alfworld.engine.text import BANNER
from agentgym.envs.alfworld.play import ENGINES, EXPERTS, Play
from agentgym.envs.alfworld.tasks import open_tasks
from agentgym.errors import ConfigurationError
from agentgym.outcome import Outcome
from agentgym.tasks import Task

REWARDS = ("sparse", "dense")


def _on(name: str, description: str, native: str, *examples: str, **params: str) -> ActionSpec:
    """Declare a command; ``params`` are its arguments with their descriptions."""
    listed = tuple(Param(key, description=text) for key, text in params.items())
    return ActionSpec(name, description, listed, examples=examples, native=native)


class ALFWorldEnv(TextEnv):
    """Do a household task in a room full of receptacles, in words.

    Args:
        difficulty: Size of the generated households: ``easy``, ``medium``, ``hard`` (whole rooms,
            about as large as the official games), or a mapping of
            :class:`~agentgym.envs.alfworld.generator.Knobs`.
        task_types: Which of the six types of task, such as ``["place", "heat"]``.
        receptacles: How many receptacles a room keeps: a number or a range with both ends.
        distractors: How many other objects there are: a number or a range.
        hidden: Whether what is to be taken starts inside closed receptacles; None leaves it to
            the difficulty, as for every knob above.
        households_seed: Seed of the generated households.
        order: ``random``, or ``oracle``: within a split, tasks stand by the length of the expert's
            plan.
        data_dir: Official games in place of generated ones: the folder that ``alfworld-download``
            fills, one of its splits, or a ``.json.gz`` pack. ``"ALFWORLD_DATA"`` takes the folder
            that the environment variable of this name holds.
        human_goals: Use the sentences that people wrote, where the official games have them.
        engine: ``native``, or ``alfworld``: the original, a hundred times slower and more, which
            needs ``pip install "agentgym-suite[alfworld]"``.
        reward: ``sparse``: ``reward_scale`` when the task is solved. ``dense``: the same in
            instalments, the change of the share of the expert's plan that is done; a detour costs
            what the way back earns.
        reward_scale: Sum of the rewards of a solved task.
        expert: Whose plans ``oracle()`` follows: ``shortest`` knows where everything is,
            ``searching`` looks for it as a newcomer must, and so can be imitated.
        show_admissible: Whether observations end with the list of admissible actions.
        max_turns: Turn budget.
        **kwargs: See :class:`~agentgym.core.TextEnv`.

    Raises:
        ConfigurationError: A value is out of range or contradicts another.
        DataError: The official games are missing or damaged.
        DependencyNotInstalled: The engine ``alfworld`` is asked for and not installed.

    Splits are ``train``, ``valid_seen`` and ``valid_unseen`` (rooms that training does not have);
    ``valid`` and ``test`` are other names of the latter two. ``info["score"]`` is the share of the
    expert's plan that is done, at least 0; ``info["oracle_turns"]`` is the length of what is left
    of the shortest plan.
    """

    action_specs: ClassVar[tuple[ActionSpec, ...]] = (
        _on("go", "Go to a receptacle.", "go to {receptacle}", "go to desk 1",
            receptacle="Where to go, such as desk 1."),
        _on("open", "Open a receptacle that is here.", "open {receptacle}", "open drawer 2",
            receptacle="What to open."),
        _on("close", "Close a receptacle that is here.", "close {receptacle}",
            receptacle="What to close."),
        _on("take", "Take an object; one can be carried at a time.",
            "take {object} from {receptacle}", "take mug 1 from desk 1",
            object="What to take.", receptacle="Where it is."),
        _on("move", "Put the object in hand in or on a receptacle that is here.",
            "move {object} to {receptacle}", "move mug 1 to shelf 3",
            object="What is carried.", receptacle="Where it goes."),
        _on("clean", "Clean the object in hand.", "clean {object} with {receptacle}",
            object="What is carried.", receptacle="The sink basin."),
        _on("heat", "Heat the object in hand.", "heat {object} with {receptacle}",
            object="What is carried.", receptacle="The microwave."),
        _on("cool", "Cool the object in hand.", "cool {object} with {receptacle}",
            object="What is carried.", receptacle="The fridge."),
        _on("slice", "Slice an object that is here.", "slice {object} with {knife}",
            object="What to slice.", knife="The knife that is carried."),
        _on("use", "Switch a lamp on.", "use {object}", "use desklamp 1", object="The lamp."),
        _on("examine", "Look at a receptacle, or the object in hand.", "examine {thing}",
            thing="What to look at."),
        _on("look", "Look around.", "look"),
        _on("inventory", "Say what is carried.", "inventory"),
        _on("help", "List the commands.", "help"),
    )  # fmt: skip

    def __init__(
        self,
        *,
        difficulty: Any = "medium",
        task_types: Sequence[str] | None = None,
        receptacles: int | tuple[int, int] | None = None,
        distractors: int | tuple[int, int] | None = None,
        hidden: bool | None = None,
        households_seed: int = 0,
        order: str = "random",
        data_dir: str | None = None,
        human_goals: bool = False,
        engine: str = "native",
        reward: str = "sparse",
        reward_scale: float = 1.0,
        expert: str = "shortest",
        show_admissible: bool = False,
        max_turns: int = 30,
        **kwargs: Any,
    ) -> None:
        for name, value, known in (
            ("engine", engine, ENGINES), ("reward", reward, REWARDS), ("expert", expert, EXPERTS),
        ):  # fmt: skip
            if value not in known:
                raise ConfigurationError(f"expected {name} to be one of {known}, got {value!r}")
        if not 0 < reward_scale < float("inf"):
            raise ConfigurationError(f"expected reward_scale above 0, got {reward_scale!r}")
        self.engine, self.reward, self.expert = engine, reward, expert
        self.reward_scale = float(reward_scale)
        self.show_admissible = show_admissible
        knobs = {
            "task_types": task_types, "receptacles": receptacles, "distractors": distractors,
            "hidden": hidden,
        }  # fmt: skip
        self._play: Play | None = None
        self._tasks = open_tasks(
            difficulty,
            {name: value for name, value in knobs.items() if value is not None},
            seed=households_seed,
            order=order,
            data_dir=data_dir,
            human_goals=human_goals,
        )
        super().__init__(self._tasks, max_turns=max_turns, **kwargs)

    @property
    def play(self) -> Play:
        """The running game, for tools that look behind the text."""
        assert self._play is not None, "call env.reset() first"
        return self._play

    def close(self) -> None:
        """Give the real engine back, if there is one."""
        if self._play is not None:
            self._play.close()
        super().close()

    # -- the contract of a family ---------------------------------------------------------------

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        game = self._tasks.game(task)
        if self._play is None:
            self._play = Play(self.engine, self.expert)
        text = self._play.start(game)
        return self._shown(text.removeprefix(BANNER).lstrip("\n"))

    def _act(self, action: str) -> Outcome:
        play = self.play
        before = play.progress
        text, valid, won = play.step(action)
        progress = play.progress
        gain = progress - before if self.reward == "dense" else float(won)
        return Outcome(
            self._shown(text, over=won),
            reward=self.reward_scale * gain,
            terminated=won,
            valid=valid,
            success=won,
            score=max(0.0, progress),
        )

    def _admissible(self) -> Sequence[str]:
        return self.play.admissible()

    def _state(self) -> str:
        return self.play.state_text()

    def _oracle_turns(self) -> int | None:
        return self.play.turns_left()

    def _oracle_action(self) -> str | None:
        return self.play.expert_command()

    def _potential(self) -> float:
        return self.play.progress

    def _snapshot(self) -> Any:
        return self.play.snapshot()

    def _restore(self, state: Any) -> None:
        if self._play is None:
            self._play = Play(self.engine, self.expert)
        self._play.restore(self._tasks.game(self.task), state)

    # -- parts ----------------------------------------------------------------------------------

    def _shown(self, text: str, over: bool = False) -> str:
        """Return an observation as the policy sees it."""
        if not self.show_admissible or over:
            return text
        return f"{text}\n\nAdmissible actions: {', '.join(self.play.admissible())}"
