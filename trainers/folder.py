"""The folder of a run: written as the run goes, and fit to be resumed after ``kill -9``.

Layout: ``config.yaml``, ``state.json``, ``metrics.jsonl``, ``episodes.jsonl``, ``checkpoints/``,
``curve.png``, ``summary.json``, ``report.html``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentgym.errors import ConfigurationError, DataError
from trainers.config import TrainConfig, to_dict

# Settings that may differ between a run and its continuation.
CHANGEABLE = frozenset({"resume", "out"})


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees the old content or the new, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a JSON-lines file; an unfinished last line is left out.

    Raises:
        DataError: A line other than the last is not JSON.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield json.loads(line)
            except ValueError as error:
                raise DataError(
                    f"expected JSON in line {number} of {path}, got {line[:60]!r}; the file was "
                    "changed by something other than the run"
                ) from error


class RunFolder:
    """Files of one run.

    Args:
        path: The folder; :meth:`open` checks it and makes it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"
        self.metrics_path = path / "metrics.jsonl"
        self.episodes_path = path / "episodes.jsonl"
        self.summary_path = path / "summary.json"

    @classmethod
    def open(cls, path: Path, config: TrainConfig) -> RunFolder:
        """Make the folder of a new run, or open that of a run to be resumed.

        Args:
            path: The folder.
            config: Settings of the run; on ``resume`` they must equal those of the folder.

        Raises:
            ConfigurationError: The folder holds something else, or another run.
        """
        folder = cls(path)
        if path.exists() and not path.is_dir():
            raise ConfigurationError(f"expected --out to be a folder, but {path} is a file")
        settings = _settings(config)
        config_path = path / "config.yaml"
        if config_path.exists():
            folder._check_same_run(config_path, settings, config.resume)
        elif path.exists() and any(path.iterdir()):
            raise ConfigurationError(
                f"expected --out to be empty or the folder of a run, but {path} holds other "
                "files; choose another --out"
            )
        elif config.resume:
            raise ConfigurationError(
                f"expected a run to resume in {path}, but there is none; leave out --resume to "
                "start one"
            )
        folder.checkpoints.mkdir(parents=True, exist_ok=True)
        if not config_path.exists():
            import yaml

            write_atomically(config_path, yaml.safe_dump(settings, sort_keys=False).encode())
        return folder

    def _check_same_run(self, path: Path, settings: Mapping[str, Any], resume: bool) -> None:
        """Refuse to mix two runs in one folder."""
        if not resume:
            raise ConfigurationError(
                f"expected --out to hold no other run, but {self.path} does; pass --resume to "
                "continue that run, or choose another --out"
            )
        import yaml

        stored = yaml.safe_load(path.read_text())
        changed = sorted(key for key in settings if settings[key] != stored.get(key))
        if changed:
            raise ConfigurationError(
                f"expected the settings of the run in {self.path} to be unchanged on --resume, but "
                f"{', '.join(changed)} differ; repeat the command that started it, or choose "
                "another --out"
            )

    # -- state: which phases are done -----------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the notes on finished phases."""
        path = self.path / "state.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def note(self, **values: Any) -> None:
        """Add notes on finished phases; survives ``kill -9``."""
        text = json.dumps({**self.state(), **values}, indent=1)
        write_atomically(self.path / "state.json", text.encode())

    # -- records --------------------------------------------------------------------------------

    def log(self, **record: Any) -> None:
        """Append one line to ``metrics.jsonl``."""
        append_line(self.metrics_path, json.dumps(record))

    def rewind(self, phase: str, step: int) -> None:
        """Drop records of ``phase`` after ``step``, which a resumed run will write again."""
        if self.metrics_path.exists():
            _filter_lines(
                self.metrics_path,
                lambda record: record.get("phase") != phase or record.get("step", 0) <= step,
            )

    def rewind_episodes(self, step: int) -> None:
        """Drop training episodes after ``step``."""
        if self.episodes_path.exists():
            _filter_lines(self.episodes_path, lambda record: training_step(record) <= step)

    def metrics(self) -> list[dict[str, Any]]:
        """Return all records of ``metrics.jsonl``."""
        return list(read_jsonl(self.metrics_path))

    def latest_checkpoint(self, prefix: str) -> Path | None:
        """Return the complete checkpoint with the highest step, named ``<prefix>-<step>``."""
        found = [
            path
            for path in self.checkpoints.glob(f"{prefix}-*")
            if path.name.removeprefix(f"{prefix}-").isdigit() and (path / COMPLETE).exists()
        ]
        return max(found, key=lambda path: int(path.name.rsplit("-", 1)[1]), default=None)


def training_step(episode: Mapping[str, Any]) -> int:
    """Return the training step of an episode record."""
    return int(episode["options"].get("training_step", 0))


COMPLETE = "complete"
"""Marker file that is written last into a checkpoint."""


def append_line(path: Path, line: str) -> None:
    """Append one line in a single write, and flush it to the operating system."""
    with path.open("ab") as file:
        file.write(line.encode() + b"\n")


def _filter_lines(path: Path, keep: Callable[[Mapping[str, Any]], bool]) -> None:
    """Rewrite a JSON-lines file with the records that ``keep`` accepts."""
    lines = [json.dumps(record) for record in read_jsonl(path) if keep(record)]
    write_atomically(path, "".join(line + "\n" for line in lines).encode())


def _settings(config: TrainConfig) -> dict[str, Any]:
    """Return the settings that define a run."""
    return {key: value for key, value in to_dict(config).items() if key not in CHANGEABLE}
