"""Accounting of ``--budget``: imitation first, then reinforcement learning.

Both phases count, so that their ratio can be studied at a fixed cost. A demonstration is charged
once, however often it is trained on; tokens count each time they are trained on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from agentgym.errors import ConfigurationError
from trainers.config.resolve import ResolvedRun
from trainers.config.resolved_env import ResolvedEnv
from trainers.output.phase import Phase
from trainers.output.run_folder import RunFolder
from trainers.rollouts.expert_demonstrations import Demonstration

__all__ = [
    "Spent",
    "affordable",
    "check_left",
    "imitation_is_spent",
    "note_demonstrations",
    "note_round",
    "spent_on_imitation",
]

NOTE = "demonstrated"
"""Note: the cost of the warm start's demonstrations."""
ROUNDS = "rounds"
"""Note: the cost of each round of imitation."""


@dataclass
class Spent:
    """Amounts spent, in the units of a budget."""

    turns: float = 0.0
    """Environment turns."""
    episodes: float = 0.0
    """Episodes."""
    tokens: float = 0.0
    """Tokens of training rows, forward and backward."""

    def within(self, limit: Spent) -> bool:
        """Return whether no unit is above a limit."""
        return (
            self.turns <= limit.turns
            and self.episodes <= limit.episodes
            and self.tokens <= limit.tokens
        )

    def reaches(self, limit: Spent) -> bool:
        """Return whether a unit has reached a limit."""
        return (
            self.turns >= limit.turns
            or self.episodes >= limit.episodes
            or self.tokens >= limit.tokens
        )


def affordable(
    run: ResolvedRun, env: ResolvedEnv, demonstrations: Iterable[Demonstration], spent: Spent
) -> Iterator[Demonstration]:
    """Yield the first demonstrations that fit in imitation's share of the budget.

    Args:
        run: The run.
        env: The environment, which gets its part of the share by weight.
        demonstrations: Its demonstrations.
        spent: Accumulates the cost of the yielded demonstrations.
    """
    budget = run.budget
    part = (
        budget.share
        * env.weight
        / sum(run_env.weight for run_env in run.envs if run_env.demonstrator)
    )
    limit = Spent(budget.turns * part, budget.episodes * part, float("inf"))
    for episode in demonstrations:
        turns = spent.turns + budget.demonstration * len(episode.turns)
        cost = Spent(turns, spent.episodes + budget.demonstration)
        if not cost.within(limit):
            return
        spent.turns, spent.episodes = cost.turns, cost.episodes
        yield episode


def note_demonstrations(folder: RunFolder, costs: Iterable[Spent]) -> None:
    """Record the cost of the demonstrations."""
    spendings = [*costs]
    total = Spent(
        sum(spending.turns for spending in spendings),
        sum(spending.episodes for spending in spendings),
    )
    folder.note(**{NOTE: asdict(total)})


def note_round(folder: RunFolder, number: int, cost: Spent) -> None:
    """Record the episodes and labels of a round of imitation."""
    rounds = folder.state().get(ROUNDS, {})
    folder.note(**{ROUNDS: {**rounds, str(number): asdict(cost)}})


def spent_on_imitation(folder: RunFolder) -> Spent:
    """Return the amounts that imitation has spent in a run, from the main process."""
    state = folder.state()
    parts = [Spent(**part) for part in (state.get(NOTE, {}), *state.get(ROUNDS, {}).values())]
    phases = (Phase.WARM_START, Phase.IMITATION)
    steps = (record for record in folder.metrics() if record.get("phase") in phases)
    return Spent(
        sum(part.turns for part in parts),
        sum(part.episodes for part in parts),
        sum(record.get("tokens", 0.0) for record in steps),
    )


def imitation_is_spent(run: ResolvedRun, folder: RunFolder, *, tokens_alone: bool = False) -> bool:
    """Return whether imitation has used up its share of the budget.

    Args:
        run: The run.
        folder: Its folder.
        tokens_alone: Check only the tokens, if turns and episodes have been charged already.
    """
    share, spent = run.budget.share, spent_on_imitation(folder)
    if tokens_alone:
        return spent.tokens >= run.budget.tokens * share
    limits = (run.budget.turns, run.budget.episodes, run.budget.tokens)
    return spent.reaches(Spent(*(share * limit for limit in limits)))


def check_left(run: ResolvedRun, imitation: Spent) -> None:
    """Check that budget is left for reinforcement learning.

    Raises:
        ConfigurationError: Imitation has taken all of a unit.
    """
    budget = run.budget
    if not imitation.reaches(Spent(budget.turns, budget.episodes, budget.tokens)):
        return
    raise ConfigurationError(
        "expected a --budget that imitation does not use up before reinforcement learning, got "
        f"{' '.join(run.config.budget)}, and the warm start took {imitation.turns:g} turns, "
        f"{imitation.episodes:g} episodes and {imitation.tokens:g} tokens; give more, or less to "
        "imitation with imitation=0.5, --sft.demonstrations or --sft.max-steps"
    )
