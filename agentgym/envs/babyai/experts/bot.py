"""Minigrid's bot: a plan from the start, and advice wherever somebody else has gone.

The bot explores as a newcomer must, with what it has seen so far. It works on an environment of its
own, so whoever does not ask it does not pay for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentgym.envs.babyai.engine.levels import open_level
from agentgym.errors import require


class BotExpert:
    """The bot, which learns what was done when it is asked.

    Args:
        level: Name of the level.
        seed: Its seed.

    Attributes:
        solved: Whether the level was solved; None while it is not over.
    """

    def __init__(self, level: str, seed: int) -> None:
        bots = require("minigrid.utils.baby_ai_bot", "babyai")
        self._env: Any = open_level(level, seed)
        self._bot: Any = bots.BabyAIBot(self._env)
        self._seen: list[int] = []
        self._advice: int | None = None
        self._lost = False
        self.solved: bool | None = None
        self._ask(None)

    def action(self, taken: Sequence[int]) -> int | None:
        """Return what the bot would do after some actions, of which it has seen the first ones.

        Args:
            taken: All actions so far.

        Returns:
            The number of the action; None if the bot has no advice: it checks its assumptions by
            assertions, and gives up where they do not hold, such as after a box was opened.
        """
        for number in taken[len(self._seen) :]:
            _, reward, terminated, truncated, _ = self._env.step(number)
            self._seen.append(number)
            if terminated or truncated:
                self.solved, self._lost = reward > 0, True
            self._ask(number)
        return self._advice

    def knows(self, taken: Sequence[int]) -> bool:
        """Return whether what the bot has seen is how these actions begin."""
        return list(taken[: len(self._seen)]) == self._seen

    def _ask(self, done: int | None) -> None:
        self._advice = None
        if self._lost:
            return
        try:
            advice = int(self._bot.replan(done))
        except Exception:  # its own assumptions, in whatever form they break
            self._lost = True
            return
        self._advice = advice if advice <= 5 else None


def bot_plan(level: str, seed: int) -> tuple[int, ...] | None:
    """Return the actions with which the bot solves a level; None if it does not."""
    expert = BotExpert(level, seed)
    taken: list[int] = []
    while (number := expert.action(taken)) is not None:
        taken.append(number)
    return tuple(taken) if expert.solved else None
