"""The backend of an evaluation, and the number of concurrent episodes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

import gymnasium

from agentgym.core.guard import GuardedEnv
from agentgym.core.options import choice, integer
from agentgym.errors import ConfigurationError
from agentgym.evaluation.policy_sources import PolicySource
from agentgym.vector.backends import BACKENDS, cpus
from agentgym.vector.isolated import IsolatedEnv
from agentgym.vector.ray_actors import cluster_cpus

THREADS = 8
"""Default number of concurrent episodes for the thread back end, and for policies that wait for an
endpoint."""

STARTS = 32
"""Maximum number of processes or actors that start at the same time."""

Env = gymnasium.Env[str, str]


@dataclass(frozen=True)
class Where:
    """Where episodes are played."""

    backend: str = "sync"
    """``"sync"``: in the threads of the episodes; ``"thread"``, ``"process"`` or ``"ray"``."""
    concurrency: int | None = None
    """Number of concurrent episodes; None: the default for policy and back end."""
    step_timeout: float | None = None
    """Time limit of a step in seconds; not with ``"sync"``."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: A value is out of its domain.
        """
        choice(self.backend, "backend", BACKENDS)
        if self.backend == "sync" and self.step_timeout is not None:
            raise ConfigurationError(
                "expected the back end thread, process or ray with step_timeout, got sync, which "
                "cannot interrupt a step; add --backend thread (backend=)"
            )
        if self.concurrency is not None:
            integer(self.concurrency, "concurrency", low=1, high=None)
        timeout = self.step_timeout
        if timeout is not None and not (isinstance(timeout, int | float) and timeout > 0):
            raise ConfigurationError(
                f"expected step_timeout to be a number of seconds greater than 0, got {timeout!r}"
            )

    def players(self, source: PolicySource, jobs: int, judged: bool = False) -> int:
        """Return the number of concurrent episodes.

        Args:
            source: Source of the policies.
            jobs: Number of episodes to play.
            judged: Whether environments wait for verdicts of a judge.
        """
        if not source.several:
            if self.concurrency not in (None, 1):
                raise ConfigurationError(
                    f"expected concurrency 1 for a policy object, got "
                    f"{self.concurrency}: it holds one episode; pass a factory, such as its "
                    "class, or give it a method copy()"
                )
            return 1
        return max(1, min(self.concurrency or self._usual(source.waits or judged), jobs))

    def _usual(self, waits: bool) -> int:
        if self.backend == "process":
            return cpus()
        if self.backend == "ray":
            return cluster_cpus()
        return THREADS if self.backend == "thread" or waits else 1

    def envs(self, first: GuardedEnv, number: int, stack: ExitStack) -> list[Env]:
        """Return an environment for each player; with ``"sync"``, ``first`` is one of them."""
        spec = first.spec or first.unwrapped.spec
        # With other back ends `first` only describes the tasks, because it runs in this process
        # without a time limit.
        if self.backend != "sync":

            def start(_: int) -> Env:
                isolated = IsolatedEnv(spec, self.backend, self.step_timeout)
                stack.callback(isolated.close)
                return isolated

            # A process or an actor takes a second or more to start, most of which is waiting.
            # Threads share what the first of them has built.
            with ThreadPoolExecutor(1 if self.backend == "thread" else STARTS) as pool:
                return [*pool.map(start, range(number))]
        envs: list[Env] = [first]
        while len(envs) < number:
            if spec is None:
                raise ConfigurationError(
                    "expected an environment that gymnasium.make can make again for concurrency "
                    "above 1, got one without an id; give its id"
                )
            env = GuardedEnv(gymnasium.make(spec, disable_env_checker=True))
            stack.callback(env.close)
            envs.append(env)
        return envs
