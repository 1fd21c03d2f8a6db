"""The result of a run: the content of ``summary.json``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar, cast

from agentgym.episodes.recorder import package_versions
from agentgym.errors import DataError
from trainers.output.phase import Phase
from trainers.output.roles import GREEDY, LEARNED, ROLES, field_of

Interval = tuple[float, float]
"""Ends of a 95 % interval."""
LIBRARIES = ("torch", "transformers", "trl", "peft")
"""Packages whose versions, besides our own, affect the results of a run."""
Part = TypeVar("Part")


@dataclass(frozen=True)
class ArmResult:
    """One policy on the held-out tasks; episodes of a failed environment count as unsolved."""

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
    """Two policies compared task by task; episodes of a failed environment count as unsolved."""

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
    """The comparisons task by task."""

    trained_minus_warm_start: Difference
    """After reinforcement learning minus before it."""
    trained_minus_bc: Difference | None = None
    """After reinforcement learning minus further behavior cloning; None if there was none."""
    trained_minus_filtered_bc: Difference | None = None
    """The same for behavior cloning of the demonstrations that succeeded."""
    trained_minus_expert_iteration: Difference | None = None
    """The same for imitation of the policy's own successes."""
    trained_minus_base_model: Difference | None = None
    """After all training minus the base model; None if training did not begin with a warm start."""
    trained_minus_demonstrator: Difference | None = None
    """After reinforcement learning minus the expert that is imitated; None if there is none."""


@dataclass(frozen=True)
class GreedyResults:
    """The learned policies with greedy decoding."""

    warm_start: ArmResult
    """Before reinforcement learning."""
    trained: ArmResult
    """After it."""
    trained_minus_warm_start: Difference
    """After minus before."""
    bc: ArmResult | None = None
    """After further behavior cloning; None if there was none."""
    filtered_bc: ArmResult | None = None
    """After behavior cloning of the demonstrations that succeeded."""
    expert_iteration: ArmResult | None = None
    """After imitation of the policy's own successes."""
    trained_minus_bc: Difference | None = None
    """After reinforcement learning minus further behavior cloning."""
    trained_minus_filtered_bc: Difference | None = None
    """The same for behavior cloning of the demonstrations that succeeded."""
    trained_minus_expert_iteration: Difference | None = None
    """The same for imitation of the policy's own successes."""


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
    """Turns of an episode; of several environments the most."""


@dataclass(frozen=True)
class WarmStart:
    """How the warm start ended."""

    steps: int
    """Steps that it took."""
    gated: bool
    """Whether it reached its target success."""
    success: float
    """Validation success at its end."""


@dataclass(frozen=True)
class BaselineEnd:
    """The end of the training of a baseline."""

    steps: int
    """Steps that it took, those of the warm start not counted."""
    chosen: int
    """Steps of the policy that was compared: the best on the validation tasks, else the last."""
    valid_success: float | None = None
    """Its success on them; None if it was not validated."""


@dataclass(frozen=True)
class ChosenPolicy:
    """The policy compared as ``trained``."""

    checkpoint: str
    """Folder under ``checkpoints``: ``best`` by validation, or ``trained``, that of the last."""
    step: int
    """RL steps after which it was saved."""
    valid_success: float | None = None
    """Success on the validation tasks by which it was chosen; None if it was not."""
    valid_score: float | None = None
    """Score on them."""


@dataclass(frozen=True)
class HealthEvent:
    """An alarm of RL, and the action taken."""

    step: int
    """Step after which it was raised."""
    signal: str
    """The signal (see ``trainers.phases.monitoring.health``)."""
    action: str
    """``warn``, ``stop`` or ``rollback``."""
    sentence: str
    """The signal, what it usually was, and its limit, in words."""
    to: int | None = None
    """Step that a rollback returned to."""


@dataclass(frozen=True, kw_only=True)
class Results:
    """The comparison of policies in an environment, or pooled over several."""

    env: str
    """Gymnasium id; of several, separated by commas."""
    eval: Mapping[str, ArmResult]
    """Results by arm."""
    paired: Paired
    """Comparisons task by task."""
    evaluation: Evaluation
    """How they were made."""
    horizon: Horizon | None = None
    """Turns of the training episodes; None of several environments, each of which has its own."""
    verdict: str = ""
    """Whether reinforcement learning changed the policy, in a sentence."""
    names: Mapping[str, str] = field(default_factory=lambda: {role: role for role in ROLES})
    """Names of the policies."""
    strongest_baseline: str = ""
    """The baseline that did best on the held-out tasks, of which the verdict speaks; empty if there
    was none."""
    greedy: GreedyResults | None = None
    """The learned policies with greedy actions, where the comparison is of sampled ones."""
    warm_start: WarmStart | None = None
    """How the warm start ended; None if there was none."""

    def results(self) -> Iterator[tuple[str, str, ArmResult]]:
        """Yield every policy that was compared: arm, name and figures."""
        for arm, result in self.eval.items():
            yield arm, self.names[arm], result
            greedy = getattr(self.greedy, field_of(arm), None)
            if greedy is not None:
                yield arm, f"{self.names[arm]}{GREEDY}", greedy

    @property
    def against_strongest(self) -> Difference | None:
        """After reinforcement learning minus the strongest baseline; None if there was none."""
        return minus(self.paired, self.strongest_baseline) if self.strongest_baseline else None


@dataclass(frozen=True, kw_only=True)
class Summary(Results):
    """The content of ``summary.json``, key by key.

    Of several environments the results are those over all their held-out tasks together.
    """

    preset: str
    """Credit assignment and loss."""
    steps: int
    """Steps of reinforcement learning that were taken."""
    seed: int
    """Seed of the run."""
    wall_s: float
    """Seconds from start to end."""
    cpu_s: float
    """Processor seconds of the main process, user and system, environments in it included."""
    threads: int = 1
    """Threads with which torch computed on the CPU, in each process."""
    chosen: ChosenPolicy
    """The policy that is called trained."""
    estimated_gib: float | None = None
    """Memory of the main process as it was estimated before anything was loaded."""
    peak_gib: float | None = None
    """Peak memory of the main process; None if unknown."""
    families: Mapping[str, Results] = field(default_factory=dict)
    """The results of each environment by name, if there are several."""
    remarks: tuple[str, ...] = ()
    """Sentences that a reader needs besides the figures."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Versions of packages that affect the results."""
    commit: str = ""
    """Commit of the suite's source; empty where it was installed as a package."""
    baselines: Mapping[str, BaselineEnd] = field(default_factory=dict)
    """How each baseline ended, by name."""
    cut: Mapping[str, int] = field(default_factory=dict)
    """Phases that ``--minutes`` ended (``sft``, ``rl``), and the step after which it did: another
    machine would have cut them elsewhere."""
    health: tuple[HealthEvent, ...] = ()
    """Alarms of reinforcement learning."""
    untrained: bool = False
    """Whether no step trained any episode, so that no weight was changed."""
    step_seconds: Mapping[str, float] = field(default_factory=dict)
    """Seconds of a step of reinforcement learning by part, a mean over the steps."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """Figures of optional methods, in the file beside all others: ``Method.figures``."""

    @property
    def memory_sentence(self) -> str:
        """The peak of memory beside its estimate; empty if it is unknown."""
        if self.peak_gib is None:
            return ""
        estimated = self.estimated_gib
        estimate_note = "" if estimated is None else f" (estimated: {estimated:.1f})"
        return f"at most {self.peak_gib:.1f} GiB of memory{estimate_note}"

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the JSON file."""
        content: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        content |= content.pop("figures")
        for part in (content, *content["families"].values()):
            if part["greedy"] is None:
                del part["greedy"]
        if not self.families:
            del content["families"]
        return content

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Summary:
        """Read the content of a ``summary.json``.

        Raises:
            DataError: A key is missing.
        """
        families, baselines = content.get("families") or {}, content.get("baselines") or {}
        known_names = {item.name for item in fields(cls)}
        try:
            values = {
                **content,
                **_parts(content),
                "families": {
                    name: _read_part(Results, {**part, **_parts(part)})
                    for name, part in families.items()
                },
                "chosen": _read_part(ChosenPolicy, content["chosen"]),
                "baselines": {
                    name: _read_part(BaselineEnd, end) for name, end in baselines.items()
                },
                "health": [_read_part(HealthEvent, event) for event in content["health"]],
                "figures": {name: content[name] for name in content if name not in known_names},
            }
            return _read_part(cls, values)
        except (AttributeError, KeyError, TypeError) as error:
            raise DataError(
                f"expected the content of a run's summary.json, but a part is missing: {error}"
            ) from error


def minus(paired: Paired | GreedyResults, arm: str) -> Difference | None:
    """Return the comparison of the trained policy with an arm; None if it was not made."""
    difference: Difference | None = getattr(paired, f"trained_minus_{field_of(arm)}")
    return difference


def _parts(content: Mapping[str, Any]) -> dict[str, Any]:
    """Read the parts of a comparison."""
    greedy, warm_start = content.get("greedy"), content.get("warm_start")
    horizon = content.get("horizon")
    return {
        "horizon": horizon and _read_part(Horizon, horizon),
        "eval": {arm: _read_part(ArmResult, row) for arm, row in content["eval"].items()},
        "paired": Paired(**_differences(content["paired"])),
        "evaluation": _read_part(Evaluation, content["evaluation"]),
        "greedy": greedy and GreedyResults(**_learned(greedy), **_differences(greedy)),
        "warm_start": warm_start and _read_part(WarmStart, warm_start),
    }


def _learned(content: Mapping[str, Any]) -> dict[str, Any]:
    """Read the figures of the policies that learned; one that was not there is None or missing."""
    names = [field_of(arm) for arm in LEARNED]
    return {name: _read_part(ArmResult, content[name]) for name in names if content.get(name)}


def _differences(content: Mapping[str, Any]) -> dict[str, Any]:
    """Read the comparisons task by task; one that was not made is None or missing."""
    differences = {
        name: value for name, value in content.items() if name.startswith("trained_minus_")
    }
    return {name: value and _read_part(Difference, value) for name, value in differences.items()}


def _read_part(kind: type[Part], content: Mapping[str, Any]) -> Part:
    """Make one part; unknown keys, perhaps of a later version, are ignored."""
    names = {field.name for field in fields(cast(Any, kind))}
    values = {name: value for name, value in content.items() if name in names}
    return kind(**{n: tuple(v) if isinstance(v, list) else v for n, v in values.items()})


def step_seconds(records: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return the mean seconds of a step by part; empty if none was taken."""
    times = [record["time"] for record in records if record.get("phase") == Phase.REINFORCEMENT]
    parts = times[0] if times else ()
    return {part: sum(time[part] for time in times) / len(times) for part in parts}


def imitation_losses(records: Iterable[Mapping[str, Any]]) -> tuple[float, float] | None:
    """Return the first and the last loss of the warm start; None if there are no two of them."""
    steps = [record for record in records if record.get("phase") == Phase.WARM_START]
    losses = [record["loss"] for record in steps if record.get("loss") is not None]
    return (losses[0], losses[-1]) if len(losses) > 1 else None


def nothing_trained(records: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether no step of reinforcement learning had an episode in its loss."""
    steps = (r for r in records if r.get("phase") == Phase.REINFORCEMENT)
    return not any(step["trained_fraction"] > 0 for step in steps)


def health_events(records: Iterable[Mapping[str, Any]]) -> tuple[HealthEvent, ...]:
    """Return the alarms in the records of a run, in order."""
    return tuple(
        _read_part(HealthEvent, {"action": Phase.ROLLBACK.value, **record})
        for record in records
        if record.get("phase") in (Phase.HEALTH, Phase.ROLLBACK)
    )


def versions() -> dict[str, str]:
    """Return the versions of the packages that affect the results."""
    return package_versions(*LIBRARIES)
