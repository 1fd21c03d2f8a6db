"""The voice of a game: parses commands, has them executed, and prints Inform's answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple
from typing import Any, NamedTuple

from agentgym.envs.textworld.inform import descriptions
from agentgym.envs.textworld.inform.action_rules import AcceptedAction, resolve_action
from agentgym.envs.textworld.inform.parser import ParsedRequest, Parser, Pending
from agentgym.envs.textworld.inform.story import PLAYER, Story
from agentgym.envs.textworld.inform.world_view import WorldView, number_words
from agentgym.envs.textworld.session import ONE_THING, Fact
from agentgym.support.text_lines import split_lines

FREE = frozenset(("Score", "Pronouns"))
"""Actions outside the world, which take no turn."""

HARMLESS = frozenset(("Examine", "Look", "Inv", "Cook"))
"""Actions that a game tells of even where its rules do not know them: nothing changes."""

_COOKED = {"stove": "fried", "oven": "roasted", "toaster": "grilled"}


class StateAfter(NamedTuple):
    """The state after a command was carried out."""

    facts: frozenset[Fact]
    """Every fact that holds."""
    score: int
    """Points so far."""
    won: bool
    """Whether the game is won."""
    lost: bool
    """Whether the game is lost."""


Execute = Callable[[str], "StateAfter | None"]
"""Carries out one of the game's own commands; None if it is not admissible now."""

WAIT = ""
"""The command of a turn without an action; an engine that ignores it returns None."""


class Narrator:
    """Tell one episode.

    Args:
        story: The game.
        one_thing: Whether a command for several things at once is turned down, and forgotten.
    """

    def __init__(self, story: Story, *, one_thing: bool = False) -> None:
        self.story = story
        self.one_thing = one_thing
        self.view = WorldView(story)
        self.parser = Parser(descriptions.last_seen(self.view))
        self.turns = 1
        self.score = 0

    def intro(self) -> str:
        """Return the text at the start: the objective and the first room."""
        objective = self.story.objective
        return tidy(f"{objective}\n\n{descriptions.look(self.view)}")

    def play(self, line: str, execute: Execute) -> str:
        """Take one sentence that the player typed and return the game's answer."""
        parser_state = dict(vars(self.parser))
        request = self.parser.read(line, self.view)
        if isinstance(request, str):
            return tidy(request)
        if self.one_thing and len(request.nouns) > 1:
            vars(self.parser).update(parser_state)
            return ONE_THING
        if request.action in FREE:
            return tidy(self._aside(request))
        paragraphs, state_after = self._carry_out(request, execute)
        self.turns += 1
        # A refused command takes a turn as well, and in each turn the story looks at its quests.
        state_after = state_after or execute(WAIT)
        if state_after is not None:
            paragraphs += self._consequences(state_after)
        return tidy("\n\n".join(paragraphs))

    def _carry_out(
        self, request: ParsedRequest, execute: Execute
    ) -> tuple[list[str], StateAfter | None]:
        """Carry out the request, one thing after another."""
        paragraphs, last = [request.note] if request.note else [], None
        for noun in request.nouns or ("",):
            accepted = resolve_action(
                self.view, request.action, noun, request.second, request.words
            )
            label = ""
            if request.several:
                label = f"{'yourself' if noun == PLAYER else self.view.printed_name(noun)}: "
                self.parser.antecedent = self.parser.antecedent if noun == PLAYER else noun
            if isinstance(accepted, str):
                self.parser.antecedent, self.view.noticed = (
                    self.view.noticed or self.parser.antecedent,
                    "",
                )
                paragraphs.append(label + accepted)
                continue
            text, state_after = self._perform(accepted, execute, request.several)
            paragraphs.append(label + text)
            last = state_after or last
        return (["\n".join(paragraphs)] if request.several or request.note else paragraphs), last

    def _perform(
        self, accepted: AcceptedAction, execute: Execute, several: bool
    ) -> tuple[str, StateAfter | None]:
        # Recorded before the action: afterwards the state no longer shows where a thing was taken
        # from.
        report = ActionReport(self.view, accepted, several=several)
        state_after = execute(accepted.command)
        if state_after is not None:
            self.view.follow(state_after.facts)
        elif accepted.action not in HARMLESS:
            # Inform's checks let it pass and TextWorld's rules do not.
            return "You can't do that now.", None
        if accepted.action in ("Go", "Look"):
            self.parser.antecedent = descriptions.last_seen(self.view) or self.parser.antecedent
        elif accepted.action == "Prepare":
            self.parser.antecedent = accepted.noun
        return report.text(), state_after

    def _consequences(self, state_after: StateAfter) -> list[str]:
        """Tell of points and of the end."""
        paragraphs = []
        if state_after.score != self.score:
            paragraphs.append(score_change(state_after.score - self.score))
            self.score = state_after.score
        if state_after.won or state_after.lost:
            # A lost story tells one turn less than a won one (sic).
            turns = self.turns - state_after.lost
            paragraphs.append(
                ending(state_after.won, state_after.score, self.story.max_score, turns)
            )
        return paragraphs

    def _aside(self, request: ParsedRequest) -> str:
        """Answer a question about the game."""
        if request.action == "Score":
            scored = ending(True, self.score, self.story.max_score, self.turns).split("\n\n")[1]
            return scored.replace("You scored", "You have so far scored")
        if not self.parser.antecedent:
            return '"it", "him", "her" and "them" are unset.'
        noun = self.view.the(self.parser.antecedent)
        return f'"it" means {noun}, "him", "her" and "them" are unset.'

    def description(self) -> str:
        """Return the answer to ``look``."""
        return tidy(descriptions.look(self.view))

    def inventory(self) -> str:
        """Return the answer to ``inventory``."""
        return tidy(descriptions.inventory(self.view))

    def refuses(self, action: str) -> bool:
        """Tell whether an action without nouns would be refused now."""
        return isinstance(resolve_action(self.view, action, "", "", ()), str)

    def snapshot(self) -> tuple[Any, ...]:
        """Return a picklable state."""
        parser = self.parser
        pending = astuple(parser.pending) if parser.pending else None
        return self.view.snapshot(), parser.antecedent, parser.tail, pending, self.turns, self.score

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Return to a snapshot of the same game."""
        view, self.parser.antecedent, self.parser.tail, pending, self.turns, self.score = snapshot
        self.view.restore(view)
        self.parser.pending = Pending(*pending) if pending else None


class ActionReport:
    """The report of an action; made before it, because some words depend on the state before."""

    def __init__(self, view: WorldView, accepted: AcceptedAction, *, several: bool = False) -> None:
        self._view, self._action, self._several = view, accepted, several
        self._holder = view.parent.get(accepted.noun, "")
        self._burned = view.has(accepted.noun, "cooked")

    def text(self) -> str:
        """Report the action, after the view has followed it."""
        view, accepted = self._view, self._action
        action, noun = accepted.action, accepted.noun
        if action in ("Go", "Look"):
            return descriptions.look(view)
        if action == "Inv":
            return descriptions.inventory(view)
        if action == "Examine":
            return descriptions.examine(view, noun)
        if action == "Take":
            return self._take()
        if action in ("PutOn", "Insert"):
            way = "on" if action == "PutOn" else "into"
            sentence = f"You put {view.the(noun)} {way} {view.the(accepted.second)}."
            return "Done." if self._several else sentence
        if action == "Drop":
            return f"You drop {view.the(noun)} on the ground."
        if action in ("Eat", "DrinkIt"):
            verb = "eat" if action == "Eat" else "drink"
            return f"You {verb} {view.the(noun)}. Not bad."
        if action == "Open":
            return self._open()
        if action == "Cook":
            return self._cook()
        if action == "Prepare":
            return "Adding the meal to your inventory."
        return f"You {action.lower()} {view.the(noun)}."

    def _take(self) -> str:
        name = self._view.the(self._action.noun)
        if self._holder == self._view.room:
            return f"You pick up {name} from the ground."
        return f"You take {name} from {self._view.the(self._holder)}."

    def _open(self) -> str:
        view, noun = self._view, self._action.noun
        inside = view.contents(noun)
        if not inside:
            return f"You open {view.the(noun)}."
        view.prefixed = True
        listed = view.listing(inside)
        view.prefixed = False
        return f"You open {view.the(noun)}, revealing {listed}."

    def _cook(self) -> str:
        view, accepted = self._view, self._action
        name = view.story.entities[accepted.noun].name
        if self._burned:
            return f"You burned the {name}!"
        kinds = view.story.entities[accepted.second].kinds
        participle = next(participle for kind, participle in _COOKED.items() if kind in kinds)
        return f"You {participle} the {name}."


def score_change(points: int) -> str:
    """Announce points won or lost."""
    unit = "point" if abs(points) <= 1 else "points"
    if points > 0:
        return f"Your score has just gone up by {number_words(points)} {unit}."
    return f"Your score changed by minus {number_words(-points)} {unit}."


def ending(won: bool, score: int, max_score: int | float, turns: int) -> str:
    """Say how the game ended."""
    banner = "*** The End ***" if won else "*** You lost! ***"
    if max_score == math.inf:
        scored = f"You scored a total of {score} point{'' if score == 1 else 's'}"
    else:
        scored = f"You scored {score} out of a possible {max_score}"
    return f"{banner}\n\n{scored}, in {turns} turn{'' if turns == 1 else 's'}."


def tidy(text: str) -> str:
    """Strip blanks at the ends of lines and let no more than one empty line stand."""
    lines = "\n".join(line.rstrip() for line in split_lines(text))
    while "\n\n\n" in lines:
        lines = lines.replace("\n\n\n", "\n\n")
    return lines.strip()
