"""Turn-level reward hooks: the interface of a hook, and the runner of hooks over an episode.

The hooks themselves are in :mod:`agentgym.rewards`.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from agentgym.core.tasks import Task
from agentgym.errors import ConfigurationError

TASK_TERM = "task"
COSTLY = ("potential", "oracle_turns")
"""Values of a `TurnState` that are expensive (some families run tests or a search for them), and so
computed only if a hook reads them."""


@dataclass(frozen=True, slots=True)
class TurnState:
    """The state of an environment between two turns."""

    observation: str
    """The text that the policy sees."""
    turn: int
    """Turns taken so far."""
    score: float
    """Progress in [0, 1]."""
    potential: float
    """The family's potential phi of this state; NaN if every hook declares not to read it."""
    state_key: str
    """Hash of the engine's state."""
    oracle_turns: int | None
    """Remaining length of the expert's plan, if known, and if any hook may read it."""


@dataclass(frozen=True, slots=True)
class TurnContext:
    """One turn, as a reward hook sees it."""

    before: TurnState
    """State in which the action was taken."""
    action: str
    """The action's text."""
    after: TurnState
    """State that the action led to."""
    terms: Mapping[str, float]
    """Parts of the reward so far: the family's own and those of earlier hooks."""
    valid: bool
    """Whether the action was parsed and admissible."""
    done: bool
    """Whether the episode ended with this turn, by the task or by the horizon."""
    success: bool
    """Whether the task has been solved."""
    repeats: int
    """Number of times the action was taken in the same state earlier in this episode."""
    training_step: int
    """Step of the trainer (0 outside training), for scheduled hooks."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Facts of the family about the turn, as in ``info["details"]``."""
    goal: str = ""
    """The instruction of the episode."""
    response: str = ""
    """The policy's text, of which the action is a part."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of an external judge on a turn, or the reason why there is none."""

    key: str
    """Identifies the question: equal for equal questions to the same judge."""
    score: float | None
    """The score; None if there was no response, or an unreadable one."""
    problem: str = ""
    """Reason of a missing score."""
    calls: int = 0
    """Number of questions sent for it; 0 for a cached verdict."""
    prompt_tokens: int = 0
    """Tokens that the judge read."""
    completion_tokens: int = 0
    """Tokens that the judge wrote."""


@runtime_checkable
class TurnReward(Protocol):
    """A named, weighted part of the reward, computed turn by turn.

    The weight is any finite number; a negative weight turns a bonus into a cost. A hook that reads
    ``context.details`` may list its required keys in an attribute ``needs``; environments that do
    not report them at every step then reject the hook. Facts of some turns only, such as the scores
    of an answer, are read with ``context.details.get``. An attribute ``reads_state`` may list which
    values of `COSTLY` the hook reads; without it, both are computed. An empty list makes episodes
    faster, because the expert is not queried.
    """

    name: str
    weight: float

    def __call__(self, context: TurnContext) -> float | None:
        """Return this turn's value, before the weight; None if a judge gave no verdict."""
        ...

    def reset(self) -> None:
        """Clear the state of the previous episode."""
        ...


@runtime_checkable
class TaskReward(TurnReward, Protocol):
    """A hook that reads the task of the episode, such as its right answer."""

    def begin(self, task: Task) -> None:
        """Take the task of the episode, after ``reset``."""
        ...


@runtime_checkable
class JudgedReward(TurnReward, Protocol):
    """A hook that queries an external judge, which may not respond."""

    verdict: Verdict | None
    """Verdict on the last turn; None if no question was asked."""

    def recall(self, turns: Sequence[Mapping[str, Verdict]], ask: bool) -> None:
        """Use recorded verdicts, by hook name, and send questions only if this is allowed."""
        ...

    def interrupt(self) -> None:
        """Interrupt the current waits for responses, from any thread."""
        ...


@dataclass(frozen=True, slots=True)
class Cost:
    """The amount of a limited resource that a turn used."""

    amount: float
    """Amount, at least 0."""
    limit: float | None = None
    """Limit per episode; None: no limit."""


@runtime_checkable
class CostReward(TurnReward, Protocol):
    """A hook that counts a resource used by turns, and subtracts a price per unit."""

    limit: float
    """Limit per episode; negative: no limit."""
    price: float
    """Default price per unit, at least 0; episodes may set another one."""

    def amount(self, context: TurnContext) -> float:
        """Return the amount that a turn uses."""
        ...


HookState = tuple[
    list[TurnReward], TurnState | None, Counter[tuple[str, str]], int, str, Mapping[str, float]
]
"""Copies of the hooks, the state before the next turn, how often each action was taken in each
state, the trainer's step, the instruction, and the prices of the episode."""


def finite(value: object) -> bool:
    """Return whether a value is a number that a float can hold, neither infinite nor NaN."""
    if not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _reads_state(hook: TurnReward) -> Collection[str]:
    """Return the values of `COSTLY` that a hook reads: all of them if it does not declare any."""
    reads: Collection[str] = getattr(hook, "reads_state", COSTLY)
    return reads


class HookRunner:
    """Run hooks over the turns of an episode and collect their weighted terms.

    Args:
        hooks: Hooks in the order in which they run; copied, so that environments with the same
            hooks share no state.
        reported: Keys of ``info["details"]`` that the environment reports at every step.

    Raises:
        ConfigurationError: The value is not a list of hooks, an entry is not a hook, has no name or
            a weight that is not finite, needs keys that are not reported, reads values of a state
            that do not exist, two share a name, or one is named ``task``.
    """

    def __init__(
        self, hooks: Sequence[TurnReward], reported: Collection[str] = frozenset()
    ) -> None:
        if isinstance(hooks, str) or not isinstance(hooks, Sequence):
            raise ConfigurationError(
                f"expected a list of reward hooks, got {hooks!r:.80}; see agentgym.rewards, whose "
                "parse_hooks reads names such as 'turn_cost=0.01'"
            )
        names = [getattr(hook, "name", None) for hook in hooks]
        for hook, name in zip(hooks, names, strict=True):
            if not isinstance(hook, TurnReward):
                raise ConfigurationError(
                    "expected reward hooks with name, weight, __call__(context) and reset(), got "
                    f"{hook!r}; see agentgym.rewards"
                )
            if not isinstance(name, str) or not name:
                raise ConfigurationError(f"expected a reward hook with a name, got {name!r}")
            if not finite(hook.weight):
                raise ConfigurationError(
                    f"expected the weight of reward hook {name!r} to be a finite number, got "
                    f"{hook.weight!r}"
                )
            if missing := [key for key in getattr(hook, "needs", ()) if key not in reported]:
                raise ConfigurationError(
                    f"expected reward hooks that this environment can feed, got {name!r}, which "
                    f"needs info['details'] to hold {', '.join(missing)}; leave it out here"
                )
            reads = _reads_state(hook)
            if isinstance(reads, str) or not set(reads) <= set(COSTLY):
                raise ConfigurationError(
                    f"expected reads_state of the reward hook {name!r} to list names among "
                    f"{', '.join(COSTLY)}, got {reads!r:.80}"
                )
            if name == TASK_TERM or names.count(name) > 1:
                raise ConfigurationError(
                    f"expected reward hooks with different names other than {TASK_TERM!r}, got "
                    f"{names}; give one of them another name"
                )
        self._keep([copy.deepcopy(hook) for hook in hooks])
        self._last_state: TurnState | None = None
        self._visits: Counter[tuple[str, str]] = Counter()
        self._training_step = 0
        self._goal = ""
        self._prices: Mapping[str, float] = {}
        self.costs: dict[str, Cost] = {}
        """Costs of the last turn, by hook name."""

    def _keep(self, hooks: list[TurnReward]) -> None:
        """Set the hooks to run."""
        self._hooks = hooks
        # Classify the hooks once: isinstance with a protocol is slow, and every turn needs this.
        self._judges = [hook for hook in hooks if isinstance(hook, JudgedReward)]
        self._readers = [hook for hook in hooks if isinstance(hook, TaskReward)]
        self._counting = {hook.name: hook for hook in hooks if isinstance(hook, CostReward)}
        self.reads_potential = any("potential" in _reads_state(hook) for hook in hooks)
        """Whether any hook may read the potential of a state."""
        self.reads_oracle_turns = any("oracle_turns" in _reads_state(hook) for hook in hooks)
        """Whether any hook may read the expert's remaining turns."""

    def __bool__(self) -> bool:
        """Return whether there is any hook to run."""
        return bool(self._hooks)

    def state(
        self, observation: str, info: Mapping[str, Any], potential: Callable[[], float]
    ) -> TurnState:
        """Describe a state to the hooks, and compute only what they may read.

        Args:
            observation: Observation of the state.
            info: Its info dict.
            potential: Computes its potential.
        """
        phi = potential() if self.reads_potential else math.nan
        turns_left = info["oracle_turns"] if self.reads_oracle_turns else None
        key = info["state_key"]
        return TurnState(observation, info["turn"], info["score"], phi, key, turns_left)

    @property
    def reads_task(self) -> bool:
        """Whether any hook reads the task, which a record does not hold."""
        return bool(self._readers)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the hooks, in order."""
        return tuple(hook.name for hook in self._hooks)

    @property
    def judged(self) -> bool:
        """Whether any hook queries an external judge."""
        return bool(self._judges)

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """Verdicts on the last turn, by hook name."""
        return {hook.name: hook.verdict for hook in self._judges if hook.verdict}

    def reports(self) -> dict[str, dict[str, Any]]:
        """Return what ``info`` says of judges and costs on the last turn, besides the terms."""
        reports = {}
        if self._judges:
            reports["verdicts"] = {name: asdict(value) for name, value in self.verdicts.items()}
        if self.costs:
            reports["costs"] = {name: asdict(value) for name, value in self.costs.items()}
        return reports

    def recall(self, turns: Sequence[Mapping[str, Verdict]], ask: bool = False) -> None:
        """Pass the recorded verdicts of an episode to its judges before a replay.

        Args:
            turns: Verdicts on each turn, by hook name.
            ask: Whether to send questions without a recorded verdict; otherwise they have none.
        """
        for hook in self._judges:
            hook.recall(turns, ask)

    def interrupt(self) -> None:
        """Interrupt the current waits for responses of judges, from any thread."""
        for hook in self._judges:
            hook.interrupt()

    def reset(
        self,
        state: TurnState,
        training_step: int = 0,
        goal: str = "",
        prices: Mapping[str, float] | None = None,
        task: Task | None = None,
    ) -> None:
        """Start an episode in ``state``.

        Args:
            state: The first state.
            training_step: Step of the trainer, for scheduled hooks.
            goal: The instruction.
            prices: Prices per unit in this episode, by the names of cost hooks; unknown names, such
                as hooks of a wrapper, are ignored.
            task: The task, for hooks that read it.

        Raises:
            ConfigurationError: A hook does not fit the task.
        """
        self._last_state, self._goal, self._prices = state, goal, dict(prices or {})
        self._visits.clear()
        self._training_step = training_step
        for hook in self._hooks:
            hook.reset()
        if task is not None:
            for reader in self._readers:
                reader.begin(task)

    def terms(
        self,
        action: str,
        after: TurnState,
        terms: Mapping[str, float],
        *,
        valid: bool,
        done: bool,
        success: bool,
        details: Mapping[str, Any] | None = None,
        response: str | None = None,
    ) -> dict[str, float]:
        """Return the family's own ``terms``, then the weighted value of every hook, in a new dict.

        A judge without a verdict on this turn has no term. Without a ``response``, the action
        stands for it.

        Raises:
            ConfigurationError: The value of a hook is not a finite number.
        """
        old_state = self._last_state
        assert old_state is not None, "HookRunner.reset must come first"
        key = (old_state.state_key, action)
        result = dict(terms)
        for hook in self._hooks:
            context = TurnContext(
                old_state, action, after, result, valid, done, success, self._visits[key],
                self._training_step, details or {}, self._goal,
                action if response is None else response,
            )  # fmt: skip
            value = self._value(hook, context)
            if value is None and isinstance(hook, JudgedReward):
                continue
            if value is None or not finite(value):
                raise ConfigurationError(
                    f"expected reward hook {hook.name!r} to return a finite number, got {value!r}"
                )
            # A new dict, because the context of the previous hook contains the old one.
            result = {**result, hook.name: hook.weight * float(value)}
        self._visits[key] += 1
        self._last_state = after
        return result

    def _value(self, hook: TurnReward, context: TurnContext) -> float | None:
        """Return a hook's value for a turn, before its weight; record the cost of a cost hook."""
        counting = self._counting.get(hook.name)
        if counting is None:
            return hook(context)
        amount = float(counting.amount(context))
        limit = None if counting.limit < 0 else float(counting.limit)
        self.costs[hook.name] = Cost(amount, limit)
        return -self._prices.get(hook.name, counting.price) * amount

    def snapshot(self) -> HookState:
        """Return a picklable copy of the state."""
        hooks = copy.deepcopy(self._hooks) if self._hooks else []
        visits, step = self._visits.copy(), self._training_step
        return hooks, self._last_state, visits, step, self._goal, self._prices

    def restore(self, state: HookState) -> None:
        """Return to a state taken by :meth:`snapshot` of a runner with equal hooks.

        Only the state of the hooks is restored, not the hooks themselves.

        Raises:
            ConfigurationError: The state belongs to other hooks.
        """
        hooks, old_state, visits, training_step, goal, prices = state
        own_hooks = [(type(hook), hook.name, hook.weight) for hook in self._hooks]
        state_hooks = [(type(hook), hook.name, hook.weight) for hook in hooks]
        if own_hooks != state_hooks:
            raise ConfigurationError(
                f"expected the state of the reward hooks {own_hooks}, got the state of "
                f"{state_hooks}"
            )
        self._keep(copy.deepcopy(hooks))
        self._last_state, self._visits, self._training_step = (
            old_state,
            visits.copy(),
            training_step,
        )
        self._goal, self._prices = goal, prices
