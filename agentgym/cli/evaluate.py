"""``agentgym eval``: play what was named, and show what was found."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.cli.advice import in_flags
from agentgym.cli.chat import chat_policy
from agentgym.cli.dry_run import dry_run
from agentgym.cli.evaluation_file import read_evaluations
from agentgym.cli.evaluations import RUNS, Evaluation, check, folder_name, named_evaluations
from agentgym.cli.exits import INCOMPLETE
from agentgym.cli.leaderboards import evaluation_folders, holds_several, write_leaderboard
from agentgym.cli.progress import EpisodeProgress
from agentgym.cli.protocols import known_arguments, number, open_env, tasks_to_play
from agentgym.core.options import integer
from agentgym.errors import AgentGymError, ConfigurationError, EvaluationFailed
from agentgym.making import parse_pairs

READ_WRITTEN = ("prompt", "completion")
"""Kinds of tokens that count for a limit; the others are among these."""

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.cli.arguments import Eval
    from agentgym.core.env import TextEnv
    from agentgym.evaluation import Prices, Report, Scale


def evaluate(command: Eval, console: Console) -> int:
    """Play every policy that is named on every environment, and show the report or the table.

    Returns:
        1 if one of several evaluations failed, else 3 if a report is incomplete, else 0.
    """
    file = command.file
    if file is None:
        planned = named_evaluations(command)
    else:
        command, planned = read_evaluations(command)
    for each in planned:
        _check_numbers(each.settings)
    _check_chart(command.chart)
    if len(planned) > 1:
        return _Several(command, planned, file, console).play()
    [single] = planned
    out = command.out or (RUNS / f"eval-{single.name}" if single.model else None)
    if command.dry_run:
        console.print(dry_run(single, out, _prices(single.settings)))
        return 0
    scale = _wants_scale(single, single.model)
    try:
        report = _play(single, out, scale, console, announce=not command.out)
    except (KeyboardInterrupt, AgentGymError) as error:
        if out is not None and not isinstance(error, ConfigurationError):
            _show_kept(out, console)
        raise
    console.print(report.table(in_flags))
    if out is not None:
        told = "report.json, report.md, episodes.jsonl" if report.finished else "episodes.jsonl"
        console.print(f"{out}: {told}", markup=False, soft_wrap=True)
    if command.chart:
        report.chart(command.chart)
    return INCOMPLETE if report.incomplete else 0


class _Several:
    """Evaluations one after the other, and one table of them.

    One that fails costs the others nothing. The table is written after each. Where a table of
    before goes on, its rows stay until they are played anew; at the end those go that were not
    named any more.
    """

    def __init__(
        self, command: Eval, planned: Sequence[Evaluation], file: Path | None, console: Console
    ) -> None:
        self._planned, self._console = planned, console
        models = [each for each in planned if each.model]
        self._chart, self._dry_run = command.chart, command.dry_run
        self._scale = bool(models)
        self._out = command.out
        if models and self._out is None:
            words = [file.stem] if file else [each.env for each in planned[:1]]
            identity = [each.identity for each in planned]
            self._out = RUNS / folder_name(["eval", *words], identity)
        self._scales: dict[tuple[Any, ...], Scale | None] = {}
        self._reports: dict[str, Report] = {}
        self._earlier: dict[str, Report] = {}

    def play(self) -> int:
        """Play all; return 1 if one failed, else 3 if one is incomplete, else 0."""
        check(self._planned)
        if self._dry_run:
            for each in self._planned:
                out = self._out / each.name if self._out else None
                self._console.print(dry_run(each, out, _prices(each.settings)))
            return 0
        if self._out:
            self._earlier = _earlier(self._out)
            told = f"Every episode is kept in {self._out}."
            self._console.print(told, markup=False, soft_wrap=True)
        failures = []
        try:
            for index, each in enumerate(self._planned, 1):
                told = f"{index} of {len(self._planned)}: {each.title}"
                try:
                    self._say(f"{told}: {self._one(each)}")
                except AgentGymError as error:
                    failures.append(error)
                    self._say(f"{told} failed: {error}")  # first: keeping may fail, too
                    if not isinstance(error, ConfigurationError):
                        self._keep_failed(each)
            self._write({each.name for each in self._planned})
        finally:
            self._show()
        if failures:
            return 1
        return INCOMPLETE if any(each.incomplete for each in self._reports.values()) else 0

    def _say(self, told: str) -> None:
        self._console.print(in_flags(told), markup=False, highlight=False, soft_wrap=True)

    def _one(self, each: Evaluation) -> str:
        """Play one, and say what was found."""
        from agentgym.evaluation.reports.diagnosis import diagnoses

        out = self._out / each.name if self._out else None
        scale: bool | Scale = _wants_scale(each, self._scale)
        if scale:
            scale = self._scales.get(each.tasks) or True
        report = _play(self._within_limits(each), out, scale, self._console)
        if report.scale:
            self._scales[each.tasks] = report.scale
        self._keep(each, report)
        broken = f", {report.errors:,} broken" if report.errors else ""
        least = f" (at least {report.success_lower_bound.value:.3f})" if report.left_out else ""
        figures = f"score {report.score_mean:.3f}, success {report.success:.3f}{least}{broken}"
        return "; ".join([figures, *diagnoses(report)])

    def _within_limits(self, each: Evaluation) -> Evaluation:
        """Return an evaluation with what is left of the limits, which are those of all together.

        Raises:
            EvaluationFailed: Nothing is left.
        """
        reports, its = self._reports.values(), each.settings
        tokens, cost = its.limit_total_tokens, its.limit_total_cost
        if tokens is not None:
            tokens -= sum(sum(report.tokens[kind] for kind in READ_WRITTEN) for report in reports)
        if cost is not None:
            cost -= sum(report.cost or 0.0 for report in reports)
        if any(left is not None and left <= 0 for left in (tokens, cost)):
            raise EvaluationFailed(
                "expected something left of the limit on all episodes together, but the "
                "evaluations before took it: raise `total_limits`, and the same command goes on"
            )
        left = replace(its, limit_total_tokens=tokens, limit_total_cost=cost)
        return replace(each, settings=left)

    def _keep_failed(self, each: Evaluation) -> None:
        """Let the table show what was played before an evaluation failed.

        One that was refused played nothing: what is in its folder is another's.
        """
        from agentgym.evaluation import read_report

        if self._out:
            with suppress(AgentGymError):
                self._keep(each, read_report(self._out / each.name))

    def _keep(self, each: Evaluation, report: Report) -> None:
        """Add a report to the table, and write it."""
        self._reports[each.name] = report
        self._write({*self._earlier, *self._reports})

    def _write(self, names: Collection[str]) -> None:
        """Write the table of what was played now and before, as far as it is named."""
        from agentgym.evaluation import Leaderboard

        if not self._out or not self._reports:
            return
        order = dict.fromkeys((*(each.name for each in self._planned), *self._earlier))
        found = {**self._earlier, **self._reports}
        rows = {name: found[name] for name in order if name in found and name in names}
        write_leaderboard(self._out, Leaderboard([*rows.values()]), [*rows])

    def _show(self) -> None:
        from agentgym.evaluation import Leaderboard

        if not self._reports:
            return
        board = Leaderboard([*self._reports.values()])
        self._console.print(*board.tables(), sep="\n")
        if self._chart:
            board.chart(self._chart)
        if self._out:
            told = f"{self._out}: leaderboard.json, leaderboard.md, a folder for each evaluation"
            self._console.print(told, markup=False, soft_wrap=True)


def _earlier(out: Path) -> dict[str, Report]:
    """Return the reports of the table that is in a folder, by the names of their folders.

    Raises:
        ConfigurationError: The folder is that of a single evaluation.
    """
    from agentgym.evaluation import read_report

    if (out / "evaluation.json").exists():
        raise ConfigurationError(
            f"expected a new folder for several evaluations, or one of several, got {out}, which "
            "holds a single one; choose another --out"
        )
    found: dict[str, Report] = {}
    with suppress(AgentGymError):  # a table that is damaged is made anew
        for folder in evaluation_folders(out) if holds_several(out) else ():
            with suppress(AgentGymError):
                found[folder.name] = read_report(folder)
    return found


def _wants_scale(evaluation: Evaluation, usual: bool) -> bool:
    """Return whether the scale is played, as the evaluation says, or all of them together."""
    said = evaluation.settings.scale
    return usual if said is None else said


def _check_numbers(command: Eval) -> None:
    """Check what `evaluate` would only when it is the evaluation's turn.

    Raises:
        ConfigurationError: A number is out of its domain.
    """
    from agentgym.evaluation import Limits
    from agentgym.evaluation.placement import Where

    integer(command.samples, "the number of samples", low=1)
    Limits(command.limit_tokens, command.limit_cost)
    Limits(command.limit_total_tokens, command.limit_total_cost)
    _prices(command)
    Where(command.backend, command.concurrency, command.step_timeout)


def _check_chart(path: Path | None) -> None:
    """Refuse a chart that cannot be drawn, before anything is played for it.

    Raises:
        DependencyNotInstalled: The package matplotlib is missing.
        ConfigurationError: The file is of another kind.
    """
    if path is not None:
        from agentgym.evaluation.reports.plot import check_drawable

        check_drawable(path)


def _play(
    evaluation: Evaluation,
    out: Path | None,
    scale: bool | Scale,
    console: Console,
    announce: bool = False,
) -> Report:
    """Play one evaluation, with a progress bar; say first where it is kept, if that was not."""
    from agentgym.evaluation import Limits, evaluate

    command, prices = evaluation.settings, _prices(evaluation.settings)
    before = _valid(out)
    if known := known_arguments(evaluation):
        told = " ".join(f"{name}={json.dumps(value)}" for name, value in known.items())
        told = f"The environment is that of {evaluation.policy}: {told} (--set NAME=VALUE wins)."
        console.print(told, markup=False, highlight=False, soft_wrap=True)
    env = open_env(evaluation)
    try:
        total = tasks_to_play(evaluation, env)
        with ExitStack() as stack:
            policy = stack.enter_context(_policy(evaluation, env, console))
            if out and announce:
                console.print(f"Every episode is kept in {out}.", markup=False, soft_wrap=True)
            bar = EpisodeProgress(console, total * command.samples, prices)
            progress = stack.enter_context(bar)
            report = evaluate(
                policy,
                env,
                command.split,
                number(command),
                command.seed,
                protocol=command.protocol,
                prompt=command.prompt,
                tasks=command.task or None,
                samples=command.samples,
                horizon=command.horizon,
                out=out,
                retry_failed=command.retry_failed,
                on_episode=progress.add,
                concurrency=command.concurrency,
                backend=command.backend,
                step_timeout=command.step_timeout,
                limits=Limits(command.limit_tokens, command.limit_cost),
                total_limits=Limits(command.limit_total_tokens, command.limit_total_cost),
                prices=prices,
                scale=scale,
                failed=command.failed,
            )
    finally:
        env.close()
    _say_read(report, before if progress.told else None, out, console)
    return report


def _say_read(
    report: Report, before: set[tuple[str, int]] | None, out: Path | None, console: Console
) -> None:
    """Say how many episodes were not played now: those from before, or all where that is None."""
    rows = report.rows
    read = sum(before is None or (each.task_id, each.sample) in before for each in rows)
    if read:
        told = f"{read:,} {'episode was' if read == 1 else 'episodes were'} read from {out}, "
        told += f"{len(rows) - read:,} played."
        console.print(told, markup=False, highlight=False, soft_wrap=True)


def _valid(out: Path | None) -> set[tuple[str, int]]:
    """Return the keys of the episodes that count in the folder of an evaluation."""
    from agentgym.evaluation import read_report

    if out is None or not out.exists():
        return set()
    try:
        return {(each.task_id, each.sample) for each in read_report(out).rows if each.valid}
    except AgentGymError:  # is said by the evaluation
        return set()


def _show_kept(out: Path, console: Console) -> None:
    """Show what a stopped evaluation has played, if anything."""
    from agentgym.evaluation import read_report

    try:
        report = read_report(out)
    except AgentGymError:
        return
    if report.rows:
        console.print(report.table(in_flags))
        told = f"{len(report.rows):,} episodes are kept in {out}"
        if report.errors or not report.finished:
            told += "; the same command goes on there"
            told += f" and plays {report.errors:,} broken ones again" if report.errors else ""
        console.print(f"{told}.", markup=False, highlight=False, soft_wrap=True)


def _prices(command: Eval) -> Prices | None:
    from agentgym.evaluation import Prices

    return Prices(*command.price) if command.price else None


@contextmanager
def _policy(evaluation: Evaluation, env: TextEnv, console: Console) -> Iterator[Any]:
    """Hold the policy that is named, for the time of the evaluation."""
    from agentgym.evaluation.policy_names import load_policy

    command = evaluation.settings
    if evaluation.policy == "chat":
        # Made once: its copies, which play the episodes, share the connection and the rate limit.
        policy = chat_policy(command, env.action_prompt(), env.language.grammar)
        if command.base_url is None:
            told = f"Asking {command.model} at {policy.facts()['endpoint']} with the key in "
            told += f"{command.api_key_env}; --base-url names another endpoint."
            console.print(told, markup=False, highlight=False, soft_wrap=True)
        yield policy
        return
    options = parse_pairs(command.policy_set, "--policy-set")
    with load_policy(evaluation.policy, env, seed=command.seed, **options) as maker:
        yield maker
