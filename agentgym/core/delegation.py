"""Planner and workers: an episode in which one policy hands parts of its task to itself.

The planner plays as ever, and may also ``delegate`` a part of the task in words. A worker then
acts in its place: it reads these words and the environment's last answer, and nothing of what the
planner has read. It ends with a ``report``, which is all that the planner reads of it. Every
environment of text can be played so (its argument ``worker_turns``); a conversation for each agent
is made of ``info["agent"]`` by `agentgym.conversation.EpisodeConversation`. Notes, where there are
any (`agentgym.core.notes`), are those of all agents; writing and reading them takes turns, too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from agentgym.actions import ActionSpec, Param
from agentgym.core.extension import LONGEST, Extension, Order, Turn, read_order
from agentgym.core.options import integer
from agentgym.core.outcome import Outcome, bounded
from agentgym.errors import ConfigurationError

PLANNER = "planner"
"""Who acts first, and whenever no worker does."""
DELEGATE, REPORT = "delegate", "report"
FEWEST_TURNS = 2
"""A worker needs one turn to act and one to report."""
UNFINISHED = f"{REPORT} not done yet"
"""What the expert says as a worker whose turns are over before the task is."""
_SPECS = (
    ActionSpec(
        DELEGATE,
        "As the planner: let a worker do a part of the task. It reads these words and the last "
        "observation; you read its report alone.",
        (Param("task", description="What it is to do, in words."),),
        examples=(f"{DELEGATE} find out where the key is",),
        native=f"{DELEGATE} {{task}}",
    ),
    ActionSpec(
        REPORT,
        "As a worker: end your part, and tell the planner what came of it.",
        (Param("text", description="What it is to know."),),
        examples=(f"{REPORT} the key is in the drawer",),
        native=f"{REPORT} {{text}}",
    ),
)
"""What planners and workers can do besides the actions of the environment."""


class Delegation(Extension):
    """Who acts in a running episode, and for how long.

    Args:
        worker_turns: Turns of a worker, the one in which it reports included.

    Raises:
        ConfigurationError: That leaves it no turn to act.
    """

    argument = "worker_turns"
    specs: ClassVar = _SPECS
    remembers = ("goal", "scene", "workers", "task", "left")

    def __init__(self, worker_turns: int) -> None:
        self.worker_turns = integer(worker_turns, "worker_turns (0: no workers)", FEWEST_TURNS)
        self.begin("", 0)

    def begin(self, goal: str, horizon: int) -> None:
        """Begin an episode, as the planner."""
        self._goal, self._workers = goal, 0
        self.open("")

    def open(self, observation: str) -> str:
        """Begin a try, as the planner, whose workers count on."""
        self._scene, self._task, self._left = observation, "", 0
        return observation

    @property
    def works(self) -> bool:
        """Whether a worker acts now."""
        return self._left > 0

    @property
    def agent(self) -> str:
        """Who acts now: ``planner``, or ``worker 1`` and so on."""
        return f"worker {self._workers}" if self.works else PLANNER

    @property
    def info(self) -> dict[str, str]:
        """What the info dict says of who acts now: ``agent``, and its ``agent_task`` in words."""
        return {"agent": self.agent, "agent_task": self._task if self.works else self._goal}

    def told(self, state: str, plan: int | None) -> tuple[str, int | None]:
        """Return what info and hooks are told of the engine's state and of its expert's plan.

        A worker's state is none of the planner's, nor of a worker with another task.
        """
        return f"{state}\n{REPORT}: {self._task}" if self.works else state, self.turns(plan)

    def play(self, native: str, turn: Turn) -> Outcome:
        """Take one turn, as planner or worker."""
        worked, order = self.works, read_order(native, (DELEGATE, REPORT))
        outcome = turn.act() if order is None else turn.idle(*self._obey(order))
        if order is None and outcome.valid:
            self._scene = outcome.observation
        return self.idled(outcome) if worked else outcome

    def idled(self, outcome: Outcome) -> Outcome:
        """Take a turn of a worker, if one acts, from those that it has."""
        if self.works:
            self._left -= 1
            if not self.works and not outcome.terminated:
                said = f"worker {self._workers} ended without a report"
                outcome = replace(outcome, observation=said)
        return outcome

    def _obey(self, order: Order) -> tuple[str, bool]:
        """Let another agent act, if the one that acts now may ask for it.

        Returns:
            What the policy is told, and whether it may.
        """
        if (order.name == REPORT) != self.works:
            return (
                f"invalid: a worker cannot {DELEGATE}, only {REPORT}" if self.works
                else f"invalid: only a worker can {REPORT}; as the planner, act or {DELEGATE}"
            ), False  # fmt: skip
        if not order.text:
            return f"invalid: write words behind {order.name}", False
        if self.works:
            said = f"{self.agent} reports: {order.text}"
            self._left = 0
            return said, True
        self._workers, self._task, self._left = self._workers + 1, order.text, self.worker_turns
        return f"you are {self.agent} . your task: {order.text}\n\n{self._scene}", True

    # -- the expert -----------------------------------------------------------------------------

    def expert(self, action: str) -> str:
        """Return what planner or worker do whose environment's expert would take an action.

        The planner delegates the whole task, again after each report. A worker plays the actions
        of the expert, and reports in its last turn.
        """
        if not self.works:
            task = " ".join(self._goal.split()) or "the task"  # an order without words is refused
            return f"{DELEGATE} {bounded(task, LONGEST, brackets=False)}"
        return action if self._left > 1 else UNFINISHED

    def turns(self, plan: int | None) -> int | None:
        """Return how many turns from now it takes to play a plan of so many actions so."""
        if not plan:
            return plan
        now = self._left - 1 if self.works else 0
        if plan <= now:
            return plan
        rest = plan - now
        # Each further worker costs the turn that asks for it, all but the last one its report.
        workers = -(-rest // (self.worker_turns - 1))
        return plan + int(self.works) + workers + workers - 1


def refuse_workers(env: object) -> None:
    """Refuse an environment with workers, for a loop that keeps one list of messages.

    It would mix those of all agents in it.

    Raises:
        ConfigurationError: The environment has workers.
    """
    if getattr(env, "delegation", None) is not None:
        raise ConfigurationError(
            "expected worker_turns=0 here, where one list of messages grows turn by turn and a "
            "worker cannot have its own; play workers with agentgym eval, agentgym train, "
            "verl-agent or Inspect"
        )
