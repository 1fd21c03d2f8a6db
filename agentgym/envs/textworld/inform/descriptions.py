"""What the game says about a place, a thing, or what the player carries."""

from __future__ import annotations

from agentgym.envs.textworld.inform.brackets import say
from agentgym.envs.textworld.inform.story import COMPASS, FIXED, INVENTORY, PLAYER
from agentgym.envs.textworld.inform.world_view import WorldView


def look(view: WorldView) -> str:
    """Describe the room: its name, its description, and what lies on the floor."""
    room = view.story.entities[view.room]
    view.prefixed = True
    text = f"-= {room.name.title()} =-\n{say(room.text, view, room.id)}"
    entities = view.story.entities
    floor = [thing for thing in view.contents(view.room)
             if thing != PLAYER and not entities[thing].kinds & FIXED]  # fmt: skip
    if floor:
        text += f"\n\nThere is {view.listing(floor)} on the floor."
    view.prefixed = False
    return text


def last_seen(view: WorldView) -> str:
    """Return the thing in the room that ``it`` stands for once the room has been described."""
    things = [thing for thing in view.contents(view.room) if thing != PLAYER]
    return things[-1] if things else ""


def inventory(view: WorldView) -> str:
    """List what the player carries."""
    held = view.contents(INVENTORY)
    if not held:
        return "You are carrying nothing."
    view.prefixed = True
    text = f"You are carrying: {view.listing(held)}."
    view.prefixed = False
    return text


def examine(view: WorldView, thing: str) -> str:
    """Describe a thing, and what is in or on it."""
    if thing in COMPASS:
        return "You see nothing unexpected in that direction."
    if thing == PLAYER:
        return "As good-looking as ever."  # Inform's own, TextWorld does not describe the player
    entity = view.story.entities[thing]
    view.prefixed = True
    said = [say(entity.text, view, thing)] if entity.text else []
    inside = view.contents(thing)
    if "c" in entity.kinds and view.state_of(thing, "open"):
        if inside:
            said.append(f"In {contents(view, thing)}")
        elif not said:
            said.append(f"{view.capital_the(thing)} is empty.")
    elif "s" in entity.kinds and inside:
        said.append(f"On {contents(view, thing)}")
    if not said:
        said.append(f"You see nothing special about {view.the(thing)}.")
    view.prefixed = False
    return "\n\n".join(said)


def contents(view: WorldView, holder: str) -> str:
    """Say ``the box is a key and an apple.`` with the verb that fits."""
    inside = view.contents(holder)
    was, view.prefixed = view.prefixed, True
    listed = view.listing(inside)
    view.prefixed = was
    return f"{view.the(holder)} {'is' if len(inside) == 1 else 'are'} {listed}."


def search(view: WorldView, thing: str) -> str:
    """Say what is in or on a thing that can be searched."""
    kinds = view.story.entities[thing].kinds
    if view.contents(thing):
        return f"{'In' if 'c' in kinds else 'On'} {contents(view, thing)}"
    if "c" in kinds:
        return f"{view.capital_the(thing)} is empty."
    return f"There is nothing on {view.the(thing)}."
