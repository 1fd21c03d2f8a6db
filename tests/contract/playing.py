"""How the contract tests play: from a private generator, with everything written down."""

from __future__ import annotations

import copy
import random
from typing import Any

from agentgym.core import TextEnv

WORDS = (
    "look",
    "go north",
    "search[red shoe]",
    "click[1]",
    "press red",
    "42",
    "",
    "\n\t",
    "«é» 🙂",
)


def random_action(rng: random.Random, env: TextEnv, info: dict[str, Any]) -> str:
    """Return text that need not mean anything to the environment."""
    return "".join(rng.choice(WORDS) for _ in range(rng.randrange(3)))


def admissible_action(rng: random.Random, env: TextEnv, info: dict[str, Any]) -> str:
    """Return one of the actions on offer, or random text where the environment offers none."""
    actions = info["admissible_actions"]
    return rng.choice(actions) if actions else random_action(rng, env, info)


def play(env: TextEnv, choose: Any, steps: int, seed: int = 7) -> list[Any]:
    """Take ``steps`` steps over as many episodes as it needs; returns copies of all that came."""
    rng = random.Random(seed)
    log: list[Any] = [copy.deepcopy(env.reset(seed=seed))]
    info = log[0][1]
    for _ in range(steps):
        result = env.step(choose(rng, env, info))
        log.append(copy.deepcopy(result))
        info = result[4]
        if result[2] or result[3]:
            log.append(copy.deepcopy(env.reset()))
            info = log[-1][1]
    return log


def finish(env: TextEnv, policy: Any, observation: str, info: dict[str, Any]) -> dict[str, Any]:
    """Play the running episode to its end; returns the last info."""
    done = False
    while not done:
        action = policy.act(observation, info)
        observation, _, terminated, truncated, info = env.step(action)
        done = terminated or truncated
    return info
