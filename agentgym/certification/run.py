"""`certify`: run the checks of an environment within a budget of time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agentgym.certification.certificate import FORMAT, Certificate
from agentgym.certification.result import CheckResult, NotApplicable, NotRun, Status
from agentgym.certification.sameness import digest
from agentgym.certification.subject import Budget, Subject
from agentgym.certification.table import CHECKS
from agentgym.core import guard
from agentgym.core.env import TextEnv
from agentgym.core.options import check_seed, integer
from agentgym.core.outcome import bounded, well_formed
from agentgym.episodes.recorder import package_versions
from agentgym.errors import AgentGymError, ConfigurationError, DependencyNotInstalled
from agentgym.evaluation.evaluation_folder import read_report
from agentgym.registration.making import env_name, make_named, resolve
from agentgym.support.caching import write_atomically
from agentgym.support.growing_file import append_line, drop_cut_line
from agentgym.support.guesses import with_guesses
from agentgym.support.provenance import commit, machine
from agentgym.support.repeated_tracebacks import tracebacks_once

EPISODES = "episodes_sha256"
"""Key of the line with the hash of the recorded episodes."""
MOST_EVIDENCE = 1000
"""Maximum number of pieces of evidence of a result."""
RESULTS = "checks.jsonl"
"""File of the results that are there; its first line has the settings."""
SHARE = 0.25
"""Share of the time left that a check may take, so that one check does not use up all of it."""


def certify(
    env: str,
    checks: Sequence[str] = (),
    *,
    split: str | Sequence[str] = (),
    num_tasks: int | None = 24,
    seed: int = 0,
    horizon: int | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    seconds: float = 600.0,
    blind_limit: float = 0.25,
    python: Sequence[str | Path] = (),
    reports: Sequence[str | Path] = (),
    training: str | Path | None = None,
    earlier: str | Path | None = None,
    out: str | Path | None = None,
    on_check: Callable[[CheckResult], None] = lambda result: None,
) -> Certificate:
    """Check an environment and return a verdict for each check.

    Args:
        env: A short name such as ``webshop``, an id, ``MODULE:ID`` or ``PREFIX:NAME``.
        checks: Names of checks in `agentgym.certification.table.CHECKS`; default: all.
        split: Split of the tasks, or several. Default: all.
        num_tasks: Number of tasks, spread evenly over the splits; None: all of them.
        seed: Seed of the panels, the episodes and the random actions.
        horizon: Turn budget of an episode; None: the environment's own.
        env_kwargs: Arguments of the environment.
        seconds: Time that all checks together may take. A check may take a quarter of the time
            that is left, the last ones more; if it needs more, it counts as not run.
        blind_limit: Share of the tasks that a policy which does not do the task may solve, by the
            lower end of the 95 % interval.
        python: Other Python interpreters, in which agentgym is installed.
        reports: Folders of evaluations on this environment, for the checks that need policies of
            several strengths. Default: stand-ins.
        training: Folder of a training in this environment. Default: one is run.
        earlier: ``certificate.json`` of an earlier version or another machine.
        out: Folder for ``certificate.json``, ``.md`` and ``.html``. Every result is written as soon
            as it is known: the same call resumes where it was stopped, and runs again what has
            neither passed nor failed.
        on_check: Called after each check.

    Returns:
        The certificate.

    Raises:
        ConfigurationError: The environment does not exist, an argument is wrong, or ``out`` holds
            a certificate with other settings.
        TaskNotFound: There is no such split.
    """
    named_checks = _chosen(checks)
    _check_numbers(seed, num_tasks, blind_limit, seconds)
    kwargs, total = dict(env_kwargs or {}), Budget(seconds)
    with closing(make_named(env, kwargs, "env_kwargs")) as text_env, tracebacks_once(guard.logger):
        counts = _spread(text_env, [split] if isinstance(split, str) else split, num_tasks)
        subject = Subject(
            env, kwargs, text_env, counts, seed, horizon, blind_limit, tuple(map(str, python)),
            tuple(map(read_report, reports)), None if training is None else Path(training),
            None if earlier is None else read_certificate(earlier),
        )  # fmt: skip
        about = _about(subject)
        file = None if out is None else Path(out, RESULTS)
        lines = [] if file is None else _open(file, about)
        results = {result.check: result for result in _read_results(lines)}
        for number, name in enumerate(named_checks):
            if name not in results or results[name].status not in (Status.PASS, Status.FAIL):
                share = max(SHARE, 1 / (len(named_checks) - number))
                subject.budget = Budget(total.left * share)
                results[name] = run_check(name, subject)
                if file is not None:
                    append_line(file, json.dumps(asdict(results[name])) + "\n")
            on_check(results[name])
        sha256 = next((line[EPISODES] for line in reversed(lines) if EPISODES in line), "")
        if "recorded" in subject.cache:
            sha256 = digest(subject.cache["recorded"][1])
            if file is not None:
                append_line(file, json.dumps({EPISODES: sha256}) + "\n")
        certificate = Certificate(
            **about,
            episodes_sha256=sha256,
            machine=machine(),
            packages=package_versions(),
            commit=commit(),
            results=tuple(results[name] for name in CHECKS if name in results),
        )
    if out is not None:
        text = json.dumps(certificate.to_dict(), indent=2) + "\n"
        texts = {"json": text, "md": certificate.markdown(), "html": certificate.html()}
        for kind, content in texts.items():
            write_atomically(Path(out, f"certificate.{kind}"), content.encode())
    return certificate


def _check_numbers(seed: int, num_tasks: int | None, blind_limit: float, seconds: float) -> None:
    check_seed(seed)
    if num_tasks is not None:
        integer(num_tasks, "`num_tasks`", 1, None)
    if not 0 <= blind_limit <= 1:
        raise ConfigurationError(
            f"expected `blind_limit` to be a share from 0 to 1, got {blind_limit!r:.80}"
        )
    if not seconds > 0:
        raise ConfigurationError(f"expected `seconds` above 0, got {seconds!r:.80}")


def run_check(name: str, subject: Subject) -> CheckResult:
    """Run a check and return its result, whatever happens in it."""
    began = time.monotonic()
    n, evidence = 0, tuple[str, ...]()
    try:
        subject.budget.check()
        measured = CHECKS[name](subject)
        status = Status.PASS if measured.passed else Status.FAIL
        summary, n = measured.summary, measured.n
        lines = measured.evidence[:MOST_EVIDENCE]
        evidence = tuple(well_formed(bounded(line, 500)) for line in lines)
    except (NotApplicable, DependencyNotInstalled) as reason:
        status, summary = Status.NOT_APPLICABLE, str(reason)
    except NotRun as reason:
        status, summary = Status.NOT_RUN, str(reason)
    except AgentGymError as error:  # the environment fails in nearly every episode, for example
        status, summary = Status.FAIL, bounded(" ".join(f"{error}".split()), 300)
    finally:
        subject.release()
    seconds = round(time.monotonic() - began, 3)
    return CheckResult(name, status, well_formed(summary), n, subject.seed, evidence, seconds)


def read_certificate(file: str | Path) -> dict[str, Any]:
    """Read the JSON of a certificate.

    Raises:
        ConfigurationError: The file is no certificate.
    """
    try:
        data = json.loads(Path(file).read_text("utf-8"))
        if data["format"] == FORMAT:
            return dict(data)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise ConfigurationError(f"expected the certificate.json of agentgym certify --out, got {file}")


def _chosen(checks: Sequence[str]) -> list[str]:
    """Return the names of the checks to run, in the order of the table."""
    if unknown := [name for name in checks if name not in CHECKS]:
        raise ConfigurationError(
            f"expected checks of {', '.join(CHECKS)}, got {with_guesses(unknown, list(CHECKS))}"
        )
    return [name for name in CHECKS if not checks or name in checks]


def _spread(env: TextEnv, splits: Sequence[str], num_tasks: int | None) -> dict[str, int]:
    """Spread a number of tasks evenly over splits; None: take all."""
    names = [env.tasks.check(name) for name in splits] or env.tasks.splits
    sizes = {name: size for name in names if (size := env.tasks.len(name))}
    if num_tasks is None:
        return sizes
    share, rest = divmod(num_tasks, len(sizes))
    extra = len(sizes) - rest  # the last splits get one more
    counts = {
        name: min(share + (place >= extra), size)
        for place, (name, size) in enumerate(sizes.items())
    }
    return {name: count for name, count in counts.items() if count}


def _about(subject: Subject) -> dict[str, Any]:
    """Return what identifies a certificate, as JSON values."""
    named = resolve(subject.name)
    settings = {
        "name": subject.name, "kwargs": subject.kwargs, "counts": subject.counts,
        "seed": subject.seed, "horizon": subject.horizon, "limit": subject.limit,
        "pythons": subject.pythons, "policies": [report.policy for report in subject.reports],
    }  # fmt: skip
    return {
        "env": env_name(named.id, {**named.kwargs, **subject.kwargs}),
        "settings": json.loads(json.dumps(settings, default=str)),
        "panel_sha256": subject.panel_sha256,
    }


def _open(file: Path, about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the lines that a file has after the first; begin it if it is new.

    Raises:
        ConfigurationError: It belongs to a certificate with other settings, or cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        drop_cut_line(file)
        if not file.exists() or not file.stat().st_size:
            append_line(file, json.dumps(about) + "\n")
        head, *lines = map(json.loads, file.read_text("utf-8").split("\n")[:-1])
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"expected a folder that can be written, got {file.parent}: {error}"
        ) from error
    if head != about:
        changed = [name for name in about if head.get(name) != about[name]]
        raise ConfigurationError(
            f"expected a certificate of the same settings in {file.parent}, got another "
            f"{', '.join(changed)}; choose another folder"
        )
    return lines


def _read_results(lines: Sequence[Mapping[str, Any]]) -> Iterator[CheckResult]:
    for line in lines:
        if line.get("check") in CHECKS:
            entry = {**line, "status": Status(line["status"]), "evidence": tuple(line["evidence"])}
            yield CheckResult(**entry)
