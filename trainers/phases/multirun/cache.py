"""A folder of runs: each is executed once and may reuse another run's warm start."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentgym.support.caching import SCRATCH
from trainers.config.config_file import CONFIG_FILE, read_settings
from trainers.config.file_trust import remember_typed
from trainers.config.resolve import resolve
from trainers.config.schema import TrainConfig
from trainers.output.phase import Phase
from trainers.output.roles import BASE_MODEL, GREEDY, WARM_START
from trainers.output.run_folder import COMPLETE, RunFolder
from trainers.phases.base_model import TESTED
from trainers.phases.multirun.played import PlayedRun
from trainers.phases.policy_comparison import REFERENCES

START = WARM_START
"""Checkpoint of the warm start."""
START_ARMS = (BASE_MODEL, WARM_START, f"{WARM_START}{GREEDY}")
"""Policies whose results are equal in all runs with the same warm start; those that learn nothing
are equal in all runs."""
DONE, BEGUN, OPEN = "done", "begun", "open"
"""States of a run: finished; started, by a process that is running or gone; not started."""

Parse = Callable[[Sequence[str]], TrainConfig]
"""Reads arguments of ``agentgym-train``."""


@dataclass(frozen=True)
class Keys:
    """The keys of a run and of its warm start."""

    run: str
    """Equal for runs with the same result; names the folder."""
    start: str
    """Equal for runs that are identical up to the end of the warm start's evaluation."""


@dataclass(frozen=True)
class Run:
    """An arm with a seed."""

    arm: str
    """Name of the arm; empty if there is only one."""
    seed: int
    """The seed."""
    settings: tuple[str, ...]
    """Flags of the arm."""
    keys: Keys
    """Its keys, which identify it."""

    @property
    def name(self) -> str:
        """Name in messages."""
        return ", ".join(filter(None, (self.arm, f"seed {self.seed}")))

    def arguments(self, folder: Path) -> list[str]:
        """Return the arguments of ``agentgym-train``."""
        return [*self.settings, "--seed", str(self.seed), "--out", str(folder)]


class RunCache:
    """Runs by key, in one folder.

    Args:
        root: The folder; made when the first run begins.
        parse: Reads the arguments of a run.
    """

    def __init__(self, root: Path, parse: Parse) -> None:
        self.root, self._parse = root, parse

    def folder(self, run: Run) -> Path:
        """Return the folder of a run, which need not exist."""
        return self.root / run.keys.run

    def log(self, run: Run) -> Path:
        """Return the log file of a run."""
        return self.root / f"{run.keys.run}.log"

    def state(self, run: Run) -> str:
        """Return the state of a run: ``done``, ``begun`` or ``open``."""
        folder = self.folder(run)
        if RunFolder(folder).summary_path.exists():
            return DONE
        return BEGUN if (folder / CONFIG_FILE).exists() else OPEN

    def find_played(self, run: Run) -> PlayedRun | None:
        """Return a run if it is finished."""
        if self.state(run) != DONE:
            return None
        return PlayedRun(self.folder(run), run.seed, run.keys.run)

    def begin(self, run: Run, starts: Sequence[Run] = (), *, on: bool = False) -> list[str]:
        """Return the arguments that start or resume a run.

        Args:
            run: The run.
            starts: Runs with the same warm start. If one of them is finished, a new run reuses its
                warm start.
            on: Whether a finished run is extended.
        """
        folder, state = self.folder(run), self.state(run)
        if state == OPEN:
            donor = next((start for start in starts if self.state(start) == DONE), None)
            if donor is not None:
                self.begin_from(donor, run, (*REFERENCES, *START_ARMS), start=True)
                state = BEGUN
        arguments = run.arguments(folder)
        return [*arguments, "--resume"] if on or state == BEGUN else arguments

    def begin_from(
        self,
        donor: Run,
        run: Run,
        arms: Collection[str],
        *,
        start: bool = False,
        defaults: Sequence[str] = (),
    ) -> None:
        """Make the folder of a run from what it has in common with another run.

        Args:
            donor: The other run.
            run: The new run.
            arms: Policies whose held-out results are copied.
            start: Whether the warm start is copied, too.
            defaults: Arguments added to those of the run.
        """
        # Under a temporary name until complete: the marker of a checkpoint may be copied before its
        # files.
        scratch = self.root / f"{SCRATCH}{run.keys.run}"
        shutil.rmtree(scratch, ignore_errors=True)
        config = self._parse([*defaults, *run.arguments(scratch)])
        source = RunFolder(self.folder(donor))
        target = RunFolder.open(scratch, config, resolve(config).resolved())
        if start and (source.checkpoints / START / COMPLETE).exists():
            shutil.copytree(source.checkpoints / START, target.checkpoints / START)
        for record in source.metrics():
            compared = record["phase"] == Phase.COMPARISON and record["arm"] in arms
            if compared or (start and record["phase"] == Phase.WARM_START):
                target.log(**record)
        for path in (path for arm in arms for path in source.eval_files(arm)):
            copy = target.path / path.relative_to(source.path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
        for note in ("sft", TESTED) if start else ():
            if (content := source.state().get(note)) is not None:
                target.give(**{note: content})
        scratch.replace(self.folder(run))
        remember_typed(self.folder(run), read_settings(self.folder(run) / CONFIG_FILE))
