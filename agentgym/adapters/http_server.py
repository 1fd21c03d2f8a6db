"""Serve any environment over HTTP, with the calls of AgentGym (arXiv 2406.04151).

    POST /createEnv                                   -> {"env_idx"}
    POST /reset {"env_idx", "data_idx", ...}          -> {"observation", "reward", "done", "info"}
    POST /step {"env_idx", "action"}                  -> {"observation", "reward", "done", "info"}
    GET /observation?env_idx=                         -> {"observation"}
    GET /available_actions?env_idx=                   -> {"available_actions"}
    POST /close {"env_idx"}                           -> {"closed"}
    GET /                                             -> description of the environment

``info`` contains what a policy may read, and at the end of an episode ``success``, ``score`` and
``reward_terms`` for the trainer. Errors are ``{"error": text}``: 4xx is the client's fault; 500 is
the environment's, and its episode has no valid score.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from gymnasium.error import ResetNeeded

from agentgym.adapters.served_envs import (
    ENDED,
    LARGEST,
    TURNS,
    ServedEnvs,
    ServerOptions,
    TooManyEnvs,
    UnknownEnv,
)
from agentgym.core.env import TextEnv
from agentgym.core.options import integer
from agentgym.errors import ConfigurationError, EnvFailure, TaskNotFound, require
from agentgym.policies.base import public_info
from agentgym.support.http_server import (
    Refused,
    answer_error,
    answer_json,
    check_token,
    parse_object,
    read_body,
    serve_app,
)

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

EXTRA = "serve"
OPTIONS = ("split", "task_id", "horizon", "training_step")
"""Options of a reset that keep their names; ``data_idx`` is the index."""

Answer = Callable[[Mapping[str, Any]], dict[str, Any]]


class Calls:
    """The implementation of each call; thread-safe.

    Args:
        envs: The environments.
        about: Description of the environment, for ``GET /``.
    """

    def __init__(self, envs: ServedEnvs, about: Mapping[str, Any]) -> None:
        self._envs, self._about = envs, about

    def describe(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the description of the environment."""
        return {**self._about, "open": len(self._envs)}

    def create(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Make an environment."""
        return {"env_idx": self._envs.open()}

    def reset(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Start an episode."""
        options = {name: given[name] for name in OPTIONS if given.get(name) is not None}
        if given.get("data_idx") is not None:
            options["index"] = given["data_idx"]
        with self._envs.use(_number(given)) as env:
            observation, info = env.reset(given.get("seed"), options)
            return {
                "observation": observation,
                "reward": 0.0,
                "done": False,
                "info": public_info(info),
            }

    def step(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Take a turn."""
        with self._envs.use(_number(given)) as env:
            observation, reward, terminated, truncated, info = env.step(given.get("action", ""))
            done = terminated or truncated
            told = {name: info[name] for name in ENDED if name in info} if done else {}
            return {
                "observation": observation,
                "reward": reward,
                "done": done,
                "info": {**public_info(info), **told},
            }

    def observation(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the last observation."""
        with self._envs.use(_number(given)) as env:
            return {"observation": env.observation}

    def available_actions(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """List the admissible actions; empty without a running episode."""
        with self._envs.use(_number(given)) as env:
            return {"available_actions": list((env.info or {}).get("admissible_actions", ()))}

    def close(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Close an environment."""
        self._envs.close(_number(given))
        return {"closed": True}


def _number(given: Mapping[str, Any]) -> int:
    """Return the number of the environment that a call is about."""
    value = given.get("env_idx")
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)  # of a query
    return integer(value, "env_idx", 0)


def make_app(envs: ServedEnvs, about: Mapping[str, Any], token: str = "") -> Starlette:
    """Make the server as an ASGI application.

    Args:
        envs: The environments; they are not closed.
        about: Description of the environment.
        token: Token of every request (``Authorization: Bearer``); empty for none.

    Raises:
        DependencyNotInstalled: The package ``starlette`` is missing.
    """
    applications = require("starlette.applications", EXTRA)
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect
    from starlette.routing import Route

    def guarded(answer: Answer) -> Callable[[Request], Any]:
        async def respond(request: Request) -> Response:
            try:
                check_token(request, token)
                given = await _given(request)
                # What it waits for goes on if the client goes away, so that no turn is half taken.
                work = asyncio.get_running_loop().run_in_executor(pool, _answered, answer, given)
                return answer_json(200, await asyncio.shield(work))
            except Refused as problem:
                return answer_error(problem.status, str(problem))
            except ClientDisconnect:
                return answer_error(400, "expected a whole body")  # nobody is there to read it

        return respond

    pool = ThreadPoolExecutor(TURNS, "turns")
    calls = Calls(envs, about)
    routes = {
        ("GET", "/"): calls.describe,
        ("POST", "/createEnv"): calls.create,
        ("POST", "/reset"): calls.reset,
        ("POST", "/step"): calls.step,
        ("GET", "/observation"): calls.observation,
        ("GET", "/available_actions"): calls.available_actions,
        ("POST", "/close"): calls.close,
    }
    app: Starlette = applications.Starlette(
        routes=[
            Route(path, guarded(answer), methods=[method])
            for (method, path), answer in routes.items()
        ],
        exception_handlers={HTTPException: _other},
    )
    return app


def serve(make: Callable[[], TextEnv], name: str, options: ServerOptions) -> None:
    """Serve an environment until the process is interrupted (Ctrl-C or SIGTERM).

    Args:
        make: Makes the environment of a client.
        name: Name of the environment.
        options: Address, token and limits.

    Raises:
        ConfigurationError: A field is out of range, or the address cannot be used.
        DependencyNotInstalled: ``starlette`` or ``uvicorn`` is missing.
        KeyboardInterrupt: The user interrupted it; all environments have been closed.
    """
    token = options.choose_token()
    envs = ServedEnvs(make, options)
    app = make_app(envs, describe(name, make()), token)
    with envs.sweeping():
        serve_app(
            app,
            EXTRA,
            host=options.host,
            port=options.port,
            started=lambda url: options.started(url, token),
        )


def describe(name: str, env: TextEnv) -> dict[str, Any]:
    """Describe an environment to clients, and close it."""
    try:
        return {
            "environment": name,
            "splits": {split: env.tasks.len(split) for split in env.tasks.splits},
            "split": env.split,
            "horizon": env.default_horizon,
            "grammar": env.language.grammar,
            "actions": env.action_prompt(),
        }
    finally:
        env.close()


async def _given(request: Request) -> Mapping[str, Any]:
    """Return what a request says: its query, or its body, which may be empty."""
    if request.method == "GET":
        return dict(request.query_params)
    body = await read_body(request, LARGEST)
    return parse_object(body) if body.strip() else {}


def _answered(answer: Answer, given: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a call, in a thread, and say whose fault it is where that fails.

    Raises:
        Refused: It cannot be answered.
    """
    statuses = {
        UnknownEnv: 404, TaskNotFound: 404, ResetNeeded: 409, TooManyEnvs: 429,
        ConfigurationError: 400, EnvFailure: 500,
    }  # fmt: skip
    try:
        return answer(given)
    except tuple(statuses) as error:
        status = next(code for kind, code in statuses.items() if isinstance(error, kind))
        raise Refused(status, str(error)) from error


async def _other(request: Request, error: Exception) -> Response:
    """Answer a request of another path or method."""
    path = f"{request.method} {request.url.path:.200}"
    return answer_error(
        getattr(error, "status_code", 500), f"expected one of AgentGym's calls, got {path}"
    )
