"""What the game says when something was done."""

from __future__ import annotations

from agentgym.envs.textworld.inform import rooms
from agentgym.envs.textworld.inform.preconditions import Deed
from agentgym.envs.textworld.inform.world_view import Scene, number_words

_COOKED = {"stove": "fried", "oven": "roasted", "toaster": "grilled"}


class Report:
    """Tells a deed; made before it is done, because some words depend on what was before.

    Args:
        scene: The state before.
        deed: What is going to be done.
    """

    def __init__(self, scene: Scene, deed: Deed, *, several: bool = False) -> None:
        self._scene, self._deed, self._several = scene, deed, several
        self._holder = scene.parent.get(deed.noun, "")
        self._burned = scene.has(deed.noun, "cooked")

    def text(self) -> str:
        """Tell what was done, now that the scene has followed it."""
        scene, deed = self._scene, self._deed
        action, noun = deed.action, deed.noun
        if action in ("Go", "Look"):
            return rooms.look(scene)
        if action == "Inv":
            return rooms.inventory(scene)
        if action == "Examine":
            return rooms.examine(scene, noun)
        if action == "Take":
            return self._take()
        if action in ("PutOn", "Insert"):
            way = "on" if action == "PutOn" else "into"
            done = f"You put {scene.the(noun)} {way} {scene.the(deed.second)}."
            return "Done." if self._several else done
        if action == "Drop":
            return f"You drop {scene.the(noun)} on the ground."
        if action in ("Eat", "DrinkIt"):
            verb = "eat" if action == "Eat" else "drink"
            return f"You {verb} {scene.the(noun)}. Not bad."
        if action == "Open":
            return self._open()
        if action == "Cook":
            return self._cook()
        if action == "Prepare":
            return "Adding the meal to your inventory."
        return f"You {action.lower()} {scene.the(noun)}."

    def _take(self) -> str:
        name = self._scene.the(self._deed.noun)
        if self._holder == self._scene.room:
            return f"You pick up {name} from the ground."
        return f"You take {name} from {self._scene.the(self._holder)}."

    def _open(self) -> str:
        scene, noun = self._scene, self._deed.noun
        inside = scene.contents(noun)
        if not inside:
            return f"You open {scene.the(noun)}."
        scene.prefixed = True
        listed = scene.listing(inside)
        scene.prefixed = False
        return f"You open {scene.the(noun)}, revealing {listed}."

    def _cook(self) -> str:
        scene, deed = self._scene, self._deed
        name = scene.book.entities[deed.noun].name
        if self._burned:
            return f"You burned the {name}!"
        kinds = scene.book.entities[deed.second].kinds
        done = next(done for kind, done in _COOKED.items() if kind in kinds)
        return f"You {done} the {name}."


def score_change(points: int) -> str:
    """Announce points won or lost."""
    unit = "point" if abs(points) <= 1 else "points"
    if points > 0:
        return f"Your score has just gone up by {number_words(points)} {unit}."
    return f"Your score changed by minus {number_words(-points)} {unit}."


def ending(won: bool, score: int, most: int | float, turns: int) -> str:
    """Say how the game ended."""
    banner = "*** The End ***" if won else "*** You lost! ***"
    if most == float("inf"):
        scored = f"You scored a total of {score} point{'' if score == 1 else 's'}"
    else:
        scored = f"You scored {score} out of a possible {most}"
    return f"{banner}\n\n{scored}, in {turns} turn{'' if turns == 1 else 's'}."
