"""How the contract tests play: from a private generator, with everything written down."""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections.abc import Iterator
from typing import Any

from agentgym.actions import ActionSpec
from agentgym.core.env import TextEnv

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
RUBBISH = (
    "I do not know",
    "",
    "]]]}}{{((",
    "</answer></action></tool_call>",
    "<answer>",
    "\x00\x1b[2J\u202e\ud800",
    "9" * 5000,
    "a\n\n```\nb",
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
    is_done = False
    while not is_done:
        action = policy.act(observation, info)
        observation, _, terminated, truncated, info = env.step(action)
        is_done = terminated or truncated
    return info


def framed_rubbish(grammar: str, specs: tuple[ActionSpec, ...]) -> Iterator[str]:
    """Yield well-formed actions of a grammar that hold rubbish: every frame, every rubbish."""
    frames = [*_frames(grammar, specs)]
    for number in range(max(len(frames), len(RUBBISH))):
        rubbish = RUBBISH[number % len(RUBBISH)]
        yield frames[number % len(frames)].replace("RUBBISH", rubbish)
    if grammar == "tool_call":  # where JSON may hold what text cannot
        for spec, rubbish in itertools.product(specs, (None, [], {}, "x", 1e308, True)):
            arguments = {param.name: rubbish for param in spec.params}
            call = json.dumps({"name": spec.name, "arguments": arguments})
            yield f"<tool_call>{call}</tool_call>"


def _frames(grammar: str, specs: tuple[ActionSpec, ...]) -> Iterator[str]:
    if grammar in ("native", "action_tag"):
        opening, closing = ("<action>", "</action>") if grammar == "action_tag" else ("", "")
        yield f"{opening}RUBBISH{closing}"
        for spec in specs:
            filled = spec.templates[0]
            for param in spec.params:
                filled = filled.replace(f"{{{param.name}}}", "RUBBISH")
            yield f"{opening}{filled}{closing}"
    for spec in specs if grammar == "xml" else ():
        yield f"<{spec.name}>RUBBISH</{spec.name}>"
        inner = "".join(f"<{param.name}>RUBBISH</{param.name}>" for param in spec.params)
        yield f"<{spec.name}>{inner}</{spec.name}>"
    if grammar == "react":
        yield "Thought: hm\nAction: RUBBISH"
        yield from (f"Action: {spec.name}[RUBBISH]" for spec in specs)
    if grammar == "tool_call":
        yield "<tool_call>RUBBISH</tool_call>"
        for spec in specs:
            yield f'<tool_call>{{"name": "{spec.name}", "arguments": "RUBBISH"}}</tool_call>'
