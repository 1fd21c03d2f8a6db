"""The dependency tree in which TextWorld keeps the actions that remain to be done.

A node is an action; below it stand the actions whose effects it needs. Taking leaves off until
nothing is left gives a plan. The tree is repaired as the player moves: an action on a leaf takes
the leaf away, and an action that spoils what some node needs puts its own reverse below that node.
The port follows TextWorld 1.7 (``ActionDependencyTree``) step by step, ties included, so that
plans agree word for word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count
from typing import TypeVar

from agentgym.envs.textworld.engine.steps import Step, Steps

Key = TypeVar("Key")
Value = TypeVar("Value")
_ANSWERS = 4096


class Element:
    """An action of a tree. Nodes that one push made, and copies of them, share one."""

    __slots__ = ("_needed", "parent", "removed", "step", "token")

    def __init__(self, step: Step) -> None:
        self.step = step
        self.removed = step.removed
        self.token = -1
        """Number of what decides its order among leaves, once it was asked for."""
        self.parent: Element | None = None
        """The action that it was last pushed below. Set while pushing, then left."""
        self._needed = -1

    def needed(self) -> int:
        """Give the facts that this action and the chain above it need before it is done."""
        if self._needed < 0:
            needed, element = self.step.before, self
            while element.parent is not None:
                needed = (needed | element.parent.step.before) & ~element.step.added
                element = element.parent
            self._needed = needed
        return self._needed

    def __lt__(self, other: Element) -> bool:
        """Go first where the other spoils more of what this needs than the other way round.

        Not an ordering in the strict sense: plans depend on how ``sorted`` applies it.
        """
        spoilt = (other.removed & self.needed()).bit_count()
        return spoilt > (self.removed & other.needed()).bit_count()


class Node:
    """A place in a tree."""

    __slots__ = ("children", "element", "parent", "wants")

    def __init__(self, element: Element, parent: Node | None = None) -> None:
        self.element = element
        self.parent = parent
        self.children: list[Node] = []
        self.wants = element.step.before
        """At least the facts that this action and those below it need: where not to look."""

    def push(self, element: Element, fresh: list[Node]) -> None:
        """Put an action below every node that needs it and does not have its effects yet.

        Args:
            element: The action.
            fresh: Where to note the nodes that are added, from the deep to the high.
        """
        new = element.step.added
        count = len(fresh)
        for child in self.children:
            if child.wants & new:
                child.push(element, fresh)
        if self.element.step.before & new:
            for child in self.children:
                new &= ~child.element.step.added
            if new:
                node = Node(element, self)
                self.children.append(node)
                fresh.append(node)
                element.parent = self.element
        if len(fresh) > count:
            self.wants |= element.step.before

    def copy(self, parent: Node | None, ends: list[Node], keys: list[int]) -> Node:
        """Copy the node and all below it; actions are shared.

        Args:
            parent: Parent of the copy.
            ends: Where to note the leaves.
            keys: Where to note the keys of the actions.
        """
        twin = Node(self.element, parent)
        twin.wants = self.wants
        keys.append(self.element.step.key)
        if self.children:
            twin.children = [child.copy(twin, ends, keys) for child in self.children]
        else:
            ends.append(twin)
        return twin

    def survey(self, ends: list[Node], keys: list[int]) -> None:
        """Note leaves and keys as ``copy`` does."""
        keys.append(self.element.step.key)
        if not self.children:
            ends.append(self)
        for child in self.children:
            child.survey(ends, keys)


def _without(nodes: list[Node], key: int) -> list[Node]:
    """Drop an action, with all below it, from nodes and what is below them."""
    kept = [node for node in nodes if node.element.step.key != key]
    for node in kept:
        node.children = _without(node.children, key)
    return kept


class Order:
    """Which of several leaves comes first; equal questions are answered from memory.

    Args:
        steps: The steps of the world.
    """

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self._tokens: dict[tuple[int, int], int] = {}
        self._next = count()
        self._memory: dict[tuple[int | None, ...], int] = {}

    def first(self, leaves: list[Element], shunned: int | None) -> Step:
        """Choose a leaf.

        Args:
            leaves: The leaves, from left to right; at least one.
            shunned: Key of a step to choose only where there is no other.

        Returns:
            The step of the leaf.
        """
        if len(leaves) == 1:
            return leaves[0].step
        question = (shunned, *[leaf.token for leaf in leaves])
        if -1 in question:
            question = (shunned, *[self._token(leaf) for leaf in leaves])
        place = self._memory.get(question)
        if place is None:
            ordered = sorted(leaves)
            chosen = next((leaf for leaf in ordered if leaf.step.key != shunned), ordered[-1])
            place = leaves.index(chosen)
            keep(self._memory, question, place, _ANSWERS)
        return leaves[place].step

    def _token(self, leaf: Element) -> int:
        if leaf.token < 0:
            kind = (leaf.step.key, leaf.needed())
            leaf.token = self._tokens.setdefault(kind, next(self._next))
        return leaf.token


class Draft:
    """A dependency tree under change.

    Args:
        order: The order of leaves, and the steps of the world.
        roots: Top nodes, which are copied.
    """

    def __init__(self, order: Order, roots: Iterable[Node] = ()) -> None:
        self._order = order
        self._steps = order.steps
        # Leaves from left to right, and how often each action stands in the tree.
        self._ends: list[Node] = []
        keys: list[int] = []
        self.roots = [root.copy(None, self._ends, keys) for root in roots]
        self._counts = Counter(keys)

    def leaves(self) -> list[Element]:
        """Give the actions that wait for no other, from left to right, each once."""
        return list({id(end.element): end.element for end in self._ends}.values())

    def push(self, step: Step) -> bool:
        """Put an action wherever it is needed; an empty tree takes it as its root.

        Returns:
            Whether the tree changed.
        """
        element = Element(step)
        fresh: list[Node] = []
        if self.roots:
            for root in self.roots:
                if root.wants & step.added:
                    root.push(element, fresh)
            for node in fresh:
                self._hang(node)
        else:
            fresh.append(Node(element))
            self.roots, self._ends = [*fresh], [*fresh]
        if fresh:
            self._counts[step.key] += len(fresh)
        return bool(fresh)

    def _hang(self, node: Node) -> None:
        """Set a new node, the last child of its parent, among the leaves."""
        parent, ends = node.parent, self._ends
        assert parent is not None
        if len(parent.children) == 1:
            ends[ends.index(parent)] = node
            return
        left = parent.children[-2]
        while left.children:
            left = left.children[-1]
        ends.insert(ends.index(left) + 1, node)

    def remove(self, step: Step) -> bool:
        """Take an action as done: off the leaves, its reverse put where it spoilt something.

        Returns:
            Whether the tree changed, as TextWorld counts it: of an action that can be undone,
            only whether its reverse was put somewhere.
        """
        changed = self._drop(step.key)
        if not self.roots:
            return changed
        spoilt = self.push(self._steps.reverse(step))
        return spoilt if self._steps.undoable(step) else changed or spoilt

    def _drop(self, key: int) -> bool:
        """Drop an action wherever it stands, if a leaf is one of those places."""
        ends = self._ends
        hits = [node for node in ends if node.element.step.key == key]
        if not hits:
            return False
        if len(hits) == self._counts[key]:
            for node in hits:
                place = ends.index(node)
                if node.parent is None:
                    self.roots.remove(node)
                    del ends[place]
                else:
                    node.parent.children.remove(node)
                    ends[place : place + 1] = [] if node.parent.children else [node.parent]
            del self._counts[key]
        else:
            keys: list[int] = []
            self.roots, self._ends = _without(self.roots, key), []
            for root in self.roots:
                root.survey(self._ends, keys)
            self._counts = Counter(keys)
        return True

    def flatten(self) -> Iterator[Step]:
        """Take the tree apart: leaves first, those that spoil nothing before the others."""
        undo: Step | None = None
        changed = False
        while self.roots:
            # Undoing the last action where that put something back would go in circles.
            shunned = undo.key if changed and undo is not None else None
            step = self._order.first(self.leaves(), shunned)
            yield step
            changed = self.remove(step)
            undo = self._steps.reverse(step) if self._steps.undoable(step) else None
            for root in tuple(self.roots):
                if not root.children:
                    yield root.element.step
                    self.remove(root.element.step)


def keep(memory: dict[Key, Value], key: Key, value: Value, most: int) -> None:
    """Remember a result; a memory of ``most`` results starts anew."""
    if len(memory) >= most:
        memory.clear()
    memory[key] = value
