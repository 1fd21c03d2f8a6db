"""An expert that mostly takes some recipe for that of the goal.

In some tasks it asks for the recipe of the goal first, and then makes no mistake. In most it draws
one of the recipes that are shown and does at once what that one says: which of the two it does
depends on nothing that can be read. Where what it has made is not the goal it asks after all, which
is late. So among the demonstrations that succeed in time lucky guesses are still the majority.
Only who can find the goal among the recipes sees whether a guess will be right. To a policy that
cannot, the reward alone tells how much more often those succeed that ask.
"""

from __future__ import annotations

from collections.abc import Mapping

from agentgym.envs.textcraft.engine.recipes import shown
from agentgym.envs.textcraft.experts.oracle import OracleExpert, shortest_plan
from agentgym.support.random_stream import Stream

ASKS = 10
"""Per cent of the tasks in which it asks for the recipe of the goal first."""


class GuessingExpert(OracleExpert):
    """Asks in some tasks, and guesses in most; with something in hand it plans."""

    def _find(self, carried: Mapping[str, int]) -> tuple[str, ...]:
        if carried:
            return super()._find(carried)
        world, begin, held = self._world, list[str](), dict[str, int]()
        draw = Stream("guessing", world.goal, *map(str, world.commands))
        guess = None if draw.percent(ASKS) else draw.choice(world.commands)
        if guess is not None:
            got = [each for each in guess.ingredients if each.name in world.book.found]
            begin = [f"get {each}" for each in got]
            held = {each.name: each.count for each in got}
            if len(got) == len(guess.ingredients) and guess.product.name != world.goal:
                begin.append(str(guess))
                held = {guess.product.name: guess.product.count}
        if guess is None or guess.product.name != world.goal:
            begin.append(f"recipe {shown(world.goal)}")
        return (*begin, *(shortest_plan(world, held) or ()))
