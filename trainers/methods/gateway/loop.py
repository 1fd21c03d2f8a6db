"""The loop of an agent in place of the trainer's own: its interface for the phases of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import gymnasium

from agentgym.errors import require
from trainers.config.resolve import ResolvedRun
from trainers.config.resolved_env import ResolvedEnv
from trainers.config.safe_env import make_safe_env
from trainers.methods.gateway.agent_envs import AgentEnvs
from trainers.methods.gateway.agent_output import agent_output_to
from trainers.methods.gateway.agent_runner import AgentRules, AgentRunner
from trainers.methods.gateway.agents import find_agent
from trainers.methods.gateway.demonstrations import encode_calls, player_of
from trainers.methods.gateway.server import GatewayServer
from trainers.methods.gateway.settings import GatewayConfig
from trainers.methods.method import section_of
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.expert_demonstrations import Demonstration, PlayOne
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.trajectory import Trajectory

__all__ = ["AgentLoop"]

OUTPUT = "agent.log"
"""File of a run's folder with the agents' output."""


class AgentLoop:
    """An ``EpisodeLoop`` that belongs to an agent.

    Args:
        run: The run that names the agent.

    Raises:
        ConfigurationError: There is no such agent.
        DependencyNotInstalled: A package of the extra ``serve`` is missing.
    """

    def __init__(self, run: ResolvedRun) -> None:
        require("uvicorn", "serve")
        config = run.config
        agent = find_agent(config.agent, config.agent_command)
        limits = section_of(config, GatewayConfig)
        rules = AgentRules(limits.timeout, limits.calls)
        self._run, self._server = run, GatewayServer()
        self.player: Callable[..., RolloutRunner] = partial(AgentRunner, agent=agent, rules=rules)
        self.demonstrate: PlayOne = player_of(agent, rules, self._server)

    def make_envs(self, families: Sequence[str], training: bool) -> AgentEnvs:
        """Make an environment for each slot."""

        def make_env(env: ResolvedEnv) -> gymnasium.Env[str, str]:
            hooks = env.make_hooks() if training else []
            extra = {"reward_hooks": hooks} if hooks else {}
            return make_safe_env(env, self._run.config, **extra)

        return AgentEnvs([partial(make_env, self._run.env(name)) for name in families])

    def encode(
        self, demonstrations: Iterable[Demonstration], chat: TurnTokenizer
    ) -> Iterator[Trajectory]:
        """Write demonstrations in a policy's tokens."""
        return encode_calls(demonstrations, chat)

    def output_to(self, folder: Path) -> AbstractContextManager[None]:
        """Write agents' output to a file of the run's folder instead of the screen."""
        return agent_output_to(folder / OUTPUT)

    def output_note(self, folder: Path) -> str:
        """Say where that file is; empty if nothing was printed."""
        path = folder / OUTPUT
        return f"what the agent printed is in {path}" if path.exists() else ""

    def close(self) -> None:
        """Stop the endpoint at which demonstrations ask."""
        self._server.close()
