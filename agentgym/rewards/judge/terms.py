"""Reward hooks that query a judge: for the value of a turn, and whether an episode is usable."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

from agentgym.core.hooks import TurnContext, Verdict
from agentgym.endpoints.cached_endpoint import (
    CachedEndpoint,
    QuestionBounds,
    check_recorded_url,
)
from agentgym.endpoints.config import EndpointConfig
from agentgym.errors import ConfigurationError
from agentgym.rewards.judge.question import (
    JudgeQuestion,
    make_question,
    read_prompt,
    read_rubric,
    shortened,
)
from agentgym.rewards.terms import FROM_0, SuppliedHook

_FROM_1 = (1.0, float("inf"))
UNKNOWN = "the record does not hold this verdict"
"""Reason of a verdict that is missing in a recorded episode."""


@dataclass
class AskingHook(SuppliedHook):
    """A hook that queries a language model behind an OpenAI-compatible endpoint.

    It sends the question while its environment takes the turn; if environments run in threads, only
    its own episode waits. Without a verdict the turn has no term, and ``info["verdicts"]`` says
    why. Equal questions are sent once; verdicts are cached in memory and on disk. Limits apply per
    process.

    Raises:
        ConfigurationError: A value is out of range, or the URL contains data that records must not
            hold.
    """

    reads_state = ()
    limits: ClassVar[Mapping[str, tuple[float, float]]] = MappingProxyType(
        {
            "window": _FROM_1, "characters": (100.0, 1e6), "max_tokens": _FROM_1,
            "temperature": FROM_0, "requests_per_minute": FROM_0, "calls": FROM_0, "tokens": FROM_0,
        }
    )  # fmt: skip
    texts: ClassVar[Mapping[str, Callable[[str], str]]] = MappingProxyType(
        {"model": str, "url": str, "key_env": str, "rubric": read_rubric}
    )
    """Text fields, and the functions that read them from a command line."""
    kind: ClassVar[str]
    """Kind of prompt."""

    model: str = ""
    """Name of the model at the endpoint."""
    url: str = ""
    """URL of the endpoint up to ``/v1``; empty: ``OPENAI_BASE_URL`` or OpenAI."""
    key_env: str = "OPENAI_API_KEY"
    """Environment variable that holds the API key."""
    rubric: str = ""
    """Instructions for grading; empty: the supplied rubric. On a command line, the name of a
    file."""
    weight: float = 1.0
    """Factor of the value in the reward."""
    name: str = ""
    """Key in ``info["reward_terms"]`` and ``info["verdicts"]``."""
    window: int = 6
    """Number of earlier turns shown."""
    characters: int = 4000
    """Maximum number of characters of each text."""
    max_tokens: int = 1024
    """Maximum length of the response, in tokens."""
    temperature: float = 0.0
    """Sampling temperature."""
    timeout: float = 60.0
    """Seconds to wait for a response."""
    retries: int = 2
    """Retries of a question."""
    requests_per_minute: float = 0.0
    """Maximum number of requests per minute; 0: unlimited."""
    calls: int = 10_000
    """Maximum number of questions per process."""
    tokens: int = 10_000_000
    """Number of tokens, read and written, after which a process sends no further question."""
    verdict: Verdict | None = field(default=None, init=False, repr=False, compare=False)
    _recorded: Sequence[Mapping[str, Verdict]] = field(
        default=(), init=False, repr=False, compare=False
    )
    _asks: bool = field(default=True, init=False, repr=False, compare=False)
    _turns: tuple[tuple[str, str], ...] = field(default=(), init=False, repr=False, compare=False)
    _opening: str = field(default="", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        check_recorded_url(self.url, self.name)
        if not self.model:
            raise ConfigurationError(
                f"expected the model that {self.name} asks, got none: write "
                f"{self.name}:model=NAME,url=http://HOST:PORT/v1"
            )
        config = EndpointConfig(
            self.model,
            self.url or None,
            self.key_env,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            timeout=self.timeout,
            retries=self.retries,
            requests_per_minute=self.requests_per_minute or None,
        )
        bounds = QuestionBounds(self.calls, self.tokens)
        self._endpoint = CachedEndpoint("judge", config, bounds)

    def check(self) -> None:
        """Check that a question could be sent.

        Raises:
            DependencyNotInstalled: The package ``openai`` is missing.
            ConfigurationError: A required API key is not set, or cannot be sent.
        """
        self._endpoint.check()

    def recall(self, turns: Sequence[Mapping[str, Verdict]], ask: bool) -> None:
        """Use recorded verdicts, by hook name, and send questions only if this is allowed."""
        self._recorded, self._asks = tuple(turns), ask

    def interrupt(self) -> None:
        """Interrupt the current waits, from any thread."""
        self._endpoint.interrupt()

    def reset(self) -> None:
        """Clear the state of the previous episode."""
        self.verdict, self._turns, self._opening = None, (), ""

    def value(self, context: TurnContext) -> float | None:
        """Request a verdict on the turn and return its value; None without a verdict."""
        if not context.before.turn:
            self._opening = context.before.observation
        self.verdict = self._judged(context) if self.is_due(context) else None
        self._turns = (*self._turns, (context.action, context.after.observation))[-self.window :]
        if self.verdict is None or self.verdict.score is None:
            return None
        return self.paid(self.verdict.score)

    @abstractmethod
    def is_due(self, context: TurnContext) -> bool:
        """Return whether this turn is judged."""

    @abstractmethod
    def paid(self, score: float) -> float | None:
        """Return the value of a verdict before weighting."""

    def _judged(self, context: TurnContext) -> Verdict:
        if not self._asks:
            turn = context.before.turn
            verdicts = self._recorded[turn] if turn < len(self._recorded) else {}
            return verdicts.get(self.name) or Verdict("", None, UNKNOWN)
        question = make_question(read_prompt(self.kind), self.rubric, self._record(context))
        key = self._endpoint.key(question)
        matches = (
            verdict
            for verdicts in self._recorded
            for verdict in verdicts.values()
            if verdict.key == key
        )
        return next(matches, None) or self._ask(key, question)

    def _ask(self, key: str, question: JudgeQuestion) -> Verdict:
        """Return the judge's verdict on a question."""
        answer = self._endpoint.ask(key, question)
        return Verdict(
            key, answer.value, answer.problem, answer.calls, answer.prompt_tokens,
            answer.completion_tokens,
        )  # fmt: skip

    def _record(self, context: TurnContext) -> list[tuple[str, str]]:
        """Return what is shown of the episode, under our headings."""
        turn_number = context.after.turn
        parts = [("Task", context.goal), ("First observation", self._opening)]
        for turn, (action, answer) in enumerate(self._turns, turn_number - len(self._turns)):
            parts += [(f"Turn {turn}, action", action), (f"Turn {turn}, answer", answer)]
        parts += [(f"Turn {turn_number}, action, the last", context.action)]
        parts += [(f"Turn {turn_number}, answer", context.after.observation)]
        return [(heading, shortened(text, self.characters)) for heading, text in parts]


@dataclass
class Judge(AskingHook):
    """The grade of a turn by a language model, in [0, 1], minus a neutral grade."""

    kind: ClassVar[str] = "turn"
    limits: ClassVar = {**AskingHook.limits, "zero": (0.0, 1.0)}
    name: str = "judge"
    """Key in ``info["reward_terms"]`` and ``info["verdicts"]``."""
    zero: float = 0.0
    """The neutral grade, in [0, 1]: lower grades give a negative reward."""

    def is_due(self, context: TurnContext) -> bool:
        """Every turn is judged."""
        return True

    def paid(self, score: float) -> float:
        """Return the grade minus the neutral grade."""
        return score - self.zero


@dataclass
class JudgeMask(AskingHook):
    """Judge at its end whether the environment broke an episode; adds no reward.

    A verdict of 1 means that it did. Such an episode says nothing about the policy (AutoForge,
    arXiv 2512.22857): ``trainers.algorithms.filters.FlaggedTurns`` excludes it from training.
    """

    kind: ClassVar[str] = "episode"
    name: str = "judge_mask"
    """Key in ``info["verdicts"]``."""
    window: int = 50
    """Number of turns shown before the last one."""

    def is_due(self, context: TurnContext) -> bool:
        """The last turn is judged, with those before it."""
        return context.done

    def paid(self, score: float) -> None:
        """Return None: the turn has no term."""
