"""A cook that mostly guesses: a demonstrator for the games with a cookbook.

In some tasks it opens the cookbook and does what the recipe says. In most it checks its inventory
instead, and prepares the right food in a way drawn at random: on the stove or in the oven, sliced,
diced or chopped. Nothing in the text predicts which of the two it does, and a guess proves right or
wrong only afterwards. So guesses remain the majority of the successful demonstrations: filtering
out failures does not teach reading. Only the reward shows that reading succeeds more often. It
guesses only the preparation: its inventory lists the recipe's food first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agentgym.envs.textworld.session import GameSession
from agentgym.support.random_stream import Stream

READS = 15
"""Per cent of the tasks in which it opens the cookbook."""
READ, LOOK = "examine cookbook", "inventory"
"""Its first command, if it reads and if it guesses."""
_WAYS = (frozenset({"cook"}), frozenset({"slice", "dice", "chop"}))
"""Verbs of the commands among which it chooses."""
LONGEST = 100
"""Commands after which it is given up: it carries nothing that it can eat."""


def reads(task_id: str) -> bool:
    """Return whether the cook opens the cookbook in a task."""
    return Stream("guessing", task_id).percent(READS)


def script(session: GameSession, task_id: str, typed: Sequence[str]) -> tuple[str, ...]:
    """Return the cook's remaining commands, found by playing on a copy of the state.

    Args:
        session: The game.
        task_id: The task, which decides whether it reads and, if not, its guess.
        typed: The commands that were typed so far.
    """
    state, commands, over = session.snapshot(), list[str](), False
    try:
        while not over and len(commands) < LONGEST:
            plan = session.policy()
            planned = plan[0] if plan else None
            command = _command(task_id, planned, session.offered(), [*typed, *commands])
            turn = session.act(command)
            commands.append(command)
            over = turn.won or turn.lost
    finally:
        session.restore(state)
    return tuple(commands)


def _command(
    task_id: str, planned: str | None, offered: Sequence[str], typed: Collection[str]
) -> str:
    """Return the cook's command, given the next command of the winning plan, if there is one."""
    careful = reads(task_id)
    first = READ if careful else LOOK
    if first in offered and first not in typed:
        return first
    verb = _verb(planned or "")
    for verbs in () if careful else _WAYS:
        if verb in verbs and verbs.isdisjoint(map(_verb, typed)):
            noun = _noun(planned or "")
            possible = sorted(
                command for command in offered if _verb(command) in verbs and _noun(command) == noun
            )
            return Stream("guessing", task_id, len(verbs)).choice(possible)
        if verb in verbs:
            planned = None  # It has guessed wrong.
    if planned is None:  # Then there is no meal to prepare, and it eats the food it has.
        return next((command for command in sorted(offered) if _verb(command) == "eat"), LOOK)
    return planned


def _verb(command: str) -> str:
    return command.partition(" ")[0]


def _noun(command: str) -> str:
    return command.partition(" ")[2].rpartition(" with ")[0]
