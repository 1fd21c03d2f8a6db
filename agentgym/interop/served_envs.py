"""Shared code of environment servers: their address, and the environments of clients.

Each client gets its own environment, up to a limit. An unused environment is closed after
``idle_timeout`` seconds, since a client that dies does not close it.
"""

from __future__ import annotations

import secrets
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
"""Default maximum number of environments."""
IDLE = 600.0
"""Default number of seconds after which an unused environment is closed."""

LARGEST = 1 << 22
"""Maximum size of a message, in bytes."""
TURNS = 32
"""Maximum number of concurrent turns of a server; further ones wait."""

KEY_BITS = 53
"""Bits of the number of an environment: floats, as JavaScript has them, hold no more exactly."""

OPTIONS = ("split", "index", "task_id", "horizon")
"""Options of a reset that clients may set."""
ENDED = ("success", "score", "reward_terms")
"""Keys for trainers at the end of an episode, in addition to what a policy may read."""


@dataclass(frozen=True)
class ServerOptions:
    """Address, token and limits of an environment server."""

    host: str = "127.0.0.1"
    """Address to listen at."""
    port: int = 0
    """Port to listen at; 0 selects a free one."""
    token: str = ""
    """Token of clients (``Authorization: Bearer``); a new one is made if left out."""
    open_to_all: bool = False
    """Require no token; allowed only for addresses local to this machine."""
    max_envs: int = MOST
    """Maximum number of environments, one for each client."""
    idle_timeout: float = IDLE
    """Seconds after which an unused environment is closed."""
    started: Callable[[str, str], None] = lambda url, token: None
    """Called with the server's address and token once it is ready."""

    def check(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: A field is out of range.
        """
        integer(self.port, "port", 0, 65535)
        integer(self.max_envs, "max_envs", 1)
        if not (finite(self.idle_timeout) and self.idle_timeout > 0):
            raise ConfigurationError(
                f"expected idle_timeout to be seconds above 0, got {self.idle_timeout!r}"
            )

    def choose_token(self) -> str:
        """Return the token that clients must send; empty for none.

        Raises:
            ConfigurationError: ``open_to_all`` is set although other machines can reach the
                address, or together with a token.
        """
        return choose_token(self.token, self.host, self.open_to_all)


USUAL = ServerOptions()
"""Options with the default limits."""


class UnknownEnv(AgentGymError):
    """The environment does not exist, or has been closed."""


class TooManyEnvs(AgentGymError):
    """The maximum number of environments is reached."""


class ServedEnv:
    """The environment of one client, with the state of its episode.

    Attributes:
        observation: The last observation; empty before the first reset.
        info: The last info; None before the first reset, and after the environment failed.
        lists_actions: Whether the client requested the admissible actions for this episode.
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

    def begin(self, seed: int | None, client_options: Mapping[str, Any]) -> Reset:
        """Start an episode with a client's options; None means the default.

        Args:
            seed: The seed.
            client_options: `OPTIONS` of the reset, and ``list_actions``.

        Raises:
            ConfigurationError: An option is wrong or unknown.
            TaskNotFound: The task does not exist.
            EnvFailure: The environment failed.
        """
        options = {name: value for name, value in client_options.items() if value is not None}
        listing = options.pop("list_actions", False)
        unknown = sorted(set(options) - set(OPTIONS))
        if unknown or not isinstance(listing, bool):
            raise ConfigurationError(
                f"expected {', '.join(OPTIONS)}, seed, and list_actions true or false, got "
                f"{unknown[0] if unknown else f'list_actions={listing!r}'!r:.80}"
            )
        self.lists_actions = listing
        return self.reset(seed, options)

    def filter_info(self, info: Mapping[str, Any], more: Iterable[str] = ()) -> dict[str, Any]:
        """Return the part of an info dict that may be sent to a client and its model.

        Args:
            info: The info dict.
            more: Further keys.
        """
        public = public_info(info)
        public.pop("tools", None)
        if not self.lists_actions:
            public.pop("admissible_actions")
        return {**public, **{name: info[name] for name in more}}

    def close(self) -> None:
        """Close the environment."""
        self.closed = True
        self._env.close()


class ServedEnvs:
    """The environments of a server, by numbers that only their clients know.

    Whoever knows a number plays its environment, so they are random: 53 bits, which every reader of
    JSON keeps exactly.

    Args:
        make: Makes an environment.
        options: Maximum number of environments, and idle timeout.

    Raises:
        ConfigurationError: A limit is out of range.
    """

    def __init__(
        self, make: Callable[[], gymnasium.Env[str, str]], options: ServerOptions = USUAL
    ) -> None:
        options.check()
        self._make, self._max_envs, self._idle = make, options.max_envs, options.idle_timeout
        self._envs: dict[int, ServedEnv | None] = {}
        self._changing = threading.Lock()

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._envs)

    def open(self) -> int:
        """Make an environment and return its number.

        Raises:
            TooManyEnvs: The maximum number is reached, and none is idle.
            AgentGymError: The environment cannot be made.
        """
        self.sweep()
        with self._changing:
            if len(self._envs) >= self._max_envs:
                raise TooManyEnvs(
                    f"expected at most {self._max_envs} environments at a time: close one, or wait "
                    f"until one has been unused for {self._idle:g} seconds"
                )
            # Take the place first: to make an environment may take long.
            key = self._free_number()
            self._envs[key] = None
        try:
            self._envs[key] = ServedEnv(self._make())
        except BaseException:
            self._envs.pop(key, None)
            raise
        return key

    @contextmanager
    def use(self, key: int) -> Iterator[ServedEnv]:
        """Yield an environment for exclusive use.

        Raises:
            UnknownEnv: The number is unknown.
        """
        env = self._open_env(key)
        with env.lock:
            if env.closed:
                raise UnknownEnv(f"environment {key} has been closed: make another")
            try:
                yield env
            finally:
                env.used = time.monotonic()

    def touch(self, key: int) -> None:
        """Restart the idle timeout of an environment, whether or not it is in use.

        Raises:
            UnknownEnv: The number is unknown.
        """
        self._open_env(key).used = time.monotonic()

    def _free_number(self) -> int:
        """Draw a number above 0 that no environment has."""
        while not (key := secrets.randbits(KEY_BITS)) or key in self._envs:
            pass
        return key

    def _open_env(self, key: int) -> ServedEnv:
        env = self._envs.get(key)
        if env is None:
            raise UnknownEnv(f"expected the number of an open environment, got {key}: make one")
        return env

    def close(self, key: int) -> None:
        """Close an environment.

        Raises:
            UnknownEnv: The number is unknown.
        """
        with self.use(key) as env:
            self._envs.pop(key, None)
            env.close()

    def sweep(self) -> None:
        """Close idle environments; busy ones stay open."""
        late = time.monotonic() - self._idle
        for key, env in list(self._envs.items()):
            if env is None or env.used > late or not env.lock.acquire(blocking=False):
                continue
            try:
                self._envs.pop(key, None)
                env.close()
            finally:
                env.lock.release()

    @contextmanager
    def sweeping(self) -> Iterator[None]:
        """Sweep regularly, in a thread, and close all environments at the end."""
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
        """Close all environments, busy ones after their turn."""
        for key in list(self._envs):
            env = self._envs.pop(key, None)
            if env is not None:
                with env.lock:
                    env.close()
