"""``agentgym eval``: play policies on environments, and show the results."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.cli.advice import in_flags
from agentgym.cli.dry_run import dry_run
from agentgym.cli.progress import EpisodeProgress
from agentgym.episodes.spans import tracing
from agentgym.errors import AgentGymError, ConfigurationError
from agentgym.evaluation.policy_names import BUILTIN
from agentgym.evaluation.suites.named_evaluation import EvaluationProgress
from agentgym.evaluation.suites.settings import EvaluationSettings
from agentgym.evaluation.suites.suite import check_suite, play_suite, usual_folder
from agentgym.evaluation.suites.suite_file import Suite, make_suite, read_suite
from agentgym.registration import STANDARD, find_family
from agentgym.registration.making import resolve
from agentgym.support.exits import INCOMPLETE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from agentgym.cli.arguments import Eval
    from agentgym.evaluation import EpisodeResult, Report
    from agentgym.evaluation.suites.named_evaluation import NamedEvaluation
    from agentgym.policies.base import ModelOutput


def evaluate(command: Eval, console: Console) -> int:
    """Play every named policy on every environment, and show the report or the table.

    Returns:
        1 if one of several evaluations failed, else 3 if a report is incomplete, else 0.
    """
    suite = suite_of(command)
    named = suite.out is not None
    suite = suite if named else replace(suite, out=usual_folder(suite))
    several = len(suite.evaluations) > 1
    if command.dry_run:
        check_suite(suite)
        for evaluation in suite.evaluations:
            out = suite.out / evaluation.name if several and suite.out else suite.out
            console.print(dry_run(evaluation, out))
        return 0
    announced = suite.out if several or not named else None
    display = _Display(console, len(suite.evaluations), announced)
    with tracing() if command.otel else nullcontext():
        return _several(suite, display) if several else _single(suite, display)


def suite_of(command: Eval) -> Suite:
    """Return the suite of a command, from its flags, or from a file and its flags."""
    if command.config is None:
        values = {entry.name: getattr(command, entry.name) for entry in fields(EvaluationSettings)}
        settings = EvaluationSettings(**values)
        if misplaced := [name for name in command.env if name in (*BUILTIN, "chat")]:
            repeated = " ".join(f"--policy {name}" for name in (*command.policy, *misplaced))
            raise ConfigurationError(
                f"expected names of environments, got the policies {', '.join(misplaced)}; give "
                f"--policy once for each: {repeated}"
            )
        policies = command.policy or ("random",)
        return make_suite(command.env, policies, settings, command.out, command.chart)
    if command.env or command.policy:
        raise ConfigurationError(
            "expected the environments and policies in the --config alone, got "
            f"{' '.join((*command.env, *command.policy))} as well"
        )
    # Only flags that were typed win over the file; the defaults of the others must not.
    settable = {*vars(command)} - {"config", "typed", "dry_run", "trust", "otel"}
    overrides = {name: getattr(command, name) for name in command.typed if name in settable}
    return read_suite(command.config, overrides)


def _single(suite: Suite, display: _Display) -> int:
    """Play one evaluation, and show its report."""
    check_suite(suite)
    [single], out = suite.evaluations, suite.out
    try:
        report = single.play(out, single.wants_scale(single.model), display)
    except (KeyboardInterrupt, AgentGymError) as error:
        # After an error in the arguments, the folder may belong to another evaluation.
        if out is not None and not isinstance(error, ConfigurationError):
            display.show_kept(out)
        raise
    display.say_read(report)
    display.console.print(report.table(in_flags))
    display.say_tasks(single.env, report)
    if out is not None:
        files = "report.json, report.md, episodes.jsonl" if report.finished else "episodes.jsonl"
        display.say(f"{out}: {files}")
    if suite.chart:
        report.chart(suite.chart)
    return INCOMPLETE if report.incomplete else 0


def _several(suite: Suite, display: _Display) -> int:
    """Play several evaluations, and show their table."""
    try:
        result = play_suite(suite, display)
    except BaseException:
        # Also on Ctrl-C: show the results of hours of playing so far.
        display.show_table(display.reports, suite.out)
        raise
    display.show_table([*result.reports.values()], suite.out)
    reports = {
        evaluation.env: result.reports.get(evaluation.name) for evaluation in suite.evaluations
    }
    for env, report in reports.items():
        if report is not None:
            display.say_tasks(env, report)
    return 1 if result.failures else 0 if result.complete else INCOMPLETE


class _Display(EvaluationProgress):
    """Shows how evaluations go: a bar over the episodes, and a sentence on each of several.

    Args:
        console: The output.
        number: Number of evaluations.
        out: Their folder, printed before the first one begins; None: not printed.
    """

    def __init__(self, console: Console, number: int, out: Path | None) -> None:
        self.console, self._number, self._announced = console, number, out
        self.reports: list[Report] = []
        self._done_count = 0
        self._notes = getattr(console, "shows_notes", True)

    def say(self, sentence: str) -> None:
        """Print a sentence."""
        self.console.print(in_flags(sentence), markup=False, highlight=False, soft_wrap=True)

    def _note(self, sentence: str) -> None:
        """Print a message that is not a result, unless the command is quiet."""
        if self._notes:
            self.say(sentence)

    def begin(
        self, evaluation: NamedEvaluation, out: Path | None, policy: Any, episodes: int
    ) -> None:
        """Print what is played, and show the progress bar."""
        self._out, self._old_keys = out, _valid(out)
        if arguments := evaluation.known_arguments:
            sentence = " ".join(f"{name}={json.dumps(value)}" for name, value in arguments.items())
            sentence = f"The environment has the arguments of {evaluation.policy}: {sentence}"
            self._note(f"{sentence} (--env-kwargs NAME=VALUE overrides them).")
        its = evaluation.settings
        if evaluation.policy == "chat" and its.base_url is None:
            sentence = f"Asking {its.model} at {policy.facts()['endpoint']} with the key in "
            self._note(f"{sentence}{its.api_key_env}; --base-url names another endpoint.")
        if self._announced:
            self._note(f"Every episode is saved in {self._announced}.")
            self._announced = None
        self._bar = EpisodeProgress(
            self.console, episodes, its.prices, completed=len(self._old_keys), quiet=not self._notes
        )
        # Opened and closed by hand: two calls of the library, `begin` and `end`, are its block.
        self._bar.__enter__()

    def episode(self, result: EpisodeResult) -> None:
        """Move the bar on."""
        self._bar.add(result)

    def output(self, output: ModelOutput) -> None:
        """Count the tokens of a turn."""
        self._bar.count(output)

    def end(self) -> None:
        """Take the bar away."""
        self._bar.__exit__()

    def report(self, evaluation: NamedEvaluation, report: Report) -> None:
        """Print the results in one line."""
        from agentgym.evaluation.reports.diagnosis import diagnoses
        from agentgym.evaluation.reports.report_tables import headline

        self.say_read(report)
        self.reports.append(report)
        broken = f", {report.errors:,} broken" if report.errors else ""
        figures = f"{headline(report)}{broken}"
        self.say("; ".join([f"{self._place(evaluation)}: {figures}", *diagnoses(report)]))

    def failed(self, evaluation: NamedEvaluation, error: AgentGymError) -> None:
        """Print the error in one line."""
        self.say(f"{self._place(evaluation)} failed: {error}")

    def _place(self, evaluation: NamedEvaluation) -> str:
        self._done_count += 1
        return f"{self._done_count} of {self._number}: {evaluation.title}"

    def say_read(self, report: Report) -> None:
        """Print how many episodes were taken from earlier sessions."""
        # If there was no episode event, the whole report was read from its folder.
        rows, rows_before = report.rows, self._old_keys if self._bar.has_rows else None
        read_count = sum(
            rows_before is None or (row.task_id, row.sample) in rows_before for row in rows
        )
        if read_count:
            sentence = (
                f"{read_count:,} {'episode was' if read_count == 1 else 'episodes were'} read from "
            )
            self._note(f"{sentence}{self._out}, {len(rows) - read_count:,} played.")

    def say_tasks(self, env: str, report: Report) -> None:
        """Print the name of the task set that training uses for the bare family name."""
        named = resolve(env)
        entry = find_family(named.family)
        if named.task_set or entry is None or report.env_name != f"{entry.name}:{STANDARD.name}":
            return
        if entry.training_set is not STANDARD:
            name = f"{entry.name}:{entry.training_set.name}"
            self.say(f"{entry.name} is {report.env_name} here; agentgym train uses {name}.")

    def show_kept(self, out: Path) -> None:
        """Print the results of a stopped evaluation, if there are any."""
        from agentgym.evaluation import read_report

        try:
            report = read_report(out)
        except AgentGymError:
            return
        if report.rows:
            self.console.print(report.table(in_flags))
            self.say(f"{len(report.rows):,} episodes are saved in {out}.")
            if report.errors or not report.finished:
                remark = (
                    f", and to play {report.errors:,} broken ones again" if report.errors else ""
                )
                self.say(f"Run the same command to resume{remark}.")

    def show_table(self, reports: Sequence[Report], out: Path | None) -> None:
        """Show the table of several evaluations, if any was played."""
        from agentgym.evaluation import Leaderboard

        if reports:
            self.console.print(*Leaderboard(reports).tables(), sep="\n")
            if out:
                files = "leaderboard.json, leaderboard.md, a folder for each evaluation"
                self.say(f"{out}: {files}")


def _valid(out: Path | None) -> set[tuple[str, int]]:
    """Return the keys of the episodes that count in the folder of an evaluation."""
    from agentgym.evaluation import read_report

    if out is None or not out.exists():
        return set()
    try:
        return {(row.task_id, row.sample) for row in read_report(out).rows if row.valid}
    except AgentGymError:  # the evaluation itself reports the error
        return set()
