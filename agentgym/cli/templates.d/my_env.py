"""My environment: guess a number; every answer narrows the range."""

import itertools

import gymnasium

from agentgym.actions import ActionSpec, Param
from agentgym.core import Outcome, Task, TaskList, TextEnv

RANGES, WIDTH = 20, 31


def make_tasks():
    """Make a task for each number of each range, in three disjoint splits."""
    splits = {"train": [], "valid": [], "test": []}
    for place, (low, more) in enumerate(itertools.product(range(1, RANGES + 1), range(WIDTH))):
        split = ("test", "valid", "train", "train", "train")[place % 5]
        content = {"low": low, "number": low + more}
        name = f"my_env/{low}/{low + more}"
        splits[split].append(Task(name, split, len(splits[split]), "guess", content))
    return TaskList("my_env", splits)


class MyEnv(TextEnv):
    """What the commands call my_env:my_env/MyEnv-v0."""

    action_specs = (
        ActionSpec(
            name="guess",
            description="Guess the number.",
            params=(Param("number", type="integer"),),
            native="guess {number}",
        ),
    )

    def __init__(self, **kwargs):
        super().__init__(make_tasks(), **{"horizon": 6, **kwargs})

    def _start(self, task, rng):
        """Begin a task; return the first observation. All randomness comes from rng."""
        self._low, self._high = task.content["low"], task.content["low"] + WIDTH - 1
        return f"guess my number between {self._low} and {self._high}"

    def _act(self, action):
        """Carry out any text; change nothing where it is no action, and say why."""
        text = action.removeprefix("guess ").strip()
        if not (text.isascii() and text.isdigit() and len(text) < 9):
            return Outcome("invalid: expected guess and a number", valid=False)
        guess, number = int(text), self.task.content["number"]
        if guess == number:
            return Outcome("correct", reward=1.0, terminated=True, success=True, score=1.0)
        if guess < number:
            self._low = max(self._low, guess + 1)
        else:
            self._high = min(self._high, guess - 1)
        return Outcome(f"no, it is between {self._low} and {self._high}")

    # All that follows is optional. A list of actions: random policies and players need it.
    def _admissible(self):
        low = self.task.content["low"]
        return [f"guess {number}" for number in range(low, low + WIDTH)]

    # An expert: validate, warm starts and hints need it.
    def _oracle_action(self):
        return f"guess {(self._low + self._high) // 2}"

    # The state, as text and as something to go back to: methods that compare states or fork.
    def _state(self):
        return f"{self._low}-{self._high}"

    def _snapshot(self):
        return self._low, self._high

    def _restore(self, state):
        self._low, self._high = state


gymnasium.register("my_env/MyEnv-v0", entry_point="my_env:MyEnv")
