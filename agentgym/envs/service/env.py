"""Service as a Gymnasium environment."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from agentgym.actions import ActionSpec, Param, parse
from agentgym.actions.renderer import render
from agentgym.actions.specs import ActionCall
from agentgym.core.env import TextEnv
from agentgym.core.later import Later
from agentgym.core.options import choice, integer
from agentgym.core.outcome import Outcome, StopReason
from agentgym.core.tasks import NumberedTasks, Task
from agentgym.envs.problem_tasks import expert_for
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
    ServiceTurn,
)
from agentgym.envs.service.experts import EXPERTS, SPEAKING
from agentgym.envs.service.experts.clerk import Command
from agentgym.envs.service.generator.config import GeneratorConfig
from agentgym.envs.service.offers import offers
from agentgym.envs.service.published import gold
from agentgym.envs.service.published.session import PublishedSession
from agentgym.envs.service.tasks import domain_names, open_published, open_tasks
from agentgym.envs.service.voice import SCRIPTED, open_voice
from agentgym.errors import ConfigurationError

REWARDS = ("sparse",)
"""Rewards: 1 for a solved task, else 0."""
EXPECTED = "invalid: expected one call of a tool, such as {example}"
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


class Session(Protocol):
    """An episode, of a generated or a published task."""

    turns: tuple[tuple[str, ...], ...]

    @property
    def ended(self) -> bool:
        """Whether the conversation is over."""

    def opening(self) -> str:
        """Return the first observation."""

    def act(self, name: str, arguments: Collection[str] = ()) -> ServiceTurn:
        """Execute an action."""

    def solved(self) -> bool:
        """Return whether the task is solved."""

    def fork(self) -> Session:
        """Return an independent copy."""

    def snapshot(self) -> Any:
        """Return a picklable copy of the state."""

    def restore(self, state: Any) -> None:
        """Return to a state of the same task."""


class Player(Protocol):
    """An expert."""

    def next(self, session: Any) -> Command:
        """Return the next action."""

    def plan_length(self, session: Any) -> int | None:
        """Return the number of turns up to the end of the episode."""


class ServiceEnv(TextEnv[Session]):
    """Serve a customer by tools, under a written policy, in a conversation.

    Args:
        data: Published tasks: a checkout of tau-bench or tau2-bench, or the folder of a domain in
            it. None: generated tasks.
        domain: ``retail``, ``airline`` or ``telecom``; None: tasks of all three, and all tools.
            With ``data``: ``retail`` or ``airline``; None: the first that the folder has.
        difficulty: Size and difficulty of generated tasks: ``easy``, ``medium``, ``hard``, or a
            :class:`~agentgym.envs.service.generator.config.GeneratorConfig`.
        generator_seed: Seed of the generated tasks.
        horizon: Turn budget of an episode.
        reward: ``sparse``: 1 if the database and what was said are as the policy wants it.
        user: The customer's words: ``scripted``, or ``chat:MODEL``, a model at an OpenAI-compatible
            endpoint that rewords them; a program decides what is told. With ``data`` the model
            plays the customer.
        user_url: URL of that endpoint up to ``/v1``; empty: ``OPENAI_BASE_URL`` or OpenAI.
        expert: The demonstrator: ``clerk`` asks, looks up and checks the policy, ``hasty`` mostly
            does not check, ``oracle`` knows the task; ``thinking`` also writes how it checks
            (native grammar), ``hurried`` acts as ``thinking`` in 60% of tasks and else does not
            check.
        **kwargs: See :class:`~agentgym.core.TextEnv`.

    Raises:
        ConfigurationError: A value is of the wrong type or out of range.
        DependencyNotInstalled: A model plays the user, and the package ``openai`` is missing.
    """

    def __init__(
        self,
        *,
        data: str | os.PathLike[str] | None = None,
        domain: str | None = None,
        difficulty: str | GeneratorConfig = "medium",
        generator_seed: int = 0,
        horizon: int = 40,
        reward: str = "sparse",
        user: str = SCRIPTED,
        user_url: str = "",
        expert: str | None = None,
        **kwargs: Any,
    ) -> None:
        choice(reward, "reward", REWARDS)
        config, seed = GeneratorConfig.of(difficulty), integer(generator_seed, "generator_seed", 0)
        name = expert_for(expert, data is not None, EXPERTS)
        if name in SPEAKING and kwargs.get("grammar") not in (None, "native"):
            raise ConfigurationError(
                f"expected expert={name!r} only with the native grammar, which allows words before "
                f"an action, got grammar={kwargs['grammar']!r:.80}"
            )
        self._expert: Player
        self._oracle: Player
        self._tasks: NumberedTasks[Any]
        specs: tuple[ActionSpec, ...]
        if data is None:
            specs = action_specs(domain_names(domain))
            self._expert, self._oracle = EXPERTS[name](), EXPERTS["oracle"]()
            self._tasks = open_tasks(config, domain, seed, name)
        else:
            specs, self._tasks = open_published(data, domain)
            self._expert = self._oracle = gold.GoldPlayer()
        self.action_specs = specs  # type: ignore[misc]  # of the class
        self._published = data is not None
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
            example = "respond[{content}]" if self._published else "say[{text}] or show[{record}]"
            return self._misread(action, EXPECTED.format(example=example))
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

    def _make_session(self, task: Task) -> Session:
        problem = self._tasks.problem(task)
        if self._published:
            return PublishedSession(problem, self._voice.play if self._voice else None)
        return ServiceSession(problem, self._voice.word if self._voice else None)

    def _action_of(self, expert: Player) -> str | None:
        """Return an expert's next action; None once the episode has ended."""
        return None if self.session.ended else self._write(*expert.next(self.session))

    def _offers(self, session: Any) -> list[str]:
        if session.ended:
            return []
        calls: Iterator[Command] = (gold.offers if self._published else offers)(session)
        return list(dict.fromkeys(self._write(*call) for call in calls))

    def _write(self, name: str, values: tuple[str, ...], thought: str = "") -> str:
        """Write a call in the native grammar; a thought comes before it."""
        spec = next(spec for spec in self.action_specs if spec.name == name)
        names = [param.name for param in spec.params]
        call = render(ActionCall(name, dict(zip(names, values, strict=True))), self.action_specs)
        return f"{thought} {call}".lstrip()
