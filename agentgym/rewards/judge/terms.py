"""The hooks that ask a judge: for the worth of a turn, and whether an episode can be used."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

from agentgym.core.hooks import TurnContext, Verdict
from agentgym.endpoints.config import EndpointConfig
from agentgym.errors import ConfigurationError
from agentgym.rewards.judge.desk import Bounds, Desk
from agentgym.rewards.judge.question import make_question, read_prompt, read_rubric, shortened
from agentgym.rewards.terms import FROM_0, SuppliedHook

_FROM_1 = (1.0, float("inf"))
UNKNOWN = "the record does not hold this verdict"
"""Why a judge of a recorded episode gives none."""


@dataclass
class AskingHook(SuppliedHook):
    """A hook that asks a language model behind an OpenAI-compatible endpoint.

    It asks while its environment takes the turn, and so holds up its own episode alone where
    environments have threads. Without a verdict the turn has no term: nothing is paid in its place,
    and ``info["verdicts"]`` says why. Verdicts of equal questions are asked for once, in memory
    and on the disk. Bounds count for each process.

    Raises:
        ConfigurationError: A value is out of range, or the URL holds what records must not.
    """

    limits: ClassVar[Mapping[str, tuple[float, float]]] = MappingProxyType(
        {
            "window": _FROM_1, "characters": (100.0, 1e6), "max_tokens": _FROM_1,
            "temperature": FROM_0, "requests_per_minute": FROM_0, "calls": FROM_0, "tokens": FROM_0,
        }
    )  # fmt: skip
    texts: ClassVar[Mapping[str, Callable[[str], str]]] = MappingProxyType(
        {"model": str, "url": str, "key_env": str, "rubric": read_rubric}
    )
    """Fields that hold text, and what reads them from a command line."""
    kind: ClassVar[str]
    """Which prompt it reads."""

    model: str = ""
    """The model's name at the endpoint."""
    url: str = ""
    """URL of the endpoint up to ``/v1``; empty is OpenAI's own or ``OPENAI_BASE_URL``."""
    key_env: str = "OPENAI_API_KEY"
    """Environment variable that holds the key."""
    rubric: str = ""
    """How to judge; empty: the supplied rubric. A command line names a file."""
    weight: float = 1.0
    """Factor of the value in the reward."""
    name: str = ""
    """Key in ``info["reward_terms"]`` and ``info["verdicts"]``."""
    window: int = 6
    """Earlier turns that are shown."""
    characters: int = 4000
    """Most characters of each text that is shown."""
    max_tokens: int = 1024
    """Longest answer, in tokens."""
    temperature: float = 0.0
    """Sampling temperature."""
    timeout: float = 60.0
    """Seconds to wait for an answer."""
    retries: int = 2
    """Retries of a question."""
    requests_per_minute: float = 0.0
    """Most requests a minute; 0: any number."""
    calls: int = 10_000
    """Most questions that a process sends."""
    tokens: int = 10_000_000
    """Tokens, read and written, after which a process sends no further question."""
    verdict: Verdict | None = field(default=None, init=False, repr=False, compare=False)
    _told: Sequence[Mapping[str, Verdict]] = field(
        default=(), init=False, repr=False, compare=False
    )
    _asks: bool = field(default=True, init=False, repr=False, compare=False)
    _turns: tuple[tuple[str, str], ...] = field(default=(), init=False, repr=False, compare=False)
    _opening: str = field(default="", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        if "?" in self.url or "@" in self.url.partition("//")[2].partition("/")[0]:
            raise ConfigurationError(
                f"expected the URL of {self.name} without a password and without a query, because "
                "records hold it; put the key into the environment variable that key_env names"
            )
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
        self._desk = Desk(config, Bounds(self.calls, self.tokens))

    def check(self) -> None:
        """Check that a question could be sent.

        Raises:
            DependencyNotInstalled: The package ``openai`` is missing.
            ConfigurationError: The key is needed and not in the environment, or cannot be sent.
        """
        self._desk.check()

    def recall(self, turns: Sequence[Mapping[str, Verdict]], ask: bool) -> None:
        """Know what was said of each turn, by the names of hooks, and ask nobody but if told so."""
        self._told, self._asks = tuple(turns), ask

    def interrupt(self) -> None:
        """End the waits of this moment, from any thread."""
        self._desk.interrupt()

    def reset(self) -> None:
        """Forget the previous episode."""
        self.verdict, self._turns, self._opening = None, (), ""

    def value(self, context: TurnContext) -> float | None:
        """Ask for a verdict on the turn, and return what it is worth; None without one."""
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
        """Return what a verdict is worth, before the weight."""

    def _judged(self, context: TurnContext) -> Verdict:
        if not self._asks:
            turn = context.before.turn
            told = self._told[turn] if turn < len(self._told) else {}
            return told.get(self.name) or Verdict("", None, UNKNOWN)
        question = make_question(read_prompt(self.kind), self.rubric, self._record(context))
        key = self._desk.key(question)
        known = (each for told in self._told for each in told.values() if each.key == key)
        return next(known, None) or self._desk.ask(key, question)

    def _record(self, context: TurnContext) -> list[tuple[str, str]]:
        """Return what is shown of the episode, under our headings."""
        now = context.after.turn
        parts = [("Task", context.goal), ("First observation", self._opening)]
        for turn, (action, answer) in enumerate(self._turns, now - len(self._turns)):
            parts += [(f"Turn {turn}, action", action), (f"Turn {turn}, answer", answer)]
        parts += [(f"Turn {now}, action, the last", context.action)]
        parts += [(f"Turn {now}, answer", context.after.observation)]
        return [(heading, shortened(text, self.characters)) for heading, text in parts]


@dataclass
class Judge(AskingHook):
    """The grade of a turn by a language model, in [0, 1], less the grade that pays nothing."""

    kind: ClassVar[str] = "turn"
    limits: ClassVar = {**AskingHook.limits, "zero": (0.0, 1.0)}
    name: str = "judge"
    """Key in ``info["reward_terms"]`` and ``info["verdicts"]``."""
    zero: float = 0.0
    """The grade, in [0, 1], that pays nothing: a turn below it costs."""

    def is_due(self, context: TurnContext) -> bool:
        """Every turn is judged."""
        return True

    def paid(self, score: float) -> float:
        """Return the grade, less the one that pays nothing."""
        return score - self.zero


@dataclass
class JudgeMask(AskingHook):
    """Whether the environment ruined an episode, asked when it ends; nothing is paid for it.

    A verdict of 1 says so, and such an episode is no evidence of the policy (AutoForge,
    arXiv 2512.22857): ``trainers.algorithms.filters.FlaggedTurns`` leaves it out of training.
    """

    kind: ClassVar[str] = "episode"
    name: str = "judge_mask"
    """Key in ``info["verdicts"]``."""
    window: int = 50
    """Turns before the last that are shown."""

    def is_due(self, context: TurnContext) -> bool:
        """The last turn is judged, with those before it."""
        return context.done

    def paid(self, score: float) -> None:
        """Pay nothing: the turn has no term."""
