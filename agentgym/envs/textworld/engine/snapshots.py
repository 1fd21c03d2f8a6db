"""Moments of a playthrough as plain data that any process can pick up."""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.envs.textworld.engine.facts import Fact
from agentgym.envs.textworld.engine.outcome import Verdict
from agentgym.envs.textworld.engine.quests import Event, EventProgress, Quest, QuestProgress
from agentgym.envs.textworld.engine.steps import PackedStep
from agentgym.envs.textworld.engine.tree_cache import Forest, Plan

PackedPlan = tuple[PackedStep, ...]
PackedEvent = tuple[bool, bool, PackedPlan, PackedPlan, PackedPlan]
"""Whether it happened and whether it is spoilt; its plan; source and edits of its tree."""
PackedQuest = tuple[int, tuple[PackedEvent, ...], tuple[PackedEvent, ...]]
"""Completions, winning events, failing events."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A moment of a playthrough."""

    added: tuple[Fact, ...]
    """Facts that were not true at the start, sorted."""
    removed: tuple[Fact, ...]
    """Facts that were true at the start only, sorted."""
    quests: tuple[PackedQuest, ...]
    """Progress of the quests."""
    moves: int
    """Number of actions applied."""
    last: tuple[str, ...] | None
    """Rule and entities of the last action."""
    reward: int
    """The intermediate reward of the last action."""
    result: Verdict
    """What the compiled game would say."""


def pack(progress: QuestProgress, forest: Forest) -> PackedQuest:
    """Turn the progress of a quest into plain data."""
    return (
        progress.completions,
        tuple([_pack(event, forest) for event in progress.wins]),
        tuple([_pack(event, forest) for event in progress.fails]),
    )


def unpack(packed: PackedQuest, quest: Quest, forest: Forest) -> QuestProgress:
    """Undo ``pack``.

    Args:
        packed: What ``pack`` gave.
        quest: The quest.
        forest: Trees of the world.
    """
    completions, wins, fails = packed
    return QuestProgress(
        quest,
        completions,
        tuple([_unpack(*pair, forest) for pair in zip(wins, quest.wins, strict=True)]),
        tuple([_unpack(*pair, forest) for pair in zip(fails, quest.fails, strict=True)]),
    )


def _pack(event: EventProgress, forest: Forest) -> PackedEvent:
    tree, pack = event.tree, forest.steps.pack
    plan, source, edits = (
        tuple([pack(step) for step in steps]) for steps in (event.plan, tree.source, tree.edits)
    )
    return event.triggered, event.lost, plan, source, edits


def _unpack(packed: PackedEvent, event: Event, forest: Forest) -> EventProgress:
    triggered, lost, *plans = packed
    plan, source, edits = (_plan(steps, forest) for steps in plans)
    tree = forest.of(source)
    for step in edits:
        tree, _ = forest.after(tree, step)
    return EventProgress(event, triggered, lost, plan, tree)


def _plan(steps: PackedPlan, forest: Forest) -> Plan:
    return tuple([forest.steps.unpack(step) for step in steps])
