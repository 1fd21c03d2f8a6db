"""``agentgym replay``: what it says, counts, writes, and with which code it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.episodes import Episode, append_episode, read_episodes, replay
from agentgym.rewards import TurnCost, parse_hooks
from tests.cli.test_commands import OwnHook, run, wide
from tests.episodes.test_rescorer import recorded
from tests.toy import TOY_ID

__all__ = ["wide"]  # a fixture of every test here


@pytest.fixture
def good() -> Episode:
    return recorded(gymnasium.make(TOY_ID, reward_hooks=[TurnCost(0.5)]), 3, ("press pink",))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "e.jsonl"


def write(path: Path, *episodes: Episode) -> None:
    for episode in episodes:
        append_episode(path, episode)


def changed(episode: Episode) -> Episode:
    turn = episode.turns[0]
    return replace(episode, turns=(replace(turn, action_valid=True), *episode.turns[1:]))


def remove_task(episode: Episode) -> Episode:
    return replace(episode, options={"task_id": "toy/none"})


def test_it_counts_the_outcome_of_every_episode(capsys: Any, path: Path, good: Episode) -> None:
    own_hook = recorded(gymnasium.make(TOY_ID, reward_hooks=[OwnHook()]), 3)
    unbegun = replace(good, stop_reason="error", start=replace(good.start, state_key=""), turns=())
    write(path, good, changed(good), remove_task(good), own_hook, unbegun, remove_task(good), good)
    code, out, _ = run(capsys, "replay", str(path))
    assert code == 1
    assert f"episode 2 ({good.task_id}): turn 1: action_valid differs" in out
    assert "2 equal, 1 changed, 4 cannot be played again (the task is gone: 2, first: " in out
    assert "the environment cannot be made: 1, first: expected an environment for" in out
    assert "the environment never began: 1)." in out
    code, out, _ = run(capsys, "replay", str(path), "--json")
    summary = json.loads(out)
    assert code == 1 and (summary["equal"], summary["changed"], summary["not_played"]) == (2, 1, 4)
    assert summary["changes"][0]["episode"] == 2 and summary["torn_lines"] == []
    assert {entry["reason"]: entry["episodes"] for entry in summary["reasons"]} == {
        "the task is gone": 2,
        "the environment cannot be made": 1,
        "the environment never began": 1,
    }
    code, out, _ = run(capsys, "replay", str(path), "--max-episodes", "1")
    assert code == 0 and out == "1 equal, 0 changed.\n"


def test_a_torn_last_line_is_told(capsys: Any, path: Path, good: Episode) -> None:
    write(path, good, good)
    with path.open("a") as file:
        file.write(good.to_line()[:99])
    code, out, _ = run(capsys, "replay", str(path))
    assert code == 0
    assert "2 equal, 0 changed. Skipped: line 3 is cut off" in out
    assert json.loads(run(capsys, "replay", str(path), "--json")[1])["torn_lines"] == [3]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ((), "none of 1 can be played again (the task is gone: 1, first: "),
        (("--max-episodes", "0"), "expected --max-episodes to be an integer of at least 1, got 0"),
        (("--reward-hooks", "repeat"), "expected --rescore with --reward-hooks"),
        (("--env-kwargs", "a=1", "--out", "x"), "expected --rescore with --env-kwargs, --out"),
        (("--rescore", "--reward-hooks", "shine"), "expected the name of a reward hook"),
        (("--rescore", "--env-kwargs", "a"), "expected --env-kwargs as name=value"),
        (("--rescore", "--out", "/dev/null"), "expected an unused name, got /dev/null"),
        (("--rescore", "--out", "/dev/null/x"), "expected a writable path"),
    ],
)
def test_bad_input(capsys: Any, path: Path, good: Episode, flags: Any, words: str) -> None:
    write(path, remove_task(good))
    code, out, err = run(capsys, "replay", str(path), *flags)
    assert code == 2 and words in err and out == ""


def test_a_file_without_episodes(capsys: Any, path: Path) -> None:
    path.write_text("\n")
    assert "but there are none" in run(capsys, "replay", str(path))[2]


def test_rescoring_shows_and_writes(capsys: Any, path: Path, good: Episode) -> None:
    write(path, good, remove_task(good), good)
    new = path.with_name("new.jsonl")
    flags = [
        "--rescore",
        "--reward-hooks",
        "repeat=0.25",
        "--reward-hooks",
        "invalid_action=0.1",
        "--out",
    ]
    code, out, _ = run(capsys, "replay", str(path), *flags, str(new))
    assert code == 0 and "3 rescored, 0 changed." in out  # the record alone is enough
    rows = {
        cells[1].strip(): cells[2:4] for line in out.splitlines() if (cells := line.split("│"))[1:]
    }
    assert float(rows["return"][0]) == round(good.reward, 4) and float(rows["return"][1]) == 0.9
    assert "term turn_cost" in rows and rows["term repeat"][0].strip() == ""
    episodes = list(read_episodes(new))
    assert [episode.hooks for episode in episodes] == [("repeat", "invalid_action")] * 3
    assert replay(episodes[0]).equal
    code, _, err = run(capsys, "replay", str(path), *flags, str(new))
    assert code == 2 and "which exists" in err
    assert [entry.name for entry in sorted(path.parent.iterdir())] == ["e.jsonl", "new.jsonl"]


def test_rescoring_with_settings_plays(capsys: Any, path: Path, good: Episode) -> None:
    write(path, good, remove_task(good))
    code, out, _ = run(
        capsys, "replay", str(path), "--rescore", "--env-kwargs", "horizon=8", "--json"
    )
    summary = json.loads(out)
    assert code == 0 and (summary["equal"], summary["not_played"]) == (1, 1)
    assert summary["before"]["return"] == good.reward and summary["after"]["return"] == 1.0
    assert summary["after"]["terms"] == {"task": 1.0}
    code, out, _ = run(capsys, "replay", str(path), "--rescore", "--env-kwargs", "horizon=2")
    assert code == 1 and "0 rescored, 1 changed, 1 cannot be played again" in out
    assert "turn 2: truncated differs: expected False, got True" in " ".join(out.split())


def test_hooks_are_spelt_as_for_training(capsys: Any, path: Path, good: Episode) -> None:
    write(path, good)
    texts = ["potential:gamma=0.95,weight=0.5", "turn_cost=0.01"]
    summary = json.loads(
        run(capsys, "replay", str(path), "--rescore", "--json", "--reward-hooks", *texts)[1]
    )
    assert list(summary["after"]["terms"]) == ["task", *(hook.name for hook in parse_hooks(texts))]


OWN = ("--env", f"tests.toy:{TOY_ID}")  # processes know what the command imports


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("--rescore", "--reward-hooks", "repeat=0.25"),
        ("--rescore", "--env-kwargs", "horizon=8"),
    ],
)
def test_several_processes_say_and_write_the_same(
    capsys: Any, path: Path, good: Episode, flags: tuple[str, ...]
) -> None:
    episodes = [
        replace(episode, extra={"number": number})
        for number, episode in enumerate([good, changed(good), remove_task(good), good] * 6)
    ]
    write(path, *episodes)
    results, records = [], []
    for jobs in ("1", "2"):
        new = path.with_name(f"{jobs}.jsonl")
        output = ("--out", str(new)) if flags else ()
        argv = ["replay", str(path), *OWN, "--json", "--workers", jobs, *flags, *output]
        code, out, _ = run(capsys, *argv)
        results.append((code, out))
        records.append(new.read_text() if flags else "")
    assert results[0] == results[1] and records[0] == records[1]
    if not flags:
        changes = json.loads(results[1][1])["changes"]
        assert [change["episode"] for change in changes] == [*range(2, 25, 4)]


def test_a_process_that_dies_ends_the_command(capsys: Any, path: Path) -> None:
    env = gymnasium.make("tests.dying:Dying-v0")
    write(path, recorded(env, 3))
    code, _, err = run(
        capsys, "replay", str(path), "--env", "tests.dying:Dying-v0", "--workers", "2"
    )
    assert code == 2 and "expected 2 processes to keep running, but one died" in err


@pytest.mark.slow
def test_ctrl_c_ends_all_processes(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    write(path, *[recorded(gymnasium.make("tests.dying:Hanging-v0"), 3)] * 4)
    argv = ["replay", str(path), "--env", "tests.dying:Hanging-v0", "--workers", "2"]
    marker = tmp_path / "began"
    command = subprocess.Popen(
        [sys.executable, "-m", "agentgym", *argv],
        env={**os.environ, "HANGS": str(marker)},
        cwd=Path(__file__).parents[2],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        while not marker.exists():
            assert command.poll() is None
            time.sleep(0.02)
        os.killpg(command.pid, signal.SIGINT)  # as a terminal does
        assert command.stderr is not None
        # Nobody holds the other end of the pipe any more: the processes have ended, too.
        assert command.stderr.read() == "stopped\n" and command.wait() == 130
    finally:
        with suppress(ProcessLookupError):
            os.killpg(command.pid, signal.SIGKILL)
