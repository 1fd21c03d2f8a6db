"""Checks of rewards: the expert earns them all, and policies that do not do the task earn none."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from agentgym.certification.players import (
    WORTHLESS,
    Floors,
    all_floors,
    blind_floors,
    expert_rows,
    id_floors,
    idle_rows,
    text_floors,
    transcriber_floors,
)
from agentgym.certification.result import Measured, NotApplicable
from agentgym.certification.subject import Rows, Subject
from agentgym.core.outcome import ending_words
from agentgym.support.statistics import Estimate, paired_difference, wilson_ci95

GAP = 0.5
"""Least distance of the expert from the best policy that does not do the task."""


class Floor(NamedTuple):
    """A policy that does not do the task, and its share of solved tasks."""

    policy: str
    """Its name."""
    rows: Rows
    """Its episodes."""
    share: Estimate
    """Share of solved tasks with its 95 % interval."""

    def __str__(self) -> str:
        """Return the policy and its share."""
        value, low, high = self.share
        return f"{self.policy} {value:.3f} [{low:.3f}, {high:.3f}]"


def best_floor(floors: Floors) -> Floor:
    """Return the policy that solves most tasks."""
    policy = max(floors, key=lambda name: sum(row.success for row in floors[name]))
    rows = floors[policy]
    return Floor(policy, rows, wilson_ci95(sum(row.success for row in rows), len(rows)))


def expert(subject: Subject) -> Measured:
    """The expert plays every task.

    A pass means that every task played can be solved, and that its solution is paid in full.
    """
    rows = expert_rows(subject)
    if rows is None:
        raise NotApplicable("there is no expert, so nothing shows that the tasks can be solved")
    failing = [
        f"{row.task_id}: the expert's episode ended ({ending_words(row.stop_reason, row.success)})"
        + (f": {row.error}" if row.error else "")
        for row in rows
        if not row.success
    ]
    solved = len(rows) - len(failing)
    turns = sorted(row.turns for row in rows)
    summary = f"solves {solved:,} of {len(rows):,} tasks in {turns[0]} to {turns[-1]} turns"
    return Measured(not failing, summary, len(rows), failing)


def idle(subject: Subject) -> Measured:
    """A policy ends every episode at once, or sends no text.

    A pass means that doing nothing neither solves a task nor breaks the environment.
    """
    rows = idle_rows(subject)
    problems = [
        f"{row.task_id}: {'doing nothing solves it' if row.success else row.error}"
        for row in rows
        if row.success or row.error
    ]
    solved = sum(row.success for row in rows)
    return Measured(not problems, f"solves {solved:,} of {len(rows):,}", len(rows), problems)


def blind(subject: Subject) -> Measured:
    """Policies that read no word choose by position, length, alphabet, verb, or type one text.

    A pass means that order and length of the admissible actions, and habits of the expert, give
    few tasks away: at most the limit, by the lower end of the best policy's 95 % interval.
    """
    return _below(subject, blind_floors)


def transcriber(subject: Subject) -> Measured:
    """Policies type the lines, words, names and numbers of the task as actions.

    A pass means that copying words of the task solves few tasks: at most the limit.
    """
    return _below(subject, transcriber_floors)


def task_ids(subject: Subject) -> Measured:
    """Policies choose by a hash or by words of the task's id, or type them.

    A pass means that ids, and the order that a hash of them gives, solve few tasks.
    """
    return _below(subject, id_floors)


def adversarial_floor(subject: Subject) -> Measured:
    """All of the policies above play, and policies that send one guess or one worthless text.

    A pass means that the best of them solves few tasks: at most the limit.
    """
    return _below(subject, all_floors)


def worthless_answers(subject: Subject) -> Measured:
    """Empty, unreadable, evasive and commanding texts are sent, bare and as final answers.

    A pass means that no such text is paid anything in any task.
    """
    floors = text_floors(subject, WORTHLESS)
    paid = [
        f"{row.task_id}: {name} is paid {row.reward:g}"
        for name, rows in floors.items()
        for row in rows
        if row.success or row.reward > 0
    ]
    n = sum(map(len, floors.values()))
    return Measured(not paid, f"{len(floors)} texts, {len(paid)} of {n:,} episodes paid", n, paid)


def gameability_gap(subject: Subject) -> Measured:
    """The expert is compared, task by task, with the best policy that does not do the task.

    A pass means that the difference in solved tasks is at least 0.5, and that its 95 % interval
    lies above 0.
    """
    rows = expert_rows(subject)
    if rows is None:
        raise NotApplicable("there is no expert to compare with")
    floor = best_floor(all_floors(subject))
    gap = paired_difference(
        [float(row.success) for row in rows], [float(row.success) for row in floor.rows]
    )
    summary = f"expert - {floor.policy} = {gap.value:.3f} [{gap.low:.3f}, {gap.high:.3f}]"
    return Measured(gap.value >= GAP and gap.low > 0, summary, len(rows))


def _below(subject: Subject, play: Callable[[Subject], Floors]) -> Measured:
    """Compare the best of some policies with the limit.

    The lower end of its interval counts, so that an excess is significant.
    """
    floors = play(subject)
    floor = best_floor(floors)
    passed = floor.share.low <= subject.limit
    summary = f"best of {len(floors)}: {floor}, limit {subject.limit:g}"
    solved = [row.task_id for row in floor.rows if row.success]
    return Measured(passed, summary, len(floor.rows), [] if passed else solved)
