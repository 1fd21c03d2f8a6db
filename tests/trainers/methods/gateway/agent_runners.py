"""Runners of agents at the toy environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium

from agentgym import Session
from agentgym.core.guard import GuardedEnv
from tests.toy import TOY_ID
from tests.trainers import tiny_policy
from tests.trainers.scripted_engine import ScriptedEngine
from trainers.methods.gateway.agent_envs import AgentEnvs
from trainers.methods.gateway.agent_runner import AgentRules, AgentRunner
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines.base import Completion, Request, Sampling
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.trajectory import Trajectory

BUDGET = TokenBudget(turn_tokens=4, episode_tokens=120, context=200)


class RecordingEngine(HFEngine):
    """The engine of transformers, which remembers what it was asked and what it said."""

    def __init__(self) -> None:
        super().__init__(tiny_policy.model(), pad_id=tiny_policy.chat().pad_id)
        self.requests: dict[int, Request] = {}
        self.pairs: list[tuple[Request, Completion]] = []

    def submit(self, requests: Any, sampling: Sampling) -> None:
        self.requests |= {request.key: request for request in requests}
        super().submit(requests, sampling)

    def advance(self, timeout: float | None = None) -> list[tuple[int, Completion]]:
        completions = super().advance(timeout)
        self.pairs += [(self.requests[key], out) for key, out in completions]
        return completions


def toy_env() -> gymnasium.Env[str, str]:
    """A toy environment whose failures cost one episode."""
    return GuardedEnv(gymnasium.make(TOY_ID, disable_env_checker=True))


@contextmanager
def runner(
    agent: Callable[[Session], object],
    script: Any = (),
    *,
    chat: TurnTokenizer | None = None,
    engine: Any = None,
    slots: int = 4,
    budget: TokenBudget = BUDGET,
    make: Callable[[], gymnasium.Env[str, str]] = toy_env,
    **rules: Any,
) -> Iterator[AgentRunner]:
    """A runner of an agent, whose calls a script answers unless an engine does."""
    chat = chat or tiny_policy.chat()
    engine = engine or ScriptedEngine(chat, script)
    envs = AgentEnvs([make] * slots)
    try:
        yield AgentRunner(envs, chat, engine, budget, agent=agent, rules=AgentRules(**rules))
    finally:
        envs.close()
        engine.close()


def play(agent: Callable[[Session], object], script: Any = (), **changes: Any) -> Trajectory:
    """The one episode of an agent, of the first task."""
    with runner(agent, script, slots=1, **changes) as agent_runner:
        (episode,) = agent_runner.run(tiny_policy.tasks(1), horizon=4, seed=3)
        return episode


def press(*colours: str) -> Iterable[str]:
    """Answers that press buttons."""
    return (f"press {colour}" for colour in colours)
