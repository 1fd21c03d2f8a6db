"""Checks that equal seeds give equal episodes, everywhere, in records and in forks.

Episodes are recorded once: by the demonstrator if there is one, with random admissible actions, and
with hostile text. The same actions are then replayed in many ways; observations, rewards, ends and
failures must be equal, to the last bit.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial

import numpy as np

from agentgym.certification.interfaces import (
    CALLS,
    INTERFACES,
    Episodes,
    Replay,
    Script,
    ScriptedPlay,
    Turn,
    as_calls,
    begin,
    in_python,
    play_through,
    take,
)
from agentgym.certification.result import Measured, NotApplicable, NotRun
from agentgym.certification.solving import WORTHLESS
from agentgym.certification.subject import Subject
from agentgym.core.guard import GuardedEnv
from agentgym.core.outcome import bounded
from agentgym.episodes.recorder import Recorder
from agentgym.episodes.records import Episode
from agentgym.episodes.replay import replay, rescore
from agentgym.errors import AgentGymError, EnvFailure, NotSupported
from agentgym.support.provenance import machine

HOSTILE = (WORTHLESS[0], WORTHLESS[2], WORTHLESS[3])
"""Texts that no environment can parse, with which every third episode begins."""
SHOWN = 120
"""Maximum number of characters of an observation in a report."""
ASPECTS = ("observation", "reward", "end")
"""What of a turn is compared, and its failure."""


# -- the episodes ----------------------------------------------------------------------------------


def recorded(subject: Subject) -> tuple[Script, Episodes]:
    """Play the tasks for the first time, once for all checks; return what was done, what came."""

    def play() -> tuple[Script, Episodes]:
        episodes, seconds = [], subject.budget.left
        with closing(subject.make()) as env:
            guarded = GuardedEnv(env)
            for number, task_id in enumerate(subject.task_ids):
                subject.budget.check()
                play = ScriptedPlay(task_id, subject.seed + number, subject.horizon, ())
                episodes.append(_first(guarded, play, number % 3))
        subject.cache["recording_seconds"] = seconds - subject.budget.left
        plays = [play for play, _ in episodes]
        return Script(subject.name, subject.kwargs, plays), [turns for _, turns in episodes]

    episodes: tuple[Script, Episodes] = subject.remember("recorded", play)
    return episodes


def digest(episodes: Sequence[Sequence[Turn]]) -> str:
    """Return one hash of the turns of episodes; the texts of errors are not hashed."""
    plain_turns = [[(*turn[:3], bool(turn[3])) for turn in turns] for turns in episodes]
    return hashlib.sha256(json.dumps(plain_turns).encode()).hexdigest()


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
    return replace(play, actions=tuple(actions)), turns


def _expert(env: GuardedEnv) -> str | None:
    try:
        return env.oracle_action()
    except (NotSupported, EnvFailure):
        return None


# -- played again ----------------------------------------------------------------------------------


def same_through(name: str) -> Callable[[Subject], Measured]:
    """Return the check that an interface, one of `INTERFACES`, shows the same episodes."""

    def check(subject: Subject) -> Measured:
        return _compared(subject, INTERFACES[name], calls=name in CALLS)

    check.__name__, where = name, f"{INTERFACES[name].__doc__}".rstrip(".")
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
    results = [_compared(subject, partial(in_python, python=python)) for python in subject.pythons]
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


def forks(subject: Subject) -> Measured:
    """Each recorded episode is saved half-way, ended, restored and ended again.

    A pass means that both ends are equal to the last bit.
    """
    script, expected = recorded(subject)
    with closing(subject.make()) as env:
        try:
            actual = [_forked(GuardedEnv(env), play) for play in script.plays]
        except NotSupported as error:
            raise NotApplicable(str(error)) from error
    return _differing(script, actual, expected)


def _forked(guarded: GuardedEnv, play: ScriptedPlay) -> list[Turn]:
    half = len(play.actions) // 2
    turns = play_through(guarded, replace(play, actions=play.actions[:half]))
    if turns[-1][2]:
        return turns
    env = guarded.env.unwrapped
    snapshot = env.snapshot()  # type: ignore[attr-defined]  # of every text environment
    for action in play.actions[half:]:
        take(guarded, action)
    env.restore(snapshot)  # type: ignore[attr-defined]  # as above
    return turns + [take(guarded, action)[0] for action in play.actions[half:]]


def replays(subject: Subject) -> Measured:
    """The recorded episodes are written as records and replayed in a new environment.

    A pass means that each replays with everything that a record contains: observations, rewards and
    their terms, scores, states, flags, reasons and details.
    """
    episodes = _records(subject)
    with closing(subject.make()) as env:
        reports = [(episode, replay(episode, env)) for episode in episodes]
    changed = [f"{e.task_id}: {report.difference}" for e, report in reports if not report.equal]
    summary = f"{len(episodes) - len(changed)} of {len(episodes)} episodes replay"
    return Measured(not changed, summary, len(episodes), changed)


def rescores(subject: Subject) -> Measured:
    """The rewards of the recorded episodes are computed again, from their actions.

    A pass means that every term of every turn's reward is what it was.
    """
    episodes = _records(subject)
    with closing(subject.make()) as env:
        if env.hooks:
            raise NotApplicable("the environment was made with reward hooks")
        changed = [
            episode.task_id
            for episode in episodes
            if rescore(episode, (), env) != [turn.reward_terms for turn in episode.turns]
        ]
    summary = f"{len(episodes) - len(changed)} of {len(episodes)} episodes have the same rewards"
    return Measured(not changed, summary, len(episodes), changed)


def _records(subject: Subject) -> list[Episode]:
    """Return the recorded episodes as records; those that fail are left out."""

    def write() -> Iterator[Episode]:
        script, episodes = recorded(subject)
        with closing(subject.make()) as env:
            recorder = Recorder(GuardedEnv(env), None)
            for play, turns in zip(script.plays, episodes, strict=True):
                if not turns[-1][3]:
                    play_through(recorder, play)
                    assert recorder.last is not None
                    yield recorder.last

    records: list[Episode] = subject.remember("records", lambda: [*write()])
    if not records:
        raise NotApplicable("no episode ends without a failure")
    return records


# -- comparing -------------------------------------------------------------------------------------


def _compared(subject: Subject, replay: Replay, *, calls: bool = False) -> Measured:
    """Play again and compare."""
    script, expected = recorded(subject)
    # Replays cannot be stopped, and take about as long as the recording.
    if subject.cache["recording_seconds"] > subject.budget.left:
        raise NotRun("the episodes cannot be played again in the time left; raise `seconds`")
    try:
        if calls:
            script, expected = as_calls(script)
        actual = replay(script)
    except (AgentGymError, OSError, ValueError, subprocess.SubprocessError) as error:
        raise NotRun(bounded(" ".join(f"{type(error).__name__}: {error}".split()), 300)) from error
    return _differing(script, actual, expected)


def _differing(script: Script, actual: Episodes, expected: Episodes) -> Measured:
    """Compare episodes with recorded ones, turn by turn."""
    triples = zip(script.plays, actual, expected, strict=True)
    differences = [line for triple in triples if (line := _difference(*triple))]
    n, failed = len(script.plays), sum(bool(turns[-1][3]) for turns in expected)
    summary = f"{n - len(differences)} of {n} episodes are equal"
    summary += f", {failed} with the same failure" if failed else ""
    return Measured(not differences, summary, n, differences)


def _difference(play: ScriptedPlay, actual: Sequence[Turn], expected: Sequence[Turn]) -> str:
    """Say where two episodes differ first; empty if they do not."""
    for number, (later, then) in enumerate(zip(actual, expected, strict=False)):
        place = f"{play.task_id}, turn {number}"
        # That both fail is the same; in which words they do so is not compared.
        if bool(then[3]) != bool(later[3]):
            return f"{place}, failure: {then[3]!r} then {later[3]!r}"
        for name, *values in zip(ASPECTS, then, later, strict=False):
            if values[0] != values[1]:
                return f"{place}, {name}: {_quote_difference(*map(str, values))}"
    if len(actual) != len(expected):
        return f"{play.task_id}: {len(expected) - 1} turns, then {len(actual) - 1}"
    return ""


def _quote_difference(then: str, later: str) -> str:
    """Quote two texts that differ, from shortly before the place where they do."""
    pairs = enumerate(zip(then, later, strict=False))
    place = next((k for k, (a, b) in pairs if a != b), min(len(then), len(later)))
    start = max(0, place - SHOWN // 4)
    ellipsis = "..." if start else ""
    return " then ".join(repr(ellipsis + bounded(text[start:], SHOWN)) for text in (then, later))
