"""The checks of the actions that can change the world, or that a game counts as its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agentgym.envs.textworld.inform import rooms
from agentgym.envs.textworld.inform.nouns import COMPASS
from agentgym.envs.textworld.inform.story import INVENTORY, PLAYER
from agentgym.envs.textworld.inform.world_view import Scene

CUTS = ("Slice", "Dice", "Chop")
FIXED = frozenset(("c", "s", "d"))
"""Kinds of things that cannot be moved."""

_HOT = frozenset(("stove", "oven", "toaster"))


@dataclass(frozen=True)
class Deed:
    """Something to be done.

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


Check = Callable[[Scene, str, str], Deed | str]


def take_first(scene: Scene, thing: str) -> str:
    """Refuse to do something with a thing that is not carried.

    Args:
        scene: The state, which notes the thing: from now on it is what ``it`` means.
        thing: The thing.
    """
    if thing == PLAYER:
        return "You need to take the yourself first."
    entity = scene.book.entities[thing]
    if entity.kinds & FIXED:
        return f"The {entity.name} is fixed in place."
    scene.noticed = thing
    return f"You need to take the {entity.name} first."


def _deed(scene: Scene, template: str, action: str, noun: str, second: str = "") -> Deed:
    names = [scene.book.entities[thing].name for thing in (noun, second) if thing]
    return Deed(template.format(*names), action, noun, second)


def _kinds(scene: Scene, thing: str) -> frozenset[str]:
    return frozenset() if thing == PLAYER else scene.book.entities[thing].kinds


def _take(scene: Scene, noun: str, second: str) -> Deed | str:
    """Take a thing, wherever it is; ``second`` is where the command says it is."""
    if second and scene.parent.get(noun, scene.room) != second:
        return "But it isn't there now." if noun != PLAYER else "But you aren't there now."
    if noun == PLAYER:
        return "You are always self-possessed."
    if scene.held(noun):
        return "You already have that."
    if _kinds(scene, noun) & FIXED:
        return "That's fixed in place."
    slots = scene.book.slots
    if slots and len(scene.contents(INVENTORY)) >= slots:
        return "You're carrying too many things already."
    holder = scene.parent[noun]
    if holder == scene.room:
        return _deed(scene, "take {}", "Take", noun)
    return _deed(scene, "take {} from {}", "Take", noun, holder)


def _drop(scene: Scene, noun: str, second: str) -> Deed | str:
    del second
    if noun == PLAYER:
        return "You lack the dexterity."
    if scene.parent[noun] == scene.room:
        return f"{scene.capital_the(noun)} is already here."
    if not scene.held(noun):
        return "You haven't got that."
    return _deed(scene, "drop {}", "Drop", noun)


def _put_on(scene: Scene, noun: str, second: str) -> Deed | str:
    if not scene.held(noun):
        return take_first(scene, noun)
    if noun == second:
        return "You can't put something on top of itself."
    if "s" not in _kinds(scene, second):
        where = "yourself" if second == PLAYER else scene.the(second)
        return f"Putting things on {where} would achieve nothing."
    return _deed(scene, "put {} on {}", "PutOn", noun, second)


def _insert(scene: Scene, noun: str, second: str) -> Deed | str:
    if not scene.held(noun):
        return take_first(scene, noun)
    if noun == second:
        return "You can't put something inside itself."
    if "c" not in _kinds(scene, second):
        return "You can't contain things." if second == PLAYER else "That can't contain things."
    if not scene.state_of(second, "open"):
        return f"{scene.capital_the(second)} is closed."
    return _deed(scene, "insert {} into {}", "Insert", noun, second)


def _is_not(noun: str) -> str:
    return "You aren't" if noun == PLAYER else "It isn't"


def _open(scene: Scene, noun: str, second: str) -> Deed | str:
    del second
    if not _kinds(scene, noun) & {"c", "d"}:
        return f"{_is_not(noun)} something you can open."
    if scene.state_of(noun, "open"):
        return "That's already open."
    return _deed(scene, "open {}", "Open", noun)


def _close(scene: Scene, noun: str, second: str) -> Deed | str:
    del second
    if not _kinds(scene, noun) & {"c", "d"}:
        return f"{_is_not(noun)} something you can close."
    if not scene.state_of(noun, "open"):
        return "That's already closed."
    return _deed(scene, "close {}", "Close", noun)


def _has_no_lock(noun: str, verb: str) -> str:
    start = "You don't" if noun == PLAYER else "That doesn't"
    return f"{start} seem to be something you can {verb}."


def _lock(scene: Scene, noun: str, second: str) -> Deed | str:
    if not _kinds(scene, noun) & {"c", "d"}:
        return _has_no_lock(noun, "lock")
    if scene.has(noun, "locked"):
        return "That's locked at the moment."
    if scene.state_of(noun, "open"):
        return f"First you would have to close {scene.the(noun)}."
    if scene.book.keys.get(noun) != second:
        return "That doesn't seem to fit the lock."
    return _deed(scene, "lock {} with {}", "Lock", noun, second)


def _unlock(scene: Scene, noun: str, second: str) -> Deed | str:
    if not _kinds(scene, noun) & {"c", "d"}:
        return _has_no_lock(noun, "unlock")
    if not scene.has(noun, "locked"):
        return "That's unlocked at the moment."
    if scene.book.keys.get(noun) != second:
        return "That doesn't seem to fit the lock."
    return _deed(scene, "unlock {} with {}", "Unlock", noun, second)


def _eat(scene: Scene, noun: str, second: str) -> Deed | str:
    del second
    if scene.has(noun, "inedible") and scene.has(noun, "needs_cooking"):
        return f"You should cook {scene.the(noun)} first."
    if "f" not in _kinds(scene, noun) or scene.has(noun, "inedible"):
        return "You're plainly inedible." if noun == PLAYER else "That's plainly inedible."
    if not scene.held(noun):
        return take_first(scene, noun)
    return _deed(scene, "eat {}", "Eat", noun)


def go(scene: Scene, noun: str, second: str) -> Deed | str:
    """Go in a direction, or through a door."""
    del second
    if not noun:
        return "You'll have to say which compass direction to go in."
    exits = scene.book.exits.get(scene.room, {})
    if noun not in COMPASS:
        noun = next((way for way, (_, door) in exits.items() if door == noun), noun)
    if noun not in exits:
        return "You can't go that way."
    door = exits[noun][1]
    if door and not scene.state_of(door, "open"):
        return f"You have to open the {scene.book.entities[door].name} first."
    return Deed(f"go {noun}", "Go", noun)


def _examine(scene: Scene, noun: str, second: str) -> Deed | str:
    del second
    if noun in COMPASS or noun == PLAYER:
        return rooms.examine(scene, noun)
    return _deed(scene, "examine {}", "Examine", noun)


def _look(scene: Scene, noun: str, second: str) -> Deed | str:
    del scene, noun, second
    return Deed("look", "Look")


def _inventory(scene: Scene, noun: str, second: str) -> Deed | str:
    del scene, noun, second
    return Deed("inventory", "Inv")


def _drink(scene: Scene, noun: str, second: str) -> Deed | str:
    del second
    if not scene.has(noun, "drinkable"):
        return f"You cannot drink {scene.the(noun)}."
    return _deed(scene, "drink {}", "DrinkIt", noun)


def _slice(scene: Scene, noun: str, second: str) -> Deed | str:
    return _deed(scene, "slice {} with {}", "Slice", noun, second)


def _dice(scene: Scene, noun: str, second: str) -> Deed | str:
    return _deed(scene, "dice {} with {}", "Dice", noun, second)


def _chop(scene: Scene, noun: str, second: str) -> Deed | str:
    return _deed(scene, "chop {} with {}", "Chop", noun, second)


def _cook(scene: Scene, noun: str, second: str) -> Deed | str:
    if "f" not in _kinds(scene, noun):
        return "Can only cook food."
    if not _kinds(scene, second) & _HOT:
        return "Cooking requires a source of heat."
    return _deed(scene, "cook {} with {}", "Cook", noun, second)


def _prepare(scene: Scene, noun: str, second: str) -> Deed | str:
    del noun, second
    book = scene.book
    if scene.room != book.kitchen:
        return f"Can only prepare meal in the -= {book.entities[book.kitchen].name.title()} =-."
    for food, cooking, cutting in book.recipe:
        cooked, cut = scene.done_to(food)
        if not scene.held(food):
            return "You still miss something."
        if cooked != cooking:
            return "Something still needs to be cooked."
        if cut != cutting:
            return "Something still needs to be cut."
    return Deed("prepare meal", "Prepare", book.meal)


CHECKS: dict[str, Check] = {
    "Take": _take, "Remove": _take, "Drop": _drop, "PutOn": _put_on, "Insert": _insert,
    "Open": _open, "Close": _close, "Lock": _lock, "Unlock": _unlock, "Eat": _eat, "Go": go,
    "Examine": _examine, "Look": _look, "Inv": _inventory, "DrinkIt": _drink, "Cook": _cook,
    "Slice": _slice, "Dice": _dice, "Chop": _chop, "Prepare": _prepare,
}  # fmt: skip
"""Action to its check, which gets the scene and both nouns."""
