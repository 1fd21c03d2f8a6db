"""Serve any environment over HTTP, with the calls of AgentGym (arXiv 2406.04151).

    POST /createEnv, /create                          -> {"env_idx", "id", "observation", ...}
    POST /reset {"env_idx", "data_idx", ...}          -> {"observation", "reward", "done", "info"}
    POST /step {"env_idx", "action"}                  -> {"observation", "reward", "done", "info"}
    GET /observation?env_idx=                         -> {"observation"}
    GET /available_actions?env_idx=                   -> {"available_actions"}
    POST /close {"env_idx"}                           -> {"closed"}
    GET /                                             -> description of the environment

``info`` contains what a policy may read, and at the end of an episode ``success``, ``score`` and
``reward_terms`` for the trainer. Errors are ``{"error": text}``: 4xx is the client's fault; 500 is
the environment's, and its episode has no valid score.

AgentGym's own clients differ from one environment to the other, and all are answered. They call the
environment ``env_idx`` or ``id``, and the index of its task by one of :data:`TASKS`. They read the
observation of a step as ``observation`` or ``state``, and :data:`PLAIN` names those that read a
number and a text where others read objects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from gymnasium.error import ResetNeeded

from agentgym.core.env import TextEnv
from agentgym.core.options import integer
from agentgym.errors import ConfigurationError, EnvFailure, TaskNotFound, require
from agentgym.interop.served_envs import (
    ENDED,
    LARGEST,
    TURNS,
    ServedEnv,
    ServedEnvs,
    ServerOptions,
    TooManyEnvs,
    UnknownEnv,
)
from agentgym.policies.base import public_info
from agentgym.registration import find_family
from agentgym.support.guesses import with_guesses
from agentgym.support.http_server import (
    Refused,
    answer_error,
    answer_json,
    check_request,
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
"""Options of a reset that keep their names."""
TASKS = ("data_idx", "session_id", "game", "item_id", "idx", "id")
"""What clients call the index of a task; ``id`` only beside ``env_idx``, else it is the number."""
WORLD_TYPES = (None, "Text")
"""What the client of ALFWorld may ask for as ``world_type``."""
AT_CREATION = ("id", "minecraft_dir", "commands", "goal")
"""What clients send when an environment is made, before a reset chooses its task."""
PLAIN = ("webshop", "search")
"""Families whose clients read a number from ``/create`` and a text from ``/observation``."""

Answer = Callable[[Mapping[str, Any]], object]


class ServerCalls:
    """The implementation of each call; thread-safe.

    Args:
        envs: The environments.
        about: Description of the environment, for ``GET /``.
    """

    def __init__(self, envs: ServedEnvs, about: Mapping[str, Any]) -> None:
        self._envs, self._about = envs, about
        family = find_family(str(about.get("environment")).partition(":")[0])
        self._plain = family is not None and family.name in PLAIN

    def describe(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the description of the environment."""
        return {**self._about, "open": len(self._envs)}

    def create_env(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Make an environment, by the name of the call in AgentGym's documentation."""
        _check_fields(fields, AT_CREATION)
        for name in ("commands", "goal"):
            if fields.get(name) is not None:
                raise ConfigurationError(
                    f"expected no {name} for a new environment, got {fields[name]!r:.80}: a reset "
                    "chooses the task"
                )
        number = self._envs.open()
        answer = {"observation": "", "reward": 0.0, "done": False}
        return {"env_idx": number, "id": number, **answer}

    def create(self, fields: Mapping[str, Any]) -> dict[str, Any] | int:
        """Make an environment, by the name of the call in AgentGym's clients."""
        reply = self.create_env(fields)
        return int(reply["env_idx"]) if self._plain else reply

    def reset(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Start an episode."""
        number, task_fields = _number(fields)
        _check_fields(fields, ("env_idx", "id", *OPTIONS, *TASKS, "seed", "world_type"))
        if fields.get("world_type") not in WORLD_TYPES:
            raise ConfigurationError(
                f"expected world_type to be Text, got {fields['world_type']!r:.80}"
            )
        options = {name: fields[name] for name in OPTIONS if fields.get(name) is not None}
        indices = [name for name in task_fields if fields.get(name) is not None]
        if len(indices) > 1:
            raise ConfigurationError(
                f"expected one index of a task, got {' and '.join(indices)}: leave all but one out"
            )
        if indices:
            options["index"] = fields[indices[0]]
        with self._envs.use(number) as env:
            observation, info = env.reset(fields.get("seed"), options)
            return {
                "id": number,
                "task_description": info.get("goal", ""),
                **_turn_answer(observation, 0.0, False, info),
            }

    def step(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Take a turn."""
        number, _ = _number(fields)
        _check_fields(fields, ("env_idx", "id", "action"))
        action: Any = fields.get("action")
        with self._envs.use(number) as env:
            observation, reward, terminated, truncated, info = env.step(action)
            over = terminated or truncated
            answer = _turn_answer(observation, reward, over, info)
            if over:
                answer["info"].update({name: info[name] for name in ENDED if name in info})
            return {
                "state": observation,
                **answer,
                "terminated": terminated,
                "truncated": truncated,
            }

    def observation(self, fields: Mapping[str, Any]) -> dict[str, Any] | str:
        """Return the last observation."""
        with self._env(fields) as env:
            return env.observation if self._plain else {"observation": env.observation}

    def available_actions(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """List the admissible actions; empty without a running episode."""
        with self._env(fields) as env:
            return {"available_actions": list((env.info or {}).get("admissible_actions", ()))}

    def close(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Close an environment."""
        _check_fields(fields, ("env_idx", "id"))
        self._envs.close(_number(fields)[0])
        return {"closed": True}

    def _env(self, fields: Mapping[str, Any]) -> AbstractContextManager[ServedEnv]:
        """Take the environment of a call that says nothing else."""
        _check_fields(fields, ("env_idx", "id"))
        return self._envs.use(_number(fields)[0])


def _turn_answer(
    observation: str, reward: float, done: bool, info: Mapping[str, Any]
) -> dict[str, Any]:
    """Write the answer to a reset or a step."""
    public = public_info(info)
    return {
        "observation": observation,
        "reward": reward,
        "done": done,
        "score": info["score"] if done and "score" in info else 0.0,
        "available_actions": public.get("admissible_actions", []),
        "info": public,
    }


def _number(fields: Mapping[str, Any]) -> tuple[int, tuple[str, ...]]:
    """Return the number of the environment that a call is about, and the names of a task index."""
    name = "env_idx" if "env_idx" in fields or "id" not in fields else "id"
    value = fields.get(name)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 16:
        value = int(value)  # of a query
    elif isinstance(value, Mapping):
        value = value.get("env_idx")  # of a client that returns what its environment came with
    tasks = TASKS if name == "env_idx" else tuple(field for field in TASKS if field != "id")
    return integer(value, name, 0, None), tasks


def _check_fields(fields: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse what no call has: passed over, it would play something else than was asked for.

    Raises:
        ConfigurationError: A field is unknown.
    """
    unknown = [name for name in fields if name not in names]
    if unknown:
        raise ConfigurationError(
            f"expected fields among {', '.join(dict.fromkeys(names))}, got "
            f"{with_guesses(unknown, names)}"
        )


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
    from starlette.routing import Route

    def guarded(answer: Answer) -> Callable[[Request], Any]:
        async def respond(request: Request) -> Response:
            try:
                check_request(request, token)
                fields = await _fields(request)
                # What it waits for goes on if the client goes away, so that no turn is half taken.
                work = asyncio.get_running_loop().run_in_executor(pool, _answered, answer, fields)
                return answer_json(200, await asyncio.shield(work))
            except Refused as problem:
                return answer_error(problem.status, str(problem))

        return respond

    pool = ThreadPoolExecutor(TURNS, "turns")
    calls = ServerCalls(envs, about)
    routes = {
        ("GET", "/"): calls.describe,
        ("POST", "/createEnv"): calls.create_env,
        ("POST", "/create"): calls.create,
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
        exception_handlers={HTTPException: _answer_error},
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


async def _fields(request: Request) -> Mapping[str, Any]:
    """Return what a request says: its query, or its body, which may be empty."""
    if request.method == "GET":
        return dict(request.query_params)
    body = await read_body(request, LARGEST)
    return parse_object(body) if body.strip() else {}


def _answered(answer: Answer, fields: Mapping[str, Any]) -> object:
    """Answer a call, in a thread, and say whose fault it is where that fails.

    Raises:
        Refused: It cannot be answered.
    """
    statuses = {
        UnknownEnv: 404, TaskNotFound: 404, ResetNeeded: 409, TooManyEnvs: 429,
        ConfigurationError: 400, EnvFailure: 500,
    }  # fmt: skip
    try:
        return answer(fields)
    except tuple(statuses) as error:
        status = next(code for kind, code in statuses.items() if isinstance(error, kind))
        raise Refused(status, str(error)) from error


async def _answer_error(request: Request, error: Exception) -> Response:
    """Answer a request of another path or method."""
    path = f"{request.method} {request.url.path:.200}"
    return answer_error(
        getattr(error, "status_code", 500), f"expected one of AgentGym's calls, got {path}"
    )
