"""An environment of our own: wash each piece at the temperature that suits it.

``laundry:own/Laundry-v0`` names it for every command that is typed in this folder.
"""

import itertools

import gymnasium

from agentgym.actions import ActionSpec
from agentgym.core import Outcome, Task, TaskList, TextEnv

HEAT = {"cotton": "hot", "linen": "hot", "denim": "warm", "nylon": "warm", "wool": "cold"}
PIECES = list(itertools.product(("white", "grey", "blue", "red"), HEAT, ("sock", "shirt", "scarf")))


def suits(colour, fabric):
    """What no label says: the fabric decides, but red always runs."""
    return "cold" if colour == "red" else HEAT[fabric]


def make_tasks(least, most):
    """A thousand baskets, no two of them alike, dealt to three disjoint splits."""
    splits = {"train": [], "valid": [], "test": []}
    for n in range(1000):
        size = least + n % (most - least + 1)
        basket = [PIECES[(n + k * (7 + n // 60)) % len(PIECES)] for k in range(size)]
        split = ("test", "valid", "train", "train", "train")[n // 8 % 5]
        task = Task(f"laundry/{n}", split, len(splits[split]), f"of {size}", {"basket": basket})
        splits[split].append(task)
    return TaskList(f"laundry/{least}-{most}", splits)


class LaundryEnv(TextEnv):
    """Wash a basket of ``least`` to ``most`` pieces, one each turn."""

    action_specs = tuple(
        ActionSpec(name=heat, description=f"Wash the piece {heat}.", native=heat)
        for heat in ("cold", "warm", "hot")
    )

    def __init__(self, least=4, most=4, **kwargs):
        super().__init__(make_tasks(least, most), **{"horizon": most, **kwargs})

    def _start(self, task, rng):
        self._washed = self._clean = 0
        return self._piece()

    def _piece(self):
        return " ".join(self.task.content["basket"][self._washed])

    def _act(self, action):
        if action not in self._admissible():
            return Outcome("invalid: expected cold, warm or hot", valid=False)
        good, size = action == self._oracle_action(), len(self.task.content["basket"])
        self._washed, self._clean = self._washed + 1, self._clean + good
        score, done = self._clean / size, self._washed == size
        text = "clean" if good else "spoilt"
        if done:
            return Outcome(text, good / size, terminated=True, success=score == 1.0, score=score)
        return Outcome(f"{text} . {self._piece()}", good / size, score=score)

    def _admissible(self):
        return [spec.name for spec in self.action_specs]

    def _state(self):
        return f"{self._washed}-{self._clean}"

    def _oracle_action(self):
        return suits(*self.task.content["basket"][self._washed][:2])

    def _snapshot(self):
        return self._washed, self._clean

    def _restore(self, state):
        self._washed, self._clean = state


gymnasium.register("own/Laundry-v0", entry_point="laundry:LaundryEnv")
