"""The folder of all runs: each is played once, whichever studies ask for it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agentgym.support.caching import SCRATCH
from benchmarks.studies.runner.keys import Keys, settle
from benchmarks.studies.runner.played import PlayedRun
from benchmarks.studies.runner.study import Arm
from trainers.cli import parse_config
from trainers.config.config_file import CONFIG_FILE
from trainers.config.resolve import resolve
from trainers.output.phase import Phase
from trainers.output.run_folder import COMPLETE, RunFolder
from trainers.phases.policy_comparison import BASELINES

START = "warm-start"
"""Checkpoint of the warm start."""
SHARED_ARMS = (*BASELINES, "sft", "sft-greedy")
"""Policies that runs with the same warm start compare alike."""
DONE, BEGUN, OPEN = "done", "begun", "open"
"""What has become of a run: it has ended; a process began it and is gone, or is at it; nothing."""


@dataclass(frozen=True)
class Run:
    """An arm with a seed."""

    arm: str
    """Name of the arm."""
    seed: int
    """The seed."""
    settings: tuple[str, ...]
    """Flags of the arm."""
    keys: Keys
    """Hashes of its settings."""

    @property
    def name(self) -> str:
        """What it is called to a person."""
        return f"{self.arm}, seed {self.seed}"

    def arguments(self, folder: Path) -> list[str]:
        """Return the arguments of ``agentgym-train``."""
        return [*self.settings, "--seed", str(self.seed), "--out", str(folder)]


def runs_of(arms: Sequence[Arm], seeds: Sequence[int]) -> list[Run]:
    """Return the runs of arms, all arms of a seed before those of the next.

    Raises:
        AgentGymError: A setting of an arm is wrong.
    """
    return [
        Run(arm.name, seed, arm.settings, settle(arm.settings).keys(seed))
        for seed in seeds
        for arm in arms
    ]


class RunCache:
    """Runs by their keys, in one folder.

    Args:
        root: The folder; made when the first run begins.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, run: Run) -> Path:
        """Return the folder of a run, which need not be there."""
        return self.root / run.keys.run

    def log(self, run: Run) -> Path:
        """Return the file of what a run prints."""
        return self.root / f"{run.keys.run}.log"

    def state(self, run: Run) -> str:
        """Return what has become of a run: ``done``, ``begun`` or ``open``."""
        folder = self.folder(run)
        if RunFolder(folder).summary_path.exists():
            return DONE
        return BEGUN if (folder / CONFIG_FILE).exists() else OPEN

    def played(self, run: Run) -> PlayedRun | None:
        """Return a run if it has ended."""
        if self.state(run) != DONE:
            return None
        return PlayedRun(self.folder(run), run.seed, run.keys.run)

    def begin(self, run: Run, starts: Sequence[Run] = ()) -> list[str]:
        """Return the arguments that play a run, or go on with it.

        Args:
            run: The run.
            starts: Runs with the same warm start. If one of them has ended, a new run begins with
                its warm start.
        """
        folder, state = self.folder(run), self.state(run)
        self.root.mkdir(parents=True, exist_ok=True)
        if state == OPEN:
            donor = next((each for each in starts if self.state(each) == DONE), None)
            if donor is not None:
                self._begin_from(donor, run)
                state = BEGUN
        arguments = run.arguments(folder)
        return [*arguments, "--resume"] if state == BEGUN else arguments

    def _begin_from(self, donor: Run, run: Run) -> None:
        """Make the folder of a run whose warm start has been trained and compared by another."""
        # Under another name until it is whole: a checkpoint's marker may be copied before the rest.
        scratch = self.root / f"{SCRATCH}{run.keys.run}"
        shutil.rmtree(scratch, ignore_errors=True)
        config = parse_config(run.arguments(scratch))
        source = RunFolder(self.folder(donor))
        made = RunFolder.open(scratch, config, resolve(config).resolved())
        if (source.checkpoints / START / COMPLETE).exists():
            shutil.copytree(source.checkpoints / START, made.checkpoints / START)
        for record in source.metrics():
            compared = record["phase"] == Phase.COMPARISON and record["arm"] in SHARED_ARMS
            if compared or record["phase"] == Phase.WARM_START:
                made.log(**record)
        for path in (path for arm in SHARED_ARMS for path in source.eval_files(arm)):
            copy = made.path / path.relative_to(source.path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
        if (found := source.state().get("sft")) is not None:
            made.note(sft=found)
        scratch.replace(self.folder(run))
