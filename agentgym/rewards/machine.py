"""Reward machines: finite automata over facts of each turn that reward ordered subgoals.

A machine has states and transitions. After each turn, at most one transition fires: the first one
from the current state for which all facts hold. The turn earns its reward (Toro Icarte et al. 2018,
"Using reward machines for high-level task specification and decomposition"). When a further try
begins (`agentgym.core.tries`), the machine restarts and subtracts the rewards of the earlier try. A
TOML file defines the facts and transitions::

    start = "outside"

    [facts]
    key = {observation = "*a key*"}
    used = {action = "unlock *", valid = true}

    [[transitions]]
    from = "outside"
    to = "holds key"
    when = ["key"]
    reward = 0.3

    [[transitions]]
    from = "holds key"
    to = "done"
    when = ["used", "not key"]
    reward = 0.7
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from agentgym.core.hooks import TurnContext, finite
from agentgym.core.tries import TAKEN_BACK
from agentgym.errors import ConfigurationError
from agentgym.rewards.terms import FROM_0, SuppliedHook
from agentgym.support.structured_files import parse_toml

NOT = "not "
"""Prefix of a fact that must not hold."""
LONGEST = 65_536
"""Maximum number of characters of a rules file."""
FACTS: Mapping[str, tuple[type, Callable[[TurnContext, Any], bool]]] = MappingProxyType(
    {
        "action": (str, lambda turn, pattern: fnmatchcase(turn.action, pattern)),
        "observation": (str, lambda turn, pattern: fnmatchcase(turn.after.observation, pattern)),
        "valid": (bool, lambda turn, expected: turn.valid is expected),
        "done": (bool, lambda turn, expected: turn.done is expected),
        "success": (bool, lambda turn, expected: turn.success is expected),
        "score": (float, lambda turn, least: turn.after.score >= least),
        "details": (
            dict,
            lambda turn, expected: all(turn.details.get(key) == expected[key] for key in expected),
        ),
    }
)
"""Conditions of a fact, all of which must hold for a turn: patterns of the action and of the next
observation, whether the action was valid, the episode is over and the task is solved, the minimum
score, and values of ``info["details"]``."""


@dataclass(frozen=True)
class Transition:
    """A transition between two states of a machine."""

    begin: str
    """Source state."""
    end: str
    """Target state."""
    when: tuple[str, ...]
    """Names of facts that must hold, or must not hold after ``not``."""
    reward: float
    """What it pays."""


def read_file(path: str) -> str:
    """Return the text of a rules file.

    Raises:
        ConfigurationError: The file cannot be read, or is too long.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"expected a file of rules at {path!r:.120}, but it cannot be read: {error}"
        ) from error
    if len(text) > LONGEST:
        raise ConfigurationError(
            f"expected at most {LONGEST:,} characters of rules, got {len(text):,} in {path!r:.120}"
        )
    return text


@dataclass
class RewardMachine(SuppliedHook):
    """A reward hook that runs a reward machine.

    Raises:
        ConfigurationError: The rules are not a valid machine in TOML; the message names the place.
    """

    reads_state = ()
    limits: ClassVar = {"weight": FROM_0}
    texts: ClassVar[Mapping[str, Callable[[str], str]]] = MappingProxyType({"rules": read_file})
    """Text fields, and the functions that read them from a command line."""
    rules: str = ""
    """The machine as TOML; on a command line, a file: ``machine:rules=FILE``."""
    weight: float = 1.0
    """Factor of the value in the reward."""
    name: str = "machine"
    """Key in ``info["reward_terms"]``."""
    state: str = field(default="", init=False, compare=False)
    """Current state of the machine."""
    _paid: float = field(default=0.0, init=False, repr=False, compare=False)

    @property
    def needs(self) -> tuple[str, ...]:
        """Keys of ``info["details"]`` that facts use."""
        requirements = (fact.get("details", {}) for fact in self._facts.values())
        return tuple(dict.fromkeys(key for details in requirements for key in details))

    def __post_init__(self) -> None:
        """Read the rules."""
        super().__post_init__()
        self._start, self._facts, self._transitions = read_rules(self.rules)
        self.reset()

    def value(self, context: TurnContext) -> float:
        """Return the reward of this turn's transition; 0 if there is none."""
        if TAKEN_BACK in context.terms:
            paid = self._paid
            self.reset()
            return 0.0 - paid
        holds = {
            name: all(FACTS[kind][1](context, expected) for kind, expected in fact.items())
            for name, fact in self._facts.items()
        }
        for transition in self._transitions:
            if transition.begin == self.state and all(
                holds[name.removeprefix(NOT)] is not name.startswith(NOT)
                for name in transition.when
            ):
                self.state = transition.end
                self._paid += transition.reward
                return transition.reward
        return 0.0

    def reset(self) -> None:
        """Return to the first state."""
        self.state, self._paid = self._start, 0.0


def read_rules(text: str) -> tuple[str, dict[str, dict[str, Any]], tuple[Transition, ...]]:
    """Read the rules of a reward machine.

    Returns:
        The first state, the conditions of each fact, and the transitions in order.

    Raises:
        ConfigurationError: The rules are invalid.
    """
    try:
        rules = parse_toml(text)
    except ValueError as error:
        raise _refuse("TOML", f"text that is none: {error}") from error
    if set(rules) != {"start", "facts", "transitions"} or not isinstance(rules["start"], str):
        raise _refuse("start (a name), [facts] and [[transitions]]", ", ".join(rules) or "nothing")
    facts, transitions = rules["facts"], rules["transitions"]
    if not isinstance(facts, dict) or not isinstance(transitions, list):
        raise _refuse("a table of facts and a list of transitions", f"{facts!r:.80}")
    for name, fact in facts.items():
        _check_fact(name, fact)
    edges = tuple(_transition(entry, facts) for entry in transitions)
    reached = {rules["start"], *(edge.end for edge in edges)}
    if unreachable := sorted({edge.begin for edge in edges} - reached):
        raise _refuse(
            f"transitions from its start or from where others lead ({', '.join(sorted(reached))})",
            f"some from {', '.join(unreachable)}",
        )
    return rules["start"], facts, edges


def _check_fact(name: str, fact: Any) -> None:
    """Refuse what is no fact."""
    kinds = ", ".join(f"{kind} ({cls.__name__})" for kind, (cls, _) in FACTS.items())
    fits = isinstance(fact, dict) and all(
        kind in FACTS and isinstance(expected, (int, float) if kind == "score" else FACTS[kind][0])
        for kind, expected in fact.items()
    )
    if not fits or not fact or name.startswith(NOT):
        raise _refuse(f"facts that say one or more of {kinds}", f"{name} = {fact!r:.80}")


def _transition(entry: Any, facts: Mapping[str, Any]) -> Transition:
    """Read a transition."""
    try:
        when = tuple(entry["when"])
        unknown = [name for name in when if name.removeprefix(NOT) not in facts]
        ends = entry["from"], entry["to"]
        fits = set(entry) <= {"from", "to", "when", "reward"} and not unknown
        reward = entry.get("reward", 0.0)
        fits = fits and all(isinstance(end, str) for end in ends) and finite(reward)
    except (AttributeError, KeyError, TypeError):
        fits = False
    if not fits:
        raise _refuse(
            f"transitions with from, to, when (a list of {', '.join(facts) or 'facts'}, or of "
            f"'{NOT}' before one) and a finite reward",
            f"{entry!r:.120}",
        )
    return Transition(*ends, when, float(reward))


def _refuse(expected: str, actual: str) -> ConfigurationError:
    return ConfigurationError(
        f"expected the rules of a reward machine with {expected}, got {actual}; "
        "agentgym.rewards.machine shows an example"
    )
