"""Compare two trainings by the held-out episodes of their trained policies.

With three or more common seeds, intervals are over seeds (Student's t on the paired differences),
and so apply to further trainings. With fewer, or if the seeds give equal values, intervals are over
the tasks, and the verdict says that they do not apply to other trainings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.episodes.run_layout import GREEDY, TRAINED
from agentgym.errors import ConfigurationError
from agentgym.evaluation.episode_result import EpisodeResult
from agentgym.evaluation.reports.report_tables import markdown_table
from agentgym.evaluation.reports.verdicts import direction, relation, signed
from agentgym.evaluation.training_runs import (
    POLICIES,
    HeldOutEpisodes,
    Training,
    TrainingRun,
    differing_settings,
    matching_paths,
    read_training,
    two_trainings,
)
from agentgym.support.statistics import (
    Estimate,
    mean_over_trainings,
    paired_difference,
    why_no_interval,
)
from agentgym.support.terminal import cell, table_text

if TYPE_CHECKING:
    from rich.table import Table

FORMAT = "agentgym.training_comparison/1"
"""Name and version of the format."""
DIFFERENCE = "difference (95 %)"
HEAD = ("", "first", "second", DIFFERENCE, "over")
"""Columns of the table."""
INTERVAL = len("+0.000 (-0.000 to +0.000)")
"""Width of a difference with its interval, which must not wrap."""

Task = tuple[str, str]
"""Name of the environment (empty if there is only one) and the task id."""
Results = dict[Task, EpisodeResult]
"""Held-out episodes of a policy."""


@dataclass(frozen=True)
class TrainingDifference:
    """The difference of a figure: the first training minus the second."""

    first: float
    """Mean over runs and tasks of the first training."""
    second: float
    """Mean over runs and tasks of the second training."""
    estimate: Estimate
    """Mean difference with its 95 % interval."""
    over: str
    """Unit of observation of the interval: ``seeds`` or ``tasks``."""
    by_seed: tuple[float, ...]
    """Paired difference of each common seed."""
    why_no_interval: str
    """Why the interval is not over seeds; empty if it is."""
    tasks: int
    """Number of tasks that count in both trainings."""

    @property
    def place(self) -> str:
        """The unit of observation with its number, such as ``5 seeds``."""
        count = len(self.by_seed) if self.over == "seeds" else self.tasks
        return f"{count:,} {self.over}"


@dataclass(frozen=True)
class PolicyDifference:
    """The comparison of the trained policies, sampled or greedy."""

    env: str
    """Name of the environment; empty: all tasks."""
    greedy: bool
    """Whether both policies decode greedily instead of sampling."""
    tasks: int
    """Number of tasks that count in both."""
    left_out: int
    """Number of tasks left out because of broken episodes."""
    success: TrainingDifference
    """Share of solved tasks."""
    score: TrainingDifference
    """Mean final score."""

    def figures(self) -> dict[str, TrainingDifference]:
        """Return both differences by name."""
        suffix = ", greedy" if self.greedy else ""
        return {f"success{suffix}": self.success, f"score{suffix}": self.score}


@dataclass(frozen=True, repr=False)
class TrainingComparison:
    """Result of `compare_trainings`: the first training minus the second."""

    first: str
    """Name of the first training."""
    second: str
    """Name of the second training."""
    env_id: str
    """Id of the environment; several are separated by commas."""
    panel_sha256: str
    """Hash of the content of the held-out tasks; one per environment, separated by commas."""
    seeds: tuple[tuple[int, ...], tuple[int, ...]]
    """Seeds of the first and of the second training."""
    differences: tuple[PolicyDifference, ...]
    """Over all tasks, sampled and greedy, then in each of several environments."""
    differing: dict[str, tuple[Any, Any]]
    """Settings in which the two differ, with both values."""

    @property
    def common_seeds(self) -> tuple[int, ...]:
        """Seeds with runs of both trainings."""
        return tuple(seed for seed in self.seeds[0] if seed in self.seeds[1])

    @property
    def verdict(self) -> str:
        """The conclusions of the comparison, and their limits, in sentences."""
        parts = [part for part in self.differences if not part.env]
        sentences = [self._sentence(part) for part in parts]
        figures = {name: figure for part in parts for name, figure in part.figures().items()}
        unknown = [name for name, figure in figures.items() if figure.why_no_interval]
        if unknown:
            reason = self._missing_seeds() or figures[unknown[0]].why_no_interval
            some = "" if len(unknown) == len(figures) else f" ({'; '.join(unknown)})"
            sentences.append(f"Nothing can be said about other trainings{some}: {reason}.")
        return " ".join(sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON-safe data."""
        return {"format": FORMAT, **asdict(self), "verdict": self.verdict}

    def table(self) -> Table:
        """Return the comparison as a rich table, with the verdict below it."""
        from rich.table import Table

        table = Table(
            title=cell(self._title()), caption=cell(self.verdict), caption_justify="left",
            caption_style="bold",
        )  # fmt: skip
        for name in HEAD:
            table.add_column(name, min_width=INTERVAL if name == DIFFERENCE else None)
        for row in self._figures():
            table.add_row(*map(cell, row))
        if self.differing:
            table.add_section()
        for row in self._settings():
            table.add_row(*map(cell, row))
        return table

    def markdown(self) -> str:
        """Return the comparison as a Markdown table, with the verdict below it."""
        rows = [*self._figures(), *self._settings()]
        return f"{self._title()}\n\n{markdown_table(HEAD, rows)}\n{self.verdict}\n"

    def __str__(self) -> str:
        """Return the table as text."""
        return table_text(self.table())

    def __repr__(self) -> str:
        """Return one line."""
        part = self.differences[0]
        return (
            f"<TrainingComparison: {self._title()}, success {part.success.estimate.value:+.3f}, "
            f"score {part.score.estimate.value:+.3f}>"
        )

    def _sentence(self, part: PolicyDifference) -> str:
        """Describe how the two compare in score and success."""
        success, score = (figure.estimate for figure in (part.success, part.score))
        compared = relation(direction(score[1:]), direction(success[1:]), self.second)
        places = [f" over {figure.place}" for figure in (part.success, part.score)]
        if places[0] == places[1]:
            places[0] = ""
        return (
            f"{'With greedy actions, ' * part.greedy}{self.first} {compared}: "
            f"{signed(success.value, success[1:])} in success{places[0]} and "
            f"{signed(score.value, score[1:])} in score{places[1]}."
        )

    def _missing_seeds(self) -> str:
        """Return that there are too few common seeds; empty if there are enough."""
        reason = why_no_interval(self.common_seeds)
        if not reason:
            return ""
        seeds = [" ".join(map(str, seeds)) for seeds in self.seeds]
        return f"{reason} in common, got seeds {seeds[0]} and {seeds[1]}"

    def _title(self) -> str:
        tasks = self.differences[0].tasks
        left_out = self.differences[0].left_out
        more = f" ({left_out:,} left out)" if left_out else ""
        return f"{self.first} minus {self.second} on {self.env_id}, {tasks:,} tasks{more}"

    def _figures(self) -> Iterator[list[str]]:
        for part in self.differences:
            for name, figure in part.figures().items():
                yield [
                    f"{part.env}: {name}" if part.env else name,
                    f"{figure.first:.3f}",
                    f"{figure.second:.3f}",
                    signed(figure.estimate.value, figure.estimate[1:]),
                    figure.place,
                ]
                if len(figure.by_seed) > 1 and not part.env:
                    by_seed = ", ".join(signed(value, None) for value in figure.by_seed)
                    yield ["  seed by seed", "", "", by_seed, ""]

    def _settings(self) -> Iterator[list[str]]:
        for name, values in self.differing.items():
            old_value, new_value = (f"{value!s:.60}" for value in values)
            yield [name, "", "", f"{old_value} and {new_value}", ""]


def compare_trainings(
    first: str | Path | Sequence[Path], second: str | Path | Sequence[Path]
) -> TrainingComparison:
    """Compare two trainings, paired by seed and by held-out task.

    Args:
        first: Folder of a run of ``agentgym train``, of its ``--seeds``, or a pattern of such
            folders, such as ``runs/a-seed*``; or several folders.
        second: Folders of another training, on the same held-out tasks.

    Returns:
        First minus second. With at least three common seeds: the mean of the paired differences of
        seeds, with Student's t interval. Otherwise the mean of the paired differences of tasks,
        after averaging each task over the runs.

    Raises:
        ConfigurationError: The two were not evaluated on the same tasks, or one is not a training.
        DataError: A run cannot be read.
    """
    if isinstance(first, str | Path) and isinstance(second, str | Path):
        return compare_read(*two_trainings([first, second]))
    return compare_read(*map(_training, (first, second)))


def compare_read(first: Training, second: Training) -> TrainingComparison:
    """Compare two trainings whose runs have been read, see `compare_trainings`."""
    panels = _shared_panels([*first.runs, *second.runs])
    policies = [
        policy
        for policy in POLICIES
        if all(policy in run.policies for run in (*first.runs, *second.runs))
    ]
    several = list(panels) if len(panels) > 1 else []
    return TrainingComparison(
        first.name,
        second.name,
        ",".join(env_id for env_id, _ in panels.values()),
        ",".join(panel for _, panel in panels.values()),
        (tuple(first.by_seed), tuple(second.by_seed)),
        tuple(
            _policy_difference(first, second, policy, env)
            for env in ("", *several)
            for policy in policies
        ),
        differing_settings(first.runs[0], second.runs[0]),
    )


def _training(paths: str | Path | Sequence[Path]) -> Training:
    if isinstance(paths, str | Path):
        return read_training(str(paths), matching_paths(paths))
    return read_training(", ".join(map(str, paths)), paths)


def _shared_panels(runs: Sequence[TrainingRun]) -> dict[str, tuple[str, str]]:
    """Return id and panel of each environment, by its name in the runs, which must all agree.

    Raises:
        ConfigurationError: They differ.
    """
    first, *later_runs = runs
    panels = _panels(first)
    for later_run in later_runs:
        if (other_panels := _panels(later_run)) != panels:
            raise ConfigurationError(
                "expected trainings evaluated on the same held-out tasks, so these cannot be "
                f"compared: {first.path} has {_panels_in_words(panels)}, {later_run.path} has "
                f"{_panels_in_words(other_panels)}; give both the same --env, --env-kwargs and "
                "--eval.num-tasks, or play both with agentgym eval --policy RUN --out FOLDER"
            )
    return panels


def _panels(run: TrainingRun) -> dict[str, tuple[str, str]]:
    held_out = run.policies[TRAINED]
    return {name: (part.env_id, part.panel_sha256) for name, part in held_out.items()}


def _panels_in_words(panels: dict[str, tuple[str, str]]) -> str:
    return " and ".join(f"{env_id} (panel {panel[:12]})" for env_id, panel in panels.values())


def _policy_difference(
    first: Training, second: Training, policy: str, env: str
) -> PolicyDifference:
    """Compare one policy in an environment, or in all if ``env`` is empty."""
    first_results, second_results = (
        {run.seed: _results(run.policies[policy], env) for run in training.runs}
        for training in (first, second)
    )
    task_sets = [
        {task for results in side.values() for task in results}
        for side in (first_results, second_results)
    ]
    return PolicyDifference(
        env,
        policy.endswith(GREEDY),
        len(task_sets[0] & task_sets[1]),
        len(task_sets[0] ^ task_sets[1]),
        _difference(first_results, second_results, lambda row: float(row.success)),
        _difference(first_results, second_results, lambda row: row.score),
    )


def _results(held_out: Mapping[str, HeldOutEpisodes], env: str) -> Results:
    """Return the episodes in an environment, or in all if ``env`` is empty."""
    return {
        (name, task): row
        for name, part in held_out.items()
        if env in ("", name)
        for task, row in part.results.items()
    }


def _difference(
    first: dict[int, Results], second: dict[int, Results], value: Callable[[EpisodeResult], float]
) -> TrainingDifference:
    """Compare a figure over seeds if there are enough that differ, else over tasks."""
    pairs = [(first[seed], second[seed]) for seed in first if seed in second]
    by_seed = [_mean(base) - _mean(changed) for base, changed in _columns(pairs, value)]
    over_seeds = mean_over_trainings(by_seed, (-1.0, 1.0))
    if over_seeds:
        sides = [base for base, _ in pairs], [changed for _, changed in pairs]
    else:
        sides = [*first.values()], [*second.values()]
    means = [_task_means(runs, value) for runs in sides]
    tasks = [task for task in means[0] if task in means[1]]
    if not tasks:
        raise ConfigurationError("expected a task that counts in both trainings, got none")
    first_means, second_means = ([side[task] for task in tasks] for side in means)
    return TrainingDifference(
        _mean(first_means),
        _mean(second_means),
        over_seeds or paired_difference(first_means, second_means),
        "seeds" if over_seeds else "tasks",
        tuple(by_seed),
        why_no_interval(by_seed),
        len(tasks),
    )


def _columns(
    pairs: Iterable[tuple[Results, Results]], value: Callable[[EpisodeResult], float]
) -> Iterator[tuple[list[float], list[float]]]:
    """Yield the values of each pair of runs on the tasks that count in both."""
    for first, second in pairs:
        if tasks := [task for task in first if task in second]:
            yield [value(first[task]) for task in tasks], [value(second[task]) for task in tasks]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _task_means(
    runs: Iterable[Results], value: Callable[[EpisodeResult], float]
) -> dict[Task, float]:
    """Return the mean of each task over the runs in which it counts."""
    values: dict[Task, list[float]] = {}
    for results in runs:
        for task, row in results.items():
            values.setdefault(task, []).append(value(row))
    return {task: _mean(numbers) for task, numbers in values.items()}
