"""What is kept of one episode of an evaluation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from operator import add
from typing import Any, TypedDict

from agentgym.core.hooks import Cost, Verdict
from agentgym.core.outcome import OUTSIDE, StopReason, total, well_formed
from agentgym.episodes import Episode
from agentgym.episodes.recorder import UNUSED, costs_of, verdicts_of
from agentgym.policies.base import ModelOutput
from agentgym.policies.play import Moment
from agentgym.support.typed_json import read_json

BEGUN = 200
"""Most characters of an invalid action that a result keeps."""


class Place(TypedDict, total=False):
    """What an evaluation says of an episode in the ``extra`` of its record."""

    sample: int
    labels: Mapping[str, str]
    models: list[str]


def place_of(episode: Episode) -> Place:
    """Return what an evaluation says of an episode in its record.

    Raises:
        DataError: The record says something else there.
    """
    return read_json(Place, episode.extra, "extra")


@dataclass(frozen=True)
class JudgeCount:
    """What a judge said of an episode, or of several."""

    asked: int = 0
    """Verdicts that were wanted."""
    missing: int = 0
    """Those that were not given."""
    score: float = 0.0
    """Sum of the others."""
    calls: int = 0
    """Questions that were sent; the other verdicts were known from before."""
    tokens: int = 0
    """Tokens that the judge read and wrote."""

    def __add__(self, other: JudgeCount) -> JudgeCount:
        """Return the counts of both."""
        return JudgeCount(*map(add, astuple(self), astuple(other)))

    @property
    def mean(self) -> float | None:
        """Mean of the verdicts that were given; None without one."""
        given = self.asked - self.missing
        return self.score / given if given else None

    @classmethod
    def of(cls, verdict: Verdict) -> JudgeCount:
        """Count one verdict."""
        tokens = verdict.prompt_tokens + verdict.completion_tokens
        return cls(1, int(verdict.score is None), verdict.score or 0.0, verdict.calls, tokens)


def judge_counts(turns: Iterable[Mapping[str, Verdict]]) -> dict[str, JudgeCount]:
    """Count what judges said of turns, by the names of their hooks."""
    found: dict[str, JudgeCount] = {}
    for verdicts in turns:
        for name, verdict in verdicts.items():
            found[name] = found.get(name, JudgeCount()) + JudgeCount.of(verdict)
    return found


@dataclass(frozen=True)
class EpisodeResult:
    """One episode of an evaluation."""

    task_id: str
    """The task."""
    score: float
    """Final score in [0, 1]."""
    success: bool
    """Whether the task was solved."""
    turns: int
    """Turns taken."""
    reward: float
    """Sum of rewards."""
    stop_reason: str
    """Why the episode ended; ``error`` if the infrastructure failed, see
    `agentgym.core.outcome.StopReason`."""
    error: str = ""
    """What failed, or what is known of an end that the policy made, such as the words of its
    model's endpoint."""
    invalid: int | None = None
    """Turns whose action was invalid; None where that was not counted."""
    sample: int = 0
    """Which of the episodes of its task, from 0."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Kinds that the task is of, from `agentgym.core.tasks.TaskSet.labels`."""
    prompt_tokens: int = 0
    """Tokens that the model read."""
    completion_tokens: int = 0
    """Tokens that it wrote."""
    cached_tokens: int = 0
    """Those it read that its endpoint had in a cache."""
    reasoning_tokens: int = 0
    """Those it wrote that were thinking."""
    finish_reasons: Mapping[str, int] = field(default_factory=dict)
    """How often the model stopped for which reason, as its endpoint says."""
    models: tuple[str, ...] = ()
    """Models that answered, where the policy names them with their answers."""
    invalid_answer: str = ""
    """Beginning of the first action, if it was invalid."""
    judges: Mapping[str, JudgeCount] = field(default_factory=dict)
    """What judges said, by the names of their hooks."""
    costs: Mapping[str, Cost] = field(default_factory=dict)
    """What it used, by the names of the hooks that count it."""

    @property
    def valid(self) -> bool:
        """Whether the episode counts: nothing of the infrastructure failed in it."""
        return self.stop_reason != StopReason.ERROR

    @property
    def fruitless(self) -> bool:
        """Whether many such episodes, one after the other, say that something is set up wrong.

        They are broken, or the policy's own code raised, or it ended them before its first action.
        """
        raised = bool(self.error) and self.stop_reason == StopReason.STOPPED
        return not self.valid or raised or (bool(self.error) and not self.turns)

    @property
    def unsolved(self) -> EpisodeResult:
        """The same episode with nothing reached, for counts that take broken ones in."""
        return replace(self, score=0.0, success=False)

    @classmethod
    def of(cls, episode: Episode) -> EpisodeResult:
        """Read the result off the record of an episode.

        Args:
            episode: A record that an evaluation wrote: its ``extra`` holds ``sample`` and
                ``labels``.

        Raises:
            DataError: They are none.
        """
        place = place_of(episode)
        turns = episode.turns
        outputs: list[Mapping[str, Any]] = [*map(vars, turns), *episode.extra.get(UNUSED, ())]
        finished = Counter[str](filter(None, (each.get("finish_reason") for each in outputs)))

        def tokens(kind: str) -> int:
            return sum(each.get(f"{kind}_tokens") or 0 for each in outputs)

        return cls(
            episode.task_id,
            episode.score,
            episode.success and episode.stop_reason != StopReason.ERROR,
            len(turns),
            episode.reward,
            episode.stop_reason,
            # A family may use this key for facts of its own, but not at an end from outside.
            str(episode.details.get("error", "")) if episode.stop_reason in OUTSIDE else "",
            sum(not turn.action_valid for turn in turns) if episode.start.state_key else None,
            place.get("sample", 0),
            dict(place.get("labels", {})),
            prompt_tokens=tokens("prompt"),
            completion_tokens=tokens("completion"),
            cached_tokens=tokens("cached"),
            reasoning_tokens=tokens("reasoning"),
            finish_reasons=dict(sorted(finished.items())),
            models=tuple(place.get("models", ())),
            invalid_answer="" if not turns or turns[0].action_valid else _begun(turns[0].action),
            judges=judge_counts(turn.verdicts for turn in turns),
            costs=summed_costs(turn.costs for turn in turns),
        )


class Tally:
    """Adds up an episode while it is played.

    Args:
        task_id: The task.
        sample: Which of the episodes of its task.
        labels: Kinds that the task is of.
    """

    def __init__(self, task_id: str, sample: int, labels: Mapping[str, str]) -> None:
        self._task_id, self._sample, self._labels = task_id, sample, labels
        self._rewards: list[float] = []
        self._invalid = 0
        self._invalid_answer = ""
        self._asked: list[ModelOutput] = []
        self._verdicts: list[dict[str, Verdict]] = []
        self._costs: list[dict[str, Cost]] = []

    def ask(self, output: ModelOutput) -> None:
        """Take what a model produced, before its action is carried out."""
        self._asked.append(output)

    def add(self, moment: Moment) -> None:
        """Take the reset or a turn."""
        if moment.action is not None and moment.failure is None:
            if not (self._rewards or moment.info["action_valid"]):
                self._invalid_answer = _begun(moment.action)
            self._rewards.append(moment.reward)
            self._invalid += not moment.info["action_valid"]
            self._verdicts.append(verdicts_of(moment.info))
            self._costs.append(costs_of(moment.info))

    @property
    def tokens(self) -> ModelOutput:
        """Tokens of all that the model produced in the episode; the texts are left out."""
        return summed(self._asked)

    def result(self, last: Moment) -> EpisodeResult:
        """Return the result."""
        info, failure = last.info, last.failure
        used = self.tokens
        finished = Counter(each.finish_reason for each in self._asked if each.finish_reason)
        return EpisodeResult(
            self._task_id,
            float(info.get("score", 0.0)),
            failure is None and bool(info["success"]),
            int(info.get("turn", 0)),
            total(self._rewards),
            str(info.get("stop_reason", "")) if failure is None else StopReason.ERROR.value,
            last.words if failure is None else str(failure),
            self._invalid if info else None,  # nothing is counted of an episode that did not begin
            self._sample,
            dict(self._labels),
            prompt_tokens=used.prompt_tokens,
            completion_tokens=used.completion_tokens,
            cached_tokens=used.cached_tokens,
            reasoning_tokens=used.reasoning_tokens,
            finish_reasons=dict(sorted(finished.items())),
            models=tuple(dict.fromkeys(each.model for each in self._asked if each.model)),
            invalid_answer=self._invalid_answer,
            judges=judge_counts(self._verdicts),
            costs=summed_costs(self._costs),
        )


def _begun(action: str) -> str:
    return well_formed(action[:BEGUN])


def summed_costs(turns: Iterable[Mapping[str, Cost]]) -> dict[str, Cost]:
    """Add up what turns used, by the names of the hooks that count it."""
    found: dict[str, Cost] = {}
    for costs in turns:
        for name, cost in costs.items():
            before = found[name].amount if name in found else 0.0
            found[name] = replace(cost, amount=before + cost.amount)
    return found


def summed(outputs: Sequence[ModelOutput | EpisodeResult]) -> ModelOutput:
    """Add up tokens; texts are left out."""
    return ModelOutput(
        "",
        sum(each.prompt_tokens for each in outputs),
        sum(each.completion_tokens for each in outputs),
        sum(each.cached_tokens for each in outputs),
        sum(each.reasoning_tokens for each in outputs),
    )
