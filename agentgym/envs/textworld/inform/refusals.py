"""Answers to actions that never change anything."""

from __future__ import annotations

from agentgym.envs.textworld.inform import rooms
from agentgym.envs.textworld.inform.story import PLAYER
from agentgym.envs.textworld.inform.world_view import Scene

_FIXED = frozenset(("c", "s", "d"))
_ALWAYS = {
    "Wait": "Time passes.",
    "Yes": "That was a rhetorical question.",
    "No": "That was a rhetorical question.",
    "Wake": "The dreadful truth is, this is not a dream.",
    "WakeOther": "That seems unnecessary.",
    "Think": "What a good idea.",
    "Jump": "You jump on the spot.",
    "Sorry": "Oh, don't apologise.",
    "WaveHands": "You wave.",
    "Sleep": "You aren't feeling especially drowsy.",
    "TakeAll": "You have to be more specific!",
    "Exit": "But you aren't in anything at the moment.",
    "Burn": "This dangerous act would achieve little.",
    "Attack": "Violence isn't the answer to this one.",
    "Kiss": "You don't get much from that.",
    "Taste": "You taste nothing unexpected.",
    "Smell": "You smell nothing unexpected.",
    "Listen": "You hear nothing unexpected.",
    "Tie": "You would achieve nothing by this.",
    "Drink": "There's nothing suitable to drink here.",
    "Swing": "There's nothing sensible to swing here.",
    "Buy": "Nothing is on sale.",
    "Climb": "Little is to be achieved by that.",
    "LookUnder": "You find nothing of interest.",
    "Wear": "You can't wear that!",
    "ThrowAt": "Futile.",
    "Answer": "There is no reply.",
    "Ask": "There is no reply.",
    "Tell": "You talk to yourself a while.",
}
_POSTURES = {"stand": "stand on", "sit": "sit down on", "lie": "lie down on"}
_HELP = """Available commands:
  look:                describe the current room
  goal:                print the goal of this game
  inventory:           print player's inventory
  go <dir>:            move the player north, east, south or west
  examine ...:         examine something more closely
  eat ...:             eat edible food
  open ...:            open a door or a container
  close ...:           close a door or a container
  drop ...:            drop an object on the floor
  take ...:            take an object that is on the floor
  put ... on ...:      place an object on a supporter
  take ... from ...:   take an object from a container or a supporter
  insert ... into ...: place an object into a container
  lock ... with ...:   lock a door or a container with a key
  unlock ... with ...: unlock a door or a container with a key"""


def refuse(scene: Scene, action: str, noun: str, words: tuple[str, ...]) -> str:
    """Answer an action that does nothing.

    Args:
        scene: The state.
        action: Name of the action.
        noun: The thing it is done to, or nothing.
        words: The command.

    Returns:
        What the game says.
    """
    if action == "Goal":
        return scene.book.objective
    if action == "Help":
        return _HELP
    if action in ("Pull", "Push", "Turn"):
        return _move(scene, noun)
    if action in ("Touch", "Squeeze", "Rub", "Wave"):
        return _handle(scene, action, noun)
    if action == "Search":
        return _search(scene, noun)
    if action in ("Enter", "GetOff"):
        return _climb(scene, action, noun, words)
    if action in ("SwitchOn", "SwitchOff"):
        return f"{'You aren' if noun == PLAYER else 'It isn'}'t something you can switch."
    if action == "Disrobe":
        return f"You aren't wearing {_the(scene, noun)}."
    if action == "SetTo":
        return f"No, you can't set {'you' if noun == PLAYER else 'that'} to anything."
    if action == "AskFor":
        return rooms.inventory(scene)
    if action == "Consult":
        return f"You discover nothing of interest in {_the(scene, noun)}."
    if action == "Cut":
        return _cut(scene, noun)
    if action == "PushDir":
        return f"{_capital(scene, noun)} cannot be pushed from place to place."
    if action in ("Give", "Show") and noun:
        return _offer(scene, action, noun)
    return _ALWAYS.get(action, "That's not a verb I recognise.")


def _the(scene: Scene, thing: str) -> str:
    return "yourself" if thing == PLAYER else scene.the(thing)


def _capital(scene: Scene, thing: str) -> str:
    return "You" if thing == PLAYER else scene.capital_the(thing)


def _move(scene: Scene, noun: str) -> str:
    if noun == PLAYER:
        return "You might not like that."
    if scene.book.entities[noun].kinds & _FIXED:
        return "It is fixed in place."
    return "Nothing obvious happens."


def _handle(scene: Scene, action: str, noun: str) -> str:
    if action == "Wave":
        if scene.held(noun):
            return f"You wave {scene.the(noun)}."
        return f"But you aren't holding {'you' if noun == PLAYER else 'that'}."
    if action == "Rub":
        return f"You rub {_the(scene, noun)}."
    if action == "Squeeze":
        return "You might not like that." if noun == PLAYER else "You achieve nothing by this."
    return "You achieve nothing by this." if noun == PLAYER else "You feel nothing unexpected."


def _search(scene: Scene, noun: str) -> str:
    if noun == PLAYER or not scene.book.entities[noun].kinds & {"c", "s"}:
        return "You find nothing of interest."
    if scene.book.is_a(noun, "c") and not scene.state_of(noun, "open"):
        return f"You can't see inside, since {scene.the(noun)} is closed."
    return rooms.search(scene, noun)


def _climb(scene: Scene, action: str, noun: str, words: tuple[str, ...]) -> str:
    if not noun:
        return "You must supply a noun."
    if action == "GetOff":
        return f"But you aren't on {_the(scene, noun)} at the moment."
    how = next((way for word, way in _POSTURES.items() if word in words), "enter")
    start = "You're" if noun == PLAYER else "That's"
    return f"{start} not something you can {how}."


def _cut(scene: Scene, noun: str) -> str:
    if scene.book.kitchen:
        return (f"You need to specify how you want to cut {_the(scene, noun)}. Either slice, dice, "
                "or chop it.")  # fmt: skip
    return f"Cutting {'you' if noun == PLAYER else 'it'} up would achieve little."


def _offer(scene: Scene, action: str, noun: str) -> str:
    if action == "Give":
        return f"You can't give {scene.the(noun)} to yourself."
    return rooms.examine(scene, noun)
