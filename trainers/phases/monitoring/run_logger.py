"""Write the record of training: a line of figures per step, its episodes, and the progress."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from trainers.algorithms.loss import GAP_MEAN, Loss
from trainers.algorithms.schedule import Schedule
from trainers.config.sections import RlConfig
from trainers.grpo.advantages import GAP_MAX
from trainers.grpo.batch_trainer import DROPPED, IDLE
from trainers.grpo.policy_trainer import KL_BEHAVIOUR, LOST_TOKENS
from trainers.grpo.step_times import PARTS
from trainers.output.display import Display
from trainers.output.episode_log import EpisodeLog
from trainers.output.phase import Phase
from trainers.output.run_folder import RunFolder
from trainers.phases.monitoring.health import FINITE
from trainers.processes import on_main
from trainers.rollouts.rollout_event import RolloutEvent
from trainers.rollouts.trajectory import by_family, to_rows

__all__ = ["RunLogger"]

STEP_FIGURES = (
    "loss", "grad_norm", "entropy", "learning_rate", "kl", "critic/value_loss", KL_BEHAVIOUR,
    FINITE, DROPPED, IDLE, LOST_TOKENS, GAP_MEAN, GAP_MAX, "sampling/importance_mean",
    "sampling/importance_truncated",
)  # fmt: skip
"""Figures of TRL's trainer that a step's record holds."""
CLIPPED = "clip_ratio/region_mean"
"""TRL's name for the share of tokens whose ratio is clipped."""


class RunLogger:
    """Write figures and episodes of every step, and show the progress.

    Attributes:
        turns: Turns of all training episodes so far.
        tokens: Tokens that were sampled in them.
        episodes: Training episodes so far.
        row_tokens: Tokens of their training rows.
        record: The record of the last step.
    """

    def __init__(
        self,
        rl: RlConfig,
        loss: Loss,
        folder: RunFolder,
        display: Display,
        log: EpisodeLog,
        schedule: Schedule,
    ) -> None:
        self._folder, self._display, self._schedule = folder, display, schedule
        self._clips = rl.updates > 1 or loss.behave == "ratio"
        self._log, self._logged = log, rl.log_groups * rl.num_generations
        self.turns = 0
        self.tokens = 0
        self.episodes = 0
        self.row_tokens = 0
        self._tokens = 0
        self.record: dict[str, Any] = {}
        self._began = time.perf_counter()
        self.reload()

    def reload(self) -> None:
        """Restore the counters from the records, after these were cut."""
        records = on_main(self._folder.metrics)
        steps = [record for record in records if record.get("phase") == Phase.REINFORCEMENT]
        self.turns = steps[-1]["turns_total"] if steps else 0
        self.tokens = steps[-1]["tokens_total"] if steps else 0
        self.episodes = steps[-1].get("episodes_total", 0) if steps else 0
        self.row_tokens = sum(record["row_tokens"] for record in steps)

    def start(self) -> None:
        """Start the clock of the first step."""
        self._began = time.perf_counter()

    def on_rollout(self, event: RolloutEvent) -> None:
        """Record the episodes of one step."""
        self.turns += sum(len(trajectory.own_turns) for trajectory in event.trajectories)
        self._tokens = sum(trajectory.own_tokens for trajectory in event.trajectories)
        self.tokens += self._tokens
        self.episodes += len(event.trajectories)
        row_tokens = sum(len(row.ids) for row in to_rows(event.trajectories))
        self.row_tokens += row_tokens
        self.record = {
            **_by_name(event.metrics),
            "phase": Phase.REINFORCEMENT,
            "step": event.step,
            "horizon": event.horizon,
            "stage": self._schedule.stage(event.step),
            "turns_total": self.turns,
            "tokens_total": self.tokens,
            "episodes_total": self.episodes,
            "row_tokens": row_tokens,
        }
        for part in by_family(event.trajectories).values():
            self._log.append(self._folder.episodes_path, part[: self._logged])

    def write(self, figures: Mapping[str, float]) -> dict[str, Any]:
        """Write the step's line, with the optimiser's figures, and return it."""
        now = time.perf_counter()
        seconds, self._began = now - self._began, now
        for name in STEP_FIGURES:
            if name in figures:
                self.record[name.rsplit("/", 1)[-1]] = _number(figures[name])
        # With one update per step the ratio is 1, unless it is taken to the behaviour policy.
        if CLIPPED in figures and self._clips:
            self.record["clip_fraction"] = _number(figures[CLIPPED])
        self.record["seconds"] = seconds
        self.record["time"] = {part: figures[f"time/{part}"] for part in PARTS}
        self._folder.log(**self.record)
        self._display.update(
            self.record["step"],
            # A narrow terminal drops measurements from the end of this list.
            success=self.record["success"],
            reward=self.record["return"],
            horizon=self.record["horizon"],
            tokens_s=self._tokens / max(seconds, 1e-9),
        )
        return self.record


def _by_name(metrics: Mapping[str, float]) -> dict[str, Any]:
    """Return figures without their section names; those of several families grouped by family."""
    record: dict[str, Any] = {}
    for name, value in metrics.items():
        section, _, short_name = name.partition("/")
        if section == "family":
            family, _, figure = short_name.partition("/")
            record.setdefault("families", {}).setdefault(family, {})[figure] = value
        else:
            record[short_name] = value
    return record


def _number(value: float) -> float | None:
    """Return a figure as JSON can hold it: None if it is not finite."""
    return float(value) if math.isfinite(value) else None
