"""Serve any environment by OpenEnv, for trainers that support it.

This is OpenEnv's application; each session (a web socket) has one environment. An action is
``{"text": ...}`` and the observation is ``{"text": ...}`` with ``metadata``: what a policy may
read, and at the end ``success``, ``score`` and ``reward_terms``. Bridges show models whole
observations, so it contains the admissible actions only if the reset requests them.

``reset`` takes ``seed``, ``split`` and ``index`` or ``task_id``, ``horizon`` and ``list_actions``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from agentgym.core.env import TextEnv
from agentgym.core.outcome import well_formed
from agentgym.episodes.recorder import package_version
from agentgym.errors import DISTRIBUTION, EnvFailure, TaskNotFound, require
from agentgym.interop.served_envs import ENDED, LARGEST, USUAL, ServedEnv, ServerOptions
from agentgym.support.http_server import GuardedApp, serve_app

if TYPE_CHECKING:
    from fastapi import FastAPI

PREVIEW = 1000
"""Maximum number of tasks in one response."""
KINDS = {"train": "train", "valid": "validation", "test": "test"}
"""OpenEnv's kinds of splits, by the names and aliases of our splits."""


def make_app(make: Callable[[], TextEnv], name: str, options: ServerOptions = USUAL) -> FastAPI:
    """Make the server as an ASGI application.

    Args:
        make: Makes the environment of a session.
        name: Name of the environment; the tasks are at ``/NAME/splits``, ``/NAME/task`` and so on.
        options: Maximum number of sessions and idle timeout.

    Raises:
        ConfigurationError: A limit is out of range.
        DependencyNotInstalled: The package ``openenv`` is missing.
    """
    options.check()
    server = require("openenv.core.env_server.http_server", "openenv")
    from openenv.core.env_server.types import ConcurrencyConfig

    session, action, observation = _classes(make, name)
    app: FastAPI = server.create_app(
        session,
        action,
        observation,
        env_name=name,
        concurrency_config=ConcurrencyConfig(
            max_concurrent_envs=options.max_envs, session_timeout=options.idle_timeout
        ),
    )
    return app


def _classes(make: Callable[[], TextEnv], name: str) -> tuple[type, type, type]:
    """Make OpenEnv's classes of an environment: of its sessions, actions and observations."""
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import Action, EnvironmentMetadata, Observation, State
    from pydantic import BeforeValidator, Field, create_model

    env = make()
    summary = (type(env).__doc__ or name).strip().partition("\n")[0]
    prompt = env.action_prompt()
    env.close()

    # Lone surrogates, which models write, cost the turn and not the session.
    text = Annotated[str, BeforeValidator(lambda x: well_formed(x) if isinstance(x, str) else x)]
    action = create_model("TextAction", __base__=Action, text=(text, Field(description=prompt)))
    observation = create_model(
        "TextObservation",
        __base__=Observation,
        text=(str, Field(description="What the environment answers.")),
    )

    class Session(Environment):
        """One environment; its methods run in one thread of the server."""

        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self) -> None:
            super().__init__()
            self._tasks = Tasks(env := make())
            self._env = ServedEnv(env)
            self._state = State()

        def reset(
            self, seed: int | None = None, episode_id: str | None = None, **options: Any
        ) -> Any:
            self._check_open()
            observation, info = self._env.begin(seed, options)
            self._state = State(
                episode_id=episode_id or info["task_id"], step_count=0, task_id=info["task_id"]
            )
            return self._observe(observation, 0.0, False, info)

        def step(self, action: Any, timeout_s: float | None = None, **ignored: Any) -> Any:
            self._check_open()
            text, reward, terminated, truncated, info = self._env.step(action.text)
            self._state.step_count += 1
            return self._observe(text, reward, terminated or truncated, info)

        @property
        def state(self) -> Any:
            return self._state

        def get_metadata(self) -> Any:
            return EnvironmentMetadata(
                name=name, description=summary, version=package_version(DISTRIBUTION)
            )

        def close(self) -> None:
            if not self._env.closed:
                self._env.close()

        async def list_splits(self) -> list[dict[str, str]]:
            return self._tasks.splits()

        async def num_tasks(self, split: str) -> int:
            return await asyncio.to_thread(self._tasks.size, split)

        async def get_task(self, split: str, index: int) -> dict[str, Any]:
            return await asyncio.to_thread(self._tasks.task, split, index)

        async def list_tasks(self, split: str) -> list[dict[str, Any]]:
            return await asyncio.to_thread(self._tasks.some, split, None, None)

        async def get_task_range(
            self, split: str, start: int | None = None, stop: int | None = None
        ) -> list[dict[str, Any]]:
            return await asyncio.to_thread(self._tasks.some, split, start, stop)

        def _check_open(self) -> None:
            if self._env.closed:
                raise EnvFailure("expected an open session: this one was unused for too long")

        def _observe(self, text: str, reward: float, done: bool, info: Mapping[str, Any]) -> Any:
            metadata = self._env.filter_info(info, ENDED if done else ())
            return observation(text=text, reward=reward, done=done, metadata=metadata)

    return Session, action, observation


class Tasks:
    """The tasks of an environment for OpenEnv's task API.

    Args:
        env: The environment.

    An unknown task raises ``IndexError``, which OpenEnv reports as the client's mistake.
    """

    def __init__(self, env: TextEnv) -> None:
        self._tasks = env.tasks

    def splits(self) -> list[dict[str, str]]:
        """List the splits with OpenEnv's kind of each."""
        kinds = {self._tasks.aliases.get(name, name): kind for name, kind in KINDS.items()}
        return [{"name": split, "type": kinds.get(split, "train")} for split in self._tasks.splits]

    def size(self, split: str) -> int:
        """Return the number of tasks of a split."""
        try:
            return self._tasks.len(split)
        except TaskNotFound as error:
            raise IndexError(str(error)) from error

    def task(self, split: str, index: int) -> dict[str, Any]:
        """Describe a task by what a policy may know, and a hash of the rest."""
        try:
            task = self._tasks.task(split, index)
        except TaskNotFound as error:
            raise IndexError(str(error)) from error
        return {"id": task.id, "index": index, "goal": task.goal, "sha256": task.digest()}

    def some(self, split: str, start: int | None, stop: int | None) -> list[dict[str, Any]]:
        """Describe a range of tasks, at most `PREVIEW` of them."""
        indices = range(*slice(start, stop).indices(self.size(split)))
        return [self.task(split, index) for index in indices[:PREVIEW]]


def serve(make: Callable[[], TextEnv], name: str, options: ServerOptions) -> None:
    """Serve an environment until the process is interrupted (Ctrl-C or SIGTERM).

    Args:
        make: Makes the environment of a client.
        name: Name of the environment.
        options: Address, token and limits.

    Raises:
        ConfigurationError: A field is out of range, or the address cannot be used.
        DependencyNotInstalled: The package ``openenv`` is missing.
        KeyboardInterrupt: The user interrupted it; all environments have been closed.
    """
    token = options.choose_token()
    app = GuardedApp(make_app(make, name, options), token, LARGEST)
    serve_app(
        app,
        "openenv",
        host=options.host,
        port=options.port,
        started=lambda url: options.started(url, token),
        largest=LARGEST,
    )
