from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from trainers.config.schema import RlConfig, RolloutConfig, TrainConfig
from trainers.config.stored import compare, kept, read_config, read_settings

BASE = TrainConfig(env="webshop", steps=6)
RESOLVED: dict[str, Any] = {"rounds": [5, 8], "minutes": 12.0, "rl": {"lr": 6e-4}}


def after(resolved: dict[str, Any] = RESOLVED, **changes: Any) -> dict[str, Any]:
    return kept(dataclasses.replace(BASE, **changes), resolved)


def test_the_same_settings_are_the_same_run():
    same = compare(after(), after())
    assert (same.changes, same.extends) == ((), False)


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (after(seed=3), "seed was 0 and is 3"),
        (after(rl=RlConfig(lr=1e-3)), "rl.lr was None and is 0.001"),
        (after({**RESOLVED, "rounds": [9]}), "resolved.rounds was [5, 8] and is [9]"),
        (after({**RESOLVED, "rl": {"lr": 7e-4}}), "resolved.rl.lr was 0.0006 and is 0.0007"),
        (after(steps=5), "steps was 6 and is 5, and a run only grows"),
        (after(minutes=5.0), "minutes was 12 and is 5, and a run only grows"),
    ],
)
def test_what_makes_it_another_run_is_said(now, words):
    assert compare(after(), now).changes == (words,)


@pytest.mark.parametrize(
    "now",
    [
        after(steps=7),
        after(minutes=13.0),
        after(minutes=0.0),
        after({**RESOLVED, "minutes": 0.0}, steps=7),
    ],
)
def test_more_steps_or_minutes_extend_a_run(now):
    longer = compare(after(), now)
    assert (longer.changes, longer.extends) == ((), True)


def test_what_changes_no_number_may_change():
    now = after(rollout=RolloutConfig(backend="thread", workers=3), report_to=("tensorboard",))
    assert compare(after(), now).changes == ()
    assert compare(after(), after(rollout=RolloutConfig(window=3))).changes


def test_a_file_of_an_earlier_version_has_other_names_and_fewer_settings(tmp_path: Path):
    file = tmp_path / "config.yaml"
    file.write_text(
        "env: webshop\nevery: 7\nfit: false\nseed: 2\nrl: {success_bonus: 1.0}\n"
        "resolved: {every: 7, rounds: [5], optimiser: {adam_beta2: 0.98}}\n"
    )
    config = read_config(file)
    assert (config.horizon_every, config.fit_horizon, config.seed) == (7, False, 2)
    stored = read_settings(file)
    assert stored["resolved"]["horizon_every"] == 7
    now = kept(config, {"horizon_every": 7, "rounds": [5], "success_bonus": 1.0})
    assert compare(stored, now) == compare(now, now)
