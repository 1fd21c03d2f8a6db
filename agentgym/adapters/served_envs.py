"""What all servers of environments share: where they listen, and the environments of clients.

Each client has an environment of its own, within bounds, and none is kept for ever.

A client that dies says nothing more: its environment is closed once nobody has asked for it for a
while.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gymnasium
from gymnasium.error import ResetNeeded

from agentgym.core.guard import GuardedEnv, Reset, Step
from agentgym.core.hooks import finite
from agentgym.core.options import integer
from agentgym.errors import AgentGymError, ConfigurationError
from agentgym.policies.base import public_info
from agentgym.support.http_server import choose_token

MOST = 256
"""Environments at a time, if the server is not told."""
IDLE = 600.0
"""Seconds after which one is closed that nobody asks for, if the server is not told."""

LARGEST = 1 << 22
"""Most bytes of a message."""
TURNS = 32
"""Turns that a server takes at the same time; further ones wait."""

OPTIONS = ("split", "index", "task_id", "horizon")
"""Options of a reset that clients may give."""
ENDED = ("success", "score", "reward_terms")
"""What a trainer is told at the end of an episode besides what a policy may read."""


@dataclass(frozen=True)
class ServerOptions:
    """Where a server of environments listens, whom it answers, and how many it holds."""

    host: str = "127.0.0.1"
    """Address to listen at."""
    port: int = 0
    """Port to listen at; 0 takes one that is free."""
    token: str = ""
    """What clients have to bring as ``Authorization: Bearer``; a new one is made if left out."""
    open_to_all: bool = False
    """Ask for no token, which this machine's own addresses alone allow."""
    max_envs: int = MOST
    """How many environments there may be at a time, one for each client."""
    idle_timeout: float = IDLE
    """Seconds after which one is closed that nobody asks for."""
    started: Callable[[str, str], None] = lambda url, token: None
    """Called with the server's address and its token when it answers."""

    def check(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: A field is out of its domain.
        """
        integer(self.port, "port", 0, 65535)
        integer(self.max_envs, "max_envs", 1)
        if not (finite(self.idle_timeout) and self.idle_timeout > 0):
            raise ConfigurationError(
                f"expected idle_timeout to be seconds above 0, got {self.idle_timeout!r}"
            )

    def choose_token(self) -> str:
        """Return the token that clients have to bring; empty for none.

        Raises:
            ConfigurationError: None is wanted where other machines listen, or beside one.
        """
        return choose_token(self.token, self.host, self.open_to_all)


USUAL = ServerOptions()
"""Options with the usual bounds."""


class UnknownEnv(AgentGymError):
    """No environment has this number, or none any more."""


class TooManyEnvs(AgentGymError):
    """There are as many environments as there may be."""


class ServedEnv:
    """The environment of one client, and where its episode is.

    Attributes:
        observation: The last observation; empty before the first reset.
        info: The last info; None before the first reset, and after the environment failed.
        lists_actions: Whether the client of this episode asked for the admissible actions.
    """

    def __init__(self, env: gymnasium.Env[str, str]) -> None:
        self._env = GuardedEnv(env)
        self.lock = threading.Lock()
        self.used = time.monotonic()
        self.closed = False
        self.lists_actions = False
        self.observation = ""
        self.info: Mapping[str, Any] | None = None

    def reset(self, seed: int | None, options: dict[str, Any]) -> Reset:
        """Start an episode.

        Raises:
            ConfigurationError: An option is wrong.
            TaskNotFound: The task does not exist.
            EnvFailure: The environment failed.
        """
        self.info = None
        self.observation, self.info = result = self._env.reset(seed=seed, options=options)
        return result

    def step(self, action: str) -> Step:
        """Take a turn.

        Raises:
            ResetNeeded: No episode is running.
            ConfigurationError: The action is not text.
            EnvFailure: The environment failed, which ends the episode without a valid score.
        """
        if self.info is None or self.info["stop_reason"]:
            raise ResetNeeded("expected a running episode: reset the environment first")
        if not isinstance(action, str):
            raise ConfigurationError(f"expected an action as text, got {action!r:.80}")
        self.info = None  # in case the environment fails
        result = self._env.step(action)
        self.observation, self.info = result[0], result[4]
        return result

    def begin(self, seed: int | None, given: Mapping[str, Any]) -> Reset:
        """Start an episode from what a client asked for, None being as good as left out.

        Args:
            seed: The seed.
            given: `OPTIONS` of the reset, and ``list_actions``.

        Raises:
            ConfigurationError: An option is wrong, or there is none of its name.
            TaskNotFound: The task does not exist.
            EnvFailure: The environment failed.
        """
        options = {name: value for name, value in given.items() if value is not None}
        listing = options.pop("list_actions", False)
        unknown = sorted(set(options) - set(OPTIONS))
        if unknown or not isinstance(listing, bool):
            raise ConfigurationError(
                f"expected {', '.join(OPTIONS)}, seed, and list_actions true or false, got "
                f"{unknown[0] if unknown else f'list_actions={listing!r}'!r:.80}"
            )
        self.lists_actions = listing
        return self.reset(seed, options)

    def told(self, info: Mapping[str, Any], more: Iterable[str] = ()) -> dict[str, Any]:
        """Return what of an info dict a client is told whose model may see all of it.

        Args:
            info: The info dict.
            more: Further keys.
        """
        told = public_info(info)
        told.pop("tools", None)
        if not self.lists_actions:
            told.pop("admissible_actions")
        return {**told, **{name: info[name] for name in more}}

    def close(self) -> None:
        """Close the environment."""
        self.closed = True
        self._env.close()


class ServedEnvs:
    """The environments of a server, by numbers that are used once.

    Args:
        make: Makes one.
        options: How many there may be at a time, and for how long unasked.

    Raises:
        ConfigurationError: A bound is out of its domain.
    """

    def __init__(
        self, make: Callable[[], gymnasium.Env[str, str]], options: ServerOptions = USUAL
    ) -> None:
        options.check()
        self._make, self._most, self._idle = make, options.max_envs, options.idle_timeout
        self._numbers = itertools.count()
        self._open: dict[int, ServedEnv | None] = {}
        self._changing = threading.Lock()

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._open)

    def open(self) -> int:
        """Make an environment and return its number.

        Raises:
            TooManyEnvs: There are as many as there may be, and none is idle.
            AgentGymError: It cannot be made.
        """
        self.sweep()
        with self._changing:
            if len(self._open) >= self._most:
                raise TooManyEnvs(
                    f"expected at most {self._most} environments at a time: close one, or wait "
                    f"until nobody has asked for one for {self._idle:g} seconds"
                )
            # Take the place first: to make an environment may take long.
            key = next(self._numbers)
            self._open[key] = None
        try:
            self._open[key] = ServedEnv(self._make())
        except BaseException:
            self._open.pop(key, None)
            raise
        return key

    @contextmanager
    def use(self, key: int) -> Iterator[ServedEnv]:
        """Yield an environment that nobody else uses meanwhile.

        Raises:
            UnknownEnv: There is none of this number.
        """
        env = self._found(key)
        with env.lock:
            if env.closed:
                raise UnknownEnv(f"environment {key} has been closed: make another")
            try:
                yield env
            finally:
                env.used = time.monotonic()

    def touch(self, key: int) -> None:
        """Keep an environment for another while, whether or not it is in use.

        Raises:
            UnknownEnv: There is none of this number.
        """
        self._found(key).used = time.monotonic()

    def _found(self, key: int) -> ServedEnv:
        env = self._open.get(key)
        if env is None:
            raise UnknownEnv(f"expected the number of an open environment, got {key}: make one")
        return env

    def close(self, key: int) -> None:
        """Close an environment.

        Raises:
            UnknownEnv: There is none of this number.
        """
        with self.use(key) as env:
            self._open.pop(key, None)
            env.close()

    def sweep(self) -> None:
        """Close those that nobody has asked for; those that are busy stay."""
        late = time.monotonic() - self._idle
        for key, env in list(self._open.items()):
            if env is None or env.used > late or not env.lock.acquire(blocking=False):
                continue
            try:
                self._open.pop(key, None)
                env.close()
            finally:
                env.lock.release()

    @contextmanager
    def sweeping(self) -> Iterator[None]:
        """Sweep now and then, in a thread, and close all at the end."""
        stop = threading.Event()

        def run() -> None:
            while not stop.wait(self._idle / 4):
                self.sweep()

        thread = threading.Thread(target=run, name="sweep", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            self.close_all()

    def close_all(self) -> None:
        """Close all, one that is busy as soon as its turn is over."""
        for key in list(self._open):
            env = self._open.pop(key, None)
            if env is not None:
                with env.lock:
                    env.close()
