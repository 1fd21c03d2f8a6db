"""The folder of a run: written as the run proceeds, resumable after ``kill -9``.

Layout: ``config.yaml``, ``state.json``, ``metrics.jsonl``, ``episodes.jsonl`` (of training),
``eval_episodes/<arm>.jsonl`` (of the compared policies, and ``valid.jsonl`` of the validations
between; with several environments in a folder for each), ``checkpoints/``, ``baselines/<name>/``
(records and checkpoints of each), ``curve.png``, ``summary.json``, ``report.html``,
``warnings.log`` if there were any, and ``agent.log`` if a custom agent printed or logged.

Only the main process of a run writes; writing methods do nothing in the others. All read
checkpoints from it, so the nodes of a run must share it; everything else is broadcast by the main
process.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgym.episodes.run_layout import EVALUATED
from agentgym.errors import ConfigurationError
from agentgym.support import process_memory
from agentgym.support.caching import write_atomically
from agentgym.support.folder_links import check_no_link_leads_out
from agentgym.support.folder_lock import FolderLock, holds_other_files, lock_folder
from trainers import processes
from trainers.config.config_file import CONFIG_FILE, compare, read_settings, stored_settings
from trainers.config.file_trust import remember_typed
from trainers.config.schema import TrainConfig
from trainers.output.jsonl import append_line, cut_unfinished_line, filter_lines, read_jsonl
from trainers.output.phase import Phase
from trainers.output.roles import BASELINES, GREEDY, TRAINED
from trainers.processes import main_only

COMPLETE = "complete"
"""Marker file, written last into a checkpoint."""
VALIDATED = "validation.json"
"""Marker file of the best policy: its validation results and step."""
WANDB = "wandb"
"""Folder in which wandb keeps its files, with links to logs outside of the run."""
MERGED = "merge.json"
"""File that marks a merged policy instead of a run: its sources and the method."""
SHARED_WITHIN = 30.0
"""Seconds after which a new folder is seen by every node that shares its file system."""


class RunFolder:
    """Files of one run.

    Args:
        path: The folder; :meth:`open` checks and creates it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"
        self.trained = self.checkpoints / "trained"
        self.best = self.checkpoints / "best"
        self.merged = self.checkpoints / "merged"
        self.baselines = path / "baselines"
        self.metrics_path = path / "metrics.jsonl"
        self.episodes_path = path / "episodes.jsonl"
        self.summary_path = path / "summary.json"
        self.warnings_path = path / "warnings.log"
        self._clock = time.monotonic()
        self._cpu_before = 0.0
        self._peak_before = 0
        self._lock: FolderLock | None = None
        self._longer: Mapping[str, Any] | None = None

    @classmethod
    def open(
        cls, path: Path, config: TrainConfig, resolved: Mapping[str, Any] | None = None
    ) -> RunFolder:
        """Create the folder of a new run, or open the folder of a run to resume.

        Args:
            path: The folder.
            config: Settings of the run. On ``resume`` they must equal those of the folder, except
                for settings that change no result (see ``trainers.config.config_file``) and for
                more steps or minutes, which extend the run (see :meth:`extend`).
            resolved: Resolved values of settings left open; stored and compared, too.

        Raises:
            ConfigurationError: The folder holds something else or another run, or cannot be
                written.
        """
        folder = cls(path)
        processes.on_main(
            lambda: folder._open_to_write(stored_settings(config, resolved), config.resume)
        )
        folder._check_shared()
        return folder

    def _open_to_write(self, settings: Mapping[str, Any], resume: bool) -> None:
        """Check the folder and make it, in the process that writes it."""
        try:
            self._open_folder(settings, resume)
        except OSError as error:
            raise ConfigurationError(
                f"expected --out to be a folder that can be written, but {self.path} cannot: "
                f"{error.strerror}; choose another --out"
            ) from error

    def _check_shared(self) -> None:
        """Check that this process sees what the main process wrote."""
        # NFS shows a new file late, because its clients cache directory entries.
        until = time.monotonic() + SHARED_WITHIN
        while not (self.path / CONFIG_FILE).exists():
            if time.monotonic() > until:
                raise ConfigurationError(
                    "expected --out on a file system that all nodes of the run share, but "
                    f"{self.path} of the main process is not seen by process {processes.rank()}; "
                    "choose another --out"
                )
            time.sleep(0.1)

    def part(self, name: str) -> RunFolder:
        """Return the folder of a baseline within this one, with its records and checkpoints."""
        part = RunFolder(self.baselines / name)
        processes.on_main(part._prepare)
        return part

    def check(self, config: TrainConfig, resolved: Mapping[str, Any] | None = None) -> None:
        """Check that :meth:`open` would accept the folder, without writing.

        Raises:
            ConfigurationError: The folder holds something else or another run, or there is no run
                to resume.
        """
        self._check(stored_settings(config, resolved), config.resume)

    def _check(self, settings: Mapping[str, Any], resume: bool) -> None:
        """Check that a folder holds nothing but the requested run."""
        self.check_place(resume)
        if resume:
            self._check_same_run(settings)

    def check_place(self, resume: bool) -> None:
        """Check the kind of the folder: missing, empty, or a run that ``resume`` allows.

        Args:
            resume: Whether the run in it is resumed.

        Raises:
            ConfigurationError: It is of another kind, or contains a link that leads outside.
        """
        config_path = self.path / CONFIG_FILE
        if self.path.exists() and not self.path.is_dir():
            raise ConfigurationError(f"expected --out to be a folder, but {self.path} is a file")
        if (self.path / MERGED).exists():
            raise ConfigurationError(
                f"expected --out to be empty or the folder of a run, but {self.path} holds a "
                f"merged policy: train it further with --model {self.trained} and another --out"
            )
        if config_path.exists():
            check_no_link_leads_out(self.path, own_links=[WANDB])
            if not resume:
                raise ConfigurationError(
                    f"expected --out to hold no other run, but {self.path} does; pass --resume to "
                    "continue that run, or choose another --out"
                )
        elif holds_other_files(self.path):
            raise ConfigurationError(
                f"expected --out to be empty or the folder of a run, but {self.path} holds other "
                "files; choose another --out"
            )
        elif resume:
            raise ConfigurationError(
                f"expected a run to resume in {self.path}, but there is none; leave out --resume "
                "to start one"
            )

    def _open_folder(self, settings: Mapping[str, Any], resume: bool) -> None:
        """Check the folder, and create the files of a new run."""
        self._check(settings, resume)
        config_path = self.path / CONFIG_FILE
        self.path.mkdir(parents=True, exist_ok=True)
        if not config_path.exists():
            # The first file: it marks the folder as this run's, whenever the run is killed.
            self._write_settings(settings)
        remember_typed(self.path, settings)
        self._prepare()

    def _prepare(self) -> None:
        """Create folders, and repair files left unfinished by a kill."""
        self.checkpoints.mkdir(parents=True, exist_ok=True)
        # The clocks continue from the seconds noted before a kill.
        self._clock -= self.state().get("seconds", 0.0)
        self._cpu_before = self.state().get("cpu_seconds", 0.0)
        self._peak_before = self.state().get("peak_bytes", 0)
        validations = self.eval_files(Phase.VALIDATION)
        for records in (self.metrics_path, self.episodes_path, *validations):
            cut_unfinished_line(records)

    @main_only
    def lock(self) -> None:
        """Lock the folder against other processes until this one ends.

        Raises:
            ConfigurationError: Another process works on the run.
        """
        self._lock = lock_folder(self.path, "the run")

    @main_only
    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _check_same_run(self, settings: Mapping[str, Any]) -> None:
        """Check that the folder's run has the same settings."""
        stored = read_settings(self.path / CONFIG_FILE)
        comparison = compare(stored, settings)
        if comparison.changes:
            raise ConfigurationError(
                f"expected the settings of the run in {self.path} to be unchanged on --resume, but "
                f"{', '.join(comparison.changes)}; leave out what differs (--resume and --out are "
                "enough), or choose another --out"
            )
        self._longer = settings if comparison.extends else None

    @property
    def complete(self) -> bool:
        """Whether the run is finished at its full length; asked in the main process."""
        return self._longer is None and self.summary_path.exists()

    @property
    def extends(self) -> bool:
        """Whether the settings ask for more steps or minutes; asked in the main process."""
        return self._longer is not None

    @main_only
    def extend(self) -> None:
        """Extend a finished run, if the settings ask for more steps or minutes.

        Everything after the last step is discarded and repeated: the trained policy's held-out
        episodes and results, its last checkpoint, the baselines that it is compared with, the
        summary and the report.
        """
        if self._longer is None:
            return
        for name in ("summary.json", "report.html"):
            (self.path / name).unlink(missing_ok=True)
        roles = (TRAINED, *BASELINES)
        new_roles = tuple(f"{role}{suffix}" for role in roles for suffix in ("", GREEDY))
        for path in (path for arm in new_roles for path in self.eval_files(arm)):
            path.unlink()
        if self.metrics_path.exists():
            filter_lines(
                self.metrics_path,
                lambda record: (
                    record["phase"] != Phase.COMPARISON or record["arm"] not in new_roles
                ),
            )
        policies = (self.checkpoints / name for name in BASELINES)
        for made_again in (self.trained, self.merged, self.baselines, *policies):
            shutil.rmtree(made_again, ignore_errors=True)
        # Last: a run killed before this point is intact, at its old length.
        self._write_settings(self._longer)
        self._longer = None

    def _write_settings(self, settings: Mapping[str, Any]) -> None:
        """Write ``config.yaml``."""
        import yaml

        text = yaml.safe_dump(dict(settings), sort_keys=False)
        write_atomically(self.path / CONFIG_FILE, text.encode())

    # -- state: which phases are done -----------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the notes on finished phases."""
        path = self.path / "state.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def seconds(self) -> float:
        """Return the seconds spent on the run, those before the last kill included.

        Work of a killed process after its last note is not counted.
        """
        return time.monotonic() - self._clock

    def cpu_seconds(self) -> float:
        """Return the processor seconds of the run, those before the last kill included.

        Unlike :meth:`seconds`, they hardly depend on other work of the machine.
        """
        return self._cpu_before + time.process_time()

    def peak_bytes(self) -> int:
        """Return the peak memory of this and earlier processes of the run; 0 if unknown."""
        return max(self._peak_before, _peak_of_process())

    @main_only
    def note(self, **values: object) -> None:
        """Add notes on finished phases, and the time and memory spent; survives ``kill -9``."""
        self.give(
            seconds=self.seconds(),
            cpu_seconds=self.cpu_seconds(),
            peak_bytes=self.peak_bytes(),
            **values,
        )

    @main_only
    def give(self, **values: object) -> None:
        """Add notes copied from another run, without counting time."""
        text = json.dumps({**self.state(), **values}, indent=1)
        write_atomically(self.path / "state.json", text.encode())

    def eval_episodes(self, arm: str, env: str = "") -> Path:
        """Return the file that holds the held-out episodes of a policy.

        ``env`` names the environment, in a run with several.
        """
        return self.path / EVALUATED / env / f"{arm}.jsonl"

    def eval_files(self, arm: str) -> list[Path]:
        """Return the files that hold the held-out episodes of a policy, if there are any."""
        return sorted(self.path.glob(f"{EVALUATED}/**/{arm}.jsonl"))

    # -- records --------------------------------------------------------------------------------

    @main_only
    def log(self, **record: object) -> None:
        """Append one line to ``metrics.jsonl``."""
        append_line(self.metrics_path, json.dumps(record))

    @main_only
    def rewind(self, phase: str, step: int) -> None:
        """Drop records of ``phase`` after ``step``, which a resumed run rewrites."""
        if self.metrics_path.exists():
            filter_lines(
                self.metrics_path,
                lambda record: record.get("phase") != phase or record.get("step", 0) <= step,
            )

    @main_only
    def rewind_episodes(self, step: int) -> None:
        """Drop episodes of training and validation after ``step``, which will be rewritten."""
        if self.episodes_path.exists():
            filter_lines(self.episodes_path, lambda record: training_step(record) <= step)
        # The untrained policy is validated before the first step.
        self.drop_validation(step + 1 if step else 0)

    def drop_validation(self, step: int) -> None:
        """Drop the validation episodes of the policy after ``step`` steps and of later ones."""
        for validation in self.eval_files(Phase.VALIDATION):
            filter_lines(validation, lambda record: record["extra"]["step"] < step)

    def validated(self, step: int) -> bool:
        """Return whether the policy after ``step`` steps has been validated."""
        return any(
            record.get("phase") == Phase.VALIDATION and record["step"] == step
            for record in self.metrics()
        )

    def metrics(self) -> list[dict[str, Any]]:
        """Return all records of ``metrics.jsonl``."""
        return list(read_jsonl(self.metrics_path))

    def latest_checkpoint(self, prefix: str) -> Path | None:
        """Return the complete checkpoint with the highest step, named ``<prefix>-<step>``."""
        checkpoints = [
            path
            for path in self.checkpoints.glob(f"{prefix}-*")
            if path.name.removeprefix(f"{prefix}-").isdigit() and (path / COMPLETE).exists()
        ]
        return max(checkpoints, key=lambda path: int(path.name.rsplit("-", 1)[1]), default=None)


def training_step(episode: Mapping[str, Any]) -> int:
    """Return the training step of an episode record."""
    return int(episode["options"].get("training_step", 0))


def _peak_of_process() -> int:
    """Return the peak bytes of this process, on its GPU if it trains on one."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        return int(torch.cuda.max_memory_reserved())
    return process_memory.peak_bytes() or 0
