"""What the game says about a place, a thing, or what the player carries."""

from __future__ import annotations

from agentgym.envs.textworld.inform.brackets import say
from agentgym.envs.textworld.inform.nouns import COMPASS
from agentgym.envs.textworld.inform.story import INVENTORY, PLAYER
from agentgym.envs.textworld.inform.world_view import Scene


def look(scene: Scene) -> str:
    """Describe the room: its name, its description, and what lies on the floor."""
    room = scene.book.entities[scene.room]
    scene.prefixed = True
    text = f"-= {room.name.title()} =-\n{say(room.text, scene, room.id)}"
    entities = scene.book.entities
    floor = [thing for thing in scene.contents(scene.room)
             if thing != PLAYER and not entities[thing].kinds & {"c", "s", "d"}]  # fmt: skip
    if floor:
        text += f"\n\nThere is {scene.listing(floor)} on the floor."
    scene.prefixed = False
    return text


def last_seen(scene: Scene) -> str:
    """Return the thing in the room that ``it`` stands for once the room has been described."""
    things = [thing for thing in scene.contents(scene.room) if thing != PLAYER]
    return things[-1] if things else ""


def inventory(scene: Scene) -> str:
    """List what the player carries."""
    held = scene.contents(INVENTORY)
    if not held:
        return "You are carrying nothing."
    scene.prefixed = True
    text = f"You are carrying: {scene.listing(held)}."
    scene.prefixed = False
    return text


def examine(scene: Scene, thing: str) -> str:
    """Describe a thing, and what is in or on it."""
    if thing in COMPASS:
        return "You see nothing unexpected in that direction."
    if thing == PLAYER:
        return "As good-looking as ever."
    entity = scene.book.entities[thing]
    scene.prefixed = True
    said = [say(entity.text, scene, thing)] if entity.text else []
    inside = scene.contents(thing)
    if "c" in entity.kinds and scene.state_of(thing, "open"):
        if inside:
            said.append(f"In {contents(scene, thing)}")
        elif not said:
            said.append(f"{scene.capital_the(thing)} is empty.")
    elif "s" in entity.kinds and inside:
        said.append(f"On {contents(scene, thing)}")
    if not said:
        said.append(f"You see nothing special about {scene.the(thing)}.")
    scene.prefixed = False
    return "\n\n".join(said)


def contents(scene: Scene, holder: str) -> str:
    """Say ``the box is a key and an apple.`` with the verb that fits."""
    inside = scene.contents(holder)
    was, scene.prefixed = scene.prefixed, True
    listed = scene.listing(inside)
    scene.prefixed = was
    return f"{scene.the(holder)} {'is' if len(inside) == 1 else 'are'} {listed}."


def search(scene: Scene, thing: str) -> str:
    """Say what is in or on a thing that can be searched."""
    kinds = scene.book.entities[thing].kinds
    if scene.contents(thing):
        return f"{'In' if 'c' in kinds else 'On'} {contents(scene, thing)}"
    if "c" in kinds:
        return f"{scene.capital_the(thing)} is empty."
    return f"There is nothing on {scene.the(thing)}."
