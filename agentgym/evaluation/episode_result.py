"""`EpisodeResult`, the summary of one episode of an evaluation, and how it is computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from operator import add
from typing import Any, TypedDict

from agentgym.actions import strip_think
from agentgym.core.hooks import Cost, Verdict
from agentgym.core.outcome import OUTSIDE, SUCCESS_UNKNOWN, StopReason, total, well_formed
from agentgym.episodes import Episode
from agentgym.episodes.recorder import UNUSED, costs_of, verdicts_of
from agentgym.policies.base import ModelOutput
from agentgym.policies.play import Moment
from agentgym.support.typed_json import read_json

BEGUN = 200
"""Maximum number of characters of an invalid action in a result."""


class Place(TypedDict, total=False):
    """The data that an evaluation stores in the ``extra`` of an episode's record."""

    sample: int
    labels: Mapping[str, str]
    models: list[str]


def place_of(episode: Episode) -> Place:
    """Return the data that an evaluation stored in an episode's record.

    Raises:
        DataError: The record has other data there.
    """
    return read_json(Place, episode.extra, "extra")


@dataclass(frozen=True)
class JudgeCount:
    """Totals of a judge's verdicts on one or several episodes."""

    asked: int = 0
    """Number of requested verdicts."""
    missing: int = 0
    """Number of missing verdicts."""
    score: float = 0.0
    """Sum of the given verdicts."""
    calls: int = 0
    """Number of questions sent; other verdicts were cached."""
    tokens: int = 0
    """Tokens that the judge read and wrote."""

    def __add__(self, other: JudgeCount) -> JudgeCount:
        """Return the counts of both."""
        return JudgeCount(*map(add, astuple(self), astuple(other)))

    @property
    def mean(self) -> float | None:
        """Mean score of the verdicts; None if there is none."""
        verdicts = self.asked - self.missing
        return self.score / verdicts if verdicts else None

    @classmethod
    def of(cls, verdict: Verdict) -> JudgeCount:
        """Count one verdict."""
        tokens = verdict.prompt_tokens + verdict.completion_tokens
        return cls(1, int(verdict.score is None), verdict.score or 0.0, verdict.calls, tokens)


def judge_counts(turns: Iterable[Mapping[str, Verdict]]) -> dict[str, JudgeCount]:
    """Summarize the verdicts of judges on turns, by hook name."""
    counts: dict[str, JudgeCount] = {}
    for verdicts in turns:
        for name, verdict in verdicts.items():
            counts[name] = counts.get(name, JudgeCount()) + JudgeCount.of(verdict)
    return counts


@dataclass(frozen=True)
class EpisodeResult:
    """Result of an episode of an evaluation."""

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
    """The failure, or the reason of an end caused by the policy, such as its endpoint's message."""
    invalid: int | None = None
    """Number of turns with an invalid action; None if not counted."""
    repeated: int | None = None
    """Number of these that repeat an earlier invalid action of the episode; None if not counted."""
    sample: int = 0
    """Number of the sample of the task, from 0."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the task, from `agentgym.core.tasks.TaskSet.labels`."""
    prompt_tokens: int = 0
    """Tokens that the model read."""
    completion_tokens: int = 0
    """Tokens that it wrote."""
    cached_tokens: int = 0
    """Tokens it read that its endpoint had cached."""
    reasoning_tokens: int = 0
    """Tokens it wrote that were thinking."""
    finish_reasons: Mapping[str, int] = field(default_factory=dict)
    """Number of responses by finish reason, as reported by the endpoint."""
    models: tuple[str, ...] = ()
    """Models that responded, if the policy reports them."""
    invalid_answer: str = ""
    """Beginning of the first invalid action."""
    judges: Mapping[str, JudgeCount] = field(default_factory=dict)
    """Verdicts of judges, by hook name."""
    costs: Mapping[str, Cost] = field(default_factory=dict)
    """Costs of the episode, by hook name."""
    success_unknown: bool = False
    """Whether the environment does not report success; ``success`` is False then."""

    @property
    def valid(self) -> bool:
        """Whether the episode counts: the infrastructure did not fail."""
        return self.stop_reason != StopReason.ERROR

    @property
    def fruitless(self) -> bool:
        """Whether many such episodes in a row indicate a broken set-up.

        True if the episode is broken, the policy's code raised, or it ended before its first
        action.
        """
        raised = bool(self.error) and self.stop_reason == StopReason.STOPPED
        return not self.valid or raised or (bool(self.error) and not self.turns)

    @property
    def unsolved(self) -> EpisodeResult:
        """The same episode with score 0, for figures that include broken episodes."""
        return replace(self, score=0.0, success=False)

    @classmethod
    def of(cls, episode: Episode) -> EpisodeResult:
        """Compute the result from the record of an episode.

        Args:
            episode: A record written by an evaluation: its ``extra`` contains ``sample`` and
                ``labels``.

        Raises:
            DataError: The sample or the labels have another type.
        """
        place = place_of(episode)
        turns = episode.turns
        invalid = [turn.action for turn in turns if not turn.action_valid]
        outputs: list[Mapping[str, Any]] = [*map(vars, turns), *episode.extra.get(UNUSED, ())]
        finished = Counter[str](filter(None, (output.get("finish_reason") for output in outputs)))

        def tokens(kind: str) -> int:
            return sum(output.get(f"{kind}_tokens") or 0 for output in outputs)

        return cls(
            episode.task_id,
            episode.score,
            episode.success and episode.stop_reason != StopReason.ERROR,
            len(turns),
            episode.reward,
            episode.stop_reason,
            # Only at an end from outside: otherwise "error" may be one of the family's own facts.
            str(episode.details.get("error", "")) if episode.stop_reason in OUTSIDE else "",
            len(invalid) if episode.start.state_key else None,
            repeated_actions(invalid) if episode.start.state_key else None,
            place.get("sample", 0),
            dict(place.get("labels", {})),
            prompt_tokens=tokens("prompt"),
            completion_tokens=tokens("completion"),
            cached_tokens=tokens("cached"),
            reasoning_tokens=tokens("reasoning"),
            finish_reasons=dict(sorted(finished.items())),
            models=tuple(place.get("models", ())),
            invalid_answer=_begun(invalid[0]) if invalid else "",
            judges=judge_counts(turn.verdicts for turn in turns),
            costs=summed_costs(turn.costs for turn in turns),
            success_unknown=bool(episode.details.get(SUCCESS_UNKNOWN)),
        )


class Tally:
    """Accumulates the result of an episode while it is played.

    Args:
        task_id: The task.
        sample: Number of the sample of the task, from 0.
        labels: Labels of the task.
    """

    def __init__(self, task_id: str, sample: int, labels: Mapping[str, str]) -> None:
        self._task_id, self._sample, self._labels = task_id, sample, labels
        self._rewards: list[float] = []
        self._invalid: list[str] = []
        self._outputs: list[ModelOutput] = []
        self._verdicts: list[dict[str, Verdict]] = []
        self._costs: list[dict[str, Cost]] = []

    def ask(self, output: ModelOutput) -> None:
        """Count a model's output, before its action is executed."""
        self._outputs.append(output)

    def add(self, moment: Moment) -> None:
        """Count the reset or a turn."""
        if moment.action is not None and moment.failure is None:
            self._rewards.append(moment.reward)
            if not moment.info["action_valid"]:
                self._invalid.append(moment.action)
            self._verdicts.append(verdicts_of(moment.info))
            self._costs.append(costs_of(moment.info))

    @property
    def tokens(self) -> ModelOutput:
        """Total tokens of the model in the episode; the texts are left out."""
        return summed(self._outputs)

    def result(self, last: Moment) -> EpisodeResult:
        """Return the result of the finished episode."""
        info, failure = last.info, last.failure
        used = self.tokens
        finished = Counter(output.finish_reason for output in self._outputs if output.finish_reason)
        return EpisodeResult(
            self._task_id,
            float(info.get("score", 0.0)),
            failure is None and bool(info["success"]),
            int(info.get("turn", 0)),
            total(self._rewards),
            str(info.get("stop_reason", "")) if failure is None else StopReason.ERROR.value,
            last.words if failure is None else str(failure),
            # An episode that did not begin has no counts.
            len(self._invalid) if info else None,
            repeated_actions(self._invalid) if info else None,
            self._sample,
            dict(self._labels),
            prompt_tokens=used.prompt_tokens,
            completion_tokens=used.completion_tokens,
            cached_tokens=used.cached_tokens,
            reasoning_tokens=used.reasoning_tokens,
            finish_reasons=dict(sorted(finished.items())),
            models=tuple(dict.fromkeys(output.model for output in self._outputs if output.model)),
            invalid_answer=_begun(self._invalid[0]) if self._invalid else "",
            judges=judge_counts(self._verdicts),
            costs=summed_costs(self._costs),
            success_unknown=bool(info.get("details", {}).get(SUCCESS_UNKNOWN)),
        )


def repeated_actions(actions: Sequence[str]) -> int:
    """Return how many actions repeat an earlier one."""
    return len(actions) - len(set(actions))


def _begun(action: str) -> str:
    """Return the beginning of an answer without its thinking, or of the thinking if that is all."""
    return well_formed((strip_think(action) or action)[:BEGUN])


def summed_costs(turns: Iterable[Mapping[str, Cost]]) -> dict[str, Cost]:
    """Sum the costs of turns, by hook name."""
    totals: dict[str, Cost] = {}
    for costs in turns:
        for name, cost in costs.items():
            old_amount = totals[name].amount if name in totals else 0.0
            totals[name] = replace(cost, amount=old_amount + cost.amount)
    return totals


def summed(outputs: Sequence[ModelOutput | EpisodeResult]) -> ModelOutput:
    """Sum token counts; texts are left out."""
    return ModelOutput(
        "",
        sum(output.prompt_tokens for output in outputs),
        sum(output.completion_tokens for output in outputs),
        sum(output.cached_tokens for output in outputs),
        sum(output.reasoning_tokens for output in outputs),
    )
