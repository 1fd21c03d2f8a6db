"""The order of what happens after a step, as a run's own parts were called."""

from __future__ import annotations

from typing import Any

import pytest

from tests.trainers import toy_runs
from trainers.grpo.step_end import StepEnd
from trainers.output.display import Display
from trainers.phases.best import BestPolicy
from trainers.phases.monitoring.health_watch import HealthWatch
from trainers.phases.monitoring.run_logger import RunLogger
from trainers.phases.periodic_validation import PeriodicValidation
from trainers.phases.run import train

PARTS = {
    "validate": (PeriodicValidation, "validate"),
    "log": (StepEnd, "log"),
    "record": (RunLogger, "write"),
    "judge": (HealthWatch, "judge"),
    "save": (StepEnd, "save"),
    "keep": (BestPolicy, "keep"),
}


@pytest.mark.slow
def test_a_step_is_validated_recorded_judged_and_saved_in_this_order(tmp_path, monkeypatch):
    called: list[str] = []
    for name, (owner, method) in PARTS.items():
        inner = getattr(owner, method)

        def noted(*args: Any, _name: str = name, _inner: Any = inner, **kwargs: Any) -> Any:
            called.append(_name)
            return _inner(*args, **kwargs)

        monkeypatch.setattr(owner, method, noted)
    changes = {"steps": 2, "sft__max_steps": 5, "eval__every": 2, "eval__num_tasks": 4}
    train(toy_runs.config(tmp_path / "run", rl__save_every=2, **changes), Display(quiet=True))
    head, *steps = " ".join(called).split("log")
    assert head.split() == ["validate", "keep"], "the policy at the start is no candidate"
    first, second = (step.split() for step in steps)
    assert first == ["record", "judge", "validate"]
    assert second == ["record", "judge", "save", "keep", "keep"], "and once more at the end"
