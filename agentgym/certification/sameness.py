"""Checks that equal seeds give equal episodes, in every process and through every interface.

Episodes are recorded once: by the demonstrator if there is one, with random admissible actions, and
with hostile text. The same actions are then replayed in many ways; observations, rewards, ends and
failures must be equal, to the last bit.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable, Sequence
from contextlib import closing

import numpy as np

from agentgym.certification.interfaces import (
    CALLS,
    INTERFACES,
    Replay,
    ScriptedPlay,
    Turn,
    as_calls,
    begin,
    in_python,
    make,
    take,
)
from agentgym.certification.players import WORTHLESS
from agentgym.certification.result import Measured, NotApplicable, NotRun
from agentgym.certification.subject import Subject
from agentgym.core.guard import GuardedEnv
from agentgym.core.outcome import bounded
from agentgym.errors import AgentGymError, EnvFailure, NotSupported
from agentgym.support.provenance import machine

HOSTILE = (WORTHLESS[0], WORTHLESS[2], WORTHLESS[3])
"""Texts that no environment can parse, with which every third episode begins."""
SHOWN = 120
"""Maximum number of characters of an observation in a report."""
Recorded = tuple[list[ScriptedPlay], list[list[Turn]]]
"""Episodes, and what came of them."""


def recorded(subject: Subject) -> Recorded:
    """Play the tasks for the first time, once for all checks."""

    def play() -> Recorded:
        with closing(make(subject.name, subject.kwargs)) as env:
            guarded, plays, turns = GuardedEnv(env), [], []
            seconds = subject.budget.left
            for number, task_id in enumerate(subject.task_ids):
                subject.budget.check()
                play = ScriptedPlay(task_id, subject.seed + number, subject.horizon, ())
                episode = _first(guarded, play, number % 3)
                plays.append(episode[0])
                turns.append(episode[1])
        subject.cache["recording_seconds"] = seconds - subject.budget.left
        return plays, turns

    episodes: Recorded = subject.remember("recorded", play)
    return episodes


def digest(episodes: Sequence[Sequence[Turn]]) -> str:
    """Return one hash of the turns of episodes; the texts of errors are not hashed."""
    plain_turns = [[(*turn[:3], bool(turn[3])) for turn in turns] for turns in episodes]
    return hashlib.sha256(json.dumps(plain_turns).encode()).hexdigest()


def same_through(name: str) -> Callable[[Subject], Measured]:
    """Return the check that an interface, one of `INTERFACES`, shows the same episodes."""

    def check(subject: Subject) -> Measured:
        return _compared(subject, INTERFACES[name], calls=name in CALLS)

    where = f"{INTERFACES[name].__doc__}".rstrip(".")
    where = where[0].lower() + where[1:]
    check.__doc__ = f"""The recorded actions are played again {where}.

    A pass means that all observations, rewards, ends and failures are equal to the last bit.
    """
    return check


def other_python(subject: Subject) -> Measured:
    """The recorded actions are played again by other Python interpreters.

    A pass means that all observations, rewards, ends and failures are equal to the last bit.
    """
    if not subject.pythons:
        raise NotApplicable("no other Python was given; give them as `python`")
    results = []
    for python in subject.pythons:

        def replay(env: str, kwargs: object, plays: object, python: str = python) -> object:
            return in_python(python, "0", env, kwargs, plays)  # type: ignore[arg-type]  # a Replay

        results.append(_compared(subject, replay))  # type: ignore[arg-type]  # a Replay
    evidence = [line for result in results for line in result.evidence]
    summary = f"{len(results)} Pythons: {'; '.join(result.summary for result in results)}"
    return Measured(not evidence, summary, sum(result.n for result in results), evidence)


def cross_host(subject: Subject) -> Measured:
    """The recorded episodes are compared by their hash with a certificate of another machine.

    A pass means that both machines played the same episodes, to the last bit.
    """
    if subject.earlier is None:
        raise NotApplicable("there is no certificate of another machine; give it as `earlier`")
    if subject.earlier.get("machine") == machine():
        raise NotApplicable("the earlier certificate is of this machine")
    then, now = str(subject.earlier.get("episodes_sha256", "")), digest(recorded(subject)[1])
    return Measured(then == now, f"episodes {now[:16]}, there {then[:16]}", subject.n)


# -- playing ---------------------------------------------------------------------------------------


def _first(env: GuardedEnv, play: ScriptedPlay, kind: int) -> tuple[ScriptedPlay, list[Turn]]:
    """Play a task for the first time.

    Args:
        env: The environment.
        play: The task, without actions.
        kind: 0: the expert plays; 1: random actions; 2: hostile text first.

    Returns:
        What was done, and what came.
    """
    rng = np.random.Generator(np.random.PCG64(play.seed))
    actions: list[str] = []
    turn, info = begin(env, play)
    turns = [turn]
    while not turns[-1][2]:
        offered = info.get("admissible_actions") or ()
        action = _expert(env) if kind == 0 else None
        if kind == 2 and len(actions) < len(HOSTILE):
            action = HOSTILE[len(actions)]
        if action is None:
            action = str(offered[int(rng.integers(len(offered)))]) if offered else HOSTILE[2]
        actions.append(action)
        turn, info = take(env, action)
        turns.append(turn)
    return ScriptedPlay(play.task_id, play.seed, play.horizon, tuple(actions)), turns


def _expert(env: GuardedEnv) -> str | None:
    try:
        return env.oracle_action()
    except (NotSupported, EnvFailure):
        return None


# -- comparing -------------------------------------------------------------------------------------


def _compared(subject: Subject, replay: Replay, *, calls: bool = False) -> Measured:
    """Play again and compare."""
    plays, expected = recorded(subject)
    named = (subject.name, subject.kwargs)
    # Replays cannot be stopped, and take about as long as the recording.
    if subject.cache["recording_seconds"] > subject.budget.left:
        raise NotRun("the episodes cannot be played again in the time left; raise `seconds`")
    try:
        if calls:
            plays, expected = as_calls(*named, plays)
        actual = replay(*named, plays)
    except (AgentGymError, OSError, ValueError, subprocess.SubprocessError) as error:
        raise NotRun(bounded(" ".join(f"{type(error).__name__}: {error}".split()), 300)) from error
    return compare(plays, actual, expected)


def compare(
    plays: Sequence[ScriptedPlay],
    actual: Sequence[Sequence[Turn]],
    expected: Sequence[Sequence[Turn]],
) -> Measured:
    """Compare episodes with recorded ones, turn by turn."""
    differences = [
        difference
        for play, turns, right in zip(plays, actual, expected, strict=True)
        if (difference := _difference(play, turns, right))
    ]
    failed = sum(bool(turns[-1][3]) for turns in expected)
    summary = f"{len(plays) - len(differences)} of {len(plays)} episodes are equal"
    summary += f", {failed} with the same failure" if failed else ""
    return Measured(not differences, summary, len(plays), differences)


def _difference(play: ScriptedPlay, actual: Sequence[Turn], expected: Sequence[Turn]) -> str:
    """Say where two episodes differ first; empty if they do not."""
    for number, (actual_turn, expected_turn) in enumerate(zip(actual, expected, strict=False)):
        # That both fail is the same; in which words they do so is not compared.
        failed = (
            (expected_turn[3], actual_turn[3])
            if bool(actual_turn[3]) != bool(expected_turn[3])
            else ("", "")
        )
        parts = {
            "failure": failed,
            "observation": (expected_turn[0], actual_turn[0]),
            "reward": (expected_turn[1], actual_turn[1]),
            "end": (expected_turn[2], actual_turn[2]),
        }
        for aspect, (then, later) in parts.items():
            if then != later:
                place = f"{play.task_id}, turn {number}, {aspect}"
                return f"{place}: {' then '.join(_quote_difference(then, later))}"
    if len(actual) != len(expected):
        return f"{play.task_id}: {len(expected) - 1} turns, then {len(actual) - 1}"
    return ""


def _quote_difference(then: object, later: object) -> tuple[str, str]:
    """Return two values that differ, texts from shortly before the place where they do."""
    if not isinstance(then, str) or not isinstance(later, str):
        return repr(then), repr(later)
    pairs = enumerate(zip(then, later, strict=False))
    first_difference = next((k for k, (a, b) in pairs if a != b), min(len(then), len(later)))
    start = max(0, first_difference - SHOWN // 4)
    ellipsis = "..." if start else ""
    return (
        repr(ellipsis + bounded(then[start:], SHOWN)),
        repr(ellipsis + bounded(later[start:], SHOWN)),
    )
