"""The state as Inform sees it: the ordered object tree, and what is open, locked or cooked.

Facts have no order, but Inform lists things in the order of its object tree, where the thing moved
last comes first. A ``WorldView`` follows the facts of an episode and keeps that order.
"""

from __future__ import annotations

from agentgym.envs.textworld.inform.story import COOKED, CUT, INVENTORY, PLAYER, Story
from agentgym.envs.textworld.session import Fact

Snapshot = tuple[frozenset[Fact], tuple[tuple[str, tuple[str, ...]], ...]]

_PLACES = frozenset(("at", "in", "on"))
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
            "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen",
            "eighteen", "nineteen")  # fmt: skip
_TENS = ("zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty",
         "ninety")  # fmt: skip


class WorldView:
    """The state of an episode."""

    __slots__ = ("children", "facts", "noticed", "parent", "prefixed", "room", "states", "story")

    def __init__(self, story: Story, facts: frozenset[Fact] | None = None) -> None:
        self.story = story
        self.facts: frozenset[Fact] = frozenset()
        self.children: dict[str, list[str]] = {}
        self.parent: dict[str, str] = {}
        self.states: dict[str, set[str]] = {}
        self.room = ""
        self.prefixed = False
        self.noticed = ""
        self.follow(story.facts)
        if facts is not None:
            self.follow(facts)

    def follow(self, facts: frozenset[Fact]) -> None:
        """Take over all facts that hold after an action."""
        removed, new = self.facts - facts, facts - self.facts
        self.facts = facts
        for fact in removed:
            if len(fact) == 2:
                self.states[fact[1]].discard(fact[0])
            elif fact[0] in _PLACES and fact[1] != PLAYER:
                self.children[fact[2]].remove(fact[1])
                del self.parent[fact[1]]
        moved, room = [], self.room
        for fact in new:
            if len(fact) == 2:
                self.states.setdefault(fact[1], set()).add(fact[0])
            elif fact[0] in _PLACES:
                if fact[1] == PLAYER:
                    self.room = fact[2]
                elif fact[1] in self.story.entities:
                    moved.append(fact)
        # Several things move together only at the start, where the last created goes first.
        for fact in sorted(moved, key=lambda f: -self.story.entities[f[1]].rank):
            self._put(fact[1], fact[2])
        if self.room != room:
            self._arrive(room)

    def _arrive(self, old_room: str) -> None:
        """Move the player to the front of a room, and then each of its doors that is elsewhere.

        Inform keeps one object for both sides of a door and brings it along.
        """
        if old_room:
            self.children[old_room].remove(PLAYER)
        else:
            for door, home in self.story.homes.items():
                self._put(door, home)
        self.children.setdefault(self.room, []).insert(0, PLAYER)
        for door in self.story.doors.get(self.room, ()):
            if self.parent[door] != self.room or not old_room:
                self.children[self.parent[door]].remove(door)
                self._put(door, self.room)

    def _put(self, child: str, holder: str) -> None:
        """Make a thing the first child of a holder."""
        self.children.setdefault(holder, []).insert(0, child)
        self.parent[child] = holder

    def snapshot(self) -> Snapshot:
        """Return the state as a value that can be pickled."""
        return self.facts, tuple((holder, tuple(self.children[holder]))
                                 for holder in sorted(self.children))  # fmt: skip

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a snapshot of this game."""
        facts, children = snapshot
        self.follow(facts)
        self.children = {holder: list(contents) for holder, contents in children}
        self.parent = {child: holder for holder, contents in children for child in contents}
        self.parent.pop(PLAYER, None)

    # The interface that ``brackets.say`` uses.

    def state_of(self, entity: str, state: str) -> bool:
        """Tell whether an entity is open, closed, locked or unlocked; locked things are closed."""
        states = self.states.get(entity, ())
        if state == "closed":
            return "open" not in states
        if state == "unlocked":
            return "locked" not in states
        return state in states

    def has(self, entity: str, state: str) -> bool:
        """Tell whether a fact with one argument holds of an entity."""
        return state in self.states.get(entity, ())

    def contents(self, holder: str) -> list[str]:
        """Return the children of an object, first child first."""
        return self.children.get(holder, [])

    def carries(self, noun: str) -> bool:
        """Tell whether the player carries a thing."""
        return self.parent.get(noun) == INVENTORY

    def done_to(self, food: str) -> tuple[str, str]:
        """Return how a food was cooked, or ``raw``, and how it was cut, or ``uncut``."""
        states = self.states.get(food, ())
        cooking = next((state for state in COOKED if state in states), "raw")
        return cooking, next((state for state in CUT if state in states), "uncut")

    def shows(self, noun: str) -> bool:
        """Return whether the content of a thing is visible."""
        entity = self.story.entities.get(noun)
        if entity is None:
            return False
        return "s" in entity.kinds or ("c" in entity.kinds and self.has(noun, "open"))

    def printed_name(self, noun: str) -> str:
        """Return the name of a thing; of food being described, with its preparation."""
        entity = self.story.entities[noun]
        # "fried apple" where it is described or listed, "apple" where something is done with it.
        if not self.prefixed or "f" not in entity.kinds or not self.story.kitchen:
            return entity.name
        cooking, cutting = self.done_to(noun)
        if self.has(noun, "needs_cooking"):
            cooking = "raw "
        elif self.has(noun, "burned"):
            cooking = "burned "
        else:
            cooking = "" if cooking == "raw" else f"{cooking} "
        return f"{'' if cutting == 'uncut' else cutting + ' '}{cooking}{entity.name}"

    def a(self, noun: str) -> str:
        """Return a name with its indefinite article."""
        entity, name = self.story.entities[noun], self.printed_name(noun)
        if not entity.definite:
            return name
        article = entity.article or ("an" if name[:1] in "aeiouAEIOU" and name else "a")
        return f"{article} {name}"

    def the(self, noun: str) -> str:
        """Return a name with its definite article."""
        entity, name = self.story.entities[noun], self.printed_name(noun)
        return f"{entity.definite} {name}" if entity.definite else name

    def capital_the(self, entity: str) -> str:
        """Return ``the`` as the beginning of a sentence; a door's name is left as it is."""
        text = self.the(entity)
        return text[:1].upper() + text[1:] if self.story.entities[entity].definite else text

    def listing(self, entities: list[str], article: str = "a") -> str:
        """Return things as a sentence: ``a key, an apple and some milk``."""
        name = self.a if article == "a" else self.the if article == "the" else self.printed_name
        names = [name(entity) for entity in entities]
        if len(names) < 2:
            return names[0] if names else "nothing"
        return f"{', '.join(names[:-1])} and {names[-1]}"


def number_words(number: int) -> str:
    """Return a number below a hundred in words, as Inform spells it."""
    if number < 20:
        return _NUMBERS[number]
    tens, units = divmod(number, 10)
    return _TENS[tens % 10] + (f"-{_NUMBERS[units]}" if units else "")
