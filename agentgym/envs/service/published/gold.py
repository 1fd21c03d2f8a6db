"""The expert of published tasks: it says what must be said, and plays the solving actions.

It also offers a sample of actions: those about ids that were told or shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from agentgym.envs.service.experts.clerk import DONE, Command
from agentgym.envs.service.published.problem import TOOLS, PublishedProblem
from agentgym.envs.service.published.session import PublishedSession, encoded
from agentgym.envs.service.published.tools import RESPOND, TRANSFER

LOOKS = {
    "order_id": re.compile(r"#W\d{7}"), "product_id": re.compile(r"(?<!\d)\d{10}(?!\d)"),
    "user_id": re.compile(r"\b[a-z]+_[a-z]+_\d+\b"),
    "reservation_id": re.compile(r"\b[A-Z0-9]{6}\b"),
}  # fmt: skip
"""Argument of a tool that shows a row -> form of its values."""
MOST_OFFERED = 40
"""Maximum number of offered actions."""


class GoldPlayer:
    """Plays the actions that solve a task."""

    def plan(self, problem: PublishedProblem) -> list[Command]:
        """Return all actions of an episode."""
        tools = TOOLS[problem.world.domain]
        outputs = "; ".join(problem.outputs)
        plan = [Command(RESPOND, (f"The answer is {outputs}, all right?",))] if outputs else []
        for call in problem.actions:
            if call.name in tools or call.name == RESPOND:
                plan.append(Command(call.name, encoded(problem.world.domain, call)))
            if call.name == TRANSFER:
                return plan
        return [*plan, Command(RESPOND, (DONE,))]

    def plan_length(self, session: PublishedSession) -> int | None:
        """Return the number of turns up to the end of the episode."""
        return len(self.plan(session.problem)) - self._position(session)

    def next(self, session: PublishedSession) -> Command:
        """Return the first action of the plan that was not made yet; after the plan, the last."""
        plan = self.plan(session.problem)
        return plan[min(self._position(session), len(plan) - 1)]

    def _position(self, session: PublishedSession) -> int:
        """Return how many actions of the plan were made in its order, whatever came between."""
        plan, position = self.plan(session.problem), 0
        for turn in session.turns:
            position += position < len(plan) and turn == (
                plan[position].name,
                *plan[position].values,
            )
        return position


def offers(session: PublishedSession) -> Iterator[Command]:
    """Yield actions whose arguments were told or shown."""
    yield from (Command(RESPOND, (text,)) for text in ("How can I help you?", DONE))
    seen = "\n".join((session.output, *(customer for _, customer in session.talk)))
    count = 0
    for name, tool in TOOLS[session.problem.world.domain].items():
        params = tool.spec.params
        if not params:
            yield Command(name)
        if len(params) == 1 and params[0].name in LOOKS:
            for key in dict.fromkeys(LOOKS[params[0].name].findall(seen)):
                if count < MOST_OFFERED:
                    count += 1
                    yield Command(name, (key,))
