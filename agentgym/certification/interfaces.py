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
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import gymnasium

from agentgym.agents import call_text
from agentgym.certification.result import NotApplicable
from agentgym.core.env import TextEnv
from agentgym.core.guard import GuardedEnv
from agentgym.core.outcome import well_formed
from agentgym.errors import EnvFailure
from agentgym.interop.global_randomness import GlobalRandomness
from agentgym.interop.mcp.client import McpServer
from agentgym.interop.mcp.server import START
from agentgym.interop.openenv.client import TOKEN, OpenEnvServer, SessionLimitReached
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
Episodes = list[list[Turn]]
"""The turns of each episode."""


@dataclass(frozen=True)
class ScriptedPlay:
    """A task and its actions."""

    task_id: str
    seed: int
    horizon: int | None
    actions: tuple[str, ...]

    @property
    def settings(self) -> dict[str, Any]:
        """The options and the seed with which a server begins the episode."""
        settings = {"task_id": self.task_id, "seed": self.seed, "horizon": self.horizon}
        return {name: value for name, value in settings.items() if value is not None}


@dataclass(frozen=True)
class Script:
    """What is replayed."""

    env: str
    """Name of the environment."""
    kwargs: Mapping[str, Any]
    """Its arguments."""
    plays: Sequence[ScriptedPlay]
    """The episodes."""

    def make(self, **more: Any) -> TextEnv:
        """Make the environment without wrappers, with more arguments."""
        return make_named(self.env, {**self.kwargs, **more}, "env_kwargs")

    @property
    def flags(self) -> list[str]:
        """The arguments of the environment as a person types them."""
        pairs = [f"{name}={json.dumps(value)}" for name, value in self.kwargs.items()]
        return ["--env-kwargs", *pairs] if pairs else []


Replay = Callable[[Script], Episodes]


def begin(env: gymnasium.Env[str, str], play: ScriptedPlay) -> tuple[Turn, Mapping[str, Any]]:
    """Begin an episode; return the turn and the info dict.

    Raises:
        NotApplicable: The server that plays it has too few sessions for the check.
    """
    options = play.settings
    seed = options.pop("seed")
    try:
        observation, info = env.reset(seed=seed, options=options)
    except SessionLimitReached as limit:
        raise NotApplicable(str(limit)) from limit
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


def take_turns(
    play: ScriptedPlay, begin: Callable[[ScriptedPlay], Turn], take: Callable[[str], Turn]
) -> Iterator[Turn]:
    """Begin an episode, and carry out its actions until it is over; yield each turn."""
    turn = begin(play)
    yield turn
    for action in play.actions:
        if turn[2]:
            return
        turn = take(action)
        yield turn


def play_through(env: gymnasium.Env[str, str], play: ScriptedPlay) -> list[Turn]:
    """Play an episode in an environment, and return its turns."""
    return [*_turns_in(env, play)]


def _failed(reason: object) -> Turn:
    return "", "", True, str(reason) or "failed"


def _turns_in(env: gymnasium.Env[str, str], play: ScriptedPlay) -> Iterator[Turn]:
    return take_turns(play, lambda play: begin(env, play)[0], lambda action: take(env, action)[0])


def _play_all(env: gymnasium.Env[str, str], plays: Iterable[ScriptedPlay]) -> Episodes:
    return [play_through(env, play) for play in plays]


# -- without a server ------------------------------------------------------------------------------


def _replay(script: Script) -> Episodes:
    """In another environment of the same name."""
    with closing(script.make()) as env:
        return _play_all(GuardedEnv(env), script.plays)


def _reversed(script: Script) -> Episodes:
    """In another order, in one environment."""
    return _replay(replace(script, plays=script.plays[::-1]))[::-1]


def _abandoned(script: Script) -> Episodes:
    """In one environment, in which another episode was begun and left before each."""
    halves = [
        replace(play, actions=play.actions[: len(play.actions) // 2]) for play in script.plays
    ]
    pairs = zip([*halves[1:], halves[0]], script.plays, strict=True)
    return _replay(replace(script, plays=[play for pair in pairs for play in pair]))[1::2]


def _with_other_randomness(script: Script) -> Episodes:
    """While the global generators of Python and NumPy have another state."""
    with GlobalRandomness(len(script.plays)).in_place():
        return _replay(script)


def _interleaved(script: Script) -> Episodes:
    """In two environments, a turn in the one and a turn in the other."""
    episodes: Episodes = [[] for _ in script.plays]

    def play(env: TextEnv, start: int) -> Iterator[None]:
        for turns, play in [*zip(episodes, script.plays, strict=True)][start::2]:
            for turn in _turns_in(GuardedEnv(env), play):
                turns.append(turn)
                yield

    with closing(script.make()) as first, closing(script.make()) as second:
        for _ in zip_longest(play(first, 0), play(second, 1)):
            pass
    return episodes


def _in_process(script: Script) -> Episodes:
    """In another process."""
    with closing(script.make()) as env, closing(IsolatedEnv(env.spec, "process")) as isolated:
        return _play_all(isolated, script.plays)


def in_python(script: Script, python: str = sys.executable, hash_seed: str = "0") -> Episodes:
    """Play in a process of its own.

    Args:
        script: What is played.
        python: The Python interpreter, in which agentgym is installed.
        hash_seed: Value of ``PYTHONHASHSEED``, which sets the order of sets.

    Raises:
        EnvFailure: The process fails.
        SubprocessError: It takes too long.
    """
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "turns.json")
        try:
            # To a file, because the libraries of peers print what they like.
            subprocess.run(
                [python, "-c", f"import {__name__} as it; it.answer({str(output)!r})"],
                input=json.dumps(asdict(script)),
                text=True,
                encoding="utf-8",
                env={**os.environ, "PYTHONHASHSEED": hash_seed},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=PATIENCE,
                check=True,
            )
        except subprocess.CalledProcessError as error:
            last_line = str(error.stderr).strip().rpartition("\n")[2]
            raise EnvFailure(f"{Path(python).name} ended: {last_line}") from error
        return [
            [(t[0], t[1], t[2], t[3]) for t in turns] for turns in json.loads(output.read_text())
        ]


def _with_hash_seed(script: Script) -> Episodes:
    """In a process in which sets and hashes have another order."""
    return in_python(script, hash_seed="1" if os.environ.get("PYTHONHASHSEED") != "1" else "2")


def answer(path: str) -> None:
    """Play what standard input asks for, in a process that was started for it.

    Args:
        path: File to write the turns to, as JSON.
    """
    request = json.load(sys.stdin)
    plays = [
        ScriptedPlay(**{**play, "actions": tuple(play["actions"])}) for play in request["plays"]
    ]
    Path(path).write_text(json.dumps(_replay(Script(request["env"], request["kwargs"], plays))))


# -- servers ---------------------------------------------------------------------------------------


def _over_http(script: Script) -> Episodes:
    """Through ``agentgym serve http``."""
    opener = build_opener(ProxyHandler({}))
    with _served("http", script) as url:

        def ask(call: str, **body: Any) -> dict[str, Any]:
            data = json.dumps(body).encode()
            request = Request(f"{url}/{call}", data, {"Content-Type": "application/json"})
            try:
                with opener.open(request, timeout=PATIENCE) as response:
                    reply: dict[str, Any] = json.load(response)
            except OSError as error:
                content: bytes = (
                    error.read() if isinstance(error, HTTPError) else f"{error}".encode()
                )
                return {"error": content.decode("utf-8", "replace")}
            return reply

        def ask_turn(call: str, **body: Any) -> Turn:
            reply = ask(call, env_idx=number, **body)
            return _failed(reply["error"]) if "error" in reply else _make_turn(reply)

        number = ask("createEnv")["env_idx"]

        def begin(play: ScriptedPlay) -> Turn:
            return ask_turn("reset", **play.settings)

        def act(action: str) -> Turn:
            return ask_turn("step", action=action)

        return [[*take_turns(play, begin, act)] for play in script.plays]


def _over_openenv(script: Script) -> Episodes:
    """Through ``agentgym serve openenv``."""
    with _served("openenv", script) as url, closing(OpenEnvServer(url, PATIENCE)) as server:

        def ask(kind: str, data: Mapping[str, Any]) -> Turn:
            try:
                reply = server.ask(kind, data)
            except EnvFailure as failure:
                return _failed(failure)
            return _make_turn({**reply["observation"], **reply}, "text")

        def begin(play: ScriptedPlay) -> Turn:
            return ask("reset", play.settings)

        def act(action: str) -> Turn:
            return ask("step", {"text": action})

        return [[*take_turns(play, begin, act)] for play in script.plays]


def _over_mcp(script: Script) -> Episodes:
    """Through ``agentgym serve mcp``, as tool calls."""
    command = [sys.executable, "-m", "agentgym", "serve", "mcp", script.env, *script.flags]
    with closing(McpServer(command, PATIENCE)) as server:

        def ask(name: str, arguments: Mapping[str, Any]) -> Turn:
            result = server.call(name, arguments)
            reply = result.get("structuredContent") or {}
            if result.get("isError"):
                return _failed(reply.get("failure") or result["content"][0]["text"])
            return _make_turn(reply)

        def act(action: str) -> Turn:
            call = json.loads(action.removeprefix("<tool_call>").removesuffix("</tool_call>"))
            return ask(call["name"], call["arguments"])

        def begin(play: ScriptedPlay) -> Turn:
            return ask(START, play.settings)

        return [[*take_turns(play, begin, act)] for play in script.plays]


def as_calls(script: Script) -> tuple[Script, Episodes]:
    """Return the same plays as tool calls, the only actions of MCP, and their results.

    An action that is not a call, such as hostile text, becomes a call of an unknown tool.
    """
    with closing(script.make()) as env, closing(script.make(grammar="tool_call")) as call_env:

        def call(action: str) -> str:
            text = call_env.spoken.write(env.spoken.read(action).native)
            if text.startswith("<tool_call>"):
                return text
            return call_text(NO_TOOL, {"x": well_formed(action)})

        plays = [replace(play, actions=tuple(map(call, play.actions))) for play in script.plays]
        return replace(script, plays=plays), _play_all(GuardedEnv(call_env), plays)


def _make_turn(reply: Mapping[str, Any], text: str = "observation") -> Turn:
    return reply[text], float(reply["reward"]).hex(), bool(reply["done"]), ""


@contextmanager
def _served(kind: str, script: Script) -> Iterator[str]:
    """Serve an environment in a process of its own; yield its address.

    Raises:
        EnvFailure: It cannot be served, or does not start in time.
    """
    # A token that a person has set for servers of OpenEnv is its client's, too.
    open_to_all = [] if kind == "openenv" and os.environ.get(TOKEN) else ["--no-token"]
    command = [sys.executable, "-m", "agentgym", "serve", kind, script.env, "--port", "0"]
    variables = {name: value for name, value in os.environ.items() if name != "AGENTGYM_HTTP_TOKEN"}
    with (
        tempfile.TemporaryDirectory() as folder,
        # No pipe: nobody would read on, and a library that prints much would stop the server.
        (log := Path(folder, "said")).open("w") as output,
        subprocess.Popen(
            [*command, *open_to_all, *script.flags],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**variables, "COLUMNS": "1000"},
        ) as server,
    ):
        try:
            end = time.monotonic() + PATIENCE
            while not (match := _ADDRESS.search(log.read_text("utf-8", "replace"))):
                if server.poll() is not None or time.monotonic() > end:
                    text = log.read_text("utf-8", "replace")
                    raise EnvFailure(
                        f"expected a server within {PATIENCE:.0f} s, got: {text[-500:].strip()}"
                    )
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
