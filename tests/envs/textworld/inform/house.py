"""A small house as a game's JSON; its answers in the tests were read off the compiled game."""

from __future__ import annotations

import re
from typing import Any

from agentgym.envs.textworld.inform.narrator import Narrator, StateAfter
from agentgym.envs.textworld.inform.story import Story

Facts = frozenset[tuple[str, ...]]
STATES = {"open": "open", "close": "closed", "unlock": "closed", "lock": "locked"}
LOGIC = """
type t {
}
type o : t {
}
type k : o {
}
type f : o {
}
type c : t {
}
type s : t {
}
type d : t {
}
type r {
}
"""
OPENABLE = "[if open]It is open.[else if closed]It is closed.[otherwise]It is locked.[end if]"
KITCHEN = (
    "You are in a kitchen.\n\n There is a [if c_0 is locked]locked[else if c_0 is open]opened"
    "[otherwise]closed[end if] chest.[if c_0 is open and there is something in the c_0] The chest "
    "contains [a list of things in the c_0].[end if][if c_0 is open and the c_0 contains nothing] "
    "Empty![end if] A table.[if there is something on the s_0] On it you see [a list of things on "
    "the s_0].[end if][if there is nothing on the s_0] It is bare.[end if]\n\nThere is "
    "[if d_0 is open]an open[otherwise]a closed[end if] oak door to the east."
)
INFOS: dict[str, tuple[str, str]] = {
    "P": ("", ""),
    "I": ("", ""),
    "r_0": ("kitchen", KITCHEN),
    "r_1": ("hall", "You are in a hall.\n\n\n\nThe 'way out' is the door."),
    "d_0": ("oak door", f"A heavy door. {OPENABLE}"),
    "c_0": ("chest", f"The chest looks strong. {OPENABLE}"),
    "s_0": ("table", "The table is shaky."),
    "k_0": ("brass key", "A key."),
    "o_0": ("old coin", "A coin."),
    "o_1": ("old umbrella", "An umbrella."),
    "f_0": ("apple", "That's a green apple!"),
}
WORLD = (
    "at P r_0", "at c_0 r_0", "at s_0 r_0", "closed d_0", "edible f_0", "in k_0 I", "in o_1 c_0",
    "link r_0 d_0 r_1", "link r_1 d_0 r_0", "locked c_0", "match k_0 c_0", "on f_0 s_0",
    "on o_0 s_0", "west_of r_0 r_1", "east_of r_1 r_0",
)  # fmt: skip
WAYS = {"go east": "r_1", "go west": "r_0"}
BY_NAME = {name: entity for entity, (name, _) in INFOS.items() if name}


def kind(entity: str) -> str:
    """Return the type of an entity."""
    return entity.split("_")[0]


def game() -> dict[str, Any]:
    """Return the game as JSON."""
    facts = [fact.split() for fact in sorted(WORLD)]
    return {
        "KB": {"logic": LOGIC},
        "objective": "Find the\n'exit'.",
        "quests": [{"reward": 2, "optional": False, "repeatable": False}],
        "world": [{"name": name, "arguments": [{"name": a, "type": kind(a)} for a in arguments]}
                  for name, *arguments in facts],
        "infos": [[entity, {"name": name or None, "desc": desc or None, "indefinite": None,
                            "definite": None, "synonyms": None}]
                  for entity, (name, desc) in INFOS.items()],
    }  # fmt: skip


class House:
    """The house and someone in it, with just enough rules for the tests."""

    def __init__(self) -> None:
        self.narrator = Narrator(Story.of(game()))
        self.commands: list[str] = []

    def __call__(self, line: str) -> str:
        """Type a line."""
        return self.narrator.play(line, self.do)

    def do(self, command: str) -> StateAfter | None:
        """Carry out a command; eating the apple wins two points and the game."""
        self.commands.append(command)
        facts = self.narrator.view.facts
        won = command == "eat apple"
        if command in WAYS:
            facts = move(facts, "P", "at", WAYS[command])
        elif command not in ("look", "inventory", ""):
            facts = self.changed(facts, command)
        return StateAfter(facts, 2 * won, won, False)

    def changed(self, facts: Facts, command: str) -> Facts:
        """Return the facts after a command about a thing."""
        verb, _, remainder = command.partition(" ")
        names = re.split(r" (?:from|on|into|with) ", remainder)
        entity, *holders = (BY_NAME[name] for name in names)
        if verb in STATES:
            return facts - {(state, entity) for state in STATES.values()} | {(STATES[verb], entity)}
        if verb == "take":
            return move(facts, entity, "in", "I")
        if verb == "drop":
            return move(facts, entity, "at", self.narrator.view.room)
        if verb == "eat":
            return move(facts, entity, "", "")
        if verb in ("put", "insert"):
            return move(facts, entity, "on" if verb == "put" else "in", holders[0])
        return facts


def move(facts: Facts, entity: str, how: str, where: str) -> Facts:
    """Return the facts with a thing elsewhere."""
    other_facts = frozenset(
        fact for fact in facts if fact[1] != entity or fact[0] not in ("at", "in", "on")
    )
    return other_facts | {(how, entity, where)} if how else other_facts
