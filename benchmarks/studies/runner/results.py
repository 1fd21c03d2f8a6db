"""Combine the finished runs of a study: figures and their provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgym.support.caching import write_atomically
from agentgym.support.redaction import for_others
from benchmarks.provenance import COMMIT, to_json
from benchmarks.studies.runner.stored import check_replaceable, ids_in, result_path
from benchmarks.studies.runner.study import Study
from trainers.phases.multirun.cache import Run, RunCache
from trainers.phases.multirun.playing import FailedRun


def collect(
    study: Study,
    cache: RunCache,
    runs: Sequence[Run],
    *,
    command: str,
    failures: Sequence[FailedRun] = (),
) -> dict[str, Any]:
    """Return the result of a study, from its finished runs.

    Args:
        study: The study.
        cache: Folder of its runs.
        runs: All its runs, also those not selected this time.
        command: Command that reproduces this result from scratch.
        failures: Runs that failed just now.

    Returns:
        What the study measures, and beside it: ``study``, ``question``, ``command``, ``seeds``,
        ``commits`` with the runs that each made, ``of_another_commit`` with those that the present
        code did not, the ``arms`` with their settings and the facts of every run, ``missing`` and
        ``failed`` runs.
    """
    played_runs = {run: cache.find_played(run) for run in runs}
    by_arm = {
        arm.name: [
            played_run
            for run, played_run in played_runs.items()
            if run.arm == arm.name and played_run is not None
        ]
        for arm in study.arms
    }
    facts = {name: [played_run.facts for played_run in some] for name, some in by_arm.items()}
    commits: dict[str, list[str]] = {}
    for fact in (fact for some in facts.values() for fact in some):
        commits.setdefault(fact["commit"], []).append(fact["key"])
    return {
        "study": study.name,
        "question": study.question,
        "command": command,
        "seeds": sorted({run.seed for run in runs}),
        "commits": {name: sorted(set(keys)) for name, keys in sorted(commits.items())},
        "of_another_commit": sorted(
            {key for name, keys in commits.items() if name != COMMIT for key in keys}
        ),
        "missing": [run.name for run, played_run in played_runs.items() if played_run is None],
        "failed": {failure.run.name: failure.why for failure in failures},
        "runs": {
            arm.name: {
                "settings": _hide_secrets(arm.settings),
                **({"after": arm.after.name} if arm.after is not None else {}),
                "labels": [f"{axis}={label}" for axis, label in arm.labels.items()],
                "runs": facts[arm.name],
            }
            for arm in study.arms
            if facts[arm.name]
        },
        **study.measure({name: some for name, some in by_arm.items() if some}),
    }


def write(study: Study, result: Mapping[str, Any], folder: Path, *, replace: bool = False) -> Path:
    """Write a result as ``<study>.json`` with its picture beside it; return the JSON's path.

    Args:
        study: The study.
        result: The result of :func:`collect`.
        folder: Target folder; created if missing.
        replace: Whether it may replace a result with runs that it lacks.

    Raises:
        ConfigurationError: There is a result with runs that this one lacks.
    """
    path = result_path(study.name, folder)
    if not replace:
        check_replaceable(path, ids_in(result), "measured")
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, f"{to_json(result)}\n".encode())
    if result["runs"]:
        study.draw(result, path.with_suffix(".png"))
    return path


def _hide_secrets(settings: Sequence[str]) -> list[str]:
    """Return flags without secrets, also where a flag and its value are one word."""
    words = []
    for word in settings:
        flag, sign, value = word.partition("=") if word.startswith("--") else ("", "", word)
        words.append(flag + sign + for_others([value])[0])
    return words
