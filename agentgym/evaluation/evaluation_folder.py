"""The folder of an evaluation, written while it runs.

A folder holds

- ``evaluation.json``: the settings, so that only the same evaluation can resume (or any, if no
  episode counts yet because a setting was wrong);
- ``episodes.jsonl``: a record of every episode, appended when it ends (see `agentgym.episodes`),
  and sorted into panel order when all have been played;
- ``report.json``: the report, once the evaluation is finished; ``report.md``: the same as Markdown.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypedDict

from agentgym.core.tasks import canonical_json
from agentgym.episodes import Episode, append_episode, read_episodes
from agentgym.errors import ConfigurationError, DataError
from agentgym.evaluation.episode_result import EpisodeResult, place_of
from agentgym.evaluation.prices import Limits, Prices
from agentgym.evaluation.reports.report import Report
from agentgym.evaluation.reports.report_reader import report_from_dict
from agentgym.protocols.schema import ProtocolUse
from agentgym.support.caching import write_atomically
from agentgym.support.folder_links import check_no_link_leads_out
from agentgym.support.folder_lock import holds_other_files, lock_folder
from agentgym.support.strict_json import parse_json
from agentgym.support.typed_json import read_json

EVALUATION = "agentgym.evaluation/1"
"""Name and version of the format of ``evaluation.json``."""
MAY_GROW = ("n", "samples", "tasks", "panel_sha256")
"""Settings that may differ when an evaluation resumes, if it only becomes longer."""
DETAILS = "protocol_details"
"""Setting with the protocol's details, which follow from its name and from other settings."""
_log = logging.getLogger(__name__)

Key = tuple[str, int]
"""Task id and sample of an episode."""


class _Begun(TypedDict):
    """Settings that every evaluation stores."""

    env_id: str
    env_kwargs: Mapping[str, Any]
    policy: str
    policy_facts: Mapping[str, Any]
    split: str
    seed: int
    n: int
    samples: int
    horizon: int | None
    panel_sha256: str


class _Settings(_Begun, total=False):
    """All settings, including those that only some evaluations store."""

    tasks: list[str] | None
    limits: Limits | None
    prices: Prices | None
    end_after_invalid: int
    protocol: str
    protocol_details: ProtocolUse


class _Head(TypedDict):
    """The content of ``evaluation.json``."""

    settings: _Settings
    started: str
    seconds: float


class EvaluationFolder:
    """The folder of one evaluation.

    Args:
        path: The folder; created if it is missing.
        settings: JSON-safe description of the evaluation.

    Raises:
        ConfigurationError: The folder holds another evaluation, other files, or a link that leads
            out of it.
        DataError: It cannot be written, or was changed.
    """

    def __init__(self, path: str | Path, settings: Mapping[str, Any]) -> None:
        self.path = Path(path)
        # A round trip through JSON makes them comparable with settings read from a file.
        self.settings = json.loads(canonical_json(dict(settings)))
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise _unwritable(self.path, error) from error
        head = self._head()
        if head is None and holds_other_files(self.path):
            raise ConfigurationError(
                f"expected a new folder, or one of an evaluation, got {self.path}, which holds "
                "other files; choose another --out (out=)"
            )
        check_no_link_leads_out(self.path)
        if head is not None and head["settings"] != self.settings:
            if any(EpisodeResult.of(episode).valid for episode in self.episodes().values()):
                self._check(head["settings"])
            else:  # no episode counts, e.g. after a wrong setting: start over with these settings
                head = None
        self.previous: Mapping[str, Any] = head["settings"] if head else {}
        """Settings of the evaluation that began in this folder; empty if none did."""
        self.before = float(head["seconds"]) if head else 0.0
        """Duration of earlier sessions in seconds, without sessions that were killed."""
        self.started = str(head["started"]) if head else ""
        """When the evaluation began, in UTC; empty if it has not begun."""

    @classmethod
    @contextmanager
    def open_locked(
        cls, path: str | Path, settings: Mapping[str, Any]
    ) -> Generator[EvaluationFolder, None, None]:
        """Open a folder and lock it against other processes until the block ends.

        Raises:
            ConfigurationError: Another process uses the folder, or as for the class.
            DataError: As for the class.
        """
        unlocked = cls(path, settings)  # validate first: a foreign folder must not get a lock file
        try:
            lock = lock_folder(unlocked.path, "the evaluation")
        except OSError as error:
            raise _unwritable(unlocked.path, error) from error
        with lock:
            # Read again under the lock: another process may have written in the meantime.
            yield cls(path, settings)

    @property
    def finished(self) -> bool:
        """Whether the evaluation with these settings is finished."""
        head = self._head()
        return self._file("report.json").exists() and bool(
            head and head["settings"] == self.settings
        )

    def report(self) -> Report:
        """Read the report, or compute it from the episodes so far.

        Includes records of an interrupted retry that the stored report lacks.
        """
        report = read_report(self.path)
        results = {key: EpisodeResult.of(episode) for key, episode in self.episodes().items()}
        rows = tuple(results.get((row.task_id, row.sample), row) for row in report.rows)
        return report if rows == report.rows else replace(report, rows=rows, seconds=self.before)

    def begin(self, started: str) -> None:
        """Write the settings before the first episode.

        A report with other settings is removed, because it has fewer episodes; one with the same
        settings is kept until there is a new one. If no episode counts, everything is removed.
        """
        self.started = self.started or started
        if self.previous != self.settings:
            # Before writing the head: if the process is killed in between, the folder has the old
            # settings without a report, and can be resumed.
            self._file("report.json").unlink(missing_ok=True)
        if not self.previous:
            self._file("episodes.jsonl").unlink(missing_ok=True)
        self._write_head(self.before)

    def episodes(self) -> dict[Key, Episode]:
        """Read the finished episodes; if a key occurs several times, the last one counts."""
        file = self._file("episodes.jsonl")
        if not file.exists():
            return {}
        episodes: dict[Key, Episode] = {}
        for episode in read_episodes(file, strict=False):  # a killed process leaves a torn line
            try:
                episodes[episode.task_id, place_of(episode).get("sample", 0)] = episode
            except DataError as error:
                _log.warning("skipping the record of %s in %s: %s", episode.task_id, file, error)
        return episodes

    def append(self, episode: Episode) -> None:
        """Append a finished episode."""
        append_episode(self._file("episodes.jsonl"), episode)

    def pause(self, seconds: float) -> None:
        """Store the duration of all sessions in seconds."""
        self._write_head(seconds)

    def finish(self, report: Report, order: Iterable[Key]) -> None:
        """Sort the records, and write the report."""
        # report.json comes last, because its presence means that the evaluation is finished.
        episodes = self.episodes()
        lines = "".join(episodes[key].to_line() for key in order if key in episodes)
        self._write("episodes.jsonl", lines)
        self._write("report.md", report.markdown())
        self._write("report.json", json.dumps(report.to_dict(), indent=2) + "\n")

    def _file(self, name: str) -> Path:
        return self.path / name

    def _write(self, name: str, text: str) -> None:
        try:
            write_atomically(self._file(name), text.encode())
        except OSError as error:
            raise _unwritable(self._file(name), error) from error

    def _write_head(self, seconds: float) -> None:
        head = {
            "format": EVALUATION,
            "settings": self.settings,
            "started": self.started,
            "seconds": seconds,
        }
        self._write("evaluation.json", json.dumps(head, indent=2) + "\n")

    def _head(self) -> dict[str, Any] | None:
        """Return the content of ``evaluation.json``, or None in a new folder."""
        file = self._file("evaluation.json")
        return read_head(file) if file.exists() else None

    def _check(self, old_settings: Mapping[str, Any]) -> None:
        """Check that the stored settings equal the new ones, apart from a longer evaluation."""
        settings = self.settings
        names = [
            name
            for name in {**old_settings, **settings}
            if old_settings.get(name) != settings.get(name)
        ]
        differing = [name for name in names if name not in (*MAY_GROW, DETAILS)]
        if not _one_begins_the_other(old_settings.get("tasks"), settings.get("tasks")):
            differing.append("tasks")
        differing += [
            name for name in ("n", "samples") if _more(old_settings.get(name), settings.get(name))
        ]
        if differing:
            changes = "; ".join(
                f"{name} was {old!r:.200} and is {new!r:.200}"
                for setting in differing
                for name, old, new in _changes(
                    setting, old_settings.get(setting), settings.get(setting)
                )
            )
            raise ConfigurationError(
                f"expected the evaluation that was begun in {self.path}, but {changes}; choose "
                "another --out (out=), or give the same settings to resume"
            )


def read_report(path: str | Path) -> Report:
    """Read a report from its file, or from the folder of an evaluation, finished or not.

    Raises:
        DataError: There is no report, or it is damaged.
    """
    path = Path(path)
    file = path / "report.json" if path.is_dir() else path
    if file.is_file():  # not a device, which could be read forever
        return _read_report_file(file)
    head = path / "evaluation.json"
    if not head.is_file():
        raise DataError(
            f"expected a report, or the folder of an evaluation, at {path}; agentgym eval --out "
            "makes one"
        )
    return _unfinished(EvaluationFolder(path, read_head(head)["settings"]))


def _read_report_file(file: Path) -> Report:
    """Read a report file; the error for a damaged one says how to compute it again.

    Raises:
        DataError: It is.
    """
    try:
        return report_from_dict(_json(file))
    except DataError as error:
        remedy = ""
        if file.name == "report.json" and file.with_name("evaluation.json").is_file():
            remedy = (
                "; remove it, and run the same agentgym eval (evaluate) to make it again from the "
                "episodes.jsonl beside it"
            )
        raise DataError(f"{error} ({file}{remedy})") from error


def read_head(file: Path) -> dict[str, Any]:
    """Read ``evaluation.json``: ``settings``, ``started`` and ``seconds``.

    Raises:
        DataError: It is damaged.
    """
    head = _json(file)
    if not isinstance(head, dict) or head.get("format") != EVALUATION:
        raise DataError(f'expected {file} to have "format": "{EVALUATION}"')
    try:
        read_json(_Head, head)
    except (ConfigurationError, DataError) as error:
        raise DataError(f"{error} ({file}, which an evaluation wrote, has been changed)") from error
    return head


def _unfinished(folder: EvaluationFolder) -> Report:
    """Compute the report of an unfinished evaluation."""
    settings = folder.settings
    episodes = folder.episodes().values()
    rows = tuple(EpisodeResult.of(episode) for episode in episodes)
    # Plain data in the settings, objects in a report.
    read_apart = {"protocol", "limits", "prices"}
    names = ({entry.name for entry in fields(Report)} & set(settings)) - read_apart
    return replace(
        Report(settings["env_id"], settings["policy"], settings["split"], settings["seed"], "", ()),
        **{name: settings[name] for name in names},
        rows=rows,
        protocol=_protocol(settings.get(DETAILS)),
        limits=_limits(settings.get("limits")),
        prices=_prices(settings.get("prices")),
        planned=settings["n"] * settings["samples"],
        started=folder.started,
        seconds=folder.before,
    )


def _protocol(data: Mapping[str, Any] | None) -> ProtocolUse | None:
    return ProtocolUse.from_dict(data) if data else None


def _limits(data: Mapping[str, Any] | None) -> Limits | None:
    return Limits(data["tokens"], data["cost"]) if data and any(data.values()) else None


def _prices(data: Mapping[str, Any] | None) -> Prices | None:
    return Prices(**data) if data else None


def _changes(name: str, old: object, new: object) -> list[tuple[str, object, object]]:
    """Return a changed setting with both values; for facts of the policy, each changed fact."""
    if name != "policy_facts" or not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return [(name, old, new)]
    facts = [fact for fact in {**old, **new} if old.get(fact) != new.get(fact)]
    return [(f"{name}.{fact}", old.get(fact), new.get(fact)) for fact in facts]


def _more(old: object, new: object) -> bool:
    return isinstance(old, int) and isinstance(new, int) and old > new


def _one_begins_the_other(old: object, new: object) -> bool:
    """Return whether two choices of tasks are equal, or one is the beginning of the other."""
    if not isinstance(old, list) or not isinstance(new, list):
        return bool(old == new)
    length = min(len(old), len(new))
    return old[:length] == new[:length]


def _json(file: Path) -> Any:
    try:
        return parse_json(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"expected JSON in {file}, but: {error}") from error


def _unwritable(path: Path, error: Exception) -> ConfigurationError:
    reason = getattr(error, "strerror", None) or error
    return ConfigurationError(f"expected a folder that can be written, got {path}: {reason}")
