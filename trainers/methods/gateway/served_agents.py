"""Agents that own their loop, at a model in this process: as they were trained, or another's."""

from __future__ import annotations

from collections.abc import Coroutine
from contextlib import ExitStack
from dataclasses import dataclass
from inspect import iscoroutine
from typing import Any, Protocol

import gymnasium

from agentgym.agents import Session
from agentgym.evaluation.policy_maker import PolicyMaker
from agentgym.policies.identity import source_sha256
from trainers.methods.gateway.agents import Agent, CommandAgent, find_agent
from trainers.methods.gateway.call_log import CallLog, LoggedCall
from trainers.methods.gateway.episode import AgentEpisode
from trainers.methods.gateway.policy_answers import PolicyAnswers
from trainers.methods.gateway.server import GatewayServer
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines.base import Completion

__all__ = ["agent_maker"]


class LoadedModel(Protocol):
    """The part of a `trainers.policies.model_policy.ModelPlayer` that an agent needs."""

    engine: Any
    """Generates."""
    chat: TurnTokenizer
    """Turn tokenizer of the model."""
    budget: TokenBudget
    """Token budgets."""

    def described(self) -> dict[str, Any]:
        """Return the identity of the policies."""


@dataclass(frozen=True)
class ServedAgent:
    """An agent whose calls a model answers, with the seed given at loading."""

    agent: Agent
    """The agent."""
    player: LoadedModel
    """The model."""
    server: GatewayServer
    """The endpoint."""
    seed: int
    """Seed of the samples."""
    calls: int | None
    """Calls that it may make in an episode; None: four for each turn, and 16."""
    any_grammar = True
    """Its environment may have any grammar: calls are written in it."""

    def __call__(self, session: Session) -> object:
        """Let the agent play."""
        player, address = self.player, self.server.address()
        keys: list[int] = []

        def complete(call: LoggedCall) -> tuple[Completion, int]:
            try:
                key = keys.pop()
            except IndexError:  # concurrent calls have distinct keys
                key = player.engine.take_key()
            try:
                out = player.engine.complete(key, call.prompt, call.max_tokens, call.seed)
            finally:
                keys.append(key)
            return out, 0

        log = CallLog(player.chat, player.budget, self.seed, 0)
        answers = PolicyAnswers(log, session, player.chat, complete)
        session.base_url, session.api_key, session.model, session.mcp_url = address

        def shut() -> None:
            self.server.shut(address)
            for key in keys:
                player.engine.return_key(key)

        with ExitStack() as opened:
            opened.callback(shut)
            self.server.open(address, AgentEpisode(session, answers, self.calls))
            returned = self.agent(session)
            # An async agent has not begun yet: the awaiting code closes the endpoint.
            return _within(opened.pop_all(), returned) if iscoroutine(returned) else returned


async def _within(opened: ExitStack, coroutine: Coroutine[Any, Any, object]) -> object:
    """Await a coroutine, then close its resources."""
    with opened:
        return await coroutine


def agent_maker(
    name: str,
    player: LoadedModel,
    env: gymnasium.Env[str, str],
    seed: int,
    agent: str | None,
    command: str | None = None,
    calls: int | None = None,
) -> PolicyMaker:
    """Return an agent that plays with a model.

    Args:
        name: Name of the policy.
        player: The model.
        env: The environment that will be played.
        seed: Seed of the samples.
        agent: ``MODULE:FUNCTION`` of one session.
        command: A command in its place.
        calls: Calls that it may make in an episode; None: four for each turn, and 16.

    Raises:
        ConfigurationError: There is no such agent.
    """
    loaded_agent, server = find_agent(agent, command), GatewayServer()
    facts: dict[str, Any] = {**player.described(), "agent": agent or command}
    if not isinstance(loaded_agent, CommandAgent):
        facts["agent_sha256"] = source_sha256(loaded_agent)
    facts.pop("prompt", None)  # the agent writes the model's prompts

    def release() -> None:
        server.close()
        player.engine.close()

    served = ServedAgent(loaded_agent, player, server, seed, calls)
    return PolicyMaker(name, None, env, facts, agent=served, release=release)
