"""``agentgym serve webshop``, as a person starts and stops it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from agentgym.cli import main
from agentgym.episodes import read_episodes

SMALL = ("--env-kwargs", "size=60", "difficulty=easy", "horizon=2")


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(argv)
    captured = capsys.readouterr()
    return code, captured.out, " ".join(captured.err.split())


@contextmanager
def serving(*argv: str) -> Iterator[tuple[Any, str, str]]:
    """Run the command; yields the process, the address of the page and what it says besides."""
    command = [sys.executable, "-m", "agentgym", "serve", "webshop", "--port", "0", *SMALL, *argv]
    with subprocess.Popen(
        command, text=True, env={**os.environ, "COLUMNS": "80"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            url = process.stdout.readline().removeprefix("shop at ").strip()
            yield process, url, process.stdout.readline()
        finally:
            process.kill()


def ask(url: str, endpoint: str, **body: Any) -> dict[str, Any]:
    headers = {"Content-Type": "application/json"}
    request = Request(f"{url}api/{endpoint}", json.dumps(body).encode(), headers)
    with urlopen(request, timeout=60) as answer:
        content: dict[str, Any] = json.load(answer)
        return content


def play(url: str, index: int, actions: int) -> None:
    state = ask(url, "begin", split="test", index=index)
    for turn in range(actions):
        ask(url, "act", session=state["session"], turn=turn, search="usb hub")


def test_a_visit_is_recorded_and_ctrl_c_ends_it(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "demos.jsonl"
    with serving("--record", str(file), "--split", "valid", "--seed", "7") as (process, url, line):
        assert url.startswith("http://127.0.0.1:") and "press Ctrl-C to stop" in line
        assert str(file) in line
        task = ask(url, "begin")["task"]
        assert (task["split"], task["seed"]) == ("valid", 7)
        play(url, 0, 2)
        play(url, 1, 1)
        with urlopen(url, timeout=60) as page:
            assert b"<title>" in page.read()
        with pytest.raises(HTTPError, match="403"):
            urlopen(url.rsplit("/", 2)[0], timeout=60)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (130, "stopped\n")
    assert out == f"1 episode in {file}\n"
    [episode] = read_episodes(file)
    assert (episode.policy, episode.task_id.rsplit("/", 2)[1:]) == ("human", ["test", "0"])
    code, out, _ = run(capsys, "replay", str(file))
    assert code == 0 and "1 equal" in out


@pytest.mark.slow
def test_a_killed_server_loses_the_open_episode_only(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "demos.jsonl"
    for _ in range(2):
        with serving("--record", str(file)) as (process, url, _):
            play(url, 0, 2)
            play(url, 1, 2)
            play(url, 2, 1)
            process.send_signal(signal.SIGKILL)
            process.wait()
    assert [episode.task_id[-1] for episode in read_episodes(file)] == ["0", "1", "0", "1"]
    file.write_bytes(file.read_bytes()[:-100])  # as a full disk or a lost machine leaves it
    with serving("--record", str(file)) as (process, url, _):
        play(url, 3, 2)
        process.send_signal(signal.SIGTERM)
        process.wait()
    torn: list[int] = []
    ids = [episode.task_id[-1] for episode in read_episodes(file, on_torn=torn.append)]
    assert (ids, torn) == (["0", "1", "0", "3"], [4])


def test_nothing_is_recorded_unless_asked_for() -> None:
    with serving() as (process, url, line):
        assert "nothing is recorded (--record FILE)" in line
        play(url, 0, 2)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=120)[0] == ""


@pytest.mark.parametrize("env", ["alfworld", "textworld", "agentgym/ALFWorld-v0"])
def test_other_families_are_played_in_the_terminal(capsys: Any, env: str) -> None:
    code, _, err = run(capsys, "serve", "webshop", "--env", env)
    message = f"expected --env to name a WebShop, the only family with pages, got '{env}'"
    assert code == 2 and message in err
    assert "agentgym play" in err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["webshop", "--env", "chess"], "expected the name of an environment"),
        (["webshop", "--host", "0.0.0.0"], "SSH tunnel"),
        (["webshop", "--split", "nowhere"], "split"),
        (["webshop", "--seed", "-1"], "seed"),
        (["webshop", "--port", "70000"], "port"),
        (["webshop", "--env-kwargs", "size=x"], "size"),
        (["webshop", "--env-kwargs", "colour=red"], "colour"),
        (["webshop", "--record", "."], "expected a file"),
    ],
)
def test_what_cannot_be_served_is_said(capsys: Any, argv: list[str], words: str) -> None:
    code, _, err = run(capsys, "serve", *argv)
    assert code == 2 and words in err, err


@pytest.mark.parametrize("argv", [["serve"], ["serve", "chess"]])
def test_what_is_served_is_said(capsys: Any, argv: list[str]) -> None:
    assert main(argv) == 2
    err = capsys.readouterr().err
    assert all(name in err for name in ("sandbox", "search", "webshop"))


def test_an_id_of_a_webshop_is_served_too(
    capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ownshop.py").write_text(
        "import gymnasium\n"
        "from agentgym.envs.webshop.env import WebShopEnv\n"
        "gymnasium.register('own/Shop-v0', entry_point=WebShopEnv, kwargs={'size': 60})\n"
    )
    monkeypatch.chdir(tmp_path)
    code, _, err = run(
        capsys, "serve", "webshop", "--env", "ownshop:own/Shop-v0", "--host", "192.0.2.1"
    )
    assert code == 2 and "only this machine" in err, "it came as far as the address"


def test_the_extra_is_named_that_is_missing() -> None:
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['starlette', 'uvicorn'])); "
        "from agentgym.cli import main; sys.exit(main(['serve', 'webshop', '--port', '0']))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert process.returncode == 2 and "[serve]" in process.stderr
