"""What makes the policies that a name stands for, and what packages add of such names.

A package adds a kind of policies by an entry point of the group ``agentgym.policies``: its name is
what stands before the colon (``run:PATH``), and its value a class without arguments that is a
`PolicyKind`. So what learns is found by what evaluates, which does not import it.
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
"""What plays an episode by itself, see `agentgym.play_agent`; it may be async."""


@dataclass(frozen=True)
class PolicyMaker:
    """Makes the policies that a name stands for; call it to make one.

    It is a context manager that closes itself.
    """

    name: str
    """The name, as it was given."""
    make: Callable[[gymnasium.Env[str, str]], Policy] | None
    """Makes a policy for the environment that it will play; None: the name is an agent's."""
    env: gymnasium.Env[str, str]
    """The environment for which it was loaded."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What identifies the policy, JSON-safe, with its ``kind``."""
    several: bool = True
    """Whether its policies may play at the same time."""
    agent: Agent | None = None
    """What plays whole episodes by itself, in place of policies."""
    waits: bool = True
    """Whether its policies, or its agent, wait for something else than this process, such as a
    model, so that several should play unless told otherwise."""
    release: Callable[[], None] = lambda: None
    """Frees what its policies share."""

    def __call__(self, env: gymnasium.Env[str, str] | None = None) -> Policy:
        """Make a policy.

        Args:
            env: The environment that it will play; default: the one for which it was loaded.

        Raises:
            ConfigurationError: What was made is no policy, or the name is an agent's.
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
        """Free what its policies share, such as a model; they cannot play any more."""
        self.release()

    def __enter__(self) -> PolicyMaker:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


@runtime_checkable
class PolicyKindWithContent(Protocol):
    """A kind of policies that notices when what stands at a path has changed."""

    def problem(self, path: str) -> str:
        """See `PolicyKind`."""
        ...

    def content(self, path: str, **options: Any) -> str:
        """Return a hash of what a path leads to with options, in little time."""
        ...


@runtime_checkable
class PolicyKindWithEnv(Protocol):
    """A kind of policies that know in which environment they were made."""

    def problem(self, path: str) -> str:
        """See `PolicyKind`."""
        ...

    def env_kwargs(self, path: str, env_id: str) -> Mapping[str, Any]:
        """Return the arguments of the environment of an id that a policy knows; none if unsure."""
        ...


class PolicyKind(Protocol):
    """A kind of policies that a package adds, under the name of its entry point."""

    summary: str
    """What stands behind the colon, in a few words."""
    rank: int
    """Of several kinds that understand a path, the one of the highest rank loads it."""

    def problem(self, path: str) -> str:
        """Return what is amiss with a path or name, without loading it; empty: it can be loaded."""
        ...

    def load(
        self, path: str, env: gymnasium.Env[str, str], *, seed: int, **options: Any
    ) -> PolicyMaker:
        """Load what a path or name stands for; options are keyword-only parameters.

        Raises:
            AgentGymError: It cannot be loaded, or not for this environment.
        """
        ...


def check_options(name: str, options: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse options that a policy does not take."""
    unknown = [option for option in options if option not in names]
    if unknown:
        raise ConfigurationError(
            f"expected options of the policy {name!r} among {', '.join(names) or 'none'}; got "
            f"{', '.join(unknown)}"
        )
