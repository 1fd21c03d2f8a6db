"""Descriptions of rooms, of things, and of the inventory."""

from __future__ import annotations

from agentgym.envs.textworld.inform.brackets import say
from agentgym.envs.textworld.inform.story import COMPASS, FIXED, INVENTORY, PLAYER
from agentgym.envs.textworld.inform.world_view import WorldView


def look(view: WorldView) -> str:
    """Describe the room: its name, its description, and the things on the floor."""
    room = view.story.entities[view.room]
    view.prefixed = True
    text = f"-= {room.name.title()} =-\n{say(room.text, view, room.id)}"
    entities = view.story.entities
    floor = [child for child in view.contents(view.room)
             if child != PLAYER and not entities[child].kinds & FIXED]  # fmt: skip
    if floor:
        text += f"\n\nThere is {view.listing(floor)} on the floor."
    view.prefixed = False
    return text


def last_seen(view: WorldView) -> str:
    """Return the thing in the room that ``it`` stands for once the room has been described."""
    children = [child for child in view.contents(view.room) if child != PLAYER]
    return children[-1] if children else ""


def inventory(view: WorldView) -> str:
    """List what the player carries."""
    carried = view.contents(INVENTORY)
    if not carried:
        return "You are carrying nothing."
    view.prefixed = True
    text = f"You are carrying: {view.listing(carried)}."
    view.prefixed = False
    return text


def examine(view: WorldView, noun: str) -> str:
    """Describe a thing, and the things in or on it."""
    if noun in COMPASS:
        return "You see nothing unexpected in that direction."
    if noun == PLAYER:
        return "As good-looking as ever."  # Inform's own, TextWorld does not describe the player
    entity = view.story.entities[noun]
    view.prefixed = True
    paragraphs = [say(entity.text, view, noun)] if entity.text else []
    inside = view.contents(noun)
    if "c" in entity.kinds and view.state_of(noun, "open"):
        if inside:
            paragraphs.append(f"In {contents(view, noun)}")
        elif not paragraphs:
            paragraphs.append(f"{view.capital_the(noun)} is empty.")
    elif "s" in entity.kinds and inside:
        paragraphs.append(f"On {contents(view, noun)}")
    if not paragraphs:
        paragraphs.append(f"You see nothing special about {view.the(noun)}.")
    view.prefixed = False
    return "\n\n".join(paragraphs)


def contents(view: WorldView, holder: str) -> str:
    """Say ``the box is a key and an apple.`` with the verb that fits."""
    inside = view.contents(holder)
    was, view.prefixed = view.prefixed, True
    listed = view.listing(inside)
    view.prefixed = was
    return f"{view.the(holder)} {'is' if len(inside) == 1 else 'are'} {listed}."


def search(view: WorldView, noun: str) -> str:
    """List the things in or on a thing that can be searched."""
    kinds = view.story.entities[noun].kinds
    if view.contents(noun):
        return f"{'In' if 'c' in kinds else 'On'} {contents(view, noun)}"
    if "c" in kinds:
        return f"{view.capital_the(noun)} is empty."
    return f"There is nothing on {view.the(noun)}."
