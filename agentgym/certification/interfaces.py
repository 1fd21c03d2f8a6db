"""The interfaces of an environment, each of which replays scripted actions.

`agentgym.certification.sameness` compares the results.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

import gymnasium

from agentgym.agents import call_text
from agentgym.core.env import TextEnv
from agentgym.core.guard import GuardedEnv
from agentgym.core.outcome import well_formed
from agentgym.errors import EnvFailure
from agentgym.interop.global_randomness import GlobalRandomness
from agentgym.interop.mcp.client import McpServer
from agentgym.interop.mcp.server import START
from agentgym.interop.openenv.client import TOKEN, OpenEnvServer
from agentgym.registration.making import make_named
from agentgym.vector.isolated import IsolatedEnv

PATIENCE = 600.0
"""Time limit of an interface for all episodes in a separate process, in seconds."""
_ADDRESS = re.compile(r" is at (http[^;\s]+);")
"""What a server says when it is there."""
NO_TOOL = "no tool"
"""Tool to call in place of an action that is not a tool call."""

Turn = tuple[str, str, bool, str]
"""Observation, reward as the hexadecimal digits of a float, whether the episode is over, and the
reason of a failure, if any."""


@dataclass(frozen=True)
class ScriptedPlay:
    """A task and its actions."""

    task_id: str
    seed: int
    horizon: int | None
    actions: tuple[str, ...]


Made = tuple[str, Mapping[str, Any]]
"""Name and arguments of an environment."""
Replay = Callable[[str, Mapping[str, Any], Sequence[ScriptedPlay]], list[list[Turn]]]


def make(env: str, kwargs: Mapping[str, Any]) -> TextEnv:
    """Make an environment without wrappers."""
    return make_named(env, kwargs, "env_kwargs")


def begin(env: gymnasium.Env[str, str], play: ScriptedPlay) -> tuple[Turn, Mapping[str, Any]]:
    """Begin an episode; return the turn and the info dict."""
    options: dict[str, Any] = {"task_id": play.task_id}
    options |= {} if play.horizon is None else {"horizon": play.horizon}
    try:
        observation, info = env.reset(seed=play.seed, options=options)
    except EnvFailure as failure:
        return _failed(failure), {}
    return (observation, (0.0).hex(), False, ""), info


def take(env: gymnasium.Env[str, str], action: str) -> tuple[Turn, Mapping[str, Any]]:
    """Take a turn; return the turn and the info dict."""
    try:
        observation, reward, terminated, truncated, info = env.step(action)
    except EnvFailure as failure:
        return _failed(failure), {}
    return (observation, float(reward).hex(), bool(terminated or truncated), ""), info


def _failed(reason: object) -> Turn:
    return "", "", True, str(reason) or "failed"


def _turns(
    plays: Iterable[tuple[int, ScriptedPlay]],
    begin: Callable[[ScriptedPlay], Turn],
    take: Callable[[str], Turn],
) -> Iterator[tuple[int, Turn]]:
    """Take the actions of episodes, one after the other; yield each turn with its episode's number.

    Args:
        plays: Numbers and what is done.
        begin: Begins an episode.
        take: Carries out an action.
    """
    for number, play in plays:
        turn = begin(play)
        yield number, turn
        for action in play.actions:
            if turn[2]:
                break
            turn = take(action)
            yield number, turn


def _sorted(turns: Iterable[tuple[int, Turn]], count: int) -> list[list[Turn]]:
    """Return the turns of each episode."""
    episodes: list[list[Turn]] = [[] for _ in range(count)]
    for number, turn in turns:
        episodes[number].append(turn)
    return episodes


def _in(
    env: gymnasium.Env[str, str], plays: Iterable[tuple[int, ScriptedPlay]]
) -> Iterator[tuple[int, Turn]]:
    """Take the actions of episodes in an environment."""
    return _turns(plays, lambda play: begin(env, play)[0], lambda action: take(env, action)[0])


# -- without a server ------------------------------------------------------------------------------


def _replay(env: str, kwargs: Mapping[str, Any], plays: Sequence[ScriptedPlay]) -> list[list[Turn]]:
    """In another environment of the same name."""
    with closing(make(env, kwargs)) as text_env:
        return _sorted(_in(GuardedEnv(text_env), enumerate(plays)), len(plays))


def _reversed(
    env: str, kwargs: Mapping[str, Any], plays: Sequence[ScriptedPlay]
) -> list[list[Turn]]:
    """In another order, in one environment."""
    return _replay(env, kwargs, plays[::-1])[::-1]


def _abandoned(
    env: str, kwargs: Mapping[str, Any], plays: Sequence[ScriptedPlay]
) -> list[list[Turn]]:
    """In one environment, in which another episode was begun and left before each."""
    halves = [replace(play, actions=play.actions[: len(play.actions) // 2]) for play in plays]
    left_first = [
        play for pair in zip([*halves[1:], halves[0]], plays, strict=True) for play in pair
    ]
    return _replay(env, kwargs, left_first)[1::2]


def _with_other_randomness(
    env: str, kwargs: Mapping[str, Any], plays: Sequence[ScriptedPlay]
) -> list[list[Turn]]:
    """While the global generators of Python and NumPy have another state."""
    with GlobalRandomness(len(plays)).in_place():
        return _replay(env, kwargs, plays)


def _interleaved(
    env: str, kwargs: Mapping[str, Any], plays: Sequence[ScriptedPlay]
) -> list[list[Turn]]:
    """In two environments, a turn in the one and a turn in the other."""
    numbered = list(enumerate(plays))
    with closing(make(env, kwargs)) as first, closing(make(env, kwargs)) as second:
        pairs = zip_longest(
            _in(GuardedEnv(first), numbered[::2]), _in(GuardedEnv(second), numbered[1::2])
        )
        return _sorted((turn for pair in pairs for turn in pair if turn), len(plays))


def _in_process(
    env: str, kwargs: Mapping[str, Any], plays: Sequence[ScriptedPlay]
) -> list[list[Turn]]:
    """In another process."""
    with closing(make(env, kwargs)) as text_env:
        spec = text_env.spec
    with closing(IsolatedEnv(spec, "process")) as isolated:
        return _sorted(_in(isolated, enumerate(plays)), len(plays))


def in_python(
    python: str, hash_seed: str, env: str, kwargs: Mapping[str, Any], plays: Sequence[ScriptedPlay]
) -> list[list[Turn]]:
    """Play in a process of its own.

    Args:
        python: The Python interpreter, in which agentgym is installed.
        hash_seed: Value of ``PYTHONHASHSEED``, which sets the order of sets.
        env: Name of the environment.
        kwargs: Its arguments.
        plays: The episodes.

    Raises:
        SubprocessError: The process fails or takes too long.
    """
    request = json.dumps({"env": env, "kwargs": dict(kwargs), "plays": [asdict(p) for p in plays]})
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "turns.json")
        # To a file, because the libraries of peers print what they like.
        subprocess.run(
            [python, "-c", f"import {__name__} as it; it.answer({str(output)!r})"],
            input=request,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            stdout=subprocess.DEVNULL,
            timeout=PATIENCE,
            check=True,
        )
        return [
            [(t[0], t[1], t[2], t[3]) for t in turns] for turns in json.loads(output.read_text())
        ]


def _with_hash_seed(
    env: str, kwargs: Mapping[str, Any], plays: Sequence[ScriptedPlay]
) -> list[list[Turn]]:
    """In a process in which sets and hashes have another order."""
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    return in_python(sys.executable, seed, env, kwargs, plays)


def answer(path: str) -> None:
    """Play what standard input asks for, in a process that was started for it.

    Args:
        path: File to write the turns to, as JSON.
    """
    request = json.load(sys.stdin)
    plays = [
        ScriptedPlay(**{**play, "actions": tuple(play["actions"])}) for play in request["plays"]
    ]
    turns = _replay(request["env"], request["kwargs"], plays)
    Path(path).write_text(json.dumps(turns))


# -- servers ---------------------------------------------------------------------------------------


def _over_http(
    env: str, kwargs: Mapping[str, Any], plays: Sequence[ScriptedPlay]
) -> list[list[Turn]]:
    """Through ``agentgym serve http``."""
    opener = build_opener(ProxyHandler({}))
    with _served("http", env, kwargs) as url:

        def ask(call: str, **body: Any) -> dict[str, Any]:
            data = json.dumps(body).encode()
            request = Request(f"{url}/{call}", data, {"Content-Type": "application/json"})
            try:
                with opener.open(request, timeout=PATIENCE) as response:
                    reply: dict[str, Any] = json.load(response)
            except OSError as error:
                read_body = getattr(error, "read", None)
                return {
                    "error": read_body().decode("utf-8", "replace") if read_body else str(error)
                }
            return reply

        def read_turn(reply: Mapping[str, Any]) -> Turn:
            return (
                _failed(reply["error"])
                if "error" in reply
                else _make_turn(reply["observation"], reply)
            )

        number = ask("createEnv")["env_idx"]
        turns = _turns(
            enumerate(plays),
            lambda play: read_turn(ask("reset", env_idx=number, **_named(play))),
            lambda action: read_turn(ask("step", env_idx=number, action=action)),
        )
        return _sorted(turns, len(plays))


def _over_openenv(
    env: str, kwargs: Mapping[str, Any], plays: Sequence[ScriptedPlay]
) -> list[list[Turn]]:
    """Through ``agentgym serve openenv``."""
    with _served("openenv", env, kwargs) as url, closing(OpenEnvServer(url, PATIENCE)) as server:

        def ask(kind: str, data: Mapping[str, Any]) -> Turn:
            try:
                reply = server.ask(kind, data)
            except EnvFailure as failure:
                return _failed(failure)
            return _make_turn(reply["observation"]["text"], reply)

        turns = _turns(
            enumerate(plays),
            lambda play: ask("reset", _named(play)),
            lambda action: ask("step", {"text": action}),
        )
        return _sorted(turns, len(plays))


def _over_mcp(
    env: str, kwargs: Mapping[str, Any], plays: Sequence[ScriptedPlay]
) -> list[list[Turn]]:
    """Through ``agentgym serve mcp``, as tool calls."""
    command = [sys.executable, "-m", "agentgym", "serve", "mcp", env, *_typed(kwargs)]
    with closing(McpServer(command, PATIENCE)) as server:

        def ask(name: str, arguments: Mapping[str, Any]) -> Turn:
            result = server.call(name, arguments)
            reply = result.get("structuredContent") or {}
            if result.get("isError"):
                return _failed(reply.get("failure") or result["content"][0]["text"])
            return _make_turn(reply["observation"], reply)

        def act(action: str) -> Turn:
            call = json.loads(action.removeprefix("<tool_call>").removesuffix("</tool_call>"))
            return ask(call["name"], call["arguments"])

        turns = _turns(enumerate(plays), lambda play: ask(START, _named(play)), act)
        return _sorted(turns, len(plays))


def as_calls(
    env: str, kwargs: Mapping[str, Any], plays: Sequence[ScriptedPlay]
) -> tuple[list[ScriptedPlay], list[list[Turn]]]:
    """Return the same plays as tool calls, the only actions of MCP, and their results.

    An action that is not a call, such as hostile text, becomes a call of an unknown tool.
    """
    calls = {**kwargs, "grammar": "tool_call"}
    with closing(make(env, kwargs)) as native_env, closing(make(env, calls)) as call_env:

        def call(action: str) -> str:
            native = native_env.spoken.read(action).native
            text = call_env.spoken.write(native)
            if text.startswith("<tool_call>"):
                return text
            return call_text(NO_TOOL, {"x": well_formed(action)})

        called = [replace(play, actions=tuple(map(call, play.actions))) for play in plays]
        return called, _sorted(_in(GuardedEnv(call_env), enumerate(called)), len(called))


def _make_turn(observation: str, reply: Mapping[str, Any]) -> Turn:
    return observation, float(reply["reward"]).hex(), bool(reply["done"]), ""


def _named(play: ScriptedPlay) -> dict[str, Any]:
    """Return the options with which a server begins an episode."""
    named = {"task_id": play.task_id, "seed": play.seed, "horizon": play.horizon}
    return {name: value for name, value in named.items() if value is not None}


def _typed(kwargs: Mapping[str, Any]) -> list[str]:
    """Return arguments of an environment as a person types them."""
    pairs = [f"{name}={json.dumps(value)}" for name, value in kwargs.items()]
    return ["--env-kwargs", *pairs] if pairs else []


@contextmanager
def _served(kind: str, env: str, kwargs: Mapping[str, Any]) -> Iterator[str]:
    """Serve an environment in a process of its own; yield its address.

    Raises:
        EnvFailure: It cannot be served.
    """
    # A token that a person has set for servers of OpenEnv is its client's, too.
    has_token = kind == "openenv" and bool(os.environ.get(TOKEN))
    command = [sys.executable, "-m", "agentgym", "serve", kind, env, "--port", "0"]
    variables = {name: value for name, value in os.environ.items() if name != "AGENTGYM_HTTP_TOKEN"}
    with (
        tempfile.TemporaryDirectory() as folder,
        # No pipe: nobody would read on, and a library that prints much would stop the server.
        (log := Path(folder, "said")).open("w") as output,
        subprocess.Popen(
            [*command, *([] if has_token else ["--no-token"]), *_typed(kwargs)],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**variables, "COLUMNS": "1000"},
        ) as server,
    ):
        try:
            while not (match := _ADDRESS.search(log.read_text("utf-8", "replace"))):
                if server.poll() is not None:
                    text = log.read_text("utf-8", "replace")
                    raise EnvFailure(f"no server: {text[-500:].strip()}")
                time.sleep(0.05)
            yield match[1]
        finally:
            server.terminate()


INTERFACES: Mapping[str, Replay] = {
    "again": _replay,
    "other_order": _reversed,
    "interleaved": _interleaved,
    "abandoned": _abandoned,
    "other_randomness": _with_other_randomness,
    "process": _in_process,
    "hash_seed": _with_hash_seed,
    "http": _over_http,
    "openenv": _over_openenv,
    "mcp": _over_mcp,
}
"""The ways in which episodes are played again; each docstring says where."""
CALLS = ("mcp",)
"""Interfaces that accept only tool calls, see `as_calls`."""
