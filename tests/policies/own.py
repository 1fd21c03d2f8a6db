"""Policies as a user might write them, for the tests that load them by name."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

import gymnasium

from agentgym.agents import Session
from agentgym.evaluation.policy_maker import PolicyMaker

LOOPS: set[int] = set()
"""Event loops on which async policies ran."""


def follow(observation: str, info: Mapping[str, Any]) -> str:
    return f"press {observation.split()[-1]}"


def shouted(observation: str, info: Mapping[str, Any], word: str = "press") -> str:
    return f"{word} {observation.split()[-1]}"


async def follow_later(observation: str, info: Mapping[str, Any]) -> str:
    await asyncio.sleep(0)
    LOOPS.add(id(asyncio.get_running_loop()))
    return follow(observation, info)


class Follower:
    """Counts its turns."""

    def __init__(self, word: str = "press", seed: int = -1) -> None:
        self.word, self.given_seed, self.turns = word, seed, 0

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        self.turns += 1
        return f"{self.word} {observation.split()[-1]}"


class LaterFollower(Follower):
    """The same, asynchronously."""

    begun = 0

    def reset(self, observation: str, info: Mapping[str, Any]) -> None:
        self.begun += 1

    async def act(self, observation: str, info: Mapping[str, Any]) -> str:  # type: ignore[override]
        return await follow_later(observation, info)


class Knowing:
    """Reads the environment that it plays."""

    def __init__(self, env: gymnasium.Env[str, str]) -> None:
        self.env = env

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        return str(self.env.unwrapped.oracle_action())  # type: ignore[attr-defined]


def make_follower() -> Follower:
    return Follower()


def agent(session: Session) -> None:
    while not session.over:
        session.call("press", {"colour": session.observation.split()[-1]})


def three(a: Any, b: Any, c: Any) -> str:
    return ""


def nothing() -> int:
    return 3


THE_ONE = Follower()
LOCK = threading.Lock()


class Kind:
    """A kind of policies of another package."""

    summary = "a word to type"
    rank = 0

    def problem(self, path: str) -> str:
        return "" if path.endswith(".word") else "it does not end in .word"

    def load(
        self, path: str, env: gymnasium.Env[str, str], *, seed: int, loud: bool = False
    ) -> PolicyMaker:
        return PolicyMaker(path, lambda env: Follower("press"), env, {"kind": "word", "loud": loud})
