"""A person plays an environment in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium

from agentgym.errors import NotSupported

Say = Callable[[str], None]
HELP = "Type an action or its number; 'quit' stops."


def play(
    env: gymnasium.Env[str, str],
    options: dict[str, Any],
    *,
    seed: int | None = None,
    hints: bool = False,
    say: Say = print,
    ask: Callable[[], str] = input,
) -> dict[str, Any]:
    """Play one episode.

    Args:
        env: A text environment.
        options: Reset options that name the task.
        seed: Seed of the reset.
        hints: Show the expert's action before each turn.
        say: Prints one message.
        ask: Reads one line; ``EOFError`` ends the game.

    Returns:
        The info dict of the last state.
    """
    observation, info = env.reset(seed=seed, options=options)
    say(f"{info['task_id']}: {info['goal']}\n{HELP}\n")
    total, over = 0.0, False
    while not over:
        say(observation)
        say(_menu(info) + (_hint(env) if hints else ""))
        try:
            line = ask()
        except EOFError:
            line = "quit"
        if line.strip().lower() == "quit":
            break
        observation, reward, terminated, truncated, info = env.step(_choose(line, info))
        total += float(reward)
        over = terminated or truncated
        if not info["action_valid"]:
            say("(not a valid action)")
    if over:
        say(observation)
    ending = info["stop_reason"] if over else "stopped"
    say(
        f"\n{ending} after {info['turn']} of {info['horizon']} turns: "
        f"score {info['score']:.3f}, reward {total:.3f}"
    )
    return info


def _menu(info: Mapping[str, Any]) -> str:
    lines = [f"  {i}. {action}" for i, action in enumerate(info["admissible_actions"], 1)]
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
