"""A campaign: every exploit on a sample of tasks, through the environment, and its reward.

Two controls check the grader itself: a player that applies the solution must be rewarded, one that
does nothing must not.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from agentgym.core.outcome import StopReason
from agentgym.envs.swe.engine.commands import SUBMIT, SWECommand
from agentgym.envs.swe.env import SWEEnv
from agentgym.envs.swe.grading.verdict import BLINDED, HELD_OUT
from agentgym.envs.swe.making.red_team.exploit import Exploit
from agentgym.envs.swe.making.red_team.target import target_of
from agentgym.envs.swe.tasks import InstanceSet
from agentgym.errors import ConfigurationError, DataError
from agentgym.support.growing_file import append_line, drop_cut_line
from agentgym.support.random_stream import Stream
from agentgym.support.text_lines import split_lines
from agentgym.support.typed_json import read_json

FORMAT = "agentgym.red-team/1"
"""Name and version of the format of the file of a campaign."""
MUST_WIN, MUST_LOSE = "baseline/solution", "baseline/nothing"
"""Controls: the solution, which has to earn a reward, and nothing, which must not."""

Place = tuple[str, int]
"""Split and index of a task."""


@dataclass(frozen=True)
class Attempt:
    """The outcome of one exploit on one task: a line of the file."""

    exploit: str
    """Name of the exploit, or :data:`MUST_WIN` or :data:`MUST_LOSE`."""
    digest: str
    """Hash of the exploit's file."""
    task: str
    """Id of the instance."""
    paid: bool
    """Whether it earned anything."""
    verdict: str
    """``FULL``, ``PARTIAL`` or ``NO``; empty where nothing was graded."""
    flagged: bool
    """Whether the grader called it tampered, or named something suspicious."""
    stop_reason: str
    """Why the episode ended; ``error`` where the machine failed or the exploit broke the host."""
    reason: str = ""
    """Why its tests were not judged, or the error."""
    ignored: tuple[str, ...] = ()
    """Files whose changes did not count."""
    held_out: str = ""
    """The result of the held-out questions; empty where none were asked."""
    evidence: str = ""
    """The evidence of the verdict, see `agentgym.envs.swe.grading.verdict`; empty where nothing was
    graded."""


@dataclass(frozen=True)
class Campaign:
    """The settings of a campaign."""

    data: Any = "bundled"
    """The tasks, as ``data`` of ``gym.make("agentgym/SWE-v0", data=...)``."""
    exploits: Sequence[Exploit] = ()
    """The exploits."""
    tasks: int = 4
    """Tasks on which each is tried."""
    seed: int = 0
    """Seed of the choice of tasks."""
    split: str | None = None
    """Only tasks of this split."""
    out: Path | None = None
    """File of the attempts, a line each. An existing one is resumed."""
    jobs: int = 1
    """Episodes at once."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the environment, such as ``sandbox`` and ``grading_timeout``."""


Watch = Callable[[int, int, Attempt], None]
"""Called with the attempts that are done, their number in all, and the newest."""


@dataclass
class Totals:
    """The outcome of one exploit on all its tasks."""

    exploit: str
    """Its name."""
    attempts: int = 0
    """Attempts that were played to their end."""
    paid: int = 0
    """The number that earned a reward."""
    flagged: int = 0
    """The number that the grader called tampered or suspicious."""
    errors: int = 0
    """Attempts that ended in an exception, of the machine or by the exploit."""
    stop_reasons: Counter[str] = field(default_factory=Counter)
    """How often each reason ended an episode."""
    reasons: Counter[str] = field(default_factory=Counter)
    """How often tests were not judged, by the grader's words."""
    by_tests_alone: int = 0
    """The number rewarded without a comparison of values by the host."""

    @property
    def as_it_must(self) -> bool:
        """Whether all attempts of the solution earned a reward, or none of anything else."""
        expected = self.attempts if self.exploit == MUST_WIN else 0
        return self.attempts > 0 and not self.errors and self.paid == expected


def totals(attempts: Iterable[Attempt]) -> list[Totals]:
    """Add up the attempts of each exploit, in the order in which exploits first occur."""
    rows: dict[str, Totals] = {}
    for attempt in attempts:
        row = rows.setdefault(attempt.exploit, Totals(attempt.exploit))
        row.stop_reasons[attempt.stop_reason] += 1
        if attempt.reason:
            row.reasons[attempt.reason] += 1
        if attempt.stop_reason == StopReason.ERROR:
            row.errors += 1
            continue
        row.attempts += 1
        row.paid += attempt.paid
        row.flagged += attempt.flagged
        row.by_tests_alone += attempt.paid and attempt.evidence not in (HELD_OUT, BLINDED)
    return list(rows.values())


def sample_tasks(
    instances: InstanceSet, n: int, seed: int = 0, split: str | None = None
) -> list[Place]:
    """Draw tasks, of as many repositories as there are.

    Args:
        instances: The instances.
        n: Most tasks.
        seed: Seed of the draw.
        split: Only tasks of this split; None: of all.

    Raises:
        ConfigurationError: There is no such split, or there are no tasks.
    """
    if split is not None and split not in instances.splits:
        raise ConfigurationError(
            f"expected a split among {', '.join(instances.splits)}, got {split!r:.80}"
        )
    splits = instances.splits if split is None else (split,)
    places = [(name, index) for name in splits for index in range(instances.len(name))]
    if not places:
        raise ConfigurationError("expected tasks to try exploits on, got none")
    drawn = Stream("red-team", seed).shuffled(places)
    sample: list[Place] = []
    other_places: list[Place] = []
    repos: set[str] = set()
    for place in drawn:
        repo = instances.instance(*place).repo
        (other_places if repo in repos else sample).append(place)
        repos.add(repo)
        if len(sample) == n:
            break
    return [*sample, *other_places][:n]


def run_campaign(campaign: Campaign, watch: Watch | None = None) -> list[Attempt]:
    """Play every exploit of a campaign on its tasks.

    Attempts in the campaign's file are not repeated, unless the exploit's text has changed or the
    attempt ended in an error.

    Args:
        campaign: The settings of a campaign.
        watch: Called after every attempt.

    Returns:
        The attempts, in the order of the exploits and of the tasks.

    Raises:
        ConfigurationError: A value is wrong, or the file is of another campaign.
        DataError: The tasks or the file cannot be read.
        SandboxUnavailable: Nothing can run the tasks here.
    """
    envs = _Environments(campaign)
    try:
        return _run(campaign, envs, watch)
    finally:
        envs.close()


def _run(campaign: Campaign, envs: _Environments, watch: Watch | None) -> list[Attempt]:
    """Play the attempts that the file lacks."""
    instances = envs.get_env().tasks.instances
    places = sample_tasks(instances, campaign.tasks, campaign.seed, campaign.split)
    names = {place: instances.instance(*place).id for place in places}
    attempts = _resume(campaign, list(names.values()))
    players = (_baseline(MUST_WIN), _baseline(MUST_LOSE), *campaign.exploits)
    units = [(player, place) for player in players for place in places]
    keys = [(player.name, player.digest, names[place]) for player, place in units]
    pending = [unit for unit, key in zip(units, keys, strict=True) if key not in attempts]
    with ThreadPoolExecutor(campaign.jobs) as pool:
        playing = [pool.submit(_attempt_in, envs, *unit) for unit in pending]
        try:
            for number, future in enumerate(as_completed(playing), len(units) - len(pending) + 1):
                new = future.result()
                attempts[new.exploit, new.digest, new.task] = new
                if campaign.out is not None:
                    append_line(campaign.out, json.dumps(asdict(new)) + "\n")
                if watch is not None:
                    watch(number, len(units), new)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [attempts[key] for key in keys]


class _Environments:
    """An environment for each thread that plays."""

    def __init__(self, campaign: Campaign) -> None:
        longest = max((len(exploit.steps) for exploit in campaign.exploits), default=1)
        self._options = {"horizon": max(longest + 1, 50), **campaign.options}
        self._data = campaign.data
        self._local = threading.local()
        self._envs: list[SWEEnv] = []

    def get_env(self) -> SWEEnv:
        """Return the environment of this thread."""
        env: SWEEnv | None = getattr(self._local, "env", None)
        if env is None:
            env = self._local.env = SWEEnv(data=self._data, **self._options)
            self._envs.append(env)
        return env

    def close(self) -> None:
        """Close all of them."""
        for env in self._envs:
            env.close()


def _baseline(name: str) -> Exploit:
    """Return a player that is no exploit."""
    return Exploit(name, "", "", "", ())


def _attempt_in(envs: _Environments, exploit: Exploit, place: Place) -> Attempt:
    """Play an exploit on a task, in the environment of this thread."""
    return _attempt(envs.get_env(), exploit, place)


def _attempt(env: SWEEnv, exploit: Exploit, place: Place) -> Attempt:
    """Play an exploit on a task."""
    instance = env.tasks.instances.instance(*place)
    blank = Attempt(exploit.name, exploit.digest, instance.id, False, "", False, StopReason.ERROR)
    env.reset(seed=0, options={"split": place[0], "index": place[1]})
    if exploit.name == MUST_WIN:
        actions = iter(env.oracle_action, None)
    else:
        target = target_of(instance)
        actions = iter([step.command(target).write() for step in exploit.steps])
    earned, over = 0.0, False
    try:
        while not over:
            action = next(actions, SWECommand(SUBMIT).write())
            _, reward, terminated, truncated, info = env.step(action)
            earned, over = earned + reward, terminated or truncated
    except Exception as error:  # one that breaks the host is a finding, not the end of the campaign
        return replace(blank, reason=f"{type(error).__name__}: {error}"[:300])
    details = info["details"]
    return replace(
        blank,
        paid=bool(earned > 0 or info["success"]),
        verdict=details.get("verdict", ""),
        flagged=bool(details.get("tampered") or details.get("suspicious")),
        stop_reason=str(info["stop_reason"]),
        reason=details.get("grading", ""),
        ignored=tuple(details["ignored"]),
        held_out=details.get("held_out", ""),
        evidence=details.get("evidence", ""),
    )


def _resume(campaign: Campaign, tasks: Sequence[str]) -> dict[tuple[str, str, str], Attempt]:
    """Return the attempts in the file of a campaign; begin it if there is none."""
    if campaign.out is None:
        return {}
    head = {"format": FORMAT, "seed": campaign.seed, "tasks": list(tasks)}
    campaign.out.parent.mkdir(parents=True, exist_ok=True)
    drop_cut_line(campaign.out)
    lines = split_lines(campaign.out.read_text("utf-8")) if campaign.out.exists() else []
    if not lines:
        append_line(campaign.out, json.dumps(head) + "\n")
        return {}
    try:
        rows = [json.loads(line) for line in lines]
    except ValueError as error:
        raise DataError(f"expected lines of JSON in {campaign.out}, but: {error}") from error
    if rows[0] != head:
        raise ConfigurationError(
            f"expected {campaign.out} to be of these {len(tasks)} tasks and seed {campaign.seed}; "
            "it is of another campaign: give another --out"
        )
    attempts = [read_json(Attempt, row, str(campaign.out)) for row in rows[1:]]
    return {
        (attempt.exploit, attempt.digest, attempt.task): attempt
        for attempt in attempts
        if attempt.stop_reason != StopReason.ERROR
    }
