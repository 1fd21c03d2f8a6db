from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from trainers.config.config_file import compare, stored_settings
from trainers.config.schema import RlConfig, TrainConfig

BASE = TrainConfig(env="webshop", steps=6)
RESOLVED: dict[str, Any] = {"rounds": [5, 8], "minutes": 12.0, "rl": {"learning_rate": 6e-4}}


def after(resolved: dict[str, Any] = RESOLVED, **changes: Any) -> dict[str, Any]:
    return stored_settings(dataclasses.replace(BASE, **changes), resolved)


def test_the_same_settings_are_the_same_run():
    unweighted = compare(after(), after())
    assert (unweighted.changes, unweighted.extends) == ((), False)


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (after(seed=3), "seed was 0 and is 3"),
        (after(rl=RlConfig(learning_rate=1e-3)), "rl.learning_rate was None and is 0.001"),
        (after({**RESOLVED, "rounds": [9]}), "resolved.rounds was [5, 8] and is [9]"),
        (
            after({**RESOLVED, "rl": {"learning_rate": 7e-4}}),
            "resolved.rl.learning_rate was 0.0006 and is 0.0007",
        ),
        (after(steps=5), "steps was 6 and is 5, but a run cannot be shortened"),
        (after(minutes=5.0), "minutes was 12 and is 5, but a run cannot be shortened"),
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
    changed_config = after(backend="thread", workers=3, threads=2, report_to=("tensorboard",))
    assert compare(after(), changed_config).changes == ()
    assert compare(after(), after(window=3)).changes
