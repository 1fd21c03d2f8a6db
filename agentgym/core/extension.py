"""What any environment of text can be played with besides its own rules: `Extension`.

An extension adds actions, called orders, or changes how an episode goes on. It stands between the
policy and the family: it sees each native action first, and each of the family's answers last. It
is chosen by an argument of the environment, so records, forks, evaluation and training know it.
The extensions there are: notes (`agentgym.core.notes`), planner and workers
(`agentgym.core.delegation`), and further tries (`agentgym.core.tries`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from agentgym.actions import ActionSpec, parse, strip_think
from agentgym.core.language import Language, Reading
from agentgym.core.outcome import Outcome, bounded, well_formed
from agentgym.errors import ConfigurationError

LONGEST = 1000
"""Most characters of the words of an order."""


class Order(NamedTuple):
    """An action that is none of the environment."""

    name: str
    """Its first word."""
    text: str
    """Its further words, in one line of at most `LONGEST` characters; empty if there are none."""


def read_order(native: str, names: Collection[str]) -> Order | None:
    """Return the order that a native action is; None if it is an action of the environment.

    The whole action has to begin with the word: inside of a command to a shell it is none.

    Args:
        native: The action.
        names: First words of orders.
    """
    word, *rest = native.split(maxsplit=1) or [""]
    if word.lower() not in names:
        return None
    text = " ".join(rest[0].split()) if rest else ""
    return Order(word.lower(), bounded(text, LONGEST, brackets=False))


class Turn(NamedTuple):
    """What answers a turn of a policy."""

    act: Callable[[], Outcome]
    """Has the environment answer it."""
    idle: Callable[[str, bool], Outcome]
    """Reports a turn in which the environment does nothing, from what the policy is told and
    whether its action was valid."""
    restart: Callable[[], str]
    """Begins the same task anew, in the same world; returns the first observation."""


class Extension:
    """Something that an environment is played with.

    A subclass overrides what it changes. What it remembers of an episode stands in the private
    attributes that `remembers` names, which hold plain values.
    """

    argument: ClassVar[str] = ""
    """The argument of an environment that asks for it."""
    specs: ClassVar[tuple[ActionSpec, ...]] = ()
    """Its orders."""
    remembers: ClassVar[tuple[str, ...]] = ()
    """Names of private attributes, without their underscore."""

    @property
    def info(self) -> Mapping[str, Any]:
        """What it adds to the info dict of each turn."""
        return {}

    def begin(self, goal: str, observation: str, horizon: int) -> None:
        """Begin an episode, of at most so many turns."""
        return

    def again(self, observation: str) -> str:
        """Begin another try of the same task; return what its first observation becomes."""
        return observation

    def play(self, native: str, turn: Turn) -> Outcome:
        """Take one turn."""
        return turn.act()

    def told(self, state: str, plan: int | None) -> tuple[str, int | None]:
        """Return what info and hooks are told of the engine's state and of its expert's plan."""
        return state, self.turns(plan)

    def turns(self, plan: int | None) -> int | None:
        """Return in how many turns from now a plan of so many actions is played."""
        return plan

    def expert(self, action: str) -> str:
        """Return what is done where the environment's expert would take an action."""
        return action

    def snapshot(self) -> Mapping[str, Any]:
        """Return what it remembers of the episode, as plain values."""
        return {name: getattr(self, f"_{name}") for name in self.remembers}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        for name in self.remembers:
            setattr(self, f"_{name}", state[name])


class Extensions(Extension):
    """Several extensions as one: the first stands next to the policy, the last to the family."""

    def __init__(self, parts: Sequence[Extension]) -> None:
        self.parts = tuple(parts)
        self.specs = tuple(spec for part in parts for spec in part.specs)  # type: ignore[misc]

    def __bool__(self) -> bool:
        """Return whether there is any."""
        return bool(self.parts)

    @property
    def info(self) -> Mapping[str, Any]:
        """What all of them add."""
        return {key: value for part in self.parts for key, value in part.info.items()}

    def begin(self, goal: str, observation: str, horizon: int) -> None:
        """Begin an episode with all of them."""
        for part in self.parts:
            part.begin(goal, observation, horizon)

    def play(self, native: str, turn: Turn) -> Outcome:
        """Take one turn: each answers it through those behind it."""
        return self._play(0, native, turn)

    def _play(self, place: int, native: str, turn: Turn) -> Outcome:
        if place == len(self.parts):
            return turn.act()

        def restart() -> str:
            observation = turn.restart()
            for part in reversed(self.parts[place + 1 :]):
                observation = part.again(observation)
            return observation

        behind = Turn(lambda: self._play(place + 1, native, turn), turn.idle, restart)
        return self.parts[place].play(native, behind)

    def told(self, state: str, plan: int | None) -> tuple[str, int | None]:
        """Return what all of them tell."""
        for part in reversed(self.parts):
            state, plan = part.told(state, plan)
        return state, plan

    def turns(self, plan: int | None) -> int | None:
        """Return how long a plan takes with all of them."""
        for part in reversed(self.parts):
            plan = part.turns(plan)
        return plan

    def expert(self, action: str) -> str:
        """Return what is done with all of them."""
        for part in reversed(self.parts):
            action = part.expert(action)
        return action

    def snapshot(self) -> Mapping[str, Any]:
        """Return what each remembers, by its argument."""
        return {part.argument: part.snapshot() for part in self.parts}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        for part in self.parts:
            part.restore(state[part.argument])


class ExtendedLanguage(Language):
    """A family's language, with the orders of extensions.

    Args:
        inner: The family's language.
        extensions: Whose orders they are.

    Raises:
        ConfigurationError: The family has an action of such a name itself.
    """

    def __init__(self, inner: Language, extensions: Extensions) -> None:
        own = {spec.name.lower() for spec in inner.specs}
        for part in extensions.parts:
            if clash := sorted(own & {spec.name for spec in part.specs}):
                raise ConfigurationError(
                    f"expected {part.argument} with an environment that has no action of its own "
                    f"named {' or '.join(clash)}; play it without"
                )
        super().__init__((*inner.specs, *extensions.specs), inner.grammar, inner.length)
        self._inner = inner
        self._orders = Language(extensions.specs, inner.grammar, inner.length)
        self._names = frozenset(spec.name for spec in extensions.specs)

    def read(self, action: str) -> Reading:
        """Understand model text; what is no order is the family's to read."""
        found = self._order(well_formed(action)) if isinstance(action, str) else None
        return self._inner.read(action) if found is None else found

    def write(self, native: str) -> str:
        """Write a native action in the grammar."""
        order = read_order(native, self._names)
        return self._inner.write(native) if order is None else super().write(native)

    def prompt(self) -> str:
        """Return the paragraph that tells a language model how to write actions."""
        return f"{self._inner.prompt()}\n\n{self._orders.prompt()}"

    def tools(self) -> list[dict[str, Any]]:
        """Describe the actions as OpenAI tools; fresh objects."""
        return [*self._inner.tools(), *self._orders.tools()]

    def _order(self, action: str) -> Reading | None:
        """Return the order of a text, if it is one."""
        if self.native:
            text, trailing = strip_think(action), ""
        else:
            # Among the family's actions: the first one counts, and an order inside of it is text.
            found = parse(action, self.specs, self.grammar)
            text, trailing = found.native, found.trailing
        order = read_order(text, self._names)
        return None if order is None else Reading(f"{order.name} {order.text}".strip(), trailing)
