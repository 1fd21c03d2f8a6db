"""From a requested action to a refusal, or to the command that carries it out.

The order is Inform's: first what TextWorld forbids before anything else, then whether the things
can be touched and are carried where they must be, then the checks of the action itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agentgym.envs.textworld.inform import descriptions
from agentgym.envs.textworld.inform.grammar import TABLE
from agentgym.envs.textworld.inform.story import COMPASS, FIXED, INVENTORY, PLAYER
from agentgym.envs.textworld.inform.world_view import WorldView

CUTS = ("Slice", "Dice", "Chop")
_HOT = frozenset(("stove", "oven", "toaster"))
_FROM_AFAR = frozenset(("Go", "Examine", "LookUnder"))
_SECOND_FROM_AFAR = frozenset(("Show", "ThrowAt", "PushDir", "Consult"))
_CARRIED = frozenset(("Wear", "Give", "Show", "ThrowAt", "DrinkIt", "Cook", *CUTS))
_SECOND_CARRIED = frozenset(("Lock", "Unlock", *CUTS))


@dataclass(frozen=True)
class AcceptedAction:
    """An action that the game lets happen.

    Attributes:
        command: The game's own command for it.
        action: Name of the action.
        noun: The thing it is done to.
        second: The other thing, or nothing.
    """

    command: str
    action: str
    noun: str = ""
    second: str = ""


def resolve_action(
    view: WorldView, action: str, noun: str, second: str, words: tuple[str, ...]
) -> AcceptedAction | str:
    """Return the accepted action on ``noun`` and ``second``, or the game's refusal.

    Some refusals depend on the words of the command.
    """
    if refusal := _rule_before(view, action, noun, second):
        return refusal
    if action == "Enter" and view.story.is_a(noun, "d"):
        return _go(view, noun, second)
    if noun in COMPASS and action not in _FROM_AFAR:
        return "You must name something more substantial."
    if second in COMPASS and action not in _SECOND_FROM_AFAR:
        return "You must name something more substantial."
    if action in _CARRIED and noun and not view.carries(noun):
        return _take_first(view, noun)
    if action in _SECOND_CARRIED and not view.carries(second):
        return _take_first(view, second)
    check = _CHECKS.get(action)
    if check is not None:
        return check(view, noun, second)
    return _refuse(view, action, noun, words)


def _rule_before(view: WorldView, action: str, noun: str, second: str) -> str:
    """Return the refusal of TextWorld's own rules, which come first, or nothing.

    They come before Inform asks whether a thing is carried, so that a knife out of reach can be
    refused as not being a knife.
    """
    story = view.story
    if action == "Open" and noun != PLAYER and noun not in COMPASS:
        if not story.entities[noun].kinds & FIXED or not view.has(noun, "locked"):
            return ""
        name, key = story.entities[noun].name, story.keys.get(noun)
        if key is None:
            return f"The {name} is welded shut."
        return f"You have to unlock the {name} with the {story.entities[key].name} first."
    if action in CUTS:
        if not story.is_a(noun, "f"):
            return "Can only cut cuttable food."
        cutting = view.done_to(noun)[1]
        if cutting != "uncut":
            return f"The {story.entities[noun].name} is already {cutting}."
        if not view.has(second, "sharp"):
            return "Cutting something requires a knife."
    return ""


def _take_first(view: WorldView, noun: str) -> str:
    """Refuse to do something with a thing that is not carried."""
    if noun == PLAYER:
        # TextWorld's rule turns Inform's name for the player into "the yourself".
        return "You need to take the yourself first."
    entity = view.story.entities[noun]
    if entity.kinds & FIXED:
        return f"The {entity.name} is fixed in place."
    view.noticed = noun  # From now on "it" means the thing that could not be used.
    return f"You need to take the {entity.name} first."


def _accept(
    view: WorldView, template: str, action: str, noun: str = "", second: str = ""
) -> AcceptedAction:
    names = [view.story.entities[entity].name for entity in (noun, second) if entity]
    return AcceptedAction(template.format(*names), action, noun, second)


def _kinds(view: WorldView, noun: str) -> frozenset[str]:
    return frozenset() if noun == PLAYER else view.story.entities[noun].kinds


def _take(view: WorldView, noun: str, second: str) -> AcceptedAction | str:
    """Take a thing, wherever it is; ``second`` is where the command says it is."""
    if second and view.parent.get(noun, view.room) != second:
        return "But it isn't there now." if noun != PLAYER else "But you aren't there now."
    if noun == PLAYER:
        return "You are always self-possessed."
    if view.carries(noun):
        return "You already have that."
    if _kinds(view, noun) & FIXED:
        return "That's fixed in place."
    slots = view.story.slots
    if slots and len(view.contents(INVENTORY)) >= slots:
        return "You're carrying too many things already."
    holder = view.parent[noun]
    if holder == view.room:
        return _accept(view, "take {}", "Take", noun)
    return _accept(view, "take {} from {}", "Take", noun, holder)


def _drop(view: WorldView, noun: str, _: str) -> AcceptedAction | str:
    if noun == PLAYER:
        return "You lack the dexterity."
    if view.parent[noun] == view.room:
        return f"{view.capital_the(noun)} is already here."
    if not view.carries(noun):
        return "You haven't got that."
    return _accept(view, "drop {}", "Drop", noun)


def _put_on(view: WorldView, noun: str, second: str) -> AcceptedAction | str:
    if not view.carries(noun):
        return _take_first(view, noun)
    if noun == second:
        return "You can't put something on top of itself."
    if "s" not in _kinds(view, second):
        target = "yourself" if second == PLAYER else view.the(second)
        return f"Putting things on {target} would achieve nothing."
    return _accept(view, "put {} on {}", "PutOn", noun, second)


def _insert(view: WorldView, noun: str, second: str) -> AcceptedAction | str:
    if not view.carries(noun):
        return _take_first(view, noun)
    if noun == second:
        return "You can't put something inside itself."
    if "c" not in _kinds(view, second):
        return "You can't contain things." if second == PLAYER else "That can't contain things."
    if not view.state_of(second, "open"):
        return f"{view.capital_the(second)} is closed."
    return _accept(view, "insert {} into {}", "Insert", noun, second)


def _open_or_close(view: WorldView, noun: str, verb: str) -> AcceptedAction | str:
    if not _kinds(view, noun) & {"c", "d"}:
        start = "You aren't" if noun == PLAYER else "It isn't"
        return f"{start} something you can {verb}."
    if view.state_of(noun, "open") == (verb == "open"):
        return f"That's already {'open' if verb == 'open' else 'closed'}."
    return _accept(view, verb + " {}", verb.capitalize(), noun)


def _lock_or_unlock(view: WorldView, noun: str, second: str, verb: str) -> AcceptedAction | str:
    if not _kinds(view, noun) & {"c", "d"}:
        start = "You don't" if noun == PLAYER else "That doesn't"
        return f"{start} seem to be something you can {verb}."
    if view.has(noun, "locked") == (verb == "lock"):
        return f"That's {verb}ed at the moment."
    if verb == "lock" and view.state_of(noun, "open"):
        return f"First you would have to close {view.the(noun)}."
    if view.story.keys.get(noun) != second:
        return "That doesn't seem to fit the lock."
    return _accept(view, verb + " {} with {}", verb.capitalize(), noun, second)


def _eat(view: WorldView, noun: str, _: str) -> AcceptedAction | str:
    if view.has(noun, "inedible") and view.has(noun, "needs_cooking"):
        return f"You should cook {view.the(noun)} first."
    if "f" not in _kinds(view, noun) or view.has(noun, "inedible"):
        return "You're plainly inedible." if noun == PLAYER else "That's plainly inedible."
    if not view.carries(noun):
        return _take_first(view, noun)
    return _accept(view, "eat {}", "Eat", noun)


def _go(view: WorldView, noun: str, _: str) -> AcceptedAction | str:
    """Go in a direction, or through a door."""
    if not noun:
        return "You'll have to say which compass direction to go in."
    exits = view.story.exits.get(view.room, {})
    if noun not in COMPASS:
        noun = next((way for way, (_, door) in exits.items() if door == noun), noun)
    if noun not in exits:
        return "You can't go that way."
    door = exits[noun][1]
    if door and not view.state_of(door, "open"):
        return f"You have to open the {view.story.entities[door].name} first."
    return AcceptedAction(f"go {noun}", "Go", noun)


def _examine(view: WorldView, noun: str, _: str) -> AcceptedAction | str:
    if noun in COMPASS or noun == PLAYER:
        return descriptions.examine(view, noun)
    return _accept(view, "examine {}", "Examine", noun)


def _drink(view: WorldView, noun: str, _: str) -> AcceptedAction | str:
    if not view.has(noun, "drinkable"):
        return f"You cannot drink {view.the(noun)}."
    return _accept(view, "drink {}", "DrinkIt", noun)


def _cook(view: WorldView, noun: str, second: str) -> AcceptedAction | str:
    if "f" not in _kinds(view, noun):
        return "Can only cook food."
    if not _kinds(view, second) & _HOT:
        return "Cooking requires a source of heat."
    return _accept(view, "cook {} with {}", "Cook", noun, second)


def _prepare(view: WorldView, *_: str) -> AcceptedAction | str:
    story = view.story
    if view.room != story.kitchen:
        return f"Can only prepare meal in the -= {story.entities[story.kitchen].name.title()} =-."
    for food, cooking, cutting in story.recipe:
        cooked, cut = view.done_to(food)
        if not view.carries(food):
            return "You still miss something."
        if cooked != cooking:
            return "Something still needs to be cooked."
        if cut != cutting:
            return "Something still needs to be cut."
    return AcceptedAction("prepare meal", "Prepare", story.meal)


def _cut_how(action: str) -> _Check:
    template = f"{action.lower()} {{}} with {{}}"
    return lambda view, noun, second: _accept(view, template, action, noun, second)


_Check = Callable[[WorldView, str, str], AcceptedAction | str]
_CHECKS: dict[str, _Check] = {
    "Take": _take, "Remove": _take, "Drop": _drop, "PutOn": _put_on, "Insert": _insert,
    "Open": lambda view, noun, _: _open_or_close(view, noun, "open"),
    "Close": lambda view, noun, _: _open_or_close(view, noun, "close"),
    "Lock": lambda view, noun, key: _lock_or_unlock(view, noun, key, "lock"),
    "Unlock": lambda view, noun, key: _lock_or_unlock(view, noun, key, "unlock"),
    "Eat": _eat, "Go": _go, "Examine": _examine,
    "Look": lambda view, *_: _accept(view, "look", "Look"),
    "Inv": lambda view, *_: _accept(view, "inventory", "Inv"),
    "DrinkIt": _drink, "Cook": _cook, "Prepare": _prepare,
    **{action: _cut_how(action) for action in CUTS},
}  # fmt: skip
"""Checks of the actions that can change the world, or that a game counts as its own."""

_POSTURES = {"stand": "stand on", "sit": "sit down on", "lie": "lie down on"}


def _refuse(view: WorldView, action: str, noun: str, words: tuple[str, ...]) -> str:
    """Answer an action that never changes anything."""
    if action == "Goal":
        return view.story.objective
    if action == "Help":
        return "\n".join(TABLE["help"])
    if action in ("Pull", "Push", "Turn"):
        return _move(view, noun)
    if action in ("Touch", "Squeeze", "Rub", "Wave"):
        return _handle(view, action, noun)
    if action == "Search":
        return _search(view, noun)
    if action in ("Enter", "GetOff"):
        return _climb(view, action, noun, words)
    if action in ("SwitchOn", "SwitchOff"):
        return f"{'You aren' if noun == PLAYER else 'It isn'}'t something you can switch."
    if action == "Disrobe":
        return f"You aren't wearing {_the(view, noun)}."
    if action == "SetTo":
        return f"No, you can't set {'you' if noun == PLAYER else 'that'} to anything."
    if action == "AskFor":
        return descriptions.inventory(view)
    if action == "Consult":
        return f"You discover nothing of interest in {_the(view, noun)}."
    if action == "Cut":
        return _cut(view, noun)
    if action == "PushDir":
        return f"{_capital(view, noun)} cannot be pushed from place to place."
    if action in ("Give", "Show") and noun:
        return _offer(view, action, noun)
    return str(TABLE["answers"].get(action, "That's not a verb I recognise."))


def _the(view: WorldView, noun: str) -> str:
    return "yourself" if noun == PLAYER else view.the(noun)


def _capital(view: WorldView, noun: str) -> str:
    return "You" if noun == PLAYER else view.capital_the(noun)


def _move(view: WorldView, noun: str) -> str:
    if noun == PLAYER:
        return "You might not like that."
    if view.story.entities[noun].kinds & FIXED:
        return "It is fixed in place."
    return "Nothing obvious happens."


def _handle(view: WorldView, action: str, noun: str) -> str:
    if action == "Wave":
        if view.carries(noun):
            return f"You wave {view.the(noun)}."
        return f"But you aren't holding {'you' if noun == PLAYER else 'that'}."
    if action == "Rub":
        return f"You rub {_the(view, noun)}."
    if action == "Squeeze":
        return "You might not like that." if noun == PLAYER else "You achieve nothing by this."
    return "You achieve nothing by this." if noun == PLAYER else "You feel nothing unexpected."


def _search(view: WorldView, noun: str) -> str:
    if noun == PLAYER or not view.story.entities[noun].kinds & {"c", "s"}:
        return "You find nothing of interest."
    if view.story.is_a(noun, "c") and not view.state_of(noun, "open"):
        return f"You can't see inside, since {view.the(noun)} is closed."
    return descriptions.search(view, noun)


def _climb(view: WorldView, action: str, noun: str, words: tuple[str, ...]) -> str:
    if not noun:
        return "You must supply a noun."
    if action == "GetOff":
        return f"But you aren't on {_the(view, noun)} at the moment."
    verb = next((way for word, way in _POSTURES.items() if word in words), "enter")
    start = "You're" if noun == PLAYER else "That's"
    return f"{start} not something you can {verb}."


def _cut(view: WorldView, noun: str) -> str:
    if view.story.kitchen:
        return (f"You need to specify how you want to cut {_the(view, noun)}. Either slice, dice, "
                "or chop it.")  # fmt: skip
    return f"Cutting {'you' if noun == PLAYER else 'it'} up would achieve little."


def _offer(view: WorldView, action: str, noun: str) -> str:
    if action == "Give":
        return f"You can't give {view.the(noun)} to yourself."
    return descriptions.examine(view, noun)
