"""The folder of a run: written as the run goes, and fit to be resumed after ``kill -9``.

Layout: ``config.yaml``, ``state.json``, ``metrics.jsonl``, ``episodes.jsonl``, ``checkpoints/``,
``curve.png``, ``summary.json``, ``report.html``, and ``warnings.log`` if there were any.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
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
        self.warnings_path = path / "warnings.log"
        self._clock = time.monotonic()

    @classmethod
    def open(cls, path: Path, config: TrainConfig) -> RunFolder:
        """Make the folder of a new run, or open that of a run to be resumed.

        Args:
            path: The folder.
            config: Settings of the run; on ``resume`` they must equal those of the folder.

        Raises:
            ConfigurationError: The folder holds something else or another run, or cannot be
                written.
        """
        folder = cls(path)
        try:
            folder._open(_settings(config), config.resume)
        except OSError as error:
            raise ConfigurationError(
                f"expected --out to be a folder that can be written, but {path} cannot: "
                f"{error.strerror}; choose another --out"
            ) from error
        return folder

    def _open(self, settings: Mapping[str, Any], resume: bool) -> None:
        """Check the folder, and make what a new run needs."""
        config_path = self.path / "config.yaml"
        if self.path.exists() and not self.path.is_dir():
            raise ConfigurationError(f"expected --out to be a folder, but {self.path} is a file")
        if config_path.exists():
            self._check_same_run(config_path, settings, resume)
        elif self._holds_other_files(config_path):
            raise ConfigurationError(
                f"expected --out to be empty or the folder of a run, but {self.path} holds other "
                "files; choose another --out"
            )
        elif resume:
            raise ConfigurationError(
                f"expected a run to resume in {self.path}, but there is none; leave out --resume "
                "to start one"
            )
        self.path.mkdir(parents=True, exist_ok=True)
        if not config_path.exists():
            import yaml

            # First of all files: with it the folder is known as this run's, whenever it is killed.
            write_atomically(config_path, yaml.safe_dump(settings, sort_keys=False).encode())
        self.checkpoints.mkdir(exist_ok=True)
        self._clock -= self.state().get("seconds", 0.0)
        for records in (self.metrics_path, self.episodes_path):
            _cut_unfinished_line(records)

    def _holds_other_files(self, config_path: Path) -> bool:
        """Return whether the folder has files besides what a kill left of an atomic write."""
        entries = self.path.iterdir() if self.path.exists() else []
        return any(
            not (entry.name.startswith(f".{config_path.name}.") and entry.suffix == ".tmp")
            for entry in entries
        )

    def _check_same_run(self, path: Path, settings: Mapping[str, Any], resume: bool) -> None:
        """Refuse to mix two runs in one folder."""
        if not resume:
            raise ConfigurationError(
                f"expected --out to hold no other run, but {self.path} does; pass --resume to "
                "continue that run, or choose another --out"
            )
        changed = _changes(_flat(_read_settings(path)), _flat(settings))
        if changed:
            raise ConfigurationError(
                f"expected the settings of the run in {self.path} to be unchanged on --resume, but "
                f"{', '.join(changed)}; repeat the command that started it, or choose another --out"
            )

    # -- state: which phases are done -----------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the notes on finished phases."""
        path = self.path / "state.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def seconds(self) -> float:
        """Return the seconds spent on the run, those before the last kill included.

        Of a run that was killed, what it did after its last note is not counted.
        """
        return time.monotonic() - self._clock

    def note(self, **values: Any) -> None:
        """Add notes on finished phases, and the time spent; survives ``kill -9``."""
        text = json.dumps({**self.state(), "seconds": self.seconds(), **values}, indent=1)
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
    """Append one line and flush it to the operating system; all of it or, on an error, nothing."""
    with path.open("ab", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        data = line.encode() + b"\n"
        try:
            while data:
                data = data[file.write(data) :]
        except OSError:
            with suppress(OSError):
                file.truncate(size)
            raise


def _cut_unfinished_line(path: Path) -> None:
    """Take off what a killed run left of its last line, so that the next one starts afresh."""
    if not path.is_file():
        return
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - 65536)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                file.truncate(start + found + 1)
                return
            end = start
        file.truncate(0)


def _filter_lines(path: Path, keep: Callable[[Mapping[str, Any]], bool]) -> None:
    """Rewrite a JSON-lines file with the records that ``keep`` accepts."""
    lines = [json.dumps(record) for record in read_jsonl(path) if keep(record)]
    write_atomically(path, "".join(line + "\n" for line in lines).encode())


def _read_settings(path: Path) -> Mapping[str, Any]:
    """Return the settings of a run's ``config.yaml``."""
    import yaml

    try:
        stored = yaml.safe_load(path.read_text())
    except (yaml.YAMLError, UnicodeDecodeError):
        stored = None
    if not isinstance(stored, Mapping):
        raise ConfigurationError(
            f"expected {path} to hold the settings of a run, but it does not; choose another --out"
        )
    return stored


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested settings under names such as ``rl.lr``."""
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Describe the settings that differ."""
    names = [name for name in now if name not in before or before[name] != now[name]]
    return [f"{name} was {before.get(name)} and is {now[name]}" for name in names]


def _settings(config: TrainConfig) -> dict[str, Any]:
    """Return the settings that define a run."""
    return {key: value for key, value in to_dict(config).items() if key not in CHANGEABLE}
