"""The result of a run: what ``summary.json`` holds, and what it says in words.

The same sentences stand on the screen, in the summary, in the report and on the model's card.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar, cast

from agentgym.episodes.recorder import package_versions
from agentgym.errors import DataError
from trainers.output.phase import Phase

ARMS = ("random", "sft", "rl", "oracle")
"""The compared policies in the order in which they are shown."""
GREEDY = "-greedy"
"""Suffix of an arm that takes the likeliest token instead of sampling."""

Interval = tuple[float, float]
"""Ends of a 95 % interval."""
LIBRARIES = ("torch", "transformers", "trl", "peft")
"""Packages whose versions decide, beside the suite's own, what a run computes."""
Part = TypeVar("Part")


@dataclass(frozen=True)
class ArmResult:
    """One policy on the held-out tasks; episodes lost to a failed environment are left out."""

    n: int
    """Episodes that count."""
    score_mean: float
    """Mean score."""
    score_ci95: Interval
    """Its interval."""
    success: float
    """Share of solved tasks."""
    success_ci95: Interval
    """Its interval."""
    turns_mean: float
    """Mean number of turns."""
    scaled: float | None
    """Score on the scale from 0, random, to 100, oracle; None where there is no scale."""


@dataclass(frozen=True)
class Difference:
    """Two policies compared task by task; a task that failed for either is left out."""

    n: int
    """Tasks."""
    score_mean: float
    """Mean difference in score."""
    score_ci95: Interval
    """Its interval."""
    success_mean: float
    """Mean difference in success."""
    success_ci95: Interval
    """Its interval."""


@dataclass(frozen=True)
class Paired:
    """The comparisons that are made task by task."""

    rl_minus_sft: Difference
    """After reinforcement learning minus before it."""


@dataclass(frozen=True)
class GreedyResults:
    """The learned policies once more, with the likeliest token in place of a sampled one."""

    sft: ArmResult
    """Before reinforcement learning."""
    rl: ArmResult
    """After it."""
    rl_minus_sft: Difference
    """After minus before."""


@dataclass(frozen=True)
class Horizon:
    """Turns of a training episode."""

    rounds: tuple[int, ...]
    """Stage by stage."""
    every: int
    """Steps of a stage."""
    fit: bool
    """Whether a stage draws only tasks that the expert solves within it."""


@dataclass(frozen=True)
class Evaluation:
    """How the policies were compared."""

    split: str
    """Split of the tasks."""
    panel_sha256: str
    """Hash over the content of the tasks."""
    decoding: str
    """``sampled`` or ``greedy``."""
    horizon: int
    """Turns of an episode."""


@dataclass(frozen=True)
class WarmStart:
    """How the warm start ended."""

    steps: int
    """Steps that it took."""
    gated: bool
    """Whether it reached its gate."""
    success: float
    """Validation success at its end."""


@dataclass(frozen=True)
class ChosenPolicy:
    """The policy that is called trained: which of the run's policies was compared."""

    checkpoint: str
    """Folder under ``checkpoints``: ``best`` by validation, or ``trained``, that of the last."""
    step: int
    """Steps of reinforcement learning that made it."""
    valid_success: float | None = None
    """Success on the validation tasks by which it was chosen; None if it was not."""
    valid_score: float | None = None
    """Score on them."""


@dataclass(frozen=True)
class HealthEvent:
    """An alarm of reinforcement learning, and what came of it."""

    step: int
    """Step after which it was raised."""
    signal: str
    """What was wrong (see ``trainers.monitoring.health``)."""
    action: str
    """``warn``, ``stop`` or ``rollback``."""
    sentence: str
    """The signal, what it usually was, and its limit, in words."""
    to: int | None = None
    """Step that training went back to."""


@dataclass(frozen=True)
class Summary:
    """The content of ``summary.json``, key by key; runs of earlier versions lack some."""

    env: str
    """Gymnasium id."""
    preset: str
    """Credit assignment and loss."""
    steps: int
    """Steps of reinforcement learning that were taken."""
    horizon: Horizon
    """Turns of the training episodes."""
    seed: int
    """Seed of the run."""
    wall_s: float
    """Seconds from start to end."""
    eval: Mapping[str, ArmResult]
    """Results by arm."""
    paired: Paired
    """Comparisons task by task."""
    evaluation: Evaluation
    """How they were made."""
    preset_parts_left_out: tuple[str, ...] = ()
    """What the preset's paper does and this trainer does not."""
    verdict: str = ""
    """Whether reinforcement learning changed the policy, in a sentence."""
    remarks: tuple[str, ...] = ()
    """What a reader must know besides the figures."""
    names: Mapping[str, str] = field(default_factory=lambda: {arm: arm for arm in ARMS})
    """What the arms are called."""
    greedy: GreedyResults | None = None
    """The learned policies with greedy actions, where the comparison is of sampled ones."""
    warm_start: WarmStart | None = None
    """How the warm start ended; None if there was none."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Versions that decide what a run computes."""
    commit: str = ""
    """Commit of the suite's source; empty where it was installed as a package."""
    chosen: ChosenPolicy | None = None
    """The policy that is called trained; None in runs of earlier versions: that of the last
    step."""
    health: tuple[HealthEvent, ...] = ()
    """Alarms of reinforcement learning."""
    step_seconds: Mapping[str, float] = field(default_factory=dict)
    """Seconds of a step of reinforcement learning by part, a mean over the steps."""

    def results(self) -> Iterator[tuple[str, str, ArmResult]]:
        """Yield every policy that was compared: arm, name and figures."""
        greedy = {"sft": self.greedy.sft, "rl": self.greedy.rl} if self.greedy else {}
        for arm, result in self.eval.items():
            yield arm, self.names[arm], result
            if arm in greedy:
                yield arm, f"{self.names[arm]}, greedy", greedy[arm]

    def to_dict(self) -> dict[str, Any]:
        """Return what is written as JSON."""
        content: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        if self.greedy is None:
            del content["greedy"]
        return content

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Summary:
        """Read what a ``summary.json`` of this or an earlier version holds.

        Raises:
            DataError: A key is missing that every version writes.
        """
        greedy, warm_start = content.get("greedy"), content.get("warm_start")
        try:
            read = {
                **content,
                "horizon": _read(Horizon, content["horizon"]),
                "eval": {arm: _read(ArmResult, row) for arm, row in content["eval"].items()},
                "paired": Paired(_read(Difference, content["paired"]["rl_minus_sft"])),
                "evaluation": _read(Evaluation, content["evaluation"]),
                "greedy": greedy
                and GreedyResults(
                    _read(ArmResult, greedy["sft"]),
                    _read(ArmResult, greedy["rl"]),
                    _read(Difference, greedy["rl_minus_sft"]),
                ),
                "warm_start": warm_start and _read(WarmStart, warm_start),
                "chosen": content.get("chosen") and _read(ChosenPolicy, content["chosen"]),
                "health": [_read(HealthEvent, event) for event in content.get("health", ())],
            }
            return _read(cls, read)
        except (AttributeError, KeyError, TypeError) as error:
            raise DataError(
                f"expected the content of a run's summary.json, but a part is missing: {error}"
            ) from error


def _read(kind: type[Part], content: Mapping[str, Any]) -> Part:
    """Make one part; keys that a later version may have added are passed over."""
    names = {each.name for each in fields(cast(Any, kind))}
    values = {name: value for name, value in content.items() if name in names}
    return kind(**{n: tuple(v) if isinstance(v, list) else v for n, v in values.items()})


def step_seconds(records: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return the mean seconds of a step by part; empty for runs that did not write them."""
    times = [record["time"] for record in records if "time" in record]
    parts = times[0] if times else ()
    return {part: sum(time[part] for time in times) / len(times) for part in parts}


def health_events(records: Iterable[Mapping[str, Any]]) -> tuple[HealthEvent, ...]:
    """Return the alarms that stand in the records of a run, in their order."""
    return tuple(
        _read(HealthEvent, {"action": Phase.ROLLBACK.value, **record})
        for record in records
        if record.get("phase") in (Phase.HEALTH, Phase.ROLLBACK)
    )


def health_remark(events: Sequence[HealthEvent]) -> str:
    """Say what alarms there were and what they did; empty if there was none."""
    if not events:
        return ""
    names = ", ".join(dict.fromkeys(event.signal for event in events))
    said = f"{len(events)} alarm{'s' if len(events) > 1 else ''} in training ({names})"
    back = [event for event in events if event.to is not None]
    if back:
        steps = ", ".join(f"{event.step} to {event.to}" for event in back)
        said += f"; training went back from step {steps}"
    return f"{said}. The first: at step {events[0].step}, {events[0].sentence}."


def arm_names(pretrained: bool, imitated: bool) -> dict[str, str]:
    """Return what the compared policies are called."""
    start = "warm start" if imitated else "base model" if pretrained else "untrained"
    return {"random": "random", "sft": start, "rl": "trained", "oracle": "oracle"}


def direction(interval: Interval) -> int:
    """Return which side of zero a difference lies on: 1, -1, or 0 where its interval holds zero."""
    low, high = interval
    return int(low > 0) - int(high < 0)


def verdict(paired: Difference, start: str) -> str:
    """Say whether reinforcement learning changed the policy, by the intervals of the differences.

    ``start`` is what the policy before reinforcement learning is called.
    """
    verbs = {1: "raised", -1: "lowered"}
    score, success = direction(paired.score_ci95), direction(paired.success_ci95)
    if score:
        found = f"Reinforcement learning {verbs[score]} the score"
    elif success:
        found = (
            f"Reinforcement learning {verbs[success]} the success, while its effect on the score "
            "cannot be told from chance"
        )
    else:
        found = "No effect of reinforcement learning on the score can be told from chance"
    return (
        f"{found}: trained minus {start}, task by task on the same {paired.n} held-out tasks, "
        f"is {signed(paired.score_mean, paired.score_ci95)} in score and "
        f"{signed(paired.success_mean, paired.success_ci95)} in success (95 % intervals)."
    )


def signed(mean: float, interval: Interval) -> str:
    """Write a difference with its interval."""
    low, high = interval
    return f"{mean:+.3f} ({low:+.3f} to {high:+.3f})"


def scaled_text(value: float | None) -> str:
    """Write a place on the scale from 0, random, to 100, oracle; ``-`` where there is no scale."""
    return "-" if value is None else f"{value:.1f}"


def gate_remark(warm_start: WarmStart | None, gate: float) -> str:
    """Say how the warm start ended at its gate; empty if there was none."""
    if warm_start is None:
        return ""
    steps, success = warm_start.steps, warm_start.success
    if warm_start.gated:
        return (
            f"The warm start reached its gate after {steps} steps: validation success "
            f"{success:.3f}, the gate is {gate}."
        )
    return (
        f"The warm start missed its gate: validation success {success:.3f} after {steps} steps, "
        f"the gate is {gate}. Reinforcement learning began from a policy that rarely succeeds; "
        "more --sft.max-steps, --sft.demonstrations or --minutes help."
    )


def steps_remark(taken: int, planned: int, stopped: bool = False) -> str:
    """Say that training ended early; empty if it did not.

    ``stopped`` says that an alarm ended it.
    """
    if taken >= planned:
        return ""
    reason = (
        "an alarm ended it (--health.on-alarm)"
        if stopped
        else "its time (--minutes) or its turns (--rl.turn-budget) were used up"
    )
    return f"Training ended after {taken} of {planned} steps, because {reason}."


def chosen_remark(chosen: ChosenPolicy, taken: int) -> str:
    """Say which policy is called trained where it could be another; empty if it could not."""
    if chosen.valid_success is None:
        return ""
    which = "the last and the best" if chosen.step == taken else "the best"
    return (
        f"The trained policy is that of step {chosen.step} of {taken}, {which} on the "
        f"validation tasks (success {chosen.valid_success:.3f}, score {chosen.valid_score:.3f}); "
        "no test task had a part in the choice."
    )


def random_remark(results: Mapping[str, ArmResult]) -> str:
    """Say that the trained policy is worse than random actions; empty if it is not."""
    trained, random = results["rl"].score_mean, results["random"].score_mean
    if trained >= random:
        return ""
    return (
        f"The trained policy scores less than random actions do: {trained:.3f} against "
        f"{random:.3f}."
    )


def versions() -> dict[str, str]:
    """Return the versions of the packages that decide what a run computes."""
    return package_versions(*LIBRARIES)


def commit() -> str:
    """Return the commit of the suite's source, ending in ``-dirty`` if files were changed since.

    Empty outside of a checkout, and where the suite was installed into somebody else's.
    """
    source = Path(__file__)
    try:
        if not _git(source, "ls-files", source.name):
            return ""
        return _git(source, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(source: Path, *arguments: str) -> str:
    command = ["git", "-C", str(source.parent), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()
