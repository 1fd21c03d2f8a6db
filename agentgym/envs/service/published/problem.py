"""A published task: its instruction, the actions that solve it, and the judge."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from agentgym.core.tasks import canonical_json
from agentgym.envs.service.published.airline import AIRLINE_TOOLS
from agentgym.envs.service.published.retail import RETAIL_TOOLS
from agentgym.envs.service.published.rows import Rows, Tables
from agentgym.envs.service.published.tau2_tools import AIRLINE2_TOOLS, RETAIL2_TOOLS
from agentgym.envs.service.published.tools import RESPOND, SHARED, SPEAK, TRANSFER, Refusal, Tool

TABLES: Mapping[str, tuple[str, ...]] = {
    "retail": ("orders", "products", "users"), "airline": ("flights", "reservations", "users"),
}  # fmt: skip
"""Domain -> its tables."""
TAU2 = "tau2-"
"""Begins the names of worlds of tau2-bench."""
TOOLS: Mapping[str, Mapping[str, Tool]] = {
    domain: {tool.spec.name: tool for tool in (*tools, *SHARED)}
    for domain, tools in (
        ("retail", RETAIL_TOOLS), ("airline", AIRLINE_TOOLS),
        (f"{TAU2}retail", RETAIL2_TOOLS), (f"{TAU2}airline", AIRLINE2_TOOLS),
    )
}  # fmt: skip
"""Domain -> its tools by name."""
SPECS = {
    domain: (*(tool.spec for tool in tools.values()), SPEAK) for domain, tools in TOOLS.items()
}
"""Domain -> its actions."""
UNUSABLE = (
    KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, StopIteration,
)  # fmt: skip
"""Errors of tools whose arguments have another form than the database, as those of a model may."""


@dataclass(frozen=True)
class Call:
    """A call of a tool, or what is said."""

    name: str
    """Name of the tool."""
    arguments: Mapping[str, Any]
    """Arguments by name."""


@dataclass(frozen=True)
class World:
    """What the tasks of a folder share."""

    domain: str
    """``retail`` or ``airline``; in tau2-bench after ``tau2-``."""
    policy: str
    """The policy in words."""
    tables: Tables = field(repr=False)
    """The database."""

    @cached_property
    def digest(self) -> str:
        """The hash of the policy and of the database."""
        return hashlib.sha256(canonical_json([self.policy, self.tables]).encode()).hexdigest()


@dataclass(frozen=True)
class PublishedProblem:
    """A task."""

    world: World
    """The database and the policy."""
    user: str
    """Id of the customer; empty in tau2-bench."""
    instruction: str
    """What the customer wants, as an instruction to whoever plays the customer."""
    actions: tuple[Call, ...]
    """The actions that solve it."""
    outputs: tuple[str, ...]
    """What must be said to the customer."""
    unjudged: int = 0
    """Number of statements about the conversation that need a model as the judge."""

    @cached_property
    def expected(self) -> Mapping[tuple[str, str], str]:
        """The rows that differ in the end, as texts."""
        return self.replayed().differences()

    def replayed(self) -> Rows:
        """Return the database after the actions that solve the task."""
        rows = Rows(self.world.tables, {})
        for call in self.actions:
            if call.name != TRANSFER:
                execute(self.world.domain, rows, call)
        return rows

    def is_said(self, said: Iterable[str]) -> bool:
        """Return whether every required output is in one of the messages, in whatever case.

        Commas are left out of messages, and not of outputs, as in tau-bench (``envs/base.py``),
        which also counts what the solving actions say.
        """
        gold = (str(c.arguments.get("content", "")) for c in self.actions if c.name == RESPOND)
        texts = [text.lower().replace(",", "") for text in (*said, *gold)]
        return all(any(output.lower() in text for text in texts) for output in self.outputs)


def read_call(domain: str, name: str, arguments: Mapping[str, Any]) -> Call:
    """Return a solving action.

    Raises:
        ValueError: An argument of the tool is missing.
        TypeError: The arguments are no JSON.
    """
    canonical_json(dict(arguments))
    params = [param.name for spec in SPECS[domain] if spec.name == name for param in spec.params]
    if missing := [param for param in params if param not in arguments]:
        raise ValueError(f"{name} without {', '.join(missing)}")
    return Call(name, dict(arguments))


def execute(domain: str, rows: Rows, call: Call) -> tuple[str, bool]:
    """Execute a tool.

    Returns:
        What it shows, and whether the database refused the call.
    """
    tool = TOOLS[domain].get(call.name)
    if tool is None:  # such as `think`, which does nothing
        return "", False
    try:
        return tool.run(rows, **call.arguments), False
    except Refusal as error:
        return f"Error: {error}", True
    except UNUSABLE as error:
        return describe_unusable(error), True


def describe_unusable(error: Exception) -> str:
    """Return what a tool shows whose arguments have another form than the database."""
    return f"Error: unusable arguments ({type(error).__name__}: {error})"[:500]
