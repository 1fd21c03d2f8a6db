"""One play of a household: commands in, text out, equal to textworld's ``PddlEnv`` at every step.

A command does something exactly when it is among :meth:`HouseholdSession.admissible`; any other
text is only looked up, never parsed, so no text can harm the engine.
"""

from __future__ import annotations

from bisect import bisect
from typing import Any

from agentgym.envs.alfworld.engine import text
from agentgym.envs.alfworld.engine.actions import (
    HouseholdAction,
    go_action,
    local_actions,
    perform,
    view,
)
from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.engine.state import HouseholdState


class HouseholdSession:
    """One play of a household; many sessions may share a household."""

    def __init__(self, household: Household) -> None:
        self.household = household
        self._local: dict[str, HouseholdAction] | None
        self._admissible: tuple[str, ...] | None
        self._won: bool
        self.restore(household.start)

    def intro(self) -> str:
        """Begin anew and return the first text, with banner and task."""
        household = self.household
        self.restore(household.start)
        if self.state.place in household.receptacles_at:
            scene = view(household, self.state)
        else:
            scene = text.room(household.called(household.intro))
        return text.intro(scene, household.game.goal)

    def step(self, command: str) -> tuple[str, float, bool]:
        """Execute a command, which may be any text; surrounding white space is ignored.

        Returns:
            What happens, the score (1.0 while the goal is fulfilled) and whether the game is over.
            As in the original, commands still work after that, and may undo it.
        """
        return self.act(self.find(command))

    def act(self, action: HouseholdAction | None) -> tuple[str, float, bool]:
        """Execute the action that :meth:`find` returned; for None nothing happens."""
        answer = text.NOTHING_HAPPENS
        if action is not None:
            state, answer = perform(self.household, self.state, action)
            if state is not self.state:
                self.restore(state)
        return answer, float(self._won), self._won

    def find(self, command: str) -> HouseholdAction | None:
        """Return the action of a command, or None if it does nothing; nothing is carried out."""
        command = command.strip()
        if len(command) > self.household.longest:
            return None  # do not even look it up
        action = self._commands().get(command)
        return action or go_action(self.household, self.state, command)

    def admissible(self) -> tuple[str, ...]:
        """Return the commands that do something now, sorted."""
        if self._admissible is None:
            local = sorted(self._commands())
            split = bisect(local, "go to ")
            go_commands = self.household.go_commands(self.state.place)
            self._admissible = (*local[:split], *go_commands, *local[split:])
        return self._admissible

    @property
    def won(self) -> bool:
        """Whether the goal is fulfilled."""
        return self._won

    @property
    def done(self) -> bool:
        """Whether the game is over; there is no way to lose."""
        return self._won

    def snapshot(self) -> HouseholdState:
        """Return the state, an immutable value that can be pickled."""
        return self.state

    def restore(self, state: HouseholdState) -> None:
        """Continue from a state of the same household."""
        self.state = state
        self._local = None
        self._admissible = None
        self._won = self.household.goal.satisfied(state)

    def state_text(self) -> str:
        """Return a text that is equal exactly for equal states of a household.

        It names the differences from the start, which the player has caused, and nothing hidden.
        """
        state, start = self.state, self.household.start
        parts: list[object] = [state.place, state.hand]
        for receptacle, (objects_now, then) in enumerate(
            zip(state.contents, start.contents, strict=True)
        ):
            if objects_now != then:
                parts.append((receptacle, sorted(set(objects_now) ^ set(then))))
        for true, start_facts in zip(state.facts(), start.facts(), strict=True):
            parts.append([] if true is start_facts else sorted(true ^ start_facts))
        return repr(parts)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without derived values."""
        return {"household": self.household, "state": self.state}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        """Restore what was pickled."""
        self.household = saved["household"]
        self.restore(saved["state"])

    def _commands(self) -> dict[str, HouseholdAction]:
        """Return the commands that do something here."""
        if self._local is None:
            self._local = local_actions(self.household, self.state)
        return self._local
