"""What a compiled game says about score and end, where it differs from TextWorld's machine.

TextWorld follows its ``.json`` by plans: a quest whose plan was spoilt for good counts as lost. A
compiled game knows no plans. After every turn it looks at the conditions alone: a failing event
loses, a winning event pays, once for a quest that is not repeatable, and the story is won when
every quest that is not optional has paid. A game whose quests are all optional has no end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentgym.envs.textworld.engine.quests import Event, Quest


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state of a story after a turn."""

    score: float = 0
    """Points so far."""
    paid: tuple[int, ...] = ()
    """Places of the quests that are complete, in order."""
    won: bool = False
    """Whether the story ended well."""
    lost: bool = False
    """Whether the story ended badly."""


def judge(verdict: Verdict, quests: Sequence[Quest], facts: int) -> Verdict:
    """Judge one turn.

    Args:
        verdict: The verdict before it.
        quests: Quests of the game.
        facts: Bits of the facts after it.

    Returns:
        The verdict after it; an ended story stays as it is.
    """
    if verdict.won or verdict.lost:
        return verdict
    score, paid, lost = verdict.score, set(verdict.paid), False
    for place, quest in enumerate(quests):
        if place in paid:
            continue
        if _holds(quest.fails, facts):
            lost = True
        elif _holds(quest.wins, facts):
            score += quest.reward
            if not quest.repeatable:
                paid.add(place)
    goals = {place for place, quest in enumerate(quests) if quest.wins and not quest.optional}
    won = bool(goals) and goals <= paid
    # Both at once: the good end is announced last and stands.
    return Verdict(score, tuple(sorted(paid)), won, lost and not won)


def _holds(events: Sequence[Event], facts: int) -> bool:
    return any([facts & event.condition == event.condition for event in events])
