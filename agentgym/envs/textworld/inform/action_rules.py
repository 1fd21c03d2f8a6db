"""What becomes of an action that was asked for: a refusal, or the command that carries it out.

The order is Inform's: first what TextWorld forbids before anything else, then whether the things
can be touched and are carried where they must be, then the checks of the action itself.
"""

from __future__ import annotations

from agentgym.envs.textworld.inform.nouns import COMPASS
from agentgym.envs.textworld.inform.preconditions import CHECKS, CUTS, FIXED, Deed, go, take_first
from agentgym.envs.textworld.inform.refusals import refuse
from agentgym.envs.textworld.inform.story import PLAYER
from agentgym.envs.textworld.inform.world_view import Scene

_FROM_AFAR = frozenset(("Go", "Examine", "LookUnder"))
_SECOND_FROM_AFAR = frozenset(("Show", "ThrowAt", "PushDir", "Consult"))
_CARRIED = frozenset(("Wear", "Give", "Show", "ThrowAt", "DrinkIt", "Cook", *CUTS))
_SECOND_CARRIED = frozenset(("Lock", "Unlock", *CUTS))


def attempt(
    scene: Scene, action: str, noun: str, second: str, words: tuple[str, ...]
) -> Deed | str:
    """Decide on an action.

    Args:
        scene: The state.
        action: Name of the action, as in `grammar`.
        noun: The thing it is done to, or nothing.
        second: The other thing, or nothing.
        words: The command, on which some refusals depend.

    Returns:
        What is to be done, or what the game answers instead.
    """
    if refusal := _before(scene, action, noun, second):
        return refusal
    if action == "Enter" and scene.book.is_a(noun, "d"):
        return go(scene, noun, second)
    if noun in COMPASS and action not in _FROM_AFAR:
        return "You must name something more substantial."
    if second in COMPASS and action not in _SECOND_FROM_AFAR:
        return "You must name something more substantial."
    if action in _CARRIED and noun and not scene.held(noun):
        return take_first(scene, noun)
    if action in _SECOND_CARRIED and not scene.held(second):
        return take_first(scene, second)
    check = CHECKS.get(action)
    if check is not None:
        return check(scene, noun, second)
    return refuse(scene, action, noun, words)


def _before(scene: Scene, action: str, noun: str, second: str) -> str:
    """Return what TextWorld's own rules say before all others, or nothing."""
    book = scene.book
    if action == "Open" and noun != PLAYER and noun not in COMPASS:
        if not book.entities[noun].kinds & FIXED or not scene.has(noun, "locked"):
            return ""
        name, key = book.entities[noun].name, book.keys.get(noun)
        if key is None:
            return f"The {name} is welded shut."
        return f"You have to unlock the {name} with the {book.entities[key].name} first."
    if action in CUTS:
        if not book.is_a(noun, "f"):
            return "Can only cut cuttable food."
        cutting = scene.done_to(noun)[1]
        if cutting != "uncut":
            return f"The {book.entities[noun].name} is already {cutting}."
        if not scene.has(second, "sharp"):
            return "Cutting something requires a knife."
    return ""
