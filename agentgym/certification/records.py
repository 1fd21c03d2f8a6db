"""Checks that records replay and rescore exactly, and that episodes can be forked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from agentgym.certification.interfaces import ScriptedPlay, Turn, begin, make, take
from agentgym.certification.result import Measured, NotApplicable
from agentgym.certification.sameness import compare, recorded
from agentgym.certification.subject import Subject
from agentgym.core.guard import GuardedEnv
from agentgym.episodes.recorder import Recorder
from agentgym.episodes.records import Episode
from agentgym.episodes.replay import replay, rescore
from agentgym.errors import NotSupported


def replays(subject: Subject) -> Measured:
    """The recorded episodes are written as records and replayed in a new environment.

    A pass means that each replays with everything that a record contains: observations, rewards and
    their terms, scores, states, flags, reasons and details.
    """
    episodes = _records(subject)
    with closing(make(subject.name, subject.kwargs)) as env:
        reports = [(episode, replay(episode, env)) for episode in episodes]
    changed = [f"{e.task_id}: {report.difference}" for e, report in reports if not report.equal]
    summary = f"{len(episodes) - len(changed)} of {len(episodes)} episodes replay"
    return Measured(not changed, summary, len(episodes), changed)


def rescores(subject: Subject) -> Measured:
    """The rewards of the recorded episodes are computed again, from their actions.

    A pass means that every term of every turn's reward is what it was.
    """
    episodes = _records(subject)
    with closing(make(subject.name, subject.kwargs)) as env:
        if env.hooks:
            raise NotApplicable("the environment was made with reward hooks")
        changed = [
            episode.task_id
            for episode in episodes
            if rescore(episode, (), env) != [turn.reward_terms for turn in episode.turns]
        ]
    summary = f"{len(episodes) - len(changed)} of {len(episodes)} episodes have the same rewards"
    return Measured(not changed, summary, len(episodes), changed)


def forks(subject: Subject) -> Measured:
    """Each recorded episode is saved half-way, ended, restored and ended again.

    A pass means that both ends are equal to the last bit.
    """
    plays, expected = recorded(subject)
    with closing(make(subject.name, subject.kwargs)) as env:
        guarded = GuardedEnv(env)
        try:
            actual = [_forked(guarded, play) for play in plays]
        except NotSupported as error:
            raise NotApplicable(str(error)) from error
    return compare(plays, actual, expected)


def _forked(guarded: GuardedEnv, play: ScriptedPlay) -> list[Turn]:
    turns = [begin(guarded, play)[0]]
    half = len(play.actions) // 2
    turns += [take(guarded, action)[0] for action in play.actions[:half]]
    if turns[-1][2]:
        return turns
    env = guarded.env.unwrapped
    snapshot = env.snapshot()  # type: ignore[attr-defined]  # of every text environment
    for action in play.actions[half:]:
        take(guarded, action)
    env.restore(snapshot)  # type: ignore[attr-defined]  # as above
    return turns + [take(guarded, action)[0] for action in play.actions[half:]]


def _records(subject: Subject) -> list[Episode]:
    """Return the recorded episodes as records; those that fail are left out."""

    def write() -> Iterator[Episode]:
        plays, turns = recorded(subject)
        with closing(make(subject.name, subject.kwargs)) as env:
            recorder = Recorder(GuardedEnv(env), None)
            for play, episode in zip(plays, turns, strict=True):
                if episode[-1][3]:
                    continue
                begin(recorder, play)
                for action in play.actions:
                    take(recorder, action)
                assert recorder.last is not None
                yield recorder.last

    episodes: list[Episode] = subject.remember("records", lambda: [*write()])
    if not episodes:
        raise NotApplicable("no episode ends without a failure")
    return episodes
