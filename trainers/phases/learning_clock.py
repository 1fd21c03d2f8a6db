"""The time limit of reinforcement learning under ``--minutes``.

Without ``--minutes`` wall time has no effect. This module also decides whether a longer limit
extends a run.

The clock of a run also counts held-out evaluation and the training of baselines. The clock of RL
does not: an extended run repeats evaluation and baselines, and RL gets the time that it would have
had under the longer limit from the start.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from agentgym.errors import ConfigurationError
from trainers.config.resolve import ResolvedRun
from trainers.output.phase import Phase
from trainers.output.run_folder import COMPLETE, RunFolder
from trainers.processes import broadcast, main_only, on_main

__all__ = ["CUT", "LearningClock", "check_extension", "note_cut", "note_end"]

CUT = "cut"
"""Note: the phases that the time ended, and the step after which it did."""

BEGAN = "rl_began"
"""Note: the second of the run at which reinforcement learning began."""
ENDED = "rl_ended"
"""Note: the second of the run at which it ended, if it has; it may continue from there."""
PAUSED = "rl_paused"
"""Note: the seconds between its end and its continuation, which do not count."""


class LearningClock:
    """The clock of RL, which starts or continues here; all processes make one.

    Args:
        run: The run.
        folder: Its folder.

    Attributes:
        deadline: The second of this clock at which training ends.
    """

    def __init__(self, run: ResolvedRun, folder: RunFolder) -> None:
        self._folder, self._minutes = folder, run.config.minutes
        rl_start, self._paused = on_main(self._go_on)
        self.deadline = _deadline(run, rl_start)

    @property
    def late(self) -> bool:
        """Whether the time is up, by the main process's clock; all processes ask together."""
        return broadcast(self._folder.seconds() - self._paused > self.deadline)

    def check(self) -> None:
        """Check that time is left for a first step.

        Raises:
            ConfigurationError: The time is up; the run can be continued with ``--resume``.
        """
        if not self.late:
            return
        raise ConfigurationError(
            "expected --minutes long enough for a step of reinforcement learning, got "
            f"{self._minutes:g}, which were used up before it; repeat the command with --resume "
            "and more --minutes, or with --minutes 0 for a run without a time limit"
        )

    def _go_on(self) -> tuple[float, float]:
        """Return when training began, in seconds, and the time since then that does not count."""
        state, seconds = self._folder.state(), self._folder.seconds()
        rl_start, paused, rl_end = (
            state.get(BEGAN, seconds),
            state.get(PAUSED, 0.0),
            state.get(ENDED),
        )
        if rl_end is not None:
            paused += max(0.0, seconds - rl_end)
        self._folder.note(**{BEGAN: rl_start, PAUSED: paused, ENDED: None})
        if rl_end is not None:
            cut = {name: step for name, step in state.get(CUT, {}).items() if name != "rl"}
            self._folder.note(**{CUT: cut})
        return rl_start, paused


@main_only
def note_cut(folder: RunFolder, phase: Phase, step: int) -> None:
    """Record that the time limit ended a phase after a step."""
    folder.note(**{CUT: {**folder.state().get(CUT, {}), phase.value: step}})


@main_only
def note_end(folder: RunFolder) -> None:
    """Stop the clock of reinforcement learning."""
    folder.note(**{ENDED: folder.seconds()})


def check_extension(run: ResolvedRun, folder: RunFolder) -> None:
    """Check that extended settings lead to further training; only the main process calls it.

    Raises:
        ConfigurationError: The longer settings leave no step, no turn, or no time for a step.
    """
    steps = [r for r in folder.metrics() if r.get("phase") == Phase.REINFORCEMENT]
    rl_end = _ended(folder, steps)
    if not folder.extends or rl_end is None:
        return
    settings, further = run.config, f"for the run in {folder.path} to be trained further"
    if steps and steps[-1]["step"] >= settings.steps:
        raise ConfigurationError(
            f"expected more than {settings.steps} --steps {further}, got {settings.steps}: it has "
            "taken all of them; give more --steps"
        )
    if steps and 0 < settings.rl.turn_budget <= steps[-1]["turns_total"]:
        raise ConfigurationError(
            f"expected turns left {further}, but all {settings.rl.turn_budget} of its "
            "--rl.turn-budget are used up; start another run"
        )
    state = folder.state()
    _check_time(run, state.get(BEGAN, rl_end), rl_end - state.get(PAUSED, 0.0), steps, further)
    if state.get(ENDED) is None:
        folder.note(**{ENDED: rl_end})


def _check_time(
    run: ResolvedRun,
    rl_start: float,
    seconds: float,
    steps: Sequence[Mapping[str, Any]],
    further: str,
) -> None:
    """Check that the minutes suffice for a further step."""
    step = sum(record["seconds"] for record in steps) / max(1, len(steps))
    if seconds + step < _deadline(run, rl_start):
        return
    parts = _parts(run)
    needed = rl_start + parts * (seconds + step - rl_start)
    why = f", and the baselines are kept {parts - 1} of {parts} parts of the time" * (parts > 1)
    # The next whole minute, so that there is time for a step even if that lasts a little longer.
    raise ConfigurationError(
        f"expected --minutes {math.floor(needed / 60) + 1} or more {further}, got "
        f"{run.config.minutes:g}: {rl_start / 60:.1f} minutes had passed when reinforcement "
        f"learning began, it has had {(seconds - rl_start) / 60:.1f}, a step takes {step:.1f} "
        f"s{why}"
    )


def _parts(run: ResolvedRun) -> int:
    """Return the number of shares of the time: RL, and one per baseline."""
    return 1 + len(run.config.eval.baselines)


def _deadline(run: ResolvedRun, rl_start: float) -> float:
    """Return the second at which training ends.

    Each baseline computes about as much as RL, so the remaining time is divided equally.
    """
    if math.isinf(run.seconds):
        return run.seconds
    return rl_start + max(0.0, run.seconds - rl_start) / _parts(run)


def _ended(folder: RunFolder, steps: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the second at which training ended; None if it has not, as far as is known.

    For older runs without this note it is computed from the seconds of their steps.
    """
    state = folder.state()
    rl_end: float | None = state.get(ENDED)
    if rl_end is not None or not (folder.trained / COMPLETE).exists():
        return rl_end
    if BEGAN not in state:
        return float(state.get("seconds", 0.0))
    spent = sum(record["seconds"] for record in steps)
    return float(state[BEGAN] + state.get(PAUSED, 0.0) + spent)
