"""Fully asynchronous rollouts through the command: settings, a kill in between, and refusals."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from agentgym.errors import ConfigurationError
from tests.toy import TOY_ID
from tests.trainers import toy_runs
from trainers.cli import main, parse_config
from trainers.config.resolve import resolve
from trainers.methods.table import in_flight, lag_of

QUICK = {"steps": 4, "sft__max_steps": 10, "eval__every": 2, "eval__num_tasks": 8}
FREE = ("--async-rollouts.mode=fully-async", "--async-rollouts.staleness=4")


@pytest.mark.slow
def test_a_killed_run_goes_on_with_the_groups_that_were_planned(tmp_path, monkeypatch):
    changes = {**QUICK, "rl__save_every": 2, "rl__filters": "none"}
    with monkeypatch.context() as patch, pytest.raises(toy_runs.killed_at("rl", 3, patch)):
        main(toy_runs.arguments(tmp_path, *FREE, **changes))
    assert not [t for t in threading.enumerate() if t.name == "agentgym-rollouts"]
    assert main(["--resume", "--out", str(tmp_path)]) == 0
    records = toy_runs.by_phase(tmp_path)["rl"]
    assert [record["step"] for record in records] == [1, 2, 3, 4]
    for name in ("staleness", "staleness_max", "too_old", "partial", "importance_mean"):
        assert all(name in record for record in records), name
    assert all(record["staleness_max"] <= 4 for record in records)


def test_the_episodes_at_a_time_follow_from_the_bound() -> None:
    run = resolve(parse_config(["--env", TOY_ID, *FREE]))
    assert lag_of(run.config) == 2
    assert in_flight(run.config) == 3 * run.config.rl.episodes
    run = resolve(parse_config(["--env", TOY_ID, *FREE, "--async-rollouts.max-concurrent=7"]))
    assert in_flight(run.config) == 7
    run = resolve(parse_config(["--env", TOY_ID, "--async-rollouts.staleness=1"]))
    assert (lag_of(run.config), in_flight(run.config)) == (1, run.config.rl.episodes)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--async-rollouts.mode=fully-async"], "staleness of at least 1"),
        (["--async-rollouts.max-concurrent=9"], "only with --async-rollouts.mode fully-async"),
        ([*FREE, "--preset=arpo"], "fixed-lag with forks .* or a preset without forks"),
        ([*FREE, "--refill.groups=2"], "fixed-lag with --refill.groups.* or --refill.groups 0"),
        (
            [*FREE, "--cross-policy.share=0.2"],
            "fixed-lag with --cross-policy.share.* or --cross-policy.share 0",
        ),
        ([*FREE, "--agent=tests.trainers.toy_agents:play"], "fixed-lag with --agent.* no --agent"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(flags: list[str], sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence) as refused:
        resolve(parse_config(["--env", TOY_ID, *flags]))
    assert "\n" not in str(refused.value)


def test_several_processes_are_refused(monkeypatch: Any) -> None:
    from trainers import processes
    from trainers.methods.async_rollouts.settings import check_processes

    run = resolve(parse_config(["--env", TOY_ID, *FREE]))
    monkeypatch.setattr(processes, "world", lambda: 2)
    sentence = r"fixed-lag with several processes.*start one process"
    with pytest.raises(ConfigurationError, match=sentence):
        check_processes(run)
