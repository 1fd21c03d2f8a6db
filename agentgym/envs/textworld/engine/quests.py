"""Quests: their winning and failing conditions, rewards, and the remaining plan.

The progress of a quest is a value: ``advance`` makes a new one. So a machine is forked by keeping a
reference, and values cached for a progress stay valid.

The same quests are judged in two ways. TextWorld's tracker follows plans (``QuestProgress``): a
quest whose plan can no longer succeed counts as lost. A compiled game knows no plans
(``StoryResult``): after every turn it looks at the conditions alone; a failing event loses, a
winning event pays, once for a quest that is not repeatable, and the story is won when every quest
that is not optional has paid. A game whose quests are all optional has no end. Plans come from the
tracker; score and end are the story's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentgym.envs.textworld.engine.dependency_tree import Plan, Tree, TreeCache, tails
from agentgym.envs.textworld.engine.steps import PackedStep, PlanStep

PackedPlan = tuple[PackedStep, ...]
PackedEvent = tuple[bool, bool, PackedPlan, PackedPlan, PackedPlan]
"""Whether it happened and whether it is spoilt; its plan; source and edits of its tree."""
PackedQuest = tuple[int, tuple[PackedEvent, ...], tuple[PackedEvent, ...]]
"""Completions, winning events, failing events."""

TRIGGER = "trigger"
"""Name of the step at the root of every tree: the event itself. No plan shows it."""


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """Something that happens when its conditions hold together."""

    condition: int
    """Bits of the conditions."""
    plan: Plan
    """Known actions that lead to it, the trigger last; empty where none are known."""


@dataclass(frozen=True, slots=True, eq=False)
class Quest:
    """A goal of a game."""

    wins: tuple[Event, ...]
    """Any of these completes it."""
    fails: tuple[Event, ...]
    """Any of these fails it."""
    reward: float
    """Points for one completion."""
    optional: bool
    """Whether the game can be won without it."""
    repeatable: bool
    """Whether it pays every time; such a quest is never complete."""


class EventProgress:
    """The progress of an event; immutable.

    Args:
        event: The event.
        triggered: Whether it has happened.
        unfinishable: Whether an action that nothing undoes spoilt its plan.
        plan: The remaining actions, the trigger last.
        tree: The same as a dependency tree; not always in step with ``plan``, as in TextWorld.
    """

    __slots__ = ("event", "plan", "remaining", "tree", "triggered", "unfinishable")

    def __init__(
        self, event: Event, triggered: bool, unfinishable: bool, plan: Plan, tree: Tree
    ) -> None:
        self.event = event
        self.triggered = triggered
        self.unfinishable = unfinishable
        self.plan = plan
        self.tree = tree
        self.remaining = 0 if triggered or unfinishable else len(visible(plan))
        """Number of actions before it happens; 0 where that is unknown or over."""


class QuestProgress:
    """How far a quest is; never changed."""

    __slots__ = (
        "completed",
        "completions",
        "done",
        "failed",
        "fails",
        "quest",
        "unfinishable",
        "wins",
    )

    def __init__(
        self,
        quest: Quest,
        completions: int,
        wins: tuple[EventProgress, ...],
        fails: tuple[EventProgress, ...],
    ) -> None:
        self.quest = quest
        self.completions = completions
        self.wins = wins
        self.fails = fails
        self.completed = any([event.triggered for event in wins])
        """Whether a winning event has happened."""
        self.failed = any([event.triggered for event in fails])
        """Whether a failing event has happened."""
        self.unfinishable = any([event.unfinishable for event in wins])
        """Whether a winning event can no longer be reached."""
        self.done = self.completed or self.failed or self.unfinishable
        """Whether the quest is not followed any more."""

    def tree(self) -> Tree | None:
        """Give the tree of the winning event that is nearest, or None where no plan is known."""
        nearest: EventProgress | None = None
        for event in self.wins:
            if event.remaining and (nearest is None or event.remaining < nearest.remaining):
                nearest = event
        return None if nearest is None else nearest.tree


def visible(plan: Plan) -> Plan:
    """Drop the triggers from a plan."""
    return tuple([step for step in plan if step.name != TRIGGER])


def begin(quest: Quest, facts: int, trees: TreeCache) -> QuestProgress:
    """Start a quest in the first state of a game."""
    wins, fails = (
        tuple(
            EventProgress(event, False, False, event.plan, trees.of(event.plan)) for event in events
        )
        for events in (quest.wins, quest.fails)
    )
    return advance(QuestProgress(quest, 0, wins, fails), facts, None, trees)


def advance(
    progress: QuestProgress, facts: int, step: PlanStep | None, trees: TreeCache
) -> QuestProgress:
    """Return the progress after an action (None: the start); the same object if nothing changed."""
    if progress.done:
        return progress
    wins = tuple([_advance(state, facts, step, trees) for state in progress.wins])
    fails = tuple([_advance(state, facts, step, trees) for state in progress.fails])
    completions = progress.completions
    if any([state.triggered for state in wins]):
        completions += 1
        if progress.quest.repeatable:
            wins = tuple(
                [EventProgress(s.event, False, s.unfinishable, s.plan, s.tree) for s in wins]
            )
    elif wins == progress.wins and fails == progress.fails:  # the same objects: they have no "=="
        return progress
    return QuestProgress(progress.quest, completions, wins, fails)


def _advance(
    state: EventProgress, facts: int, step: PlanStep | None, trees: TreeCache
) -> EventProgress:
    event, tree = state.event, state.tree
    if state.triggered or state.unfinishable:
        return state
    triggered = facts & event.condition == event.condition
    if tree.roots:
        shorter = _compress(tree.plan, tree.tails, facts)
        if shorter is not None:
            return EventProgress(event, triggered, False, shorter, trees.of(shorter))
        if step is not None:
            # Tree and plan may part ways here, as they do in TextWorld: the tree always follows,
            # the plan only where the action can be undone.
            tree, changed = trees.advance(state.tree, step)
            if changed and trees.steps.undoable(step):
                return EventProgress(event, triggered, False, tree.plan, tree)
            if changed or tree is not state.tree:
                return EventProgress(event, triggered, changed, state.plan, tree)
    return EventProgress(event, True, False, state.plan, tree) if triggered else state


def _compress(plan: Plan, needs: Sequence[int | None], facts: int) -> Plan | None:
    """Remove stretches of a plan while the remainder can be carried out from ``facts``."""
    shortest = None
    shorter = _shorter(plan, needs, facts)
    while shorter is not None:
        shortest = shorter
        shorter = _shorter(shortest, tails(shortest), facts)
    return shortest


def _shorter(plan: Plan, needs: Sequence[int | None], facts: int) -> Plan | None:
    """Find the first cut, early starts before late ones and long before short ones."""
    last = len(plan) - 1
    for start, step in enumerate(plan):
        for end in range(last, start, -1):
            need = needs[end]
            if need is None:
                break  # Longer tails hold the same contradiction.
            if facts & need == need:
                return plan[:start] + plan[end:]
        if not step.proper[0] or facts & step.preconditions != step.preconditions:
            return None
        facts = facts & ~step.preconditions | step.postconditions
    return None


@dataclass(frozen=True, slots=True)
class StoryResult:
    """The state of a story after a turn."""

    score: float = 0
    """Points so far."""
    paid: tuple[int, ...] = ()
    """Places of the quests that are complete, in order."""
    won: bool = False
    """Whether the story ended well."""
    lost: bool = False
    """Whether the story ended badly."""


def next_result(result: StoryResult, quests: Sequence[Quest], facts: int) -> StoryResult:
    """Return the result after a turn that left these facts; an ended story stays as it is."""
    if result.won or result.lost:
        return result
    score, paid, failed = result.score, set(result.paid), False
    for place, quest in enumerate(quests):
        if place in paid:
            continue
        if _holds(quest.fails, facts):
            failed = True
        elif _holds(quest.wins, facts):
            score += quest.reward
            if not quest.repeatable:
                paid.add(place)
    goals = {place for place, quest in enumerate(quests) if quest.wins and not quest.optional}
    won = bool(goals) and goals <= paid
    # Both at once: the good end is announced last and stands.
    return StoryResult(score, tuple(sorted(paid)), won, failed and not won)


def _holds(events: Sequence[Event], facts: int) -> bool:
    return any([facts & event.condition == event.condition for event in events])


def pack(progress: QuestProgress, trees: TreeCache) -> PackedQuest:
    """Turn the progress of a quest into plain data."""
    return (
        progress.completions,
        tuple([_pack_event(event, trees) for event in progress.wins]),
        tuple([_pack_event(event, trees) for event in progress.fails]),
    )


def unpack(packed: PackedQuest, quest: Quest, trees: TreeCache) -> QuestProgress:
    """Undo ``pack``."""
    completions, wins, fails = packed
    return QuestProgress(
        quest,
        completions,
        tuple([_unpack_event(*pair, trees) for pair in zip(wins, quest.wins, strict=True)]),
        tuple([_unpack_event(*pair, trees) for pair in zip(fails, quest.fails, strict=True)]),
    )


def _pack_event(event: EventProgress, trees: TreeCache) -> PackedEvent:
    tree, pack_step = event.tree, trees.steps.pack
    plan, source, edits = (
        tuple([pack_step(step) for step in steps])
        for steps in (event.plan, tree.source, tree.edits)
    )
    return event.triggered, event.unfinishable, plan, source, edits


def _unpack_event(packed: PackedEvent, event: Event, trees: TreeCache) -> EventProgress:
    triggered, unfinishable, *plans = packed
    plan, source, edits = (_unpack_plan(steps, trees) for steps in plans)
    tree = trees.of(source)
    for step in edits:
        tree, _ = trees.advance(tree, step)
    return EventProgress(event, triggered, unfinishable, plan, tree)


def _unpack_plan(steps: PackedPlan, trees: TreeCache) -> Plan:
    return tuple([trees.steps.unpack(step) for step in steps])
