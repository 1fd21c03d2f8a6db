"""Evaluation gives the same report, in panel order, wherever its environments run."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.cli import main
from agentgym.episodes import read_episodes, replay
from agentgym.errors import ConfigurationError
from agentgym.evaluation import EpisodeResult, evaluate, read_report
from agentgym.policies import CallablePolicy, ModelOutput
from agentgym.rewards import TurnCost
from agentgym.vector import backends
from tests.toy import TOY_ID, ToyEnv

FAULTY_ID, SLOW_ID = "agentgym-test/Faulty-v0", "agentgym-test/Slow-v0"
BACKENDS = ("thread", "process")


@pytest.fixture(autouse=True)
def registered() -> Any:
    gymnasium.register(FAULTY_ID, entry_point="tests.faulty:FaultyEnv")
    gymnasium.register(SLOW_ID, entry_point="tests.faulty:SlowEnv")
    yield
    for env_id in (FAULTY_ID, SLOW_ID):
        gymnasium.registry.pop(env_id)


class Reader:
    """Reads the next colour off the observation, and remembers how far it is in its episode."""

    playing = 0
    most_at_once = 0
    lock = threading.Lock()
    together: threading.Barrier | None = None
    """Where two that play at the same time meet, if they should."""

    def __init__(self) -> None:
        self.last_output: ModelOutput | None = None
        self.turn = -1

    def reset(self, observation: str, info: Mapping[str, Any]) -> None:
        self.turn = 0

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        with Reader.lock:
            Reader.playing += 1
            Reader.most_at_once = max(Reader.most_at_once, Reader.playing)
        if Reader.together is not None and self.turn == 0:
            Reader.together.wait()
        with Reader.lock:
            Reader.playing -= 1
        assert info["turn"] == self.turn, "two episodes share a policy"
        self.turn += 1
        action = "jump" if self.turn == 2 else f"press {observation.split()[-1]}"
        self.last_output = ModelOutput(f"<think>{observation}</think>{action}", self.turn, 2)
        return action


POLICIES = {"oracle": "oracle", "random": "random", "class": Reader}


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", POLICIES)
def test_the_report_does_not_depend_on_the_back_end(name: str, backend: str) -> None:
    order: list[EpisodeResult] = []
    kwargs: dict[str, Any] = {"env_kwargs": {"grammar": "native", "reward_hooks": [TurnCost()]}}
    expected = evaluate(POLICIES[name], TOY_ID, num_tasks=12, seed=3, **kwargs)
    report = evaluate(
        POLICIES[name], TOY_ID, num_tasks=12, seed=3, backend=backend, concurrency=2,
        on_episode=order.append, **kwargs
    )  # fmt: skip
    assert report == expected and {*map(str, order)} == {*map(str, report.rows)}
    assert report.errors == 0


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_records_are_the_same_and_put_into_panel_order(tmp_path: Path, backend: str) -> None:
    for name, options in (("sync", {}), (backend, {"concurrency": 2})):
        evaluate(
            Reader, TOY_ID, num_tasks=9, record=tmp_path / f"{name}.jsonl", backend=name, **options
        )
        evaluate(Reader, TOY_ID, num_tasks=9, out=tmp_path / name, backend=name, **options)
    lines = [(tmp_path / f"{name}.jsonl").read_text().splitlines() for name in ("sync", backend)]
    assert sorted(lines[0]) == sorted(lines[1])
    stored = [(tmp_path / name / "episodes.jsonl").read_text() for name in ("sync", backend)]
    assert stored[0] == stored[1] == "\n".join(lines[0]) + "\n"
    episodes = list(read_episodes(tmp_path / f"{backend}.jsonl"))
    episodes.sort(key=lambda episode: lines[0].index(episode.to_line().strip()))
    assert episodes[4].turns[1].raw_text and episodes[4].turns[1].prompt_tokens == 2
    assert all(replay(episode).equal for episode in episodes)


def test_episodes_are_played_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    Reader.most_at_once = 0
    with monkeypatch.context() as patch:
        patch.setattr(Reader, "together", threading.Barrier(2, timeout=60))
        evaluate(Reader, TOY_ID, num_tasks=40, backend="thread")
    assert 1 < Reader.most_at_once <= 8
    Reader.most_at_once = 0
    evaluate(Reader(), TOY_ID, num_tasks=5, backend="thread")
    assert Reader.most_at_once == 1


@pytest.mark.parametrize(
    ("backend", "how"),
    [
        pytest.param("thread", "hang", marks=pytest.mark.slow),
        pytest.param("process", "hang", marks=pytest.mark.slow),
        ("process", "crash"), ("thread", "raise"),
    ],
)  # fmt: skip
def test_what_fails_costs_one_episode(backend: str, how: str) -> None:
    turns = iter([how, "press red"] + ["press pink"] * 100)
    report = evaluate(
        CallablePolicy(lambda observation, info: next(turns)), FAULTY_ID, num_tasks=3, horizon=3,
        backend=backend, step_timeout=3.0 if how == "hang" else None,
    )  # fmt: skip
    assert [row.stop_reason for row in report.rows] == ["error", "horizon", "horizon"]
    assert report.rows[0].error and report.rows[0].invalid == 0
    assert (report.n, report.errors) == (2, 1)


def test_a_failed_reset_costs_one_episode() -> None:
    kwargs = {"bad_reset": "raise"}
    rows = evaluate(
        "oracle", FAULTY_ID, num_tasks=8, env_kwargs=kwargs, backend="thread", concurrency=2
    ).rows
    assert {row.stop_reason for row in rows} == {"error", "success"}
    assert all(row.invalid is None for row in rows if row.stop_reason == "error")


def test_a_mistake_in_the_set_up_stops_all_episodes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Reader):
        def act(self, observation: str, info: Mapping[str, Any]) -> str:
            if info["turn"] == 1:
                raise ConfigurationError("expected a model")
            return "wait"

    monkeypatch.setattr(backends, "THREAD_NAME", "slots-of-this-test")
    with pytest.raises(ConfigurationError, match="expected a model"):
        evaluate(Broken, SLOW_ID, num_tasks=30, env_kwargs={"seconds": 0.01}, backend="thread")
    for thread in threading.enumerate():
        if thread.name == "slots-of-this-test":
            thread.join(timeout=60)
            assert not thread.is_alive()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"backend": "dask"}, "sync, thread, process, ray"),
        ({"concurrency": 2, "policy": Reader()}, "give it a method copy"),
        ({"concurrency": 2, "env": ToyEnv()}, "gymnasium.make can make again"),
        ({"step_timeout": 1.0}, "back end thread, process or ray"),
        ({"backend": "thread", "concurrency": 0}, "concurrency to be an integer of at least 1"),
        ({"backend": "process", "step_timeout": 0.0}, "step_timeout to be .*greater than 0"),
        ({"backend": "process", "step_timeout": float("nan")}, "step_timeout"),
        ({"env": ToyEnv(), "backend": "thread"}, "gymnasium.make can make again"),
        ({"policy": int}, "expected a policy"),
        ({"policy": lambda a, b, c: "press red"}, "function of .observation, info"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        evaluate(**{"policy": "random", "env": TOY_ID, "num_tasks": 2, **options})


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_command_has_the_same_doors(tmp_path: Path, capsys: Any, backend: str) -> None:
    tables, reports = [], []
    for name, flags in (("sync", ()), (backend, ("--concurrency", "2", "--step-timeout", "30"))):
        argv = ["eval", TOY_ID, "--policy", "oracle", "--num-tasks", "6", "--backend", name, *flags]
        assert main([*argv, "--out", str(tmp_path / name)]) == 0
        tables.append(capsys.readouterr().out.replace(str(tmp_path / name), "OUT"))
        reports.append(read_report(tmp_path / name))
    assert tables[0] == tables[1] and reports[0] == reports[1]
    assert main(["eval", TOY_ID, "--concurrency", "0"]) == 2
    assert "concurrency to be an integer of at least 1" in capsys.readouterr().err
