"""Checks that no text breaks the environment, and that it gives back what it takes."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from contextlib import closing
from pathlib import Path

from agentgym.certification.interfaces import ScriptedPlay, begin, make, take
from agentgym.certification.players import GUESSES, WORTHLESS, as_arguments
from agentgym.certification.result import Measured, NotApplicable
from agentgym.certification.sameness import recorded
from agentgym.certification.subject import Subject
from agentgym.core.guard import GuardedEnv

TEXTS = (
    *WORTHLESS,
    *GUESSES,
    "x" * 1_000_000,
    "[" * 5000,
    "(" * 500 + ")" * 500,
    "9" * 5000,
    "1e999",
    "²³¼",
    "%s %n {0} {x!r} $(id) `id`",
    "../../../../etc/passwd",
    "'; DROP TABLE x; --",
    '{"name": null, "arguments": [[]]}',
    "<think>" * 300,
)
"""Texts that a careless parser stumbles over."""
TEXT_TASKS = 3
"""Number of tasks in which each text is sent."""
GROWTH = 64 * 1024
"""Bytes that an episode may leave behind, when it is played for the third time and later."""


def unbroken(subject: Subject) -> Measured:
    """Long, nested, huge, quoted and unreadable texts are sent as first actions.

    Each is sent bare and as the argument of every action with one argument. A pass means that the
    environment answers all of them; a text at which it raises is listed.
    """
    raised: dict[str, str] = {}
    n = 0
    with closing(make(subject.name, subject.kwargs)) as env:
        guarded = GuardedEnv(env)
        for number, task_id in enumerate(subject.task_ids[:TEXT_TASKS]):
            play = ScriptedPlay(task_id, subject.seed + number, subject.horizon, ())
            for text in TEXTS:
                for action in (text, *as_arguments(env, text)):
                    subject.budget.check()
                    turn = begin(guarded, play)[0]
                    n += not turn[3]
                    failure = turn[3] or take(guarded, action)[0][3]
                    if failure:
                        raised.setdefault(f"{action[:60]!r}", failure)
    lines = [f"{action}: {failure}" for action, failure in raised.items()]
    return Measured(not raised, f"{len(raised)} texts raise in {n:,} episodes", n, lines)


def bounded_memory(subject: Subject) -> Measured:
    """The recorded episodes are played four times in one environment.

    A pass means that the third and fourth time leave less than 64 KiB an episode in Python's
    memory; memory of other languages is not measured.
    """
    plays = recorded(subject)[0]
    with closing(make(subject.name, subject.kwargs)) as env:
        guarded = GuardedEnv(env)
        tracemalloc.start()
        try:
            sizes = []
            for _ in range(4):
                for play in plays:
                    subject.budget.check()
                    _play(guarded, play)
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
    growth = (sizes[3] - sizes[1]) / (2 * len(plays))
    return Measured(growth < GROWTH, f"{max(0.0, growth) / 1024:.1f} KiB an episode", len(plays))


def closed(subject: Subject) -> Measured:
    """Environments are made, played for an episode and closed, three times.

    A pass means that the second and third leave no thread, child process or open file behind.
    """
    if not Path("/proc/self/fd").exists():
        raise NotApplicable("threads, processes and files can be counted on Linux only")
    play = recorded(subject)[0][0]
    counts = []
    for _ in range(3):
        subject.budget.check()
        with closing(make(subject.name, subject.kwargs)) as env:
            _play(GuardedEnv(env), play)
        del env
        gc.collect()
        counts.append(_resources())
    left_open = [
        f"{kind}: {before} then {after}"
        for kind, before, after in zip(
            ("threads", "children", "open files"), counts[0], counts[2], strict=True
        )
        if after > before
    ]
    summary = "threads, children, open files: " + " then ".join(map(str, counts))
    return Measured(not left_open, summary, 3, left_open)


def _play(env: GuardedEnv, play: ScriptedPlay) -> None:
    is_over = begin(env, play)[0][2]
    for action in play.actions:
        if is_over:
            break
        is_over = take(env, action)[0][2]


def _resources() -> tuple[int, int, int]:
    """Return the numbers of threads, child processes and open files of this process."""
    children = [
        child
        for file in Path("/proc/self/task").glob("*/children")
        for child in file.read_text().split()
    ]
    return threading.active_count(), len(children), len([*Path("/proc/self/fd").iterdir()])
