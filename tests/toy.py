"""A small real environment for the unit tests: press coloured buttons in the order of the goal."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import gymnasium
import numpy as np

from agentgym.actions import ActionSpec, Param
from agentgym.core.env import TextEnv
from agentgym.core.outcome import Outcome
from agentgym.core.tasks import Task, TaskList

COLOURS = ("red", "blue", "green", "gold")
ACTIONS = tuple(f"press {colour}" for colour in COLOURS)
TOY_ID = "agentgym-test/Toy-v0"


SIZES = {"train": 1000, "valid": 160, "test": 200}


@cache
def _splits() -> Mapping[str, Sequence[Task]]:
    """Return the tasks of every split, made once: a run makes its environment dozens of times."""
    sequences = [s for n in range(2, 6) for s in itertools.product(COLOURS, repeat=n)]
    order = iter([sequences[(i * 607 + 11) % len(sequences)] for i in range(len(sequences))])
    return {
        split: [_task(split, i, next(order)) for i in range(size)] for split, size in SIZES.items()
    }


def _task(split: str, index: int, buttons: tuple[str, ...]) -> Task:
    goal = f"press {' then '.join(buttons)}"
    return Task(f"toy/{'-'.join(buttons)}", split, index, goal, {"buttons": list(buttons)})


class ToyTasks(TaskList):
    """All sequences of two to five buttons, dealt to the splits by a fixed permutation."""

    def __init__(self) -> None:
        super().__init__("toy", _splits())

    def oracle_turns(self, task: Task) -> int | None:
        return len(task.content["buttons"])


class ToyEnv(TextEnv):
    """Press the buttons of the goal in order; a wrong button does nothing."""

    action_specs = (
        ActionSpec(
            name="press",
            description="Press a button.",
            params=(Param("colour", description="Colour of the button.", enum=COLOURS),),
            native="press {colour}",
            examples=("press red",),
        ),
    )

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(ToyTasks(), **{"horizon": 8, **kwargs})
        self._buttons: list[str] = []
        self._pressed = 0

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        self._buttons = list(task.content["buttons"])
        self._pressed = 0
        return f"{task.goal} . next is {self._buttons[0]}"

    def _act(self, action: str) -> Outcome:
        colour = action.removeprefix("press ").strip()
        if colour not in COLOURS:
            return Outcome("invalid: no such button", valid=False)
        if colour != self._buttons[self._pressed]:
            return Outcome(f"nothing happens . next is {self._buttons[self._pressed]}")
        self._pressed += 1
        score = self._pressed / len(self._buttons)
        if self._pressed == len(self._buttons):
            return Outcome("the door opens", 1.0, True, success=True, score=score)
        return Outcome(f"click . next is {self._buttons[self._pressed]}", score=score)

    def _admissible(self) -> Sequence[str]:
        return ACTIONS

    def _state(self) -> str:
        return f"{self._pressed}/{','.join(self._buttons)}"

    def _oracle_turns(self) -> int | None:
        return len(self._buttons) - self._pressed

    def _oracle_action(self) -> str | None:
        return None if self._oracle_turns() == 0 else f"press {self._buttons[self._pressed]}"

    def _potential(self) -> float:
        return self._pressed / max(1, len(self._buttons))

    def _snapshot(self) -> Any:
        return self._pressed

    def _restore(self, state: Any) -> None:
        self._buttons = list(self.task.content["buttons"])
        self._pressed = state


def register_toy() -> None:
    """Register the toy id once per process."""
    if TOY_ID not in gymnasium.registry:
        gymnasium.register(TOY_ID, entry_point="tests.toy:ToyEnv")


register_toy()
