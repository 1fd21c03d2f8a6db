"""BabyAI as a Gymnasium environment of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from agentgym.actions import ActionSpec
from agentgym.core.env import TextEnv
from agentgym.core.options import choice
from agentgym.core.outcome import Outcome, StopReason
from agentgym.core.tasks import Task
from agentgym.envs.babyai.engine.session import WORDS, GridSession
from agentgym.envs.babyai.experts.bot import BotExpert
from agentgym.envs.babyai.tasks import open_tasks

REWARDS = ("sparse", "original")


class BabyAIEnv(TextEnv[GridSession]):
    """Walk through rooms, find things, open doors and carry things, as a sentence asks.

    Args:
        difficulty: Set of levels: ``easy`` (two, of one or two rooms), ``medium`` (ten, of up to
            three rooms) or ``hard`` (rooms to search, doors to unlock and to clear).
        levels: BabyAI's names of one or several levels, such as ``"GoToLocal"``, used instead of
            ``difficulty``.
        generator_seed: First seed of the levels.
        reward: ``sparse``: 1 on the turn that solves the task, else 0. ``original``: BabyAI's, 1
            minus 0.9 times the used share of its step limit.
        horizon: Turn budget; BabyAI's step limit applies, too.
        **kwargs: See :class:`~agentgym.core.TextEnv`.

    Raises:
        ConfigurationError: A value is of the wrong type or out of range, or a level is unknown.
        DependencyNotInstalled: minigrid is missing (``pip install -e ".[babyai]"``).

    One action is one step of BabyAI, so that mission, reward and end are BabyAI's. After a
    deviation from the bot's plan, ``info["oracle_turns"]`` is -1: the bot still gives the next
    action, but the length of its plan is known only at the end.
    """

    action_specs: ClassVar[tuple[ActionSpec, ...]] = (
        ActionSpec("turn_left", "Turn left.", native="turn left"),
        ActionSpec("turn_right", "Turn right.", native="turn right"),
        ActionSpec("move_forward", "Take a step ahead.", native="move forward"),
        ActionSpec("pick_up", "Pick up the thing right ahead.", native="pick up"),
        ActionSpec("drop", "Put down what is carried, right ahead.", native="drop"),
        ActionSpec(
            "toggle", "Open or close the door right ahead, or open the box.", native="toggle"
        ),
    )

    def __init__(
        self,
        *,
        difficulty: str = "medium",
        levels: str | Sequence[str] | None = None,
        generator_seed: int = 0,
        reward: str = "sparse",
        horizon: int = 32,
        **kwargs: Any,
    ) -> None:
        self.reward = choice(reward, "reward", REWARDS)
        self._tasks = open_tasks(difficulty, levels, generator_seed)
        self._plan: tuple[int, ...] | None = None
        self._bot: BotExpert | None = None
        super().__init__(self._tasks, horizon=horizon, **kwargs)

    # -- the contract of a family ---------------------------------------------------------------

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        self._open_session(task)
        return self.session.opening()

    def _act(self, action: str) -> Outcome:
        turn = self.session.step(action)
        won = turn.reward > 0
        return Outcome(
            turn.text,
            reward=turn.reward if self.reward == "original" else float(won),
            terminated=turn.over,
            valid=turn.valid,
            success=won,
            score=float(won),
            stop_reason=StopReason.HORIZON if turn.cut else StopReason.NONE,
        )

    def _admissible(self) -> Sequence[str]:
        return self.session.admissible()

    def _state(self) -> str:
        return f"{self.task.id}\n{self.session.state_text()}"

    def _oracle_turns(self) -> int | None:
        actions = self.session.actions
        if self._plan is None or tuple(actions) != self._plan[: len(actions)]:
            return None
        return len(self._plan) - len(actions)

    def _oracle_action(self) -> str | None:
        actions = self.session.actions
        if turns_left := self._oracle_turns():
            return WORDS[self._plan[-turns_left]] if self._plan else None
        if self._bot is None or not self._bot.knows(actions):
            self._bot = BotExpert(*self._tasks.problem(self.task))
        number = self._bot.action(actions)
        return None if number is None else WORDS[number]

    def _snapshot(self) -> Any:
        return self.session.snapshot()

    def _restore(self, state: Any) -> None:
        self._open_session(self.task)
        self.session.restore(state)

    # -- parts ----------------------------------------------------------------------------------

    def _open_session(self, task: Task) -> None:
        """Begin a level."""
        mission = self._tasks.problem(task)
        self._session = GridSession(*mission)
        self._plan, self._bot = self._tasks.plan(mission), None
