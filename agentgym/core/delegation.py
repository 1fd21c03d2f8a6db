"""Planner and workers: episodes in which a policy delegates parts of its task to itself.

The planner can act, and can also ``delegate`` a part of the task in words. A worker then acts
instead: it reads these words and the environment's last answer, but nothing that the planner has
read. It ends with a ``report``, which is all that the planner reads of its work. Every text
environment supports this (argument ``worker_turns``); `agentgym.conversation.EpisodeConversation`
uses ``info["agent"]`` to build a conversation for each agent. Notes (`agentgym.core.notes`) are
shared by all agents; writing and reading them takes turns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from agentgym.actions import ActionSpec, Param
from agentgym.core.extension import LONGEST, Extension, Order, TurnAnswers, read_order
from agentgym.core.options import integer
from agentgym.core.outcome import Outcome, bounded

PLANNER = "planner"
"""The agent that acts first, and whenever no worker acts."""
DELEGATE, REPORT = "delegate", "report"
FEWEST_TURNS = 2
"""A worker needs one turn to act and one to report."""
UNFINISHED = f"{REPORT} not done yet"
"""Report of the expert as a worker that runs out of turns before the task is done."""
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
"""Actions of planners and workers, besides those of the environment."""


class Delegation(Extension):
    """Tracks which agent acts in a running episode, and for how many turns.

    Args:
        worker_turns: Turns of a worker, including the turn of its report.

    Raises:
        ConfigurationError: The worker has no turn to act.
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
        """Begin a try as the planner; the numbering of workers continues."""
        self._scene, self._task, self._left = observation, "", 0
        return observation

    @property
    def works(self) -> bool:
        """Whether a worker acts now."""
        return self._left > 0

    @property
    def agent(self) -> str:
        """The agent that acts: ``planner``, or ``worker 1`` and so on."""
        return f"worker {self._workers}" if self.works else PLANNER

    @property
    def info(self) -> dict[str, str]:
        """Entries of the info dict: the acting ``agent``, and its ``agent_task`` as text."""
        return {"agent": self.agent, "agent_task": self._task if self.works else self._goal}

    def state(self, state: str) -> str:
        """Return the state, which differs between the planner and workers with other tasks."""
        return f"{state}\n{REPORT}: {self._task}" if self.works else state

    def play(self, native: str, turn: TurnAnswers) -> Outcome:
        """Take one turn, as planner or worker."""
        worked, order = self.works, read_order(native, (DELEGATE, REPORT))
        outcome = turn.act() if order is None else turn.idle(*self._obey(order))
        if order is None and outcome.valid:
            self._scene = outcome.observation
        return self.idled(outcome) if worked else outcome

    def idled(self, outcome: Outcome) -> Outcome:
        """Deduct a turn from the acting worker, if any."""
        if self.works:
            self._left -= 1
            if not self.works and not (outcome.terminated or outcome.truncated):
                report = f"worker {self._workers} ended without a report"
                outcome = replace(outcome, observation=report)
        return outcome

    def _obey(self, order: Order) -> tuple[str, bool]:
        """Carry out ``delegate`` or ``report``, if the acting agent is allowed to.

        Returns:
            The observation, and whether the order was valid.
        """
        if (order.name == REPORT) != self.works:
            return (
                f"invalid: a worker cannot {DELEGATE}, only {REPORT}" if self.works
                else f"invalid: only a worker can {REPORT}; as the planner, act or {DELEGATE}"
            ), False  # fmt: skip
        if not order.text:
            return f"invalid: write words behind {order.name}", False
        if self.works:
            report = f"{self.agent} reports: {order.text}"
            self._left = 0
            return report, True
        self._workers, self._task, self._left = (
            self._workers + 1,
            order.text,
            self.worker_turns,
        )
        return f"you are {self.agent} . your task: {order.text}\n\n{self._scene}", True

    # -- the expert -----------------------------------------------------------------------------

    def expert(self, action: str) -> str:
        """Return the action of the planner or worker, given the expert's action in the environment.

        The planner delegates the whole task, again after each report. A worker takes the actions of
        the expert, and reports in its last turn.
        """
        if not self.works:
            task = " ".join(self._goal.split()) or "the task"  # an order without words is refused
            return f"{DELEGATE} {bounded(task, LONGEST, brackets=False)}"
        return action if self._left > 1 else UNFINISHED

    def turns(self, plan: int | None) -> int | None:
        """Return the number of turns, counted from now, that a plan of ``plan`` actions takes."""
        if not plan:
            return plan
        order_turns = self._left - 1 if self.works else 0
        if plan <= order_turns:
            return plan
        own_turns = plan - order_turns
        # Each worker has worker_turns - 1 turns to act; it costs one turn to delegate to it and
        # one for its report, except that the last worker ends the task before its report.
        workers = -(-own_turns // (self.worker_turns - 1))
        return plan + int(self.works) + workers + workers - 1
