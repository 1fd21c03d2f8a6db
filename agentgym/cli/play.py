"""``agentgym play``: play an environment in the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import gymnasium

from agentgym.cli.screen import Screen
from agentgym.core.env import TextEnv
from agentgym.core.options import arguments
from agentgym.core.outcome import ending_words
from agentgym.episodes.recorder import invalid_reason
from agentgym.errors import NotSupported
from agentgym.policies import play as playing
from agentgym.registration.making import env_name

Ask = Callable[[], str]
"""Reads one line of the player's input."""
NO_HINT = "none (the task cannot be solved from here)"
"""The hint if the expert has no action."""
INVALID = "invalid: "
"""How reasons begin, which would say twice that the action is not valid."""
_FENCE = re.compile(r"`{3,}")


class _Quit(Exception):
    """The person has had enough."""


class _Person:
    """A policy that shows where it is and asks for the next action."""

    def __init__(self, env: gymnasium.Env[str, str], hints: bool, screen: Screen, ask: Ask) -> None:
        self._env, self._hints, self._screen, self._ask = env, hints, screen, ask
        self.total = 0.0

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        hint = _hint(self._env) if self._hints else None
        unwrapped: Any = self._env.unwrapped
        self._screen.turn(observation, info, self.total, hint)
        try:
            line = self._ask()
            while _asks_for_help(line, info):
                self._screen.help(unwrapped.action_prompt())
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
    screen: Screen,
    ask: Ask = input,
) -> Mapping[str, Any]:
    """Play one episode and return the info dict of the last state.

    Args:
        env: A text environment.
        options: Options of the reset that name the task.
        seed: Seed of the reset.
        hints: Show the expert's action before each turn.
        screen: Displays the episode.
        ask: Reads one line; ``EOFError`` ends the game.

    Raises:
        EnvFailure: The environment failed.
    """
    ending, last = "stopped", ""
    info: Mapping[str, Any] = {}
    person = _Person(env, hints, screen, ask)
    with suppress(_Quit):
        for moment in playing.play(person, env, seed=seed, options=options):
            if moment.failure is not None:
                raise moment.failure
            info, person.total = moment.info, person.total + moment.reward
            if moment.action is None:
                screen.task(info)
            elif not info["action_valid"]:
                why = invalid_reason(env, moment.action, info)
                why = "" if why in moment.observation else why
                screen.refused(why.removeprefix(INVALID))
            if moment.over:
                ending, last = (
                    ending_words(info["stop_reason"], info["success"]),
                    moment.observation,
                )
    screen.end(last, info, person.total, ending)
    return info


def tasks_and_view(env: TextEnv, suited: Mapping[str, Any]) -> str:
    """Return the names of the tasks, and how to see the view of agents if it differs."""
    spec = env.spec
    assert spec is not None  # it was made by a name
    usual = arguments(type(env))
    view_options = {name: value for name, value in suited.items() if spec.kwargs.get(name) == value}
    kwargs = {name: value for name, value in spec.kwargs.items() if name not in view_options}
    tasks = f"Tasks of {env_name(spec.id, kwargs)}"
    if not view_options:
        return f"{tasks}."
    flags = " ".join(f"{name}={usual[name]}" for name in view_options)
    return f"{tasks}, in a view for people; --env-kwargs {flags} shows what agents read."


def _hint(env: gymnasium.Env[str, str]) -> str:
    unwrapped: Any = env.unwrapped
    with suppress(NotSupported):
        return unwrapped.oracle_action() or NO_HINT
    return NO_HINT


def _asks_for_help(line: str, info: Mapping[str, Any]) -> bool:
    """Return whether a line asks how to play; in some games `help` is an action, which answers."""
    word = line.strip().lower()
    return word == "?" or (word == "help" and line not in info["admissible_actions"])


def _choose(line: str, info: Mapping[str, Any]) -> str:
    """Return the action with a typed number; other input is the action itself."""
    word, actions = line.strip(), info["admissible_actions"]
    if word.isascii() and word.isdecimal() and len(word) < 6 and 1 <= int(word) <= len(actions):
        return str(actions[int(word) - 1])
    return line
