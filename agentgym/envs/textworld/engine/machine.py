"""The state machine of a TextWorld game: the engine without its words.

It equals TextWorld 1.7's own machine over the ``.json`` of a game (``TextWorldEnv``) at every step:
facts, admissible commands, score, end, and the plan that wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentgym.envs.textworld.engine.commands import GroundAction
from agentgym.envs.textworld.engine.dependency_tree import Plan
from agentgym.envs.textworld.engine.quests import (
    PackedQuest,
    QuestProgress,
    StoryResult,
    advance,
    next_result,
    pack,
    unpack,
    visible,
)  # fmt: skip
from agentgym.envs.textworld.engine.world import GameWorld
from agentgym.envs.textworld.session import Fact
from agentgym.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class MachineSnapshot:
    """A moment of a playthrough as plain data that any process can pick up."""

    added: tuple[Fact, ...]
    """Facts that were not true at the start, sorted."""
    removed: tuple[Fact, ...]
    """Facts that were true at the start only, sorted."""
    quests: tuple[PackedQuest, ...]
    """Progress of the quests."""
    moves: int
    """Number of actions applied."""
    result: StoryResult
    """The answer of the compiled game."""


class Machine:
    """One playthrough of a world, which any number of machines can share."""

    def __init__(self, world: GameWorld) -> None:
        self.world = world
        self._latest_facts = world.initial, world.record.beginning
        self.reset()

    def reset(self) -> None:
        """Go back to the start of the game."""
        self._mask = self.world.initial
        self._quests = self.world.beginning
        self.result = StoryResult()
        """Score and end according to the compiled game."""
        self.moves = 0
        """Number of actions applied."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle as world and snapshot: the rest means nothing in another process."""
        return _machine, (self.world, self.snapshot())

    # Acting

    @property
    def facts(self) -> frozenset[Fact]:
        """The facts that hold now."""
        mask, facts = self._latest_facts
        if mask != self._mask:
            table = self.world.table
            removed, new = table.facts(mask & ~self._mask), table.facts(self._mask & ~mask)
            facts = facts.difference(removed).union(new)
            self._latest_facts = (self._mask, facts)
        return facts

    def admissible(self) -> tuple[str, ...]:
        """Give the commands that mean an action now, sorted."""
        return self.world.admitted(self._mask).commands

    def command(self, text: str) -> GroundAction | None:
        """Find the action of a command, or None where it is not admissible."""
        return self.world.admitted(self._mask).action(text.strip())

    def apply(self, action: GroundAction) -> None:
        """Carry out an action that ``command`` gave in this state.

        Raises:
            ConfigurationError: The action is not admissible now.
        """
        if self.command(action.command) is not action:
            raise ConfigurationError(
                f"expected an action that is admissible now, got {action.command!r}; "
                "take it from command() and apply it before any other"
            )
        step, trees = action.step, self.world.trees
        self._mask = facts = self._mask & ~step.removed | step.added
        self._quests = tuple([advance(quest, facts, step, trees) for quest in self._quests])
        self.moves += 1
        self.wait()

    def wait(self) -> None:
        """Let a turn pass in which nothing is done: only the ``result`` can change."""
        self.result = next_result(self.result, self.world.quests, self._mask)

    # Progress

    @property
    def score(self) -> float:
        """Points so far."""
        score: float = 0
        for progress in self._quests:
            score += progress.quest.reward * progress.completions
        return score

    @property
    def won(self) -> bool:
        """Whether every quest that is not optional is complete."""
        return bool(self._quests) and all(
            progress.completed
            for progress in self._quests
            if progress.quest.wins and not progress.quest.optional
        )

    @property
    def lost(self) -> bool:
        """Whether a quest that is not optional has failed or can no longer be finished."""
        return any(
            progress.failed or progress.unfinishable
            for progress in self._quests
            if not progress.quest.optional
        )

    @property
    def done(self) -> bool:
        """Whether the game is won or lost. Actions are still taken then, as in TextWorld."""
        return self.won or self.lost

    def policy(self) -> tuple[str, ...]:
        """Return TextWorld's winning policy from here; empty after the end or if none is known."""
        commands = [step.commands[0] for step in _plan(self._quests, self.world) or ()]
        named = tuple([command for command in commands if command is not None])
        # A plan with a step that no command names stops TextWorld; here it is no plan.
        return named if len(named) == len(commands) else ()

    # Forking

    def snapshot(self) -> MachineSnapshot:
        """Keep this moment. Equal histories of equal games give equal snapshots."""
        table, initial = self.world.table, self.world.initial
        return MachineSnapshot(
            added=tuple(sorted(table.facts(self._mask & ~initial))),
            removed=tuple(sorted(table.facts(initial & ~self._mask))),
            quests=tuple([pack(progress, self.world.trees) for progress in self._quests]),
            moves=self.moves,
            result=self.result,
        )

    def restore(self, snapshot: MachineSnapshot) -> None:
        """Go to a moment kept by this or another machine of the same game."""
        world = self.world
        table = world.table
        self._mask = world.initial & ~table.mask(snapshot.removed) | table.mask(snapshot.added)
        self._quests = tuple(
            [
                unpack(packed, quest, world.trees)
                for packed, quest in zip(snapshot.quests, world.quests, strict=True)
            ]
        )
        self.result = snapshot.result
        self.moves = snapshot.moves


def _machine(world: GameWorld, snapshot: MachineSnapshot) -> Machine:
    """Make a machine in a given moment."""
    machine = Machine(world)
    machine.restore(snapshot)
    return machine


def _plan(quests: tuple[QuestProgress, ...], world: GameWorld) -> Plan | None:
    """Give the plan that wins, or None where the game is over or no plan is known."""
    trees = []
    for progress in quests:
        if progress.quest.optional:
            continue
        if progress.failed or progress.unfinishable:
            return None
        if progress.wins and not progress.completed:
            tree = progress.tree()
            if tree is None:
                return None
            trees.append(tree)
    return visible(world.trees.plan(tuple(trees))) if trees else None
