"""Checks that no text breaks the environment, that it frees what it takes, and of its time."""

from __future__ import annotations

import gc
import threading
import time
import tracemalloc
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import median

from agentgym.certification.interfaces import ScriptedPlay, Turn, play_through, take
from agentgym.certification.result import Measured, NotApplicable
from agentgym.certification.sameness import recorded
from agentgym.certification.solving import GUESSES, WORTHLESS, as_arguments
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
REPEATS = 5
"""Times that each answer is given, to measure its time."""
LEAST_PAIRS = 3
"""Number of tasks in which a right and a wrong answer must be found, to compare their times."""
APART = 2.0
"""Factor between the times of right and wrong answers from which they count as different."""


def unbroken(subject: Subject) -> Measured:
    """Long, nested, huge, quoted and unreadable texts are sent as first actions.

    Each is sent bare and as the argument of every action with one argument. A pass means that the
    environment answers all of them; a text at which it raises is listed.
    """
    raised: dict[str, str] = {}
    n = 0
    with closing(subject.make()) as env:
        guarded = GuardedEnv(env)
        for number, task_id in enumerate(subject.task_ids[:TEXT_TASKS]):
            for text in TEXTS:
                for action in (text, *as_arguments(env, text)):
                    subject.budget.check()
                    seed = subject.seed + number
                    play = ScriptedPlay(task_id, seed, subject.horizon, (action,))
                    turns = play_through(guarded, play)
                    n += len(turns) > 1
                    if turns[-1][3]:
                        raised.setdefault(f"{action[:60]!r}", turns[-1][3])
    lines = [f"{action}: {failure}" for action, failure in raised.items()]
    return Measured(not raised, f"{len(raised)} texts raise in {n:,} episodes", n, lines)


def bounded_memory(subject: Subject) -> Measured:
    """The recorded episodes are played four times in one environment.

    A pass means that the third and fourth time leave less than 64 KiB an episode in Python's
    memory; memory of other languages is not measured.
    """
    plays, sizes = recorded(subject)[0].plays, []
    with closing(subject.make()) as env:
        guarded = GuardedEnv(env)
        tracemalloc.start()
        try:
            for _ in range(4):
                for play in plays:
                    subject.budget.check()
                    play_through(guarded, play)
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
    play = recorded(subject)[0].plays[0]
    counts = []
    for _ in range(3):
        subject.budget.check()
        with closing(subject.make()) as env:
            play_through(GuardedEnv(env), play)
        del env
        gc.collect()
        counts.append(_resources())
    kinds = ("threads", "children", "open files")
    left_open = [
        f"{kind}: {before} then {after}"
        for kind, before, after in zip(kinds, counts[0], counts[2], strict=True)
        if after > before
    ]
    summary = f"{', '.join(kinds)}: {' then '.join(map(str, counts))}"
    return Measured(not left_open, summary, 3, left_open)


def timing(subject: Subject) -> Measured:
    """The answers that end recorded episodes are exchanged between tasks, and each is timed.

    A pass means that the processor time of a turn does not tell a paid answer from an unpaid one:
    their medians differ by less than a factor of 2. Other processes and waits are not measured.
    """
    script, episodes = recorded(subject)
    endings = list(zip(script.plays, episodes, strict=True))
    paid = [play for play, turns in endings if play.actions and _is_paid(turns[-1])]
    times: dict[bool, list[float]] = {True: [], False: []}
    with closing(subject.make()) as env:
        for play, other in zip(paid, paid[1:] + paid[:1], strict=True):
            wrong = replace(play, actions=(*play.actions[:-1], other.actions[-1]))
            subject.budget.check()
            (_, end), *_ = pair = [_timed(GuardedEnv(env), wrong) for _ in range(REPEATS)]
            if end[2] and not end[3] and not _is_paid(end):
                times[False].append(median(seconds for seconds, _ in pair))
                pair = [_timed(GuardedEnv(env), play) for _ in range(REPEATS)]
                times[True].append(median(seconds for seconds, _ in pair))
    if len(times[True]) < LEAST_PAIRS:
        raise NotApplicable("too few tasks end at the answer to another task")
    ratio = median(times[True]) / max(median(times[False]), 1e-9)
    summary = f"a paid answer takes {ratio:.2f} times the processor time of an unpaid one"
    return Measured(1 / APART < ratio < APART, summary, 2 * REPEATS * len(times[True]))


def _is_paid(turn: Turn) -> bool:
    return turn[2] and not turn[3] and float.fromhex(turn[1]) > 0


def _timed(env: GuardedEnv, play: ScriptedPlay) -> tuple[float, Turn]:
    """Play an episode; return the processor time of its last turn in seconds, and the turn."""
    play_through(env, replace(play, actions=play.actions[:-1]))
    start = time.thread_time()
    turn = take(env, play.actions[-1])[0]
    return time.thread_time() - start, turn


def _resources() -> tuple[int, int, int]:
    """Return the numbers of threads, child processes and open files of this process."""
    children = [
        child
        for file in Path("/proc/self/task").glob("*/children")
        for child in file.read_text().split()
    ]
    return threading.active_count(), len(children), len([*Path("/proc/self/fd").iterdir()])
