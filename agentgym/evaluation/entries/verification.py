"""Verify an entry of a leaderboard: replay every episode, and recompute every figure.

An entry is accepted if

- its panel is what the task set gives for its split, seed and size, with the same hash;
- it holds exactly the planned episodes, in their order, each with its planned task, seed, options,
  environment, arguments and turn budget;
- each replays to the same record (`agentgym.episodes.replay`), and stands in the file as the suite
  writes it;
- every figure of the report is what these episodes give, and its scale what the random policy and
  the expert score here.

Nothing of an entry is run, imported or resolved without the user's ``--trust``. What no replay can
prove is taken from the entry as its claim: `NOT_PROVEN`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from agentgym.core.guard import GuardedEnv
from agentgym.core.options import integer
from agentgym.core.tasks import canonical_json
from agentgym.episodes.recorder import package_version
from agentgym.episodes.replay import make_env_of
from agentgym.errors import DISTRIBUTION, AgentGymError, DataError
from agentgym.evaluation.entries.episode_check import (
    EntryFacts,
    EntryRefused,
    EpisodeCheck,
    RecordLine,
    expect_equal,
)
from agentgym.evaluation.entries.sealed_panel import OpenedPanel, check_opening
from agentgym.evaluation.episode_result import EpisodeResult
from agentgym.evaluation.evaluation_folder import DETAILS, read_head
from agentgym.evaluation.plan import Plan, plan
from agentgym.evaluation.protocol_terms import find_setup
from agentgym.evaluation.reports.report import Report
from agentgym.evaluation.reports.report_json import report_to_dict
from agentgym.evaluation.reports.report_reader import report_from_dict
from agentgym.evaluation.runner import measure_scale
from agentgym.protocols import bundled
from agentgym.support.folder_links import check_no_link_leads_out
from agentgym.support.process_pool import in_order
from agentgym.support.strict_json import parse_json
from agentgym.trust import granted, trusting_env

NOT_PROVEN = (
    "policy", "policy_facts", "prices", "limits", "machine", "commit", "started", "seconds",
    "versions of other packages than the suite", "model texts, tokens and finish reasons",
    "who chose the actions", "why an episode was ended from outside",
)  # fmt: skip
"""What an entry claims, and no replay can prove."""
REPORT, HEAD, EPISODES = "report.json", "evaluation.json", "episodes.jsonl"
LONGEST = 1 << 26
"""Maximum number of bytes of a record."""
_CLOSE = 1e-9
"""Relative difference of a figure, for mathematical libraries that round differently."""


@dataclass(frozen=True)
class VerifiedEntry:
    """An accepted entry. Its figures were computed here."""

    report: Report
    """The report, with rows and scale of the replay."""
    sha256: str
    """Hash over ``report.json`` and ``episodes.jsonl``, to recognize the entry by."""
    chosen_tasks: bool = False
    """Whether its tasks were chosen by their ids, instead of drawn by the seed."""
    commitment: str = ""
    """Commitment of the sealed panel that was played, if one was given."""

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON-safe data."""
        report = self.report
        score, success = report.headline_score, report.headline_success
        return {
            "policy": report.policy,
            "env_id": report.env_id,
            "env_kwargs": dict(report.env_kwargs),
            "split": report.split,
            "seed": report.seed,
            "horizon": report.horizon,
            "tasks": report.size // report.samples,
            "chosen_tasks": self.chosen_tasks,
            "samples": report.samples,
            "panel_sha256": report.panel_sha256,
            "commitment": self.commitment,
            "episodes": len(report.rows),
            "errors": report.errors,
            "score": score._asdict(),
            "success": None if report.success_unknown else success._asdict(),
            "scale": asdict(report.scale) if report.scale else None,
            "scaled": report.scaled,
            "sha256": self.sha256,
            "not_proven": [*NOT_PROVEN],
        }


@dataclass(frozen=True)
class EntryVerdict:
    """Whether an entry is accepted."""

    path: Path
    """Its folder."""
    entry: VerifiedEntry | None
    """The entry, if it is accepted."""
    place: str = ""
    """Where it differs; empty if it could not be verified here at all."""
    problem: str = ""
    """Why it is not accepted."""

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON-safe data."""
        facts = self.entry.to_dict() if self.entry else {}
        verdict = {"entry": self.path.name, "verified": self.entry is not None}
        return {**verdict, "place": self.place, "problem": self.problem, **facts}


def verify_entries(
    paths: Sequence[str | Path],
    *,
    panel: OpenedPanel | None = None,
    env: str | None = None,
    workers: int = 1,
    on_episode: Callable[[], None] = lambda: None,
) -> list[EntryVerdict]:
    """Verify several entries; see `verify_entry` for the arguments.

    Returns:
        A verdict for each. One that cannot be played here is not accepted either.
    """
    verdicts = []
    for path in map(Path, paths):
        try:
            entry = verify_entry(path, panel=panel, env=env, workers=workers, on_episode=on_episode)
            verdicts.append(EntryVerdict(path, entry))
        except EntryRefused as error:
            verdicts.append(EntryVerdict(path, None, error.place, str(error)))
        except AgentGymError as error:
            verdicts.append(EntryVerdict(path, None, "", str(error)))
    return verdicts


def verify_entry(
    path: str | Path,
    *,
    panel: OpenedPanel | None = None,
    env: str | None = None,
    workers: int = 1,
    on_episode: Callable[[], None] = lambda: None,
) -> VerifiedEntry:
    """Replay the episodes of an entry, and recompute its figures, floors and panel.

    Args:
        path: Folder of a finished ``agentgym eval --out``, or a file in it.
        panel: The opened panel that the entry must have played.
        env: ``MODULE:ID`` of the environment, if it is one of your own.
        workers: Number of parallel processes; the result is the same.
        on_episode: Called after each episode, for progress display.

    Returns:
        The entry, with figures that were computed here.

    Raises:
        EntryRefused: Something differs; the message names the place and the field.
        DataError: There is no entry.
        NotTrusted: It names more than plain data, see `agentgym.trust`.
        EnvFailure: The environment failed here, which proves nothing.
        DependencyNotInstalled: The environment needs a package.
    """
    integer(workers, "`workers`", 1, None)
    digest = hashlib.sha256()
    folder, claims, report, settings = _read_files(Path(path), digest.update)
    _check_settings(settings, report)
    if panel is not None:
        _check_panel(panel, report, settings)
    with trusting_env(env), _opened(report) as guarded_env:
        planned = _plan(guarded_env, report, settings)
        _check_protocol(report)
        facts = EntryFacts(
            report.env_id, report.env_kwargs, report.policy,
            planned.panel_sha256, report.versions, report.horizon,
        )  # fmt: skip
        records = _records(folder / EPISODES, planned, digest.update)
        rows: list[EpisodeResult] = []
        checks = in_order(partial(EpisodeCheck, env, granted(), facts), records, workers)
        for _, row in checks:
            rows.append(row)
            on_episode()
        scale = measure_scale(
            True,
            guarded_env,
            (report.split, planned.n, report.seed),
            {"tasks": settings.get("tasks"), "horizon": report.horizon},
        )
        left_out = guarded_env.unwrapped.tasks.left_out
    verified = replace(report, rows=tuple(rows), scale=scale, left_out_rows=left_out)
    expected = verified if report.scale else replace(verified, scale=None)
    _check_report(claims, json.loads(json.dumps(report_to_dict(expected))))
    commitment = panel.commitment if panel else ""
    is_list = settings.get("tasks") is not None
    return VerifiedEntry(verified, digest.hexdigest(), is_list, commitment)


def _read_files(
    path: Path, hash_bytes: Callable[[bytes], object]
) -> tuple[Path, dict[str, Any], Report, dict[str, Any]]:
    """Return folder, report as data, report, and settings of an entry.

    Raises:
        DataError: There is none, or it is damaged.
        ConfigurationError: A link leads out of it.
    """
    folder = path if path.is_dir() else path.parent
    if missing := [name for name in (REPORT, HEAD, EPISODES) if not (folder / name).is_file()]:
        raise DataError(
            f"expected the folder of a finished agentgym eval --out, got {folder} without "
            f"{', '.join(missing)}"
        )
    check_no_link_leads_out(folder)
    content = (folder / REPORT).read_bytes()
    hash_bytes(content)
    try:
        claims = parse_json(content)
        report = report_from_dict(claims)
        settings = read_head(folder / HEAD)["settings"]
    except (DataError, ValueError) as error:
        raise EntryRefused(REPORT, "format", str(error)) from error
    here, there = package_version(DISTRIBUTION), report.versions.get(DISTRIBUTION)
    if here != there:
        words = f"expected an entry of {DISTRIBUTION} {here}, got {there!r:.80}: verify it there"
        raise EntryRefused(REPORT, f"versions.{DISTRIBUTION}", words)
    return folder, claims, report, settings


def _check_settings(settings: Mapping[str, Any], report: Report) -> None:
    """Check that ``evaluation.json`` and ``report.json`` are of the same evaluation."""
    for name in (
        "env_id", "env_kwargs", "policy", "policy_facts", "split", "seed", "samples", "horizon",
        "panel_sha256",
    ):  # fmt: skip
        expect_equal(HEAD, name, getattr(report, name), settings[name])
    expect_equal(HEAD, "n", report.size, settings["n"] * report.samples)
    # Before the plan is made, which an edited number could make endless.
    expect_equal(REPORT, "rows", report.size, len(report.rows))
    use = report.protocol
    expect_equal(HEAD, "protocol", use.identity if use else None, settings.get("protocol"))
    expect_equal(HEAD, DETAILS, asdict(use) if use else None, settings.get(DETAILS))
    if report.unfinished:
        raise EntryRefused(REPORT, "unfinished", "expected a finished evaluation")


def _check_panel(panel: OpenedPanel, report: Report, settings: Mapping[str, Any]) -> None:
    """Check that an entry played an opened panel."""
    check_opening(panel)
    for name in ("env_id", "env_kwargs", "split", "seed", "horizon", "panel_sha256"):
        expect_equal(REPORT, name, getattr(panel, name), getattr(report, name))
    expect_equal(HEAD, "n", panel.num_tasks, settings["n"])
    expect_equal(HEAD, "tasks", None, settings.get("tasks"))


@contextmanager
def _opened(report: Report) -> Iterator[Any]:
    """Yield the guarded environment of a report."""
    env = GuardedEnv(make_env_of(report.env_id, report.env_kwargs))
    try:
        yield env
    finally:
        env.close()


def _plan(env: Any, report: Report, settings: Mapping[str, Any]) -> Plan:
    """Draw the panel again.

    Raises:
        EntryRefused: It is another one, or there is none of this size.
    """
    arguments = settings["n"], report.seed, settings.get("tasks"), report.samples
    try:
        planned = plan(env.unwrapped.tasks, report.split, *arguments)
    except AgentGymError as error:
        raise EntryRefused(HEAD, "tasks", str(error)) from error
    expect_equal(REPORT, "split", planned.split, report.split)
    expect_equal(REPORT, "panel_sha256", planned.panel_sha256, report.panel_sha256)
    expect_equal(REPORT, "planned", len(planned.jobs), report.size)
    return planned


def _check_protocol(report: Report) -> None:
    """Check name, file and figures of a protocol; its departures are the entry's claim."""
    if report.protocol is None:
        return
    name = report.protocol.name
    if name not in bundled():  # never a path, which a report must not name
        words = f"expected a protocol of {', '.join(bundled())}, got {name!r:.80}"
        raise EntryRefused(REPORT, "protocol.name", words)
    setup = find_setup(name, report.env_id)
    assert setup is not None
    expect_equal(REPORT, "protocol.sha256", setup.sha256, report.protocol.sha256)
    figures = [asdict(figure) for figure in setup.figures]
    claimed = [asdict(figure) for figure in report.protocol.figures]
    expect_equal(REPORT, "protocol.figures", figures, claimed)


def _records(
    file: Path, planned: Plan, hash_bytes: Callable[[bytes], object]
) -> Iterator[RecordLine]:
    """Yield the lines of a file with the planned episodes.

    Raises:
        EntryRefused: There are fewer or more.
    """
    with file.open("rb") as lines:
        for number, job in enumerate(planned.jobs, 1):
            line = lines.readline(LONGEST)
            if not line.endswith(b"\n"):
                raise EntryRefused(
                    f"episode {number} ({job.task_id})",
                    "line",
                    f"expected {len(planned.jobs):,} episodes of at most {LONGEST:,} bytes, got "
                    f"{number - 1:,}",
                )
            hash_bytes(line)
            yield RecordLine(number, line, job)
        if lines.read(1):
            raise EntryRefused(
                EPISODES, "lines", f"expected {len(planned.jobs):,} episodes, got more"
            )


def _check_report(claims: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Check every value of ``report.json``.

    Raises:
        EntryRefused: One is not what the episodes give, or is none that the suite writes.
    """
    for row, (claimed, computed) in enumerate(
        zip(claims["rows"], expected["rows"], strict=False), 1
    ):
        if path := _first_changed(claimed, computed):
            raise _changed(f"{REPORT}, row {row} ({computed['task_id']})", path, claimed, computed)
    if path := _first_changed(claims, expected):
        raise _changed(REPORT, path, claims, expected)


def _changed(place: str, path: Sequence[Any], claimed: Any, computed: Any) -> EntryRefused:
    for key in path:
        claimed = claimed[key]
        exists = isinstance(computed, list) or key in computed
        computed = computed[key] if exists else "no such field"
    field = ".".join(map(str, path))
    words = f"{field} differs: expected {computed!r:.120}, got {claimed!r:.120}"
    return EntryRefused(place, field, words)


def _first_changed(claimed: Any, computed: Any) -> tuple[Any, ...]:
    """Return the path of the first value of a claim that was computed differently.

    Returns:
        Keys and indices; empty if all are equal. A key that the claim lacks claims nothing.
    """
    if isinstance(claimed, dict) and isinstance(computed, dict):
        pairs = [(key, claimed[key], computed.get(key, _ABSENT)) for key in claimed]
    elif isinstance(claimed, list) and isinstance(computed, list) and len(claimed) == len(computed):
        pairs = [*zip(range(len(claimed)), claimed, computed, strict=True)]
    else:
        return () if _is_same(claimed, computed) else (_SELF,)
    for key, claim, value in pairs:
        if path := _first_changed(claim, value):
            return (key, *(part for part in path if part is not _SELF))
    return ()


_SELF, _ABSENT = object(), object()


def _is_same(claimed: Any, computed: Any) -> bool:
    if computed is _ABSENT:
        return False
    if type(claimed) is float and type(computed) is float:
        return math.isclose(claimed, computed, rel_tol=_CLOSE, abs_tol=_CLOSE)
    return canonical_json(claimed) == canonical_json(computed)
