"""Planner and workers: an episode in which one policy hands parts of its task to itself.

The planner plays as ever, and may also ``delegate`` a part of the task in words. A worker then
acts in its place: it reads these words and the environment's last answer, and nothing of what the
planner has read. It ends with a ``report``, which is all that the planner reads of it. Every
environment of text can be played so (its argument ``worker_turns``); a conversation for each agent
is made of ``info["agent"]`` by `agentgym.conversation.EpisodeConversation`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from agentgym.actions import ActionSpec, Param, parse, strip_think
from agentgym.core.language import Language, Reading
from agentgym.core.options import integer
from agentgym.core.outcome import Outcome, bounded, well_formed
from agentgym.errors import ConfigurationError

PLANNER = "planner"
"""Who acts first, and whenever no worker does."""
DELEGATE, REPORT = "delegate", "report"
FEWEST_TURNS = 2
"""A worker needs one turn to act and one to report."""
LONGEST = 1000
"""Most characters of what is delegated or reported."""
UNFINISHED = f"{REPORT} not done yet"
"""What the expert says as a worker whose turns are over before the task is."""
SPECS: tuple[ActionSpec, ...] = (
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


class Order(NamedTuple):
    """An action of planner or worker that is none of the environment."""

    name: str
    """``delegate`` or ``report``."""
    text: str
    """Its words, in one line of at most `LONGEST` characters; empty if there are none."""


def read_order(native: str) -> Order | None:
    """Return what a native action asks of another agent; None if it is one of the environment.

    The whole action has to begin with the word: inside of a command to a shell it is none.
    """
    word, *rest = native.split(maxsplit=1) or [""]
    if word.lower() not in (DELEGATE, REPORT):
        return None
    text = " ".join(rest[0].split()) if rest else ""
    return Order(word.lower(), bounded(text, LONGEST, brackets=False))


class DelegatingLanguage(Language):
    """A family's language, with the actions of planners and workers.

    Args:
        inner: The family's language.

    Raises:
        ConfigurationError: The family has an action of such a name itself.
    """

    def __init__(self, inner: Language) -> None:
        if clash := {spec.name.lower() for spec in inner.specs} & {DELEGATE, REPORT}:
            raise ConfigurationError(
                f"expected worker_turns with an environment that has no action of its own named "
                f"{' or '.join(sorted(clash))}; play it without"
            )
        super().__init__((*inner.specs, *SPECS), inner.grammar, inner.length)
        self._inner = inner
        self._orders = Language(SPECS, inner.grammar, inner.length)

    def read(self, action: str) -> Reading:
        """Understand model text; what is no order to another agent is the family's to read."""
        found = self._order(well_formed(action)) if isinstance(action, str) else None
        return self._inner.read(action) if found is None else found

    def write(self, native: str) -> str:
        """Write a native action in the grammar."""
        return self._inner.write(native) if read_order(native) is None else super().write(native)

    def prompt(self) -> str:
        """Return the paragraph that tells a language model how to write actions."""
        return f"{self._inner.prompt()}\n\n{self._orders.prompt()}"

    def tools(self) -> list[dict[str, Any]]:
        """Describe the actions as OpenAI tools; fresh objects."""
        return [*self._inner.tools(), *self._orders.tools()]

    def _order(self, action: str) -> Reading | None:
        """Return the order of a text, if it is one."""
        if self.native:
            text, trailing = strip_think(action), ""
        else:
            # Among the family's actions: the first one counts, and an order inside of it is text.
            found = parse(action, self.specs, self.grammar)
            text, trailing = found.native, found.trailing
        order = read_order(text)
        return None if order is None else Reading(f"{order.name} {order.text}".strip(), trailing)


class Delegation:
    """Who acts in a running episode, and for how long.

    Args:
        worker_turns: Turns of a worker, the one in which it reports included.

    Raises:
        ConfigurationError: That leaves it no turn to act.
    """

    def __init__(self, worker_turns: int) -> None:
        self.worker_turns = integer(worker_turns, "worker_turns (0: no workers)", FEWEST_TURNS)
        self.reset("", "")

    def reset(self, goal: str, observation: str) -> None:
        """Begin an episode, as the planner."""
        self._goal, self._scene = goal, observation
        self._workers, self._task, self._left = 0, "", 0

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

    def play(
        self, native: str, act: Callable[[], Outcome], idle: Callable[[str, bool], Outcome]
    ) -> Outcome:
        """Take one turn.

        Args:
            native: The action.
            act: Has the environment answer it, where it is no order to another agent.
            idle: Reports a turn in which the environment does nothing, from what the policy is
                told and whether its action was valid.
        """
        worked, order = self.works, read_order(native)
        outcome = act() if order is None else idle(*self._obey(order))
        if order is None and outcome.valid:
            self._scene = outcome.observation
        if worked and self.works:
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

    # -- snapshots ------------------------------------------------------------------------------

    def snapshot(self) -> Mapping[str, Any]:
        """Return who acts, as plain values."""
        return {name: getattr(self, f"_{name}") for name in _STATE}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        for name in _STATE:
            setattr(self, f"_{name}", state[name])


_STATE: Sequence[str] = ("goal", "scene", "workers", "task", "left")


def refuse_workers(env: object) -> None:
    """Refuse an environment with workers, for a loop that keeps one list of messages.

    It would mix those of all agents in it.

    Raises:
        ConfigurationError: The environment has workers.
    """
    if getattr(env, "delegation", None) is not None:
        raise ConfigurationError(
            "expected worker_turns=0 here, where one list of messages grows turn by turn and a "
            "worker cannot have its own; play workers with agentgym eval, agentgym-train, "
            "verl-agent or Inspect"
        )
