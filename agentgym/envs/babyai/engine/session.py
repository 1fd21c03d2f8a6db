"""One episode: actions in words, the view in words."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from agentgym.envs.babyai.engine.levels import open_level
from agentgym.envs.babyai.engine.view import describe, visible

ACTIONS: Mapping[str, int] = {
    "turn left": 0,
    "turn right": 1,
    "move forward": 2,
    "pick up": 3,
    "drop": 4,
    "toggle": 5,
}
"""Words of an action -> its number in minigrid."""
WORDS = tuple(ACTIONS)
SPELLINGS = {"pickup": "pick up"}
"""Other accepted spellings."""


class GridTurn(NamedTuple):
    """The result of an action."""

    text: str
    """The observation."""
    valid: bool = True
    """Whether it had an effect."""
    reward: float = 0.0
    """BabyAI's reward."""
    over: bool = False
    """Whether the level is over."""
    cut: bool = False
    """Whether BabyAI's step limit truncated it."""


class GridSession:
    """An episode of a level.

    Args:
        level: Name of the level.
        seed: Its seed.

    Attributes:
        env: The environment of minigrid; its steps return no observation.
        actions: The numbers of the actions so far.
    """

    def __init__(self, level: str, seed: int) -> None:
        self.env = open_level(level, seed)
        self.actions: list[int] = []
        self._objects = _grid_objects(self.env)

    @property
    def mission(self) -> str:
        """The mission."""
        return str(self.env.mission)

    def opening(self) -> str:
        """Return the first observation."""
        return f"Your mission: {self.mission}.\n{self._view()}"

    def step(self, text: str) -> GridTurn:
        """Take an action; any text is accepted, and one without effect still costs a step."""
        words = " ".join(text.lower().split())
        number = ACTIONS.get(SPELLINGS.get(words, words))
        if number is None:
            return GridTurn(f"invalid: expected one of {', '.join(ACTIONS)}", valid=False)
        useless = self.refusal(number)
        _, reward, terminated, truncated, _ = self.env.step(number)
        self.actions.append(number)
        view = self._view()
        if useless:
            view = f"Nothing happens: {useless}. {view}"
        over = bool(terminated or truncated)
        cut = bool(truncated and not terminated)
        return GridTurn(view, not useless, float(reward), over, cut)

    def _view(self) -> str:
        return describe(visible(self.env), self.env.carrying)

    def admissible(self) -> list[str]:
        """Return the actions that have an effect here."""
        return [words for words, number in ACTIONS.items() if not self.refusal(number)]

    def refusal(self, number: int) -> str:
        """Return why an action would have no effect here; empty if it has one."""
        if number < 2:
            return ""
        cell, carrying = self.env.grid.get(*self.env.front_pos), self.env.carrying
        if number == 2:
            return "" if cell is None or cell.can_overlap() else f"the {cell.type} is in the way"
        if number == 3:
            if carrying is not None:
                return "you carry something already"
            return "" if cell is not None and cell.can_pickup() else "there is nothing to pick up"
        if number == 4:
            if carrying is None:
                return "you carry nothing"
            return "" if cell is None else f"the {cell.type} is in the way"
        if cell is None or cell.type not in ("door", "box"):
            return "there is nothing to open or close"
        fits = carrying is not None and (carrying.type, carrying.color) == ("key", cell.color)
        locked = cell.type == "door" and cell.is_locked and not fits
        return f"it is locked, and you do not carry the {cell.color} key" if locked else ""

    def state_text(self) -> str:
        """Return a text that identifies the state, regardless of the number of steps."""
        env = self.env
        object_states = [
            (grid_object.type, grid_object.color, getattr(grid_object, "is_open", None),
             getattr(grid_object, "is_locked", None), _where(env, grid_object))
            for grid_object in self._objects
        ]  # fmt: skip
        place = tuple(map(int, env.agent_pos))
        return f"{place} {env.agent_dir} {object_states} {_completed_parts(env.instrs)}"

    def snapshot(self) -> Any:
        """Return a copy of the running level."""
        return copy.deepcopy((self.env, self.actions, self._objects))

    def restore(self, state: Any) -> None:
        """Continue from a copy."""
        self.env, self.actions, self._objects = copy.deepcopy(state)


def _grid_objects(env: Any) -> list[Any]:
    """Return all that is no wall, what lies in boxes included."""
    objects = [cell for cell in env.grid.grid if cell is not None and cell.type != "wall"]
    if env.carrying is not None:
        objects.append(env.carrying)
    inside = [
        grid_object.contains
        for grid_object in objects
        if getattr(grid_object, "contains", None) is not None
    ]
    return [*objects, *inside]


def _where(env: Any, grid_object: Any) -> Any:
    """Return where a thing lies; None where it is gone or in a box."""
    if grid_object is env.carrying:
        return "carried"
    if grid_object.cur_pos is None:
        return None
    position = (int(grid_object.cur_pos[0]), int(grid_object.cur_pos[1]))
    return position if position[0] >= 0 and env.grid.get(*position) is grid_object else None


def _completed_parts(instruction: Any) -> tuple[Any, ...]:
    """Return which parts of an instruction are done."""
    return tuple(_flags(instruction))


def _flags(instruction: Any) -> Iterator[Any]:
    for part in ("a", "b"):
        if hasattr(instruction, f"{part}_done"):
            yield getattr(instruction, f"{part}_done")
            yield from _flags(getattr(instruction, f"instr_{part}"))
