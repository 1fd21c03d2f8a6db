"""Environments over HTTP: equal to those in the process, for many clients, within bounds."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import gymnasium
import numpy as np
import pytest

from agentgym.core.env import TextEnv
from agentgym.core.outcome import Outcome
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.interop.http_server import describe, make_app, serve
from agentgym.interop.served_envs import ServedEnvs, ServerOptions
from agentgym.policies.base import public_info
from agentgym.registration import FAMILIES
from agentgym.support.http_server import warning_of
from tests.servers import serve_in_thread
from tests.toy import TOY_ID, ToyEnv

TOKEN = "a token of some length"
HOSTILE = "lone \ud800, NUL \x00 <script> 😀 " + "x" * 9000


@contextmanager
def served(
    make: Callable[[], TextEnv], token: str = "", **bounds: Any
) -> Iterator[tuple[str, ServedEnvs]]:
    """Serve in a thread; yields the address and the environments."""
    envs = ServedEnvs(make, ServerOptions(**bounds))
    app = make_app(envs, describe("it", make()), token)
    with serve_in_thread(app, lifespan="off") as url, envs.sweeping():
        yield url, envs


def ask(url: str, call: str, /, token: str = "", **body: Any) -> dict[str, Any]:
    data = None if call.startswith(("observation", "available", "?")) else json.dumps(body).encode()
    query = f"?env_idx={body['env_idx']}" if data is None and body else ""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urlopen(Request(f"{url}/{call}{query}", data, headers), timeout=60) as answer:
        content: dict[str, Any] = json.load(answer)
        return content


def refused(url: str, call: str, /, **body: Any) -> tuple[int, str]:
    with pytest.raises(HTTPError) as caught:
        ask(url, call, **body)
    with caught.value as answer:
        return answer.code, json.load(answer)["error"]


def bare(env_id: str) -> TextEnv:
    env = gymnasium.make(env_id).unwrapped
    assert isinstance(env, TextEnv)
    return env


def as_json(value: object) -> Any:
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("env_id", [*(entry.id for entry in FAMILIES), TOY_ID])
def test_an_episode_is_equal_to_one_in_the_process(env_id: str) -> None:
    """Hostile text, then random actions, then the expert's, in the same task with the same seed."""
    local, rng = bare(env_id), np.random.default_rng(0)
    with served(lambda: bare(env_id)) as (url, _):
        number = ask(url, "createEnv")["env_idx"]
        observation, info = local.reset(seed=3, options={"split": "test", "index": 1, "horizon": 7})
        answer = ask(url, "reset", env_idx=number, data_idx=1, split="test", seed=3, horizon=7)
        assert answer["observation"] == observation
        assert (answer["reward"], answer["done"]) == (0.0, False)
        assert answer["info"] == as_json(public_info(info))
        over = False
        while not over:
            assert ask(url, "observation", env_idx=number) == {"observation": observation}
            offered = ask(url, "available_actions", env_idx=number)["available_actions"]
            assert offered == info["admissible_actions"]
            if info["turn"] == 0:
                action = HOSTILE
            elif info["turn"] < 3 and offered:
                action = offered[int(rng.integers(len(offered)))]
            else:
                action = local.oracle_action() or "nothing"
            observation, reward, terminated, truncated, info = local.step(action)
            over = terminated or truncated
            answer = ask(url, "step", env_idx=number, action=action)
            assert answer["observation"] == observation
            assert (answer["reward"], answer["done"]) == (reward, over)
            final = {name: info[name] for name in ("success", "score", "reward_terms") if over}
            assert answer["info"] == as_json({**public_info(info), **final})
        assert refused(url, "step", env_idx=number, action="x")[0] == 409
    local.close()


def test_what_is_served_says_so() -> None:
    with served(ToyEnv) as (url, _):
        about = ask(url, "?")
    assert about["splits"] == {"train": 1000, "valid": 160, "test": 200}
    assert (about["environment"], about["horizon"], about["grammar"]) == ("it", 8, "native")
    assert "press" in about["actions"]


@pytest.mark.slow
def test_many_clients_do_not_meet() -> None:
    """256 environments, played at the same time by 16 clients: each equals one played alone."""
    numbers: list[int] = []

    def play(url: str, index: int) -> list[Any]:
        number = ask(url, "createEnv")["env_idx"]
        numbers.append(number)
        trace = [ask(url, "reset", env_idx=number, data_idx=index, seed=index)["observation"]]
        for turn in range(3):
            colour = ("red", "blue", "green", "gold")[(index + turn) % 4]
            answer = ask(url, "step", env_idx=number, action=f"press {colour}")
            trace += [answer["observation"], answer["reward"], answer["info"]["turn"]]
            if answer["done"]:
                break
        return trace

    def alone(index: int) -> list[Any]:
        env = ToyEnv()
        trace: list[Any] = [env.reset(seed=index, options={"index": index})[0]]
        for turn in range(3):
            colour = ("red", "blue", "green", "gold")[(index + turn) % 4]
            observation, reward, terminated, truncated, info = env.step(f"press {colour}")
            trace += [observation, reward, info["turn"]]
            if terminated or truncated:
                break
        return trace

    with served(ToyEnv) as (url, envs), ThreadPoolExecutor(16) as clients:
        traces = list(clients.map(lambda index: play(url, index), range(256)))
        assert len(envs) == 256
        assert refused(url, "createEnv") == (
            429,
            "expected at most 256 environments at a time: close one, or wait until one has "
            "been unused for 600 seconds",
        )
        assert ask(url, "close", env_idx=numbers[0]) == {"closed": True}
        assert refused(url, "step", env_idx=numbers[0], action="press red")[0] == 404
        assert ask(url, "createEnv")["env_idx"] not in numbers
    assert traces == [alone(index) for index in range(256)]
    assert len(envs) == 0


def test_the_environment_of_a_client_that_died_is_closed() -> None:
    closed: list[str] = []

    class Noting(ToyEnv):
        def close(self) -> None:
            closed.append("closed")

    with served(Noting, idle_timeout=0.2) as (url, envs):
        closed.clear()  # one was made to be described
        number = ask(url, "createEnv")["env_idx"]
        deadline = time.monotonic() + 30
        while len(envs) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert closed == ["closed"]
        assert refused(url, "reset", env_idx=number)[0] == 404


class Failing(ToyEnv):
    """Fails at one action."""

    def _act(self, action: str) -> Outcome:
        if action == "fail":
            raise RuntimeError("the engine is out of order")
        return super()._act(action)


@pytest.mark.parametrize(
    ("call", "body", "status", "words"),
    [
        ("step", {"env_idx": None, "action": "press red"}, 400, "expected env_idx"),
        ("step", {"env_idx": "no", "action": "x"}, 400, "expected env_idx"),
        ("step", {"env_idx": 5, "action": "x"}, 404, "got 5"),
        ("step", {"action": "x"}, 409, "expected a running episode"),
        ("reset", {"data_idx": 10**6}, 404, "expected an index"),
        ("reset", {"session_id": 10**6}, 404, "expected an index"),
        ("reset", {"session": 3}, 400, "got 'session' (did you mean 'session_id'?)"),
        ("reset", {"data_idx": 1, "game": 2}, 400, "got data_idx and game"),
        ("reset", {"game": 1, "world_type": "Embody"}, 400, "expected world_type to be Text"),
        ("step", {"action": "x", "text": "y"}, 400, "got 'text'"),
        ("close", {"all": True}, 400, "got 'all'"),
        ("create", {"env_idx": 0}, 400, "got 'env_idx'"),
        ("reset", {"data_idx": "1"}, 400, "index"),
        ("reset", {"split": "no"}, 404, "train, valid, test"),
        ("reset", {"seed": -1}, 400, "seed"),
        ("reset", {"horizon": 0}, 400, "horizon"),
        ("observe", {}, 404, "expected one of AgentGym's calls, got POST /observe"),
    ],
)
def test_bad_requests_say_what_is_wrong(
    call: str, body: dict[str, Any], status: int, words: str, toy_server: str, idle_env: int
) -> None:
    code, error = refused(toy_server, call, **{"env_idx": idle_env, **body})
    assert (code, words in error) == (status, True), error


@pytest.fixture(scope="module")
def toy_server() -> Iterator[str]:
    with served(Failing) as (url, _):
        yield url


@pytest.fixture(scope="module")
def idle_env(toy_server: str) -> int:
    """The number of an environment in which no episode runs."""
    number: int = ask(toy_server, "createEnv")["env_idx"]
    return number


def test_an_environment_that_fails_costs_its_episode_and_pays_nothing(toy_server: str) -> None:
    number = ask(toy_server, "createEnv")["env_idx"]
    ask(toy_server, "reset", env_idx=number)
    status, error = refused(toy_server, "step", env_idx=number, action="fail")
    assert (status, "the engine is out of order" in error) == (500, True)
    assert refused(toy_server, "step", env_idx=number, action="press red")[0] == 409
    assert ask(toy_server, "available_actions", env_idx=number) == {"available_actions": []}
    assert ask(toy_server, "reset", env_idx=number)["done"] is False
    assert ask(toy_server, "step", env_idx=number, action="press red")["info"]["turn"] == 1


@pytest.mark.parametrize("body", [b"[", b"[]", b"[" * 100_000, b"\xff"])
def test_what_is_no_json_object_is_refused(toy_server: str, body: bytes) -> None:
    with pytest.raises(HTTPError) as caught, urlopen(Request(f"{toy_server}/step", body)):
        pass
    assert caught.value.code == 400
    caught.value.close()


def test_a_body_is_bounded(toy_server: str) -> None:
    with pytest.raises((HTTPError, OSError)) as caught:
        ask(toy_server, "step", env_idx=1, action="x" * (1 << 23))
    assert getattr(caught.value, "code", 413) == 413


def test_no_page_of_another_site_plays_where_no_token_is_asked_for() -> None:
    """A browser on this machine would send what such a page tells it to."""
    with served(ToyEnv, "") as (url, envs):
        for origin, opened in (("https://elsewhere.example", 0), ("http://localhost:80", 1)):
            request = Request(f"{url}/createEnv", b"{}", {"Origin": origin})
            with contextlib.suppress(HTTPError), urlopen(request, timeout=60):
                pass
            assert len(envs) == opened, origin


def test_without_the_token_nothing_is_possible() -> None:
    with served(ToyEnv, TOKEN) as (url, envs):
        for bad_input in ("", "another"):
            with pytest.raises(HTTPError, match="401") as caught:
                ask(url, "createEnv", token=bad_input)
            caught.value.close()
        assert len(envs) == 0
        assert ask(url, "createEnv", token=TOKEN)["env_idx"] > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"host": "0.0.0.0", "open_to_all": True}, "leave --no-token out"),
        ({"open_to_all": True, "token": "x"}, "and a token"),
        ({"max_envs": 0}, "max_envs"),
        ({"idle_timeout": 0}, "idle_timeout"),
        ({"port": 70_000}, "port"),
    ],
)
def test_servers_that_cannot_be(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        serve(ToyEnv, "toy", ServerOptions(**options))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org"])
def test_opening_a_server_to_other_machines_prints_a_warning(host: str) -> None:
    warning = warning_of(host, "play here")
    text = f"warning: host {host} lets every machine that reaches this one and knows the token play"
    assert warning.startswith(text) == (host in ("0.0.0.0", "example.org")) == bool(warning)


def test_an_environment_that_cannot_be_made_takes_no_place() -> None:
    attempts: list[str] = []

    def make() -> TextEnv:
        attempts.append("made")
        if len(attempts) == 2:
            raise EnvFailure("no engine today")
        return ToyEnv()

    with served(make, max_envs=1) as (url, envs):
        assert refused(url, "createEnv") == (500, "no engine today")
        assert len(envs) == 0
        assert ask(url, "createEnv")["env_idx"] > 0


@pytest.mark.slow
def test_the_command_serves_until_it_is_stopped() -> None:
    command = [sys.executable, "-m", "agentgym", "serve", "http", "webshop", "--port", "0"]
    with subprocess.Popen(
        [*command, "--env-kwargs", "size=60", "--max-envs", "1"], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "COLUMNS": "200"},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        url, _, token = process.stdout.readline().partition("; token: ")
        url = url.removeprefix("webshop is at ")
        assert ask(url, "createEnv", token=token.strip())["env_idx"] > 0
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors
