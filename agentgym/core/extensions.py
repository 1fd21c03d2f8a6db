"""Combine several extensions to one, and add their orders to a family's language."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from agentgym.actions import parse, strip_think
from agentgym.core.delegation import Delegation
from agentgym.core.extension import Extension, TurnAnswers, read_order
from agentgym.core.language import Language, Reading
from agentgym.core.later import Later, MaybeLater, read
from agentgym.core.notes import Notes
from agentgym.core.outcome import Outcome, well_formed
from agentgym.core.summaries import Summaries
from agentgym.core.tries import Tries
from agentgym.errors import ConfigurationError


class Extensions(Extension):
    """Several extensions as one: the first is next to the policy, the last next to the family."""

    def __init__(self, parts: Sequence[Extension]) -> None:
        self.parts = tuple(parts)
        self.specs = tuple(spec for part in parts for spec in part.specs)  # type: ignore[misc]

    def __bool__(self) -> bool:
        """Return whether there is any."""
        return bool(self.parts)

    @staticmethod
    def of(
        worker_turns: int = 0, notes: int = 0, tries: int = 1, summary_every: int = 0
    ) -> Extensions:
        """Return the extensions that the arguments of an environment enable.

        Raises:
            ConfigurationError: A value is out of range, or two exclude each other.
        """
        if summary_every and worker_turns:
            raise ConfigurationError(
                "expected summary_every or worker_turns, got both: a worker's report is its "
                "summary already; leave one of them out"
            )
        parts: tuple[Extension | None, ...] = (
            Tries(tries) if tries != 1 else None,
            Summaries(summary_every) if summary_every != 0 else None,
            Notes(notes) if notes != 0 else None,
            Delegation(worker_turns) if worker_turns != 0 else None,
        )
        return Extensions([part for part in parts if part is not None])

    @property
    def delegation(self) -> Delegation | None:
        """The extension of planner and workers, if enabled."""
        return next((part for part in self.parts if isinstance(part, Delegation)), None)

    @property
    def info(self) -> Mapping[str, Any]:
        """Entries that all extensions add to the info dict."""
        return {key: value for part in self.parts for key, value in part.info.items()}

    def begin(self, goal: str, horizon: int) -> None:
        """Begin an episode with all of them."""
        for part in self.parts:
            part.begin(goal, horizon)

    def open(self, observation: str) -> str:
        """Begin the first try with all of them."""
        for part in reversed(self.parts):
            observation = part.open(observation)
        return observation

    def play(self, native: str, turn: TurnAnswers) -> Outcome:
        """Take one turn: each extension passes it on to the next."""
        return self._play(0, native, turn)

    def _play(self, place: int, native: str, turn: TurnAnswers) -> Outcome:
        if place == len(self.parts):
            return turn.act()

        later = self.parts[place + 1 :]

        def idle(observation: str, valid: bool) -> Outcome:
            outcome = turn.idle(observation, valid)
            for part in later:
                outcome = part.idled(outcome)
            return outcome

        def restart() -> str:
            observation = turn.restart()
            for part in reversed(later):
                observation = part.open(observation)
            return observation

        behind = TurnAnswers(lambda: self._play(place + 1, native, turn), idle, restart)
        return self.parts[place].play(native, behind)

    def describe(
        self, state: MaybeLater[str], plan: MaybeLater[int | None]
    ) -> tuple[Later[str], Later[int | None]]:
        """Return the text of the state and the turns of the plan, with all extensions.

        Both are computed when they are read, possibly after further turns. The extensions change
        with every turn, so this copies them.
        """
        copies = Extensions([copy.copy(part) for part in self.parts])
        return Later(lambda: copies.state(read(state))), Later(lambda: copies.turns(read(plan)))

    def state(self, state: str) -> str:
        """Return the text of a state with all extensions."""
        for part in reversed(self.parts):
            state = part.state(state)
        return state

    def turns(self, plan: int | None) -> int | None:
        """Return the number of turns of a plan with all extensions."""
        for part in reversed(self.parts):
            plan = part.turns(plan)
        return plan

    def turns_left(self, turns: int) -> int:
        """Return the number of turns left with all extensions."""
        for part in self.parts:
            turns = part.turns_left(turns)
        return turns

    def horizon(self, turns: int) -> int:
        """Return the turn budget with all extensions."""
        for part in self.parts:
            turns = part.horizon(turns)
        return turns

    def expert(self, action: str) -> str:
        """Return the expert's action with all extensions."""
        for part in reversed(self.parts):
            action = part.expert(action)
        return action

    def snapshot(self) -> Mapping[str, Any]:
        """Return the state of each extension, by its argument."""
        return {part.argument: part.snapshot() for part in self.parts}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a snapshot."""
        for part in self.parts:
            part.restore(state[part.argument])


def require_one_message_list(env: object) -> None:
    """Reject an environment with workers or summaries, for loops that only append messages.

    Such a loop would mix the messages of all agents, or keep those that a summary replaces.

    Raises:
        ConfigurationError: The environment has workers or summaries.
    """
    parts = getattr(getattr(env, "extensions", None), "parts", ())
    for part in parts:
        if isinstance(part, Delegation | Summaries):
            raise ConfigurationError(
                f"expected {part.argument}=0 here, where one list of messages grows turn by turn; "
                "play workers and summaries with agentgym eval, agentgym train, verl-agent or "
                "Inspect"
            )


class ExtendedLanguage(Language):
    """A family's language, with the orders of extensions.

    Args:
        inner: The family's language.
        extensions: The extensions that define the orders.

    Raises:
        ConfigurationError: An action of the family has the name of an order.
    """

    def __init__(self, inner: Language, extensions: Extensions) -> None:
        inner_names = {spec.name.lower() for spec in inner.specs}
        for part in extensions.parts:
            if clash := sorted(inner_names & {spec.name for spec in part.specs}):
                raise ConfigurationError(
                    f"expected {part.argument} with an environment without its own action "
                    f"named {' or '.join(clash)}; play it without"
                )
        super().__init__((*inner.specs, *extensions.specs), inner.grammar, inner.length)
        self._inner = inner
        self._orders = Language(extensions.specs, inner.grammar, inner.length)
        self._names = frozenset(spec.name for spec in extensions.specs)

    def understand(self, action: str) -> Reading:
        """Parse model text; text without an order is parsed by the family's language."""
        order = self._order(well_formed(action)) if isinstance(action, str) else None
        if order is not None:
            return order
        reading = self._inner.read(action)
        # Parse again with all actions: the family's error message does not list the orders.
        full_reading = Reading(*super().understand(action)) if reading.problem else reading
        return full_reading if full_reading.problem else reading

    def write(self, native: str) -> str:
        """Write a native action in the grammar."""
        order = read_order(native, self._names)
        return self._inner.write(native) if order is None else super().write(native)

    def prompt(self) -> str:
        """Return the paragraph that explains to a language model how to write actions."""
        return f"{self._inner.prompt()}\n\n{self._orders.prompt()}"

    def tools(self) -> list[dict[str, Any]]:
        """Describe the actions as OpenAI tools, in new objects."""
        return [*self._inner.tools(), *self._orders.tools()]

    def _order(self, action: str) -> Reading | None:
        """Return the order in a text, or None if its first action is not an order."""
        if self.native:
            text, trailing = strip_think(action, self.specs), ""
        else:
            # Parse with the family's actions, too: only the first action of a text counts, and an
            # order inside another action's argument is just text.
            parsed = parse(action, self.specs, self.grammar)
            text, trailing = parsed.native, parsed.trailing
        order = read_order(text, self._names)
        return None if order is None else Reading(f"{order.name} {order.text}".strip(), trailing)
