"""`PolicyMaker`, which makes the policies of a name, and `PolicyKind`, by which packages add names.

A package adds a kind of policy by an entry point of the group ``agentgym.policies``. Its name is
the prefix before the colon (``run:PATH``), and its value a `PolicyKind` class whose constructor
takes no arguments. This way an evaluation can load trained policies without importing the trainer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import gymnasium

from agentgym.agents import Session
from agentgym.errors import ConfigurationError
from agentgym.policies.base import Policy

GROUP = "agentgym.policies"
"""Group of the entry points that add kinds of policies."""
Agent = Callable[[Session], object]
"""A function that plays a whole episode, see `agentgym.play_agent`; may be async."""


@dataclass(frozen=True)
class PolicyMaker:
    """Makes the policies of a name; call it to make one.

    Use it as a context manager to close it.
    """

    name: str
    """The name, as passed to ``load_policy``."""
    make: Callable[[gymnasium.Env[str, str]], Policy] | None
    """Makes a policy for an environment; None if the name refers to an agent."""
    env: gymnasium.Env[str, str]
    """The environment passed to ``load_policy``."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """JSON-safe facts that identify the policy, including its ``kind``."""
    several: bool = True
    """Whether several of its policies may play concurrently."""
    agent: Agent | None = None
    """The agent, if the name refers to one."""
    waits: bool = True
    """Whether its policies or its agent wait for something outside of this process, such as an
    endpoint, so that several episodes should be concurrent by default."""
    release: Callable[[], None] = lambda: None
    """Frees the resources that its policies share."""

    def __call__(self, env: gymnasium.Env[str, str] | None = None) -> Policy:
        """Make a policy.

        Args:
            env: The environment that it will play; default: the one passed to ``load_policy``.

        Raises:
            ConfigurationError: The made object is not a policy, or the name refers to an agent.
        """
        if self.make is None:
            raise ConfigurationError(
                f"expected a policy that is called in every turn, got the agent {self.name!r}, "
                "which runs its own loop: pass it to agentgym.play_agent"
            )
        policy = self.make(self.env if env is None else env)
        if not isinstance(policy, Policy) or isinstance(policy, type):
            raise ConfigurationError(
                f"expected {self.name} to make a policy with act(observation, info), got "
                f"{policy!r:.80}"
            )
        return policy

    def close(self) -> None:
        """Free the resources that its policies share, such as a model; they cannot play then."""
        self.release()

    def __enter__(self) -> PolicyMaker:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


@runtime_checkable
class PolicyKindWithContent(Protocol):
    """A kind of policy that can hash the content of a path, to notice changes."""

    def problem(self, path: str) -> str:
        """See `PolicyKind`."""
        ...

    def content(self, path: str, **options: Any) -> str:
        """Return a hash of the content of a path and of options; must be fast."""
        ...


@runtime_checkable
class PolicyKindWithEnv(Protocol):
    """A kind of policy that knows the environment in which it was trained."""

    def problem(self, path: str) -> str:
        """See `PolicyKind`."""
        ...

    def env_kwargs(self, path: str, env_id: str) -> Mapping[str, Any]:
        """Return the arguments of the training environment, if it has this id; else empty."""
        ...


class PolicyKind(Protocol):
    """A kind of policy that a package adds, under the name of its entry point."""

    summary: str
    """Short description of the part after the colon."""
    rank: int
    """Priority: if several kinds understand a path, the one with the highest rank loads it."""

    def problem(self, path: str) -> str:
        """Return why a path or name cannot be loaded, without loading it; empty if it can."""
        ...

    def load(
        self, path: str, env: gymnasium.Env[str, str], *, seed: int, **options: Any
    ) -> PolicyMaker:
        """Load the policy at a path or with a name; options are keyword-only parameters.

        Raises:
            AgentGymError: The policy cannot be loaded, or not for this environment.
        """
        ...


def check_options(name: str, options: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raise ConfigurationError for options that a policy does not have."""
    unknown = [option for option in options if option not in names]
    if unknown:
        raise ConfigurationError(
            f"expected options of the policy {name!r} among {', '.join(names) or 'none'}; got "
            f"{', '.join(unknown)}"
        )
