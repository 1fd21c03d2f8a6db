"""A person plays an environment in the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import gymnasium

from agentgym.core.outcome import reason_words
from agentgym.episodes.recorder import invalid_reason
from agentgym.errors import NotSupported
from agentgym.policies import play as playing

Say = Callable[[str], None]
Ask = Callable[[], str]
HELP = (
    "Type an action or its number; one that begins with ``` ends at the line that closes it; "
    "'help' shows this again, 'quit' stops."
)
_FENCE = re.compile(r"`{3,}")


class _Quit(Exception):
    """The person has had enough."""


class _Person:
    """A policy that shows where it is and asks for the next action."""

    def __init__(self, env: gymnasium.Env[str, str], hints: bool, say: Say, ask: Ask) -> None:
        self._env, self._hints, self._say, self._ask = env, hints, say, ask

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        self._say(observation)
        self._say(_menu(info) + (_hint(self._env) if self._hints else ""))
        try:
            line = self._ask()
            # In some games `help` is an action; then it is the game that answers.
            while line.strip().lower() in ("help", "?") and line not in info["admissible_actions"]:
                self._say(HELP)
                line = self._ask()
            fence = _FENCE.match(line)
            while fence and line.rpartition("\n")[2].strip() != fence[0]:
                line += "\n" + self._ask()
        except EOFError:
            raise _Quit from None
        if line.strip().lower() == "quit":
            raise _Quit
        return _choose(line, info)


def play(
    env: gymnasium.Env[str, str],
    options: dict[str, Any],
    *,
    seed: int | None = None,
    hints: bool = False,
    say: Say = print,
    ask: Ask = input,
) -> Mapping[str, Any]:
    """Play one episode and return the info dict of the last state.

    Args:
        env: A text environment.
        options: Reset options that name the task.
        seed: Seed of the reset.
        hints: Show the expert's action before each turn.
        say: Prints one message.
        ask: Reads one line; ``EOFError`` ends the game.

    Raises:
        EnvFailure: The environment failed.
    """
    total, ending = 0.0, "stopped"
    info: Mapping[str, Any] = {}
    with suppress(_Quit):
        person = _Person(env, hints, say, ask)
        for moment in playing.play(person, env, seed=seed, options=options):
            if moment.failure is not None:
                raise moment.failure
            info, total = moment.info, total + moment.reward
            if moment.action is None:
                say(f"{info['task_id']}: {info['goal']}\n{HELP}\n")
            elif not info["action_valid"]:
                why = invalid_reason(env, moment.action, info)
                told = f": {why}" if why and why not in moment.observation else ""
                say(f"(not a valid action{told})")
            if moment.over:
                say(moment.observation)
                ending = reason_words(info["stop_reason"])
    say(
        f"\n{ending} after {info['turn']} of {info['horizon']} turns: "
        f"score {info['score']:.3f}, reward {total:.3f}"
    )
    return info


def _menu(info: Mapping[str, Any]) -> str:
    actions = (action.replace("\n", "\n     ") for action in info["admissible_actions"])
    lines = [f"  {i}. {action}" for i, action in enumerate(actions, 1)]
    return "\n".join(["", *lines, f"turn {info['turn'] + 1} of {info['horizon']}"])


def _hint(env: gymnasium.Env[str, str]) -> str:
    unwrapped: Any = env.unwrapped
    try:
        action = unwrapped.oracle_action()
    except NotSupported:
        action = None
    return f"\nhint: {action}" if action else "\nhint: none (the task cannot be solved from here)"


def _choose(line: str, info: Mapping[str, Any]) -> str:
    """Turn a number into the action it stands for; anything else is the action itself."""
    word, actions = line.strip(), info["admissible_actions"]
    if word.isascii() and word.isdecimal() and len(word) < 6 and 1 <= int(word) <= len(actions):
        return str(actions[int(word) - 1])
    return line
