"""A sound environment, and one with each defect: look for a note in a drawer, press its colour."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import gymnasium
import numpy as np

from agentgym.actions import ActionSpec, Param
from agentgym.core.env import TextEnv
from agentgym.core.outcome import Outcome
from agentgym.core.tasks import Task, TaskList
from agentgym.support.random_stream import Stream

COLOURS = ("amber", "azure", "coral", "ivory", "khaki", "mauve")
DRAWERS = ("north", "south", "upper", "lower")
WORDS = tuple(a + b for a in ("ka", "mi", "to", "ru", "ze") for b in ("lon", "mar", "tis", "vek"))
SIZE = 24


def problem(split: str, index: int) -> dict[str, Any]:
    """Return the content of a task."""
    draw = Stream("drawers", split, f"{index}")
    return {
        "drawer": draw.choice(DRAWERS),
        "colour": draw.choice(COLOURS),
        "notes": " ".join(draw.choice(WORDS) for _ in range(16)),
    }


def tasks(content: Callable[[str, int], dict[str, Any]] = problem, name: str = "") -> TaskList:
    """Return the task set."""

    def make(split: str, index: int) -> Task:
        entry = content(split, index)
        task_id = f"drawers/{split}/{index}{name.format(**entry)}"
        return Task(task_id, split, index, "Find the note and press its colour.", entry)

    splits = {split: [make(split, k) for k in range(SIZE)] for split in ("train", "test")}
    return TaskList("drawers", splits)


class DrawersEnv(TextEnv[Any]):
    """Sound: the colour must be read before it is pressed, and a wrong one ends the episode."""

    action_specs = (
        ActionSpec("look", "Look into a drawer.", (Param("drawer"),), native="look {drawer}"),
        ActionSpec(
            "press", "Press a colour.", (Param("colour"),), terminal=True, native="press {colour}"
        ),
    )
    task_list: ClassVar[TaskList] = tasks()
    work: ClassVar[float] = 0.0
    """What all turns took, as a clock that no other process delays."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(self.task_list, **{"horizon": 10, **kwargs})
        self.knows_colour = False

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        self.knows_colour = False
        return f"There are four drawers. {task.content['notes']}"

    def _act(self, action: str) -> Outcome:
        DrawersEnv.work += 1.0
        verb, _, word = action.partition(" ")
        if verb == "look" and word in DRAWERS:
            self.knows_colour = self.knows_colour or word == self.task.content["drawer"]
            note = (
                f"a note: {self.task.content['colour']}"
                if word == self.task.content["drawer"]
                else "dust"
            )
            return Outcome(f"You see {note}.")
        if verb == "press" and word in COLOURS:
            won = self._wins(word)
            return Outcome("The end.", float(won), terminated=True, success=won)
        return Outcome("That is no action.", valid=False)

    def _wins(self, colour: str) -> bool:
        return self.knows_colour and colour == self.task.content["colour"]

    def _admissible(self) -> Sequence[str]:
        return self._shuffled([f"look {d}" for d in DRAWERS] + [f"press {c}" for c in COLOURS])

    def _oracle_action(self) -> str | None:
        content = self.task.content
        return f"press {content['colour']}" if self.knows_colour else f"look {content['drawer']}"

    def _snapshot(self) -> Any:
        return self.knows_colour

    def _restore(self, state: Any) -> None:
        self.knows_colour = state


class Counting(DrawersEnv):
    """Counts its instances, which no seed sets."""

    instances: ClassVar[int] = 0

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        type(self).instances += 1
        self.number = type(self).instances


class SameId(DrawersEnv):
    class _Tasks(TaskList):
        def task(self, split: str, index: int) -> Task:
            return replace(super().task(split, index), id="drawers/train/0")

    task_list = _Tasks("drawers", {s: [*tasks().iterate(s)] for s in ("train", "test")})


class SharedTasks(DrawersEnv):
    task_list = tasks(lambda split, index: problem("train", index))


class NearTasks(DrawersEnv):
    task_list = tasks(
        lambda split, index: {
            **problem("train", index),
            "notes": f"{problem('train', index)['notes']} {' '.join(WORDS[index % 4 :])} {split}",
        }
    )


class DeafToSeeds(DrawersEnv):
    class _Tasks(TaskList):
        def choose(self, options: Mapping[str, Any], rng: np.random.Generator, split: str) -> Task:
            return super().choose({"split": split, "index": 0, **options}, rng, split)

    task_list = _Tasks("drawers", {s: [*tasks().iterate(s)] for s in ("train", "test")})


class SeededByNothing(DrawersEnv):
    count: ClassVar[int] = 0

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        type(self).count += 1
        return f"{super()._start(task, rng)} {self.count}"


class Hopeless(DrawersEnv):
    def _wins(self, colour: str) -> bool:
        return super()._wins(colour) and self.task.index % 8 != 0


class PaysNothingDone(DrawersEnv):
    def _act(self, action: str) -> Outcome:
        if not action:
            return Outcome("Fine.", 1.0, terminated=True, success=True)
        return super()._act(action)


class Instances(Counting):
    def _start(self, task: Task, rng: np.random.Generator) -> str:
        return f"{super()._start(task, rng)} {self.number}"


class Remembers(DrawersEnv):
    previous = ""

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        text = f"{super()._start(task, rng)} {self.previous}"
        self.previous = task.id
        return text


class Shares(DrawersEnv):
    turns: ClassVar[int] = 0

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        type(self).turns = 0
        return super()._start(task, rng)

    def _act(self, action: str) -> Outcome:
        type(self).turns += 1
        return replace(super()._act(action), observation=f"turn {self.turns}")


class LeavesHalf(DrawersEnv):
    unfinished = False

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        text = f"{super()._start(task, rng)} {self.unfinished}"
        self.unfinished = True
        return text

    def _act(self, action: str) -> Outcome:
        outcome = super()._act(action)
        self.unfinished = not outcome.terminated and self.turn < self.horizon - 1
        return outcome


class GlobalDice(DrawersEnv):
    def _start(self, task: Task, rng: np.random.Generator) -> str:
        return f"{super()._start(task, rng)} {random.random()}"


class OwnProcess(DrawersEnv):
    def _start(self, task: Task, rng: np.random.Generator) -> str:
        return f"{super()._start(task, rng)} {os.getpid()}"


class SetOrder(DrawersEnv):
    def _start(self, task: Task, rng: np.random.Generator) -> str:
        return f"{super()._start(task, rng)} {set(WORDS)}"


class ChangingDetails(Counting):
    def _act(self, action: str) -> Outcome:
        return replace(super()._act(action), details={"number": self.number})


class ChangingTerms(Counting):
    def _act(self, action: str) -> Outcome:
        outcome = super()._act(action)
        terms = {"a": outcome.reward + self.number, "b": -float(self.number)}
        return replace(outcome, terms=terms)


class ForgetsForks(DrawersEnv):
    def _snapshot(self) -> Any:
        return False


class PaysAnyText(DrawersEnv):
    def _wins(self, colour: str) -> bool:
        return True

    def _act(self, action: str) -> Outcome:
        return Outcome("Fine.", 1.0, terminated=True, success=True)


class Breaks(DrawersEnv):
    def _act(self, action: str) -> Outcome:
        if action.startswith("[["):
            raise RecursionError("too deep")
        return super()._act(action)


class Hoards(DrawersEnv):
    hoard: ClassVar[list[bytearray]] = []

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        self.hoard.append(bytearray(200_000))
        return super()._start(task, rng)


class LeavesFiles(DrawersEnv):
    files: ClassVar[list[int]] = []

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.files.append(os.open(os.devnull, os.O_RDONLY))


class SlowIfRight(DrawersEnv):
    def _wins(self, colour: str) -> bool:
        won = super()._wins(colour)
        DrawersEnv.work += 9.0 * won
        return won


class NamesColour(DrawersEnv):
    """The task says what to press, and nobody has to look."""

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        return f"press {task.content['colour']}"

    def _wins(self, colour: str) -> bool:
        return bool(colour == self.task.content["colour"])


class ColourInId(DrawersEnv):
    task_list = tasks(name="-{colour}")

    def _wins(self, colour: str) -> bool:
        return bool(colour == self.task.content["colour"])


class AlwaysAmber(DrawersEnv):
    task_list = tasks(lambda split, index: {**problem(split, index), "colour": COLOURS[0]})

    def _wins(self, colour: str) -> bool:
        return colour == COLOURS[0]


class AnyColour(DrawersEnv):
    def _wins(self, colour: str) -> bool:
        return True


class OnlyExperts(DrawersEnv):
    """Ends at the first action that is not the expert's, and takes sixty right ones."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"horizon": 80, **kwargs})
        self.steps = 0

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        self.steps = 0
        return super()._start(task, rng)

    def _oracle_action(self) -> str | None:
        key = f"{self.task.id} {self.steps}"
        return f"look {Stream('plan', key).choice(DRAWERS)}"

    def _act(self, action: str) -> Outcome:
        if action != self._oracle_action():
            return Outcome("Lost.", terminated=True)
        self.steps += 1
        won = self.steps == 60
        return Outcome("Right.", float(won), terminated=won, success=won)


def register(kind: type[TextEnv[Any]]) -> str:
    """Register a class, and return the name by which commands take it."""
    env_id = f"drawers/{kind.__name__}-v0"
    if env_id not in gymnasium.registry:
        gymnasium.register(env_id, entry_point=f"{__name__}:{kind.__name__}")
    return f"{__name__}:{env_id}"


for _kind in [kind for kind in globals().values() if isinstance(kind, type)]:
    if issubclass(_kind, DrawersEnv):
        register(_kind)
