"""OpenEnv's own client, validation and graders, and ours, at our server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

pytest.importorskip("openenv.core.generic_client", reason="openenv is in .ci/peers")

import uvicorn
from openenv.core.generic_client import GenericEnvClient

from agentgym.core.env import TextEnv
from agentgym.core.outcome import Outcome
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.interop.openenv.imported import make as imported
from agentgym.interop.openenv.server import make_app
from agentgym.interop.served_envs import LARGEST, ServerOptions
from agentgym.support.http_server import GuardedApp, listen
from tests.conformance.episodes import IDS, Turn, bare, digest, episodes, play, reset_options
from tests.toy import ToyEnv

TOKEN = "a token of some length"


@contextmanager
def served(make: Callable[[], TextEnv], token: str = "", **bounds: Any) -> Iterator[str]:
    """Serve in a thread; yields the address."""
    listening = listen("127.0.0.1", 0)
    app = GuardedApp(make_app(make, "it", ServerOptions(**bounds)), token, LARGEST)
    config = uvicorn.Config(app, log_level="critical", ws_max_size=LARGEST)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def turn(result: Any) -> Turn:
    assert set(result.observation) == {"text", "metadata"}
    return result.observation["text"], result.reward, result.done


def connect(url: str, token: str = "") -> Any:
    headers = {"Authorization": f"Bearer {token}"} if token else None
    return GenericEnvClient(base_url=url, headers=headers).sync()


def ask(url: str, path: str, **body: Any) -> Any:
    data = json.dumps(body).encode() if body else None
    request = Request(f"{url}/{path}", data, {"Content-Type": "application/json"})
    with urlopen(request, timeout=60) as answer:
        return json.load(answer)


@pytest.mark.slow
@pytest.mark.parametrize("env_id", IDS)
def test_episodes_are_those_of_gymnasium(env_id: str) -> None:
    env = bare(env_id)
    expected = episodes(env, env_id)
    with served(partial(bare, env_id)) as url, connect(url) as client:

        def reset(index: int) -> Turn:
            return turn(client.reset(seed=index, **reset_options(index)))

        def step(action: str) -> Turn:
            return turn(client.step({"text": action}))

        turns = [play(episode, reset, step) for episode in expected]
    env.close()
    assert digest(turns) == digest([episode.turns for episode in expected])


@pytest.mark.slow
@pytest.mark.parametrize("env_id", IDS)
def test_what_is_served_can_be_imported(env_id: str) -> None:
    """The expert's episodes through our server, and back as an environment of ours."""
    local = bare(env_id)
    with served(partial(bare, env_id)) as url:
        remote = imported(url, list_actions=True)
        assert not [limit for limit in remote.limits if "seed" in limit]
        assert remote.tasks.len("test") == local.tasks.len("test")
        for index in range(3):
            options = {"split": "test", "index": index}
            text, info = local.reset(seed=0, options=dict(options))
            remote_text, remote_info = remote.reset(seed=0, options=dict(options))
            assert (remote_text, remote_info["goal"]) == (text, info["goal"])
            terminated = False
            while not terminated:
                assert set(remote_info["admissible_actions"]) == set(info["admissible_actions"])
                action = local.oracle_action()
                assert action is not None
                text, reward, terminated, _, info = local.step(action)
                remote_text, remote_reward, over, _, remote_info = remote.step(action)
                assert (remote_text, remote_reward, over) == (text, reward, terminated)
            assert remote_info["success"] == info["success"]
            assert remote_info["score"] == info["score"]
        remote.close()
    local.close()


def test_what_a_model_may_see_is_public() -> None:
    with served(ToyEnv) as url, connect(url) as client:
        metadata = client.reset(seed=0, split="test", index=0).observation["metadata"]
        assert not {"oracle_turns", "state_key", "admissible_actions", "tools"} & set(metadata)
        observation = client.reset(seed=0, split="test", index=0, list_actions=True).observation
        assert len(observation["metadata"]["admissible_actions"]) == 4
        result = client.step({"text": "press red"})
        assert "score" not in result.observation["metadata"]
        assert client.state()["step_count"] == 1
        while not result.done:
            result = client.step({"text": "press red"})
        assert {"success", "score", "reward_terms"} <= set(result.observation["metadata"])


def test_seeds_count() -> None:
    with served(ToyEnv) as url, connect(url) as client:
        drawn = [client.reset(seed=seed).observation["metadata"]["task_id"] for seed in (1, 2, 1)]
    assert drawn[0] == drawn[2] != drawn[1]


def test_tasks_are_listed() -> None:
    tasks = ToyEnv().tasks
    with served(ToyEnv) as url:
        assert [split["name"] for split in ask(url, "it/splits")] == list(tasks.splits)
        assert ask(url, "it/num_tasks", split="valid") == {"num_tasks": tasks.len("valid")}
        assert len(ask(url, "it/tasks", split="train")["tasks"]) == 1000
        third = tasks.task("test", 3)
        expected = {"id": third.id, "index": 3, "goal": third.goal, "sha256": third.digest()}
        assert ask(url, "it/task", split="test", index=3) == {"task": expected}
        assert ask(url, "it/task_range", split="test", start=3, stop=5)["tasks"][0] == expected
        for split, index in (("test", 10**6), ("no", 0)):
            with pytest.raises(HTTPError, match="400") as caught:
                ask(url, "it/task", split=split, index=index)
            caught.value.close()


class Failing(ToyEnv):
    """Fails at one action."""

    def _act(self, action: str) -> Outcome:
        if action == "fail":
            raise RuntimeError("the engine is out of order")
        return super()._act(action)


def test_a_failure_costs_the_episode_and_pays_nothing() -> None:
    with served(Failing) as url, connect(url) as client:
        client.reset(seed=0)
        with pytest.raises(RuntimeError, match="out of order"):
            client.step({"text": "fail"})
        with pytest.raises(RuntimeError, match="reset"):
            client.step({"text": "press red"})
        with pytest.raises(RuntimeError, match="train, valid, test"):
            client.reset(split="no")
        with pytest.raises(RuntimeError, match="got 'difficulty'"):
            client.reset(difficulty="easy")
        assert client.reset(seed=0).done is False


def test_many_sessions_do_not_meet() -> None:
    """256 sessions at the same time, of 64 clients' threads: each equals one played alone."""

    def press_buttons(
        index: int, reset: Callable[[], Turn], step: Callable[[str], Turn]
    ) -> list[Turn]:
        colours = [("red", "blue", "green", "gold")[(index + n) % 4] for n in range(3)]
        turns = [reset()]
        for colour in colours:
            if not turns[-1][2]:
                turns.append(step(f"press {colour}"))
        return turns

    def alone(index: int) -> list[Turn]:
        env = ToyEnv()

        def step(action: str) -> Turn:
            text, reward, terminated, truncated, _ = env.step(action)
            return text, reward, terminated or truncated

        def reset() -> Turn:
            return env.reset(seed=index, options={"index": index})[0], 0.0, False

        return press_buttons(index, reset, step)

    with served(ToyEnv) as url:
        clients = [connect(url) for _ in range(256)]
        with ThreadPoolExecutor(64) as threads:
            list(threads.map(lambda client: client.connect(), clients))

            def through(index: int) -> list[Turn]:
                client = clients[index]
                return press_buttons(
                    index,
                    lambda: turn(client.reset(seed=index, index=index)),
                    lambda action: turn(client.step({"text": action})),
                )

            sessions = list(threads.map(through, range(256)))
            with pytest.raises(Exception, match=r"(?i)capacity|maximum"), connect(url) as late:
                late.reset()
            list(threads.map(lambda client: client.close(), clients))
    assert sessions == [alone(index) for index in range(256)]


class Noting(ToyEnv):
    """Notes which were closed."""

    closed = 0

    def close(self) -> None:
        type(self).closed += 1
        super().close()


def waited(happened: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not happened() and time.monotonic() < deadline:
        time.sleep(0.05)
    return happened()


def test_the_session_of_a_client_that_was_killed_is_closed() -> None:
    with served(Noting, max_envs=1) as url:
        code = (
            "import sys, time\n"
            "from openenv.core.generic_client import GenericEnvClient\n"
            "client = GenericEnvClient(base_url=sys.argv[1]).sync(); client.connect()\n"
            "client.reset(seed=0); print('playing', flush=True); time.sleep(600)\n"
        )
        with subprocess.Popen([sys.executable, "-c", code, url], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None and child.stdout.readline() == b"playing\n"
            closed_before = Noting.closed
            child.kill()
        assert waited(lambda: Noting.closed > closed_before)
        with connect(url) as client:
            assert client.reset(seed=0).done is False


def test_a_server_with_one_session_says_so_to_the_second_client() -> None:
    """One is OpenEnv's default."""
    with served(ToyEnv, max_envs=1) as url:
        first, second = imported(url), imported(url)
        first.reset(options={"split": "test", "index": 0})
        with pytest.raises(EnvFailure, match="max_concurrent_envs"):
            second.reset(options={"split": "test", "index": 0})
        first.step("press red")
        first.close()

        def begun() -> bool:
            with suppress(EnvFailure):
                return bool(second.reset(options={"split": "test", "index": 0}))
            return False

        assert waited(begun)
        second.close()


def test_an_idle_session_is_closed() -> None:
    with served(Noting, idle_timeout=0.1) as url, connect(url) as client:
        client.reset(seed=0)
        closed_before = Noting.closed
        assert waited(lambda: Noting.closed > closed_before)
        with pytest.raises(RuntimeError, match="expected an open session"):
            client.step({"text": "press red"})


def test_without_the_token_nothing_is_possible() -> None:
    with served(ToyEnv, TOKEN) as url:
        for bad_input in ("", "another"):
            with pytest.raises(Exception, match="403"):
                connect(url, bad_input).connect()
        with pytest.raises(HTTPError, match="401") as caught:
            ask(url, "reset", seed=0)
        caught.value.close()
        with connect(url, TOKEN) as client:
            assert client.reset(seed=0).done is False


def test_bodies_are_bounded_and_pages_of_others_refused() -> None:
    with served(ToyEnv) as url:
        with pytest.raises((HTTPError, OSError)) as caught:
            ask(url, "reset", episode_id="x" * (LARGEST + 1))
        assert getattr(caught.value, "code", 413) == 413
        page = Request(f"{url}/health", headers={"Origin": "http://evil.example"})
        with pytest.raises(HTTPError, match="403") as refused:
            urlopen(page, timeout=60)
        refused.value.close()


@pytest.mark.parametrize(
    "options", [{"max_envs": 0}, {"idle_timeout": 0}, {"idle_timeout": float("nan")}]
)
def test_servers_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        make_app(ToyEnv, "toy", ServerOptions(**options))


# -- OpenEnv's validation --------------------------------------------------------------------------


@contextmanager
def command(*arguments: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", *arguments], text=True, stdout=subprocess.PIPE, **options
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


def validate(*arguments: str) -> str:
    tool = Path(sys.executable).with_name("openenv")
    process = subprocess.run([tool, "validate", *arguments], capture_output=True, text=True)
    assert process.returncode == 0, process.stdout
    return process.stdout


@pytest.mark.slow
def test_a_running_server_is_valid() -> None:
    argv = ("serve", "openenv", "webshop", "--env-kwargs", "size=60", "--no-token", "--port", "0")
    with command("agentgym", *argv, env={**os.environ, "COLUMNS": "200"}) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split(" is at ")[1].split(";")[0]
        assert "FAIL" not in validate(url)


@pytest.mark.slow
def test_a_folder_is_valid_and_its_own_copy_serves(tmp_path: Path) -> None:
    """What OpenEnv grades in a container it grades here of the server in the folder.

    Its ``push`` accepts the folder, and uploads all of it.
    """
    from openenv.cli.commands import push
    from openenv.validation.graders.runtime import basic
    from openenv.validation.manifest import ExecutionDeclaration
    from openenv.validation.parsers.openenv_yaml import OpenEnvYamlParser
    from openenv.validation.runtime.collector import collect_runtime_evidence
    from openenv.validation.runtime.contracts import load_runtime_plan

    folder = tmp_path / "shop"
    write = ["push", "openenv", "webshop", str(folder), "--env-kwargs", "size=60"]
    subprocess.run([sys.executable, "-m", "agentgym", *write], check=True)
    assert "PASS  static.manifest" in validate("--level", "static", str(folder))
    staged = tmp_path / "staged"
    name, _ = push._validate_openenv_directory(folder)
    push._prepare_staging_directory(folder, name, staged, push.DEFAULT_PUSH_IGNORE_PATTERNS)
    uploaded = {path.relative_to(staged) for path in staged.rglob("*")}
    assert {path.relative_to(folder) for path in folder.rglob("*")} - uploaded == {
        Path(".dockerignore")
    }
    manifest = OpenEnvYamlParser().parse(folder)
    plan = load_runtime_plan(folder, ExecutionDeclaration())
    port = listen("127.0.0.1", 0)
    number = port.getsockname()[1]
    port.close()
    argv = ("uvicorn", "server.app:app", "--port", str(number), "--log-level", "critical")
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    with command(*argv, cwd=folder, env=environment):
        url = f"http://127.0.0.1:{number}"
        assert waited(lambda: answers(url))
        evidence = collect_runtime_evidence(url, plan, episode_timeout_s=60)
    assert not evidence.failure_reason

    class Subject:
        """What a grader is given."""

        runtime_evidence = evidence

    Subject.manifest = manifest  # type: ignore[attr-defined]
    for grader in (
        basic.RewardWellFormedGrader(),
        basic.ObservationSchemaGrader(),
        basic.StateContractGrader(),
    ):
        result = grader.run(Subject)
        assert result.status.value == "pass", result.evidence
    second = subprocess.run(
        [sys.executable, "-m", "agentgym", *write], capture_output=True, text=True
    )
    assert second.returncode == 2 and "expected a new folder" in second.stderr


def answers(url: str) -> bool:
    try:
        return bool(ask(url, "health"))
    except OSError:
        return False
