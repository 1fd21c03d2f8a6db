"""The trees of one world that do not change any more, each made once.

Walks meet the same trees again and again: whoever returns from a detour has the tree from before.
"""

from __future__ import annotations

from itertools import islice

from agentgym.envs.textworld.engine.steps import Step, Steps
from agentgym.envs.textworld.engine.tree import Draft, Order, keep

Plan = tuple[Step, ...]
_LONGEST = 1000
"""Most steps of a plan; the longest game of TextWorld's challenges takes a hundred."""
_TREES = 512
"""Trees and plans remembered of each kind: a tree takes some ten kilobytes."""


class Tree:
    """A dependency tree that does not change any more.

    Args:
        order: The order of leaves.
        draft: The tree.
        source: The plan that it was built from.
        edits: Actions removed from it since.
    """

    __slots__ = ("edits", "keys", "plan", "roots", "source", "tails", "wants")

    def __init__(self, order: Order, draft: Draft, source: Plan, edits: Plan) -> None:
        self.roots = draft.roots
        self.source = source
        self.edits = edits
        self.keys = frozenset(element.step.key for element in draft.leaves())
        """Keys of the leaves."""
        self.wants = 0
        """At least the facts that its actions need."""
        for root in self.roots:
            self.wants |= root.wants
        self.plan = in_order(Draft(order, self.roots))
        """Its actions in order."""
        self.tails = tails(self.plan)
        """See ``tails``."""


def in_order(draft: Draft) -> Plan:
    """Use a tree up.

    Returns:
        Its actions in order; none where they go round in circles, which they never do in a game
        that TextWorld generates: TextWorld itself would not come back.
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
            need = step.before | (need & ~step.after)
        needs.append(need)
    return tuple(reversed(needs))


class Forest:
    """Makes the trees of one world, each once.

    Args:
        steps: The steps of the world.
    """

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self._order = Order(steps)
        self._built: dict[Plan, Tree] = {}
        self._edited: dict[tuple[Tree, Step], tuple[Tree, bool]] = {}
        self._merged: dict[tuple[Tree, ...], Plan] = {}

    def of(self, plan: Plan) -> Tree:
        """Build the tree of a plan, pushing its last step first."""
        tree = self._built.get(plan)
        if tree is None:
            draft = Draft(self._order)
            for step in reversed(plan):
                draft.push(step)
            tree = Tree(self._order, draft, plan, ())
            keep(self._built, plan, tree, _TREES)
        return tree

    def after(self, tree: Tree, step: Step) -> tuple[Tree, bool]:
        """Take an action as done.

        Returns:
            The tree that remains, the same one where nothing changed; and whether it changed as
            TextWorld counts it.
        """
        if step.key not in tree.keys and not self.steps.reverse(step).added & tree.wants:
            return tree, False
        found = self._edited.get((tree, step))
        if found is None:
            draft = Draft(self._order, tree.roots)
            changed = draft.remove(step)
            edited = Tree(self._order, draft, tree.source, (*tree.edits, step))
            found = edited, changed
            keep(self._edited, (tree, step), found, _TREES)
        return found

    def plan(self, trees: tuple[Tree, ...]) -> Plan:
        """Order the actions of several trees side by side."""
        if len(trees) == 1:
            return trees[0].plan
        plan = self._merged.get(trees)
        if plan is None:
            roots = [root for tree in trees for root in tree.roots]
            plan = in_order(Draft(self._order, roots))
            keep(self._merged, trees, plan, _TREES)
        return plan
