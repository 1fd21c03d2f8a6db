"""Rooms that are told by name alone."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

from agentgym.core.env import TextEnv
from agentgym.errors import ConfigurationError


def make(**kwargs: Any) -> TextEnv:
    env = gymnasium.make("agentgym/TextWorld-v0", **kwargs).unwrapped
    assert isinstance(env, TextEnv)
    return env


@pytest.mark.parametrize("difficulty", [None, "cooking,cook=true"])
def test_rooms_have_names_and_look_describes_them(difficulty: str | None) -> None:
    brief, verbose = make(difficulty=difficulty, brief=True), make(difficulty=difficulty)
    moved = 0
    for index in range(20):
        options = {"split": "train", "index": index}
        (short, _), (long, info) = (env.reset(seed=0, options=options) for env in (brief, verbose))
        objective, name = short.split("\n\n")
        assert long.startswith(f"{short}\n") and objective == info["goal"]
        assert name.startswith("-= ") and name.endswith(" =-")
        # The whole description is one command away.
        assert f"{objective}\n\n{brief.step('look')[0]}" == verbose.reset(options=options)[0]
        verbose.step("look")
        while not info["stop_reason"]:
            action = str(verbose.demonstrator_action())
            short, long, info = brief.step(action)[0], *verbose.step(action)[::4]
            assert short == long or (long.startswith(short) and short.endswith(" =-"))
            moved += short != long
    assert (moved > 0) == (difficulty is None)


def test_brief_rooms_have_no_descriptions_either() -> None:
    with pytest.raises(ConfigurationError, match="brief=True and description=True"):
        make(brief=True, description=True)
