"""Service as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from agentgym.actions import ActionSpec, Param, parse
from agentgym.actions.renderer import render
from agentgym.actions.specs import ActionCall
from agentgym.core.env import TextEnv
from agentgym.core.later import Later
from agentgym.core.options import choice
from agentgym.core.outcome import Outcome, StopReason
from agentgym.core.tasks import Task
from agentgym.envs.service.domains import DOMAINS
from agentgym.envs.service.engine.domain import Change
from agentgym.envs.service.engine.session import (
    FIND,
    LIST,
    SAY,
    SEARCH,
    SHOW,
    TRANSFER,
    ServiceSession,
)
from agentgym.envs.service.experts import EXPERTS
from agentgym.envs.service.experts.clerk import Clerk
from agentgym.envs.service.generator.config import GeneratorConfig
from agentgym.envs.service.offers import offers
from agentgym.envs.service.tasks import domain_names, open_tasks
from agentgym.envs.service.voice import SCRIPTED, open_voice

REWARDS = ("sparse",)
"""Rewards: 1 for a solved task, else 0."""
EXPECTED = "invalid: expected one call of a tool, such as say[{text}] or show[{record}]"
RECORD = Param("record", description="Id of the record.")
COMMON = (
    ActionSpec(
        FIND, "Find a customer by number; do it first.",
        (Param("number", description="The number."),), examples=("find[#123]",),
    ),
    ActionSpec(LIST, "List the ids of the customer's records."),
    ActionSpec(SHOW, "Show a record of the customer.", (RECORD,), examples=("show[#456]",)),
    ActionSpec(
        SEARCH, "Search the catalog for rows with all of some words.",
        (Param("words", description="The words."),),
    ),
    ActionSpec(
        SAY, "Say something to the customer, and hear the answer.",
        (Param("text", description="The message."),), examples=("say[How can I help you?]",),
    ),
    ActionSpec(
        TRANSFER, "Transfer the customer to a supervisor, which ends the conversation.",
        (Param("rule", description="Number of the rule that asks for it."),), terminal=True,
    ),
)  # fmt: skip
"""The tools of every domain."""


def change_spec(change: Change) -> ActionSpec:
    """Return the action of a tool that changes records."""
    enum = change.values if change.source == "word" else ()
    value = Param("value", description=f"The {change.noun}.", enum=enum)
    native = f"{change.name}[{{record}}, {{value}}]"
    return ActionSpec(change.name, change.about, (RECORD, value), native=native)


def action_specs(names: Sequence[str]) -> tuple[ActionSpec, ...]:
    """Return the actions of some domains; what several of them have is one action."""
    changes = (change for name in names for change in DOMAINS[name].changes)
    return (*COMMON, *dict.fromkeys(map(change_spec, changes)))


class ServiceEnv(TextEnv[ServiceSession]):
    """Serve a customer by tools, under a written policy, in a conversation.

    Args:
        domain: ``retail``, ``airline`` or ``telecom``; None: tasks of all three, and all tools.
        difficulty: Size and difficulty of generated tasks: ``easy``, ``medium``, ``hard``, or a
            :class:`~agentgym.envs.service.generator.config.GeneratorConfig`.
        generator_seed: Seed of the generated tasks.
        horizon: Turn budget of an episode.
        reward: ``sparse``: 1 if the database and what was said are as the policy wants it.
        user: The customer's words: ``scripted``, or ``chat:MODEL``, a model at an OpenAI-compatible
            endpoint that rewords them; a program decides what is told.
        user_url: URL of that endpoint up to ``/v1``; empty: ``OPENAI_BASE_URL`` or OpenAI.
        expert: The demonstrator: ``clerk`` asks, looks up and checks the policy, ``hasty`` mostly
            does not check, ``oracle`` knows the task.
        **kwargs: See :class:`~agentgym.core.TextEnv`.

    Raises:
        ConfigurationError: A value is of the wrong type or out of range.
        DependencyNotInstalled: A model plays the user, and the package ``openai`` is missing.
    """

    def __init__(
        self,
        *,
        domain: str | None = None,
        difficulty: str | GeneratorConfig = "medium",
        generator_seed: int = 0,
        horizon: int = 40,
        reward: str = "sparse",
        user: str = SCRIPTED,
        user_url: str = "",
        expert: str = "clerk",
        **kwargs: Any,
    ) -> None:
        choice(reward, "reward", REWARDS)
        self.action_specs = action_specs(domain_names(domain))  # type: ignore[misc]  # of the class
        self._expert = EXPERTS[choice(expert, "expert", EXPERTS)]()
        self._oracle = EXPERTS["oracle"]()
        self._tasks = open_tasks(difficulty, domain, generator_seed, expert)
        self._voice = open_voice(user, user_url)
        super().__init__(self._tasks, horizon=horizon, **kwargs)

    # -- the contract of a family ---------------------------------------------------------------

    def reported_details(self) -> Collection[str]:
        """Return the keys that are in ``info["details"]`` at every step."""
        return ("reason", "failed")

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        self._session = self._make_session(task)
        return self._session.opening()

    def _act(self, action: str) -> Outcome:
        call = parse(action, self.action_specs).call
        if call is None:
            return self._misread(action, EXPECTED)
        session = self.session
        turn = session.act(call.name, call.arguments.values())
        solved = session.solved()
        return Outcome(
            turn.observation,
            reward=float(solved),
            terminated=session.ended,
            success=solved,
            score=float(solved) if session.ended else None,
            stop_reason=StopReason.SUCCESS if solved else StopReason.FAILURE,
            details={"reason": turn.observation if turn.failed else "", "failed": turn.failed},
        )

    def _misread(self, action: str, problem: str) -> Outcome:
        return Outcome(problem, valid=False, details={"reason": problem, "failed": False})

    def _idle(self, observation: str, valid: bool) -> Outcome:
        return Outcome(observation, valid=valid, details={"reason": "", "failed": False})

    def _admissible(self) -> Later[Sequence[str]]:
        return Later(self._offers, self.session.fork())

    def _state(self) -> str:
        # The executed actions only: hidden facts must not enter the state key.
        return f"{self.task.id} {self.session.turns!r}"

    def _oracle_turns(self) -> Later[int | None]:
        return Later(self._expert.plan_length, self.session.fork())

    def _oracle_action(self) -> str | None:
        return self._action_of(self._oracle)

    def _demonstrator_action(self) -> str | None:
        return self._action_of(self._expert)

    def _snapshot(self) -> Any:
        return self.session.snapshot()

    def _restore(self, state: Any) -> None:
        self._session = self._make_session(self.task)
        self._session.restore(state)

    # -- parts ----------------------------------------------------------------------------------

    def _make_session(self, task: Task) -> ServiceSession:
        word = self._voice.word if self._voice else None
        return ServiceSession(self._tasks.problem(task), word)

    def _action_of(self, expert: Clerk) -> str | None:
        """Return an expert's next action; None once the episode has ended."""
        return None if self.session.ended else self._write(*expert.next(self.session))

    def _offers(self, session: ServiceSession) -> list[str]:
        if session.ended:
            return []
        return list(dict.fromkeys(self._write(*call) for call in offers(session)))

    def _write(self, name: str, values: tuple[str, ...]) -> str:
        """Write a call in the native grammar."""
        spec = next(spec for spec in self.action_specs if spec.name == name)
        names = [param.name for param in spec.params]
        return render(ActionCall(name, dict(zip(names, values, strict=True))), self.action_specs)
