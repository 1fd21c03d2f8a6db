"""TextCraft as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from agentgym.actions import ActionSpec, Param
from agentgym.core.env import TextEnv
from agentgym.core.options import choice, flag
from agentgym.core.outcome import Outcome
from agentgym.core.tasks import Task
from agentgym.envs.textcraft.engine.session import CraftSession
from agentgym.envs.textcraft.experts import EXPERTS
from agentgym.envs.textcraft.experts.oracle import OracleExpert
from agentgym.envs.textcraft.generator.config import GeneratorConfig
from agentgym.envs.textcraft.tasks import open_tasks
from agentgym.errors import ConfigurationError

REWARDS = ("sparse", "dense")
LOOK_UP = ActionSpec(
    "recipe",
    "Show the recipes of an item.",
    (Param("item", description="The item, such as oak plate."),),
    examples=("recipe oak plate",),
    native="recipe {item}",
)
"""The action that ``look_up`` adds."""


class TextCraftEnv(TextEnv[CraftSession]):
    """Craft an item by the given recipes, from ingredients to be crafted first.

    Args:
        difficulty: Depth and size of generated worlds: ``easy``, ``medium``, ``hard``, or a mapping
            of :class:`~agentgym.envs.textcraft.generator.config.GeneratorConfig`.
        depth: Number of crafts on the longest path to the goal: a number or an inclusive range;
            None uses the difficulty's.
        distractors: Number of recipes that the goal does not need: a number or a range.
        generator_seed: Seed of the generated worlds, or of the distractors of published recipes.
        data: Folder with Minecraft's recipe files, used instead of generated worlds.
        reward: ``sparse``: 1 on the turn that crafts the goal, else 0. ``dense``: the change in the
            completed share of the shortest plan; a detour costs what the way back earns.
        horizon: Turn budget.
        look_up: Whether there is an action ``recipe`` that repeats the recipes of one item.
        expert: The demonstrator: ``oracle`` knows the shortest plan,
            ``guessing`` mostly guesses which recipe it needs, and looks it up in a few tasks (with
            ``look_up``).
        **kwargs: See :class:`~agentgym.core.TextEnv`.

    Raises:
        ConfigurationError: A value is of the wrong type, out of range or contradicts another.
        DataError: The published recipes are missing or damaged.

    ``info["score"]`` is the completed share of the shortest plan, at least 0.
    """

    action_specs: ClassVar[tuple[ActionSpec, ...]] = (
        ActionSpec(
            "craft",
            "Craft by one of the recipes, from what is carried.",
            (
                Param("product", description="What comes out, such as 2 oak plate."),
                Param("ingredients", description="What goes in, such as 1 tin rod, 3 wax bolt."),
            ),
            examples=("craft 2 oak plate using 1 tin rod, 3 wax bolt",),
            native="craft {product} using {ingredients}",
        ),
        ActionSpec(
            "get",
            "Get some of an item that no recipe makes.",
            (
                Param("count", type="integer", description="How many."),
                Param("item", description="The item, such as tin rod."),
            ),
            examples=("get 3 wax bolt",),
            native="get {count} {item}",
        ),
        ActionSpec("inventory", "Say what is carried.", native="inventory"),
    )

    def __init__(
        self,
        *,
        difficulty: GeneratorConfig | str | Mapping[str, Any] = "medium",
        depth: int | tuple[int, int] | None = None,
        distractors: int | tuple[int, int] | None = None,
        generator_seed: int = 0,
        data: str | Path | None = None,
        reward: str = "sparse",
        horizon: int = 30,
        look_up: bool = False,
        expert: str = "oracle",
        **kwargs: Any,
    ) -> None:
        self._look_up = flag(look_up, "look_up")
        if self._look_up:
            self.action_specs = (*self.action_specs, LOOK_UP)  # type: ignore[misc]  # of the class
        elif expert == "guessing":
            raise ConfigurationError(
                "expected look_up=True with expert='guessing', which looks up recipes"
            )
        self._make_expert = EXPERTS[choice(expert, "expert", EXPERTS)]
        self.reward = choice(reward, "reward", REWARDS)
        changes = {"depth": depth, "distractors": distractors}
        changes = {name: value for name, value in changes.items() if value is not None}
        self._tasks = open_tasks(difficulty, changes, generator_seed, data)
        self._turns = 1
        super().__init__(self._tasks, horizon=horizon, **kwargs)

    # -- the contract of a family ---------------------------------------------------------------

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        self._open_session(task)
        return self.session.world.opening()

    def _act(self, action: str) -> Outcome:
        old_potential = self._potential()
        answer = self.session.step(action)
        for expert in dict.fromkeys((self._shortest, self._expert)):
            if answer.won:
                expert.won()
            elif answer.valid:
                expert.saw(" ".join(action.split()))
        progress = self._potential()
        return Outcome(
            answer.text,
            reward=progress - old_potential if self.reward == "dense" else float(answer.won),
            terminated=answer.won,
            valid=answer.valid,
            success=answer.won,
            score=max(0.0, progress),
        )

    def _admissible(self) -> Sequence[str]:
        return self.session.admissible()

    def _state(self) -> str:
        carried = sorted(self.session.inventory.items())
        return f"{self.task.id}\n{carried}"

    def _oracle_turns(self) -> int:
        return len(self._expert.plan(self.session.inventory))

    def _oracle_action(self) -> str | None:
        return next(iter(self._shortest.plan(self.session.inventory)), None)

    def _demonstrator_action(self) -> str | None:
        return next(iter(self._expert.plan(self.session.inventory)), None)

    def _potential(self) -> float:
        return 1 - len(self._shortest.plan(self.session.inventory)) / self._turns

    def _snapshot(self) -> Any:
        return self.session.snapshot(), self._shortest.snapshot(), self._expert.snapshot()

    def _restore(self, state: Any) -> None:
        self._open_session(self.task)
        carried, shortest, plan = state
        self.session.restore(carried)
        self._shortest.restore(shortest)
        self._expert.restore(plan)

    # -- parts ----------------------------------------------------------------------------------

    def _open_session(self, task: Task) -> None:
        """Begin a world with nothing in hand."""
        world = self._tasks.problem(task)
        self._session = CraftSession(world, self._look_up)
        self._shortest = OracleExpert(world)
        alike = self._make_expert is OracleExpert
        self._expert = self._shortest if alike else self._make_expert(world)
        self._turns = self._tasks.oracle_turns(task) or 1
