"""An expert that mostly guesses which recipe makes the goal.

In some tasks it looks up the recipe of the goal first and makes no mistake. In most it follows a
random one of the given recipes at once; the choice does not depend on anything that can be read. If
its product is not the goal it then looks up the recipe, which costs turns. So most demonstrations
that succeed in time are lucky guesses. Only a policy that finds the goal among the recipes can tell
whether a guess is right. To any other policy only the reward shows that looking up succeeds more
often.
"""

from __future__ import annotations

from collections.abc import Mapping

from agentgym.envs.textcraft.engine.recipes import format_name
from agentgym.envs.textcraft.experts.oracle import OracleExpert, shortest_plan
from agentgym.support.random_stream import Stream

ASKS = 10
"""Percentage of tasks in which it looks up the recipe of the goal first."""


class GuessingExpert(OracleExpert):
    """Looks up the recipe in some tasks, guesses in most; with a nonempty inventory it plans."""

    def _find(self, carried: Mapping[str, int]) -> tuple[str, ...]:
        if carried:
            return super()._find(carried)
        world, begin, inventory = self._world, list[str](), dict[str, int]()
        draw = Stream("guessing", world.goal, *map(str, world.commands))
        guess = None if draw.percent(ASKS) else draw.choice(world.commands)
        if guess is not None:
            raw_amounts = [
                ingredient
                for ingredient in guess.ingredients
                if ingredient.name in world.book.raw_items
            ]
            begin = [f"get {amount}" for amount in raw_amounts]
            inventory = {amount.name: amount.count for amount in raw_amounts}
            if len(raw_amounts) == len(guess.ingredients) and guess.product.name != world.goal:
                begin.append(str(guess))
                inventory = {guess.product.name: guess.product.count}
        if guess is None or guess.product.name != world.goal:
            begin.append(f"recipe {format_name(world.goal)}")
        return (*begin, *(shortest_plan(world, inventory) or ()))
