"""The dependency tree in which TextWorld keeps the actions that remain to be done.

A node is an action; below it stand the actions whose effects it needs. Removing leaves until none
remain gives a plan. The tree is repaired as the player moves: an action on a leaf takes the leaf
away, and an action that spoils what some node needs puts its own reverse below that node. The port
follows TextWorld 1.7 (``ActionDependencyTree``) step by step, ties included, so that plans agree
word for word.

A tree under construction is a ``TreeDraft``; a finished, immutable one is a ``Tree``. ``TreeCache``
builds each ``Tree`` once, so that a player who returns from a detour gets the earlier tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count, islice

from agentgym.envs.textworld.engine.steps import PlanStep, StepTable
from agentgym.support.caching import BoundedCache

Plan = tuple[PlanStep, ...]
_LONGEST = 1000
"""Most steps of a plan; the longest game of TextWorld's challenges takes a hundred."""
_TREES = 512
"""Trees and plans remembered of each kind: a tree takes some ten kilobytes."""
_ANSWERS = 4096
"""Choices among leaves remembered."""


class Element:
    """An action of a tree. Nodes that one push made, and copies of them, share one."""

    __slots__ = ("_needed", "parent", "removed", "step", "token")

    def __init__(self, step: PlanStep) -> None:
        self.step = step
        self.removed = step.removed
        self.token = -1
        """Cached key of its order among leaves."""
        self.parent: Element | None = None
        """The action that it was last pushed below. Set while pushing, then left."""
        self._needed = -1

    def needed(self) -> int:
        """Give the facts that this action and the chain above it need before it is done."""
        if self._needed < 0:
            needed, element = self.step.preconditions, self
            while element.parent is not None:
                needed = (needed | element.parent.step.preconditions) & ~element.step.added
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
        self.wants = element.step.preconditions
        """At least the facts that this action and those below it need: where not to look."""

    def push(self, element: Element, fresh: list[Node]) -> None:
        """Put an action below every node that needs it and does not have its effects yet.

        The nodes that are added go to ``fresh``, from the deep to the high.
        """
        new = element.step.added
        count = len(fresh)
        for child in self.children:
            if child.wants & new:
                child.push(element, fresh)
        if self.element.step.preconditions & new:
            for child in self.children:
                new &= ~child.element.step.added
            if new:
                node = Node(element, self)
                self.children.append(node)
                fresh.append(node)
                element.parent = self.element
        if len(fresh) > count:
            self.wants |= element.step.preconditions

    def copy(self, parent: Node | None, ends: list[Node], keys: list[int]) -> Node:
        """Copy the node and all below it, noting leaves and keys of actions; these are shared."""
        twin = Node(self.element, parent)
        twin.wants = self.wants
        keys.append(self.element.step.key)
        if self.children:
            twin.children = [child.copy(twin, ends, keys) for child in self.children]
        else:
            ends.append(twin)
        return twin

    def needs(self, facts: int) -> bool:
        """Tell whether this action or one below it needs any of these facts."""
        return bool(self.element.step.preconditions & facts) or any(
            [child.needs(facts) for child in self.children if child.wants & facts]
        )

    def frozen(self) -> Node:
        """Copy the node and all below it for a tree that does not change any more.

        Such nodes need no way up, and without it no garbage collection to be freed.
        """
        twin = Node(self.element)
        twin.wants = self.wants
        twin.children = [child.frozen() for child in self.children]
        return twin

    def survey(self, ends: list[Node], keys: list[int]) -> None:
        """Note leaves and keys as ``copy`` does."""
        keys.append(self.element.step.key)
        if not self.children:
            ends.append(self)
        for child in self.children:
            child.survey(ends, keys)


def _without(nodes: list[Node], key: int) -> list[Node]:
    """Remove an action and its subtree from nodes and their subtrees."""
    remaining = [node for node in nodes if node.element.step.key != key]
    for node in remaining:
        node.children = _without(node.children, key)
    return remaining


def _counts(keys: list[int]) -> dict[int, int]:
    """Count how often each key stands in a list; trees are small, and a ``Counter`` is not."""
    return {key: keys.count(key) for key in keys}


class LeafOrder:
    """Which of several leaves comes first; equal questions are answered from memory."""

    def __init__(self, steps: StepTable) -> None:
        self.steps = steps
        self._tokens: dict[tuple[int, int], int] = {}
        self._next = count()
        self._memory: BoundedCache[tuple[int | None, ...], int] = BoundedCache(_ANSWERS)

    def first(self, leaves: list[Element], avoided: int | None) -> PlanStep:
        """Choose among leaves, given from left to right; ``avoided`` only if there is no other."""
        if len(leaves) == 1:
            return leaves[0].step
        question = (avoided, *[leaf.token for leaf in leaves])
        if -1 in question:
            question = (avoided, *[self._token(leaf) for leaf in leaves])
        place = self._memory.get(question)
        if place is None:
            ordered = sorted(leaves)
            choice = next((leaf for leaf in ordered if leaf.step.key != avoided), ordered[-1])
            place = leaves.index(choice)
            self._memory.put(question, place)
        return leaves[place].step

    def _token(self, leaf: Element) -> int:
        if leaf.token < 0:
            kind = (leaf.step.key, leaf.needed())
            leaf.token = self._tokens.setdefault(kind, next(self._next))
        return leaf.token


class TreeDraft:
    """A dependency tree under change."""

    def __init__(self, order: LeafOrder, roots: Iterable[Node] = ()) -> None:
        self._order = order
        self._steps = order.steps
        # Leaves from left to right, and how often each action stands in the tree.
        self._ends: list[Node] = []
        keys: list[int] = []
        self.roots = [root.copy(None, self._ends, keys) for root in roots]
        self._counts = _counts(keys)

    def leaves(self) -> list[Element]:
        """Give the actions that wait for no other, from left to right, each once."""
        return list({id(end.element): end.element for end in self._ends}.values())

    def push(self, step: PlanStep) -> bool:
        """Put an action wherever it is needed; an empty tree takes it as its root."""
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
            self._counts[step.key] = self._counts.get(step.key, 0) + len(fresh)
        return bool(fresh)

    def _hang(self, node: Node) -> None:
        """Set a new node, the last child of its parent, among the leaves."""
        parent, ends = node.parent, self._ends
        assert parent is not None
        if len(parent.children) == 1:
            ends[ends.index(parent)] = node
            return
        sibling = parent.children[-2]
        while sibling.children:
            sibling = sibling.children[-1]
        ends.insert(ends.index(sibling) + 1, node)

    def remove(self, step: PlanStep) -> bool:
        """Take an action as done: off the leaves, its reverse put where it spoilt something.

        Returns:
            Whether the tree changed, as TextWorld counts it: of an action that can be undone,
            only whether its reverse was put somewhere.
        """
        changed = self._drop(step.key)
        if not self.roots:
            return changed
        # The reverse restores what the step removes, which is rarely needed.
        needed = any([root.needs(step.removed) for root in self.roots])
        spoilt = needed and self.push(self._steps.reverse(step))
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
            self._counts = _counts(keys)
        return True

    def flatten(self) -> Iterator[PlanStep]:
        """Flatten the tree: leaves first, those that spoil nothing before the others."""
        avoided: int | None = None
        while self.roots:
            step = self._order.first(self.leaves(), avoided)
            yield step
            changed = self.remove(step)
            # Undoing the last action where that put something back would go in circles.
            circles = changed and self._steps.undoable(step)
            avoided = self._steps.reverse(step).key if circles else None
            for root in tuple(self.roots):
                if not root.children:
                    yield root.element.step
                    self.remove(root.element.step)


class Tree:
    """A dependency tree that does not change any more."""

    __slots__ = ("edits", "keys", "plan", "roots", "source", "tails", "wants")

    def __init__(self, order: LeafOrder, draft: TreeDraft, source: Plan, edits: Plan) -> None:
        self.roots = [root.frozen() for root in draft.roots]
        self.source = source
        self.edits = edits
        self.keys = frozenset(element.step.key for element in draft.leaves())
        """Keys of the leaves."""
        self.wants = 0
        """At least the facts that its actions need."""
        for root in self.roots:
            self.wants |= root.wants
        self.plan = in_order(draft)
        """Its actions in order."""
        self.tails = tails(self.plan)
        """See ``tails``."""


def in_order(draft: TreeDraft) -> Plan:
    """Use a tree up; return its actions in order.

    There are none where they go round in circles, which they never do in a game that TextWorld
    generates: TextWorld itself would not come back.
    """
    plan = tuple(islice(draft.flatten(), _LONGEST + 1))
    return plan if len(plan) <= _LONGEST else ()


def tails(plan: Plan) -> tuple[int | None, ...]:
    """For every step give the facts from which a plan can be carried out from there on.

    With ``need(n) = {}``: ``need(i) = before(i) + (need(i+1) - after(i))``, impossible where the
    step takes away a fact that the rest needs.

    Returns:
        Bits of the facts, from the first step to the last; None where nothing would do.
    """
    needs: list[int | None] = []
    need: int | None = 0
    for step in reversed(plan):
        if need is None or not step.proper[0] or need & step.removed:
            need = None
        else:
            need = step.preconditions | (need & ~step.postconditions)
        needs.append(need)
    return tuple(reversed(needs))


class TreeCache:
    """The trees of one world, each made once."""

    def __init__(self, steps: StepTable) -> None:
        self.steps = steps
        self._order = LeafOrder(steps)
        self._built: BoundedCache[Plan, Tree] = BoundedCache(_TREES)
        self._edited: BoundedCache[tuple[Tree, PlanStep], tuple[Tree, bool]] = BoundedCache(_TREES)
        self._merged: BoundedCache[tuple[Tree, ...], Plan] = BoundedCache(_TREES)

    def of(self, plan: Plan) -> Tree:
        """Build the tree of a plan, pushing its last step first."""
        tree = self._built.get(plan)
        if tree is None:
            draft = TreeDraft(self._order)
            for step in reversed(plan):
                draft.push(step)
            tree = self._built.put(plan, Tree(self._order, draft, plan, ()))
        return tree

    def advance(self, tree: Tree, step: PlanStep) -> tuple[Tree, bool]:
        """Return the tree after an action, and whether it changed as TextWorld counts it."""
        if step.key not in tree.keys and not step.removed & tree.wants:
            return tree, False
        outcome = self._edited.get((tree, step))
        if outcome is None:
            draft = TreeDraft(self._order, tree.roots)
            changed = draft.remove(step)
            edited = Tree(self._order, draft, tree.source, (*tree.edits, step))
            outcome = self._edited.put((tree, step), (edited, changed))
        return outcome

    def plan(self, trees: tuple[Tree, ...]) -> Plan:
        """Order the actions of several trees side by side."""
        if len(trees) == 1:
            return trees[0].plan
        plan = self._merged.get(trees)
        if plan is None:
            roots = [root for tree in trees for root in tree.roots]
            plan = self._merged.put(trees, in_order(TreeDraft(self._order, roots)))
        return plan
