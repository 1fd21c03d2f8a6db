"""Minigrid's bot: a plan from the start, and advice after a deviation.

The bot explores, using only what it has seen so far. It runs on its own copy of the environment, so
it takes no time unless it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentgym.envs.babyai.engine.levels import open_level
from agentgym.errors import require


class BotExpert:
    """The bot; it replays the actions so far when its advice is requested.

    Args:
        level: Name of the level.
        seed: Its seed.

    Attributes:
        solved: Whether the level was solved; None while it is running.
    """

    def __init__(self, level: str, seed: int) -> None:
        bots = require("minigrid.utils.baby_ai_bot", "babyai")
        self._env: Any = open_level(level, seed)
        self._bot: Any = bots.BabyAIBot(self._env)
        self._actions: list[int] = []
        self._advice: int | None = None
        self._is_over = False
        self.solved: bool | None = None
        self._ask(None)

    def action(self, actions: Sequence[int]) -> int | None:
        """Return the bot's next action after the actions so far.

        Args:
            actions: All actions so far; the bot may have seen the first ones.

        Returns:
            The number of the action; None if the bot has no advice: it asserts its assumptions and
            gives up if they do not hold, such as after a box was opened.
        """
        for number in actions[len(self._actions) :]:
            _, reward, terminated, truncated, _ = self._env.step(number)
            self._actions.append(number)
            if terminated or truncated:
                self.solved, self._is_over = reward > 0, True
            self._ask(number)
        return self._advice

    def knows(self, actions: Sequence[int]) -> bool:
        """Return whether the actions that the bot has seen are a prefix of these."""
        return list(actions[: len(self._actions)]) == self._actions

    def _ask(self, last_action: int | None) -> None:
        self._advice = None
        if self._is_over:
            return
        try:
            advice = int(self._bot.replan(last_action))
        except Exception:  # its own assumptions, in whatever form they break
            self._is_over = True
            return
        self._advice = advice if advice <= 5 else None


def bot_plan(level: str, seed: int) -> tuple[int, ...] | None:
    """Return the actions by which the bot solves a level; None if it fails."""
    expert = BotExpert(level, seed)
    actions: list[int] = []
    while (number := expert.action(actions)) is not None:
        actions.append(number)
    return tuple(actions) if expert.solved else None
