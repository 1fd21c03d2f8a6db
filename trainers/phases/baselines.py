"""The baselines of reinforcement learning, trained from the same warm start.

``bc`` (behavior cloning) continues to imitate the demonstrations, ``filtered-bc`` only those that
solved their task; ``expert-iteration`` imitates the policy's own solved episodes, with the steps,
sizes and learning rate of reinforcement learning. Each gets at least the compute of reinforcement
learning, is selected by as many validations, and can be resumed from its subfolder of the run. Its
policy is saved among the checkpoints of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Protocol

from trainers import processes
from trainers.algorithms.presets import get_preset
from trainers.config.resolve import ResolvedRun
from trainers.config.setting_checks import OWN_SUCCESSES
from trainers.output.display import Display
from trainers.output.phase import Phase
from trainers.output.roles import FILTERED_BC
from trainers.output.run_folder import RunFolder
from trainers.output.summary import BaselineEnd
from trainers.phases.demonstrators import BaselineDemonstrations
from trainers.phases.further_imitation import END, FurtherImitation
from trainers.phases.reinforcement import Reinforcement
from trainers.phases.warm_start import warm_start
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.trajectory import Trajectory

__all__ = ["Baseline", "baseline_ends", "train_baselines"]

LEFT_OUT = "left_out"
"""Key in a baseline's folder: why it was not trained."""


class Baseline(Protocol):
    """A trained baseline that can play."""

    @property
    def chat(self) -> TurnTokenizer:
        """Turn tokenizer of the policy."""

    def play(
        self,
        tasks: Sequence[Mapping[str, Any]],
        greedy: bool = False,
        on_episode: Callable[[], None] = ...,
    ) -> list[Trajectory]:
        """Play held-out tasks."""

    def close(self) -> None:
        """Close the engine and the environments."""


def train_baselines(
    run: ResolvedRun, folder: RunFolder, display: Display
) -> Generator[tuple[str, Baseline], None, None]:
    """Train each baseline of a run in turn, resuming interrupted ones.

    Yields:
        Name and policy of each; the policy is closed when the next is requested.
    """
    demonstrations = BaselineDemonstrations(run, display)
    for name in run.config.eval.baselines:
        place = folder.part(name)
        if name == OWN_SUCCESSES:
            baseline: Baseline = _own_successes(run, folder, place, display)
        elif name == FILTERED_BC and processes.on_main(partial(_left_out, place, demonstrations)):
            continue
        else:
            baseline = FurtherImitation(run, folder, place, display, name, demonstrations)
        try:
            yield name, baseline
        finally:
            baseline.close()
        folder.note()


def baseline_ends(
    run: ResolvedRun, folder: RunFolder
) -> tuple[dict[str, BaselineEnd], dict[str, str]]:
    """Return by name how each baseline ended, or why it was not trained.

    The main process may call it alone.
    """
    names: Sequence[str] = run.config.eval.baselines
    states = {name: RunFolder(folder.baselines / name).state() for name in names}
    ends = {name: BaselineEnd(**state[END]) for name, state in states.items() if END in state}
    return ends, {name: state[LEFT_OUT] for name, state in states.items() if LEFT_OUT in state}


def _left_out(place: RunFolder, demonstrations: BaselineDemonstrations) -> str:
    """Return why filtered cloning is pointless; empty if it is not."""
    state = place.state()
    if END in state or LEFT_OUT in state:
        return str(state.get(LEFT_OUT, ""))
    solved, count = demonstrations.solved()
    if 0 < solved < count:
        return ""
    reason = (
        "every demonstration solved its task, so it would equal bc"
        if solved
        else "no demonstration solved its task"
    )
    place.note(**{LEFT_OUT: reason})
    return reason


def _own_successes(
    run: ResolvedRun, folder: RunFolder, place: RunFolder, display: Display
) -> Reinforcement:
    """Let the policy imitate its own solved episodes for as many steps as RL took."""
    records = processes.on_main(folder.metrics)
    steps = (r["step"] for r in records if r.get("phase") == Phase.REINFORCEMENT)
    config = replace(
        run.config, steps=max(steps, default=1), minutes=0.0, budget=(), report_to=(),
        preset=OWN_SUCCESSES,
    )  # fmt: skip
    alike = replace(run, config=config, preset=get_preset(OWN_SUCCESSES))
    learning = Reinforcement(
        alike, place, display, warm_start(run, folder, display), title=OWN_SUCCESSES
    )
    try:
        learning.train()
        choice = learning.choose()
        learning.save(folder.checkpoints / OWN_SUCCESSES)
    except BaseException:
        learning.close()
        raise
    end = BaselineEnd(config.steps, choice.step, choice.valid_success)
    place.note(**{END: asdict(end)})
    return learning
