"""Transcribers: baselines that only rearrange the words of a task.

They read the task and the first observation, and nothing afterwards. They type the task's lines,
words, names and numbers as actions, or combine its numbers to a formula. If a transcriber solves a
task, reward on this task would teach copying. ``agentgym certify`` plays them beside the blind
policies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from agentgym.actions.renderer import render
from agentgym.actions.specs import ActionCall, ActionSpec
from agentgym.errors import ConfigurationError

if TYPE_CHECKING:
    from agentgym.core.env import TextEnv

LONGEST = 4000
"""Maximum number of characters of a task that are read."""
LONGEST_LINE = 200
"""Maximum number of characters of a line that is typed as an action."""
MOST_ACTIONS = 200
"""Maximum number of actions planned for an episode."""
_STOP_WORDS = frozenset((
    "a", "an", "and", "are", "as", "at", "by", "can", "do", "does", "find", "for", "from", "get",
    "give", "have", "how", "i", "in", "is", "it", "its", "me", "of", "on", "or", "please", "put",
    "some", "than", "that", "the", "there", "these", "this", "to", "was", "what", "when", "where",
    "which", "who", "whose", "with", "you", "your",
))  # fmt: skip
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./'-]*[A-Za-z0-9]|[A-Za-z0-9]")
_NAME = re.compile(r"`([^`\n]+)`|\"([^\"\n]+)\"|(?<=[a-z,] )([A-Z]\w*(?: [A-Z]\w*)*)")
_CLAUSE = re.compile(r"[\n;.!?]+\s*|,\s+|\s+(?:and|then)\s+")
_LEADING = re.compile(r"^(?:(?:and|then|next|first|finally|please|you|should|to|the)\s+)+", re.I)
_ARTICLE = re.compile(r"\b(?:to the|the|a|an|some)\s+", re.I)
_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:\s?\^\s?\d+)?")
_SIGNS = (
    (re.compile(r"divid|boxes of|groups of|shared|split|each hold|\bper\b|/", re.I), "/"),
    (re.compile(r"multipl|times|product|\*", re.I), "*"),
    (re.compile(r"subtract|minus|fewer|less|gives|loses|eats| - ", re.I), "-"),
)
"""Words between two numbers -> the operator that they suggest; the default is ``+``."""
_WHOLE = re.compile(r"\bfull\b|\bwhole\b|\bcomplete", re.I)


def _goal(task: str) -> str:
    return " ".join(task.split())


def _words(task: str) -> str:
    return " ".join(word for word in _WORD.findall(task) if word.lower() not in _STOP_WORDS)


def _name(task: str) -> str:
    names = [next(filter(None, match.groups())) for match in _NAME.finditer(task)]
    return names[-1] if names else ""


def _number(task: str) -> str:
    numbers = _NUMBER.findall(task)
    return numbers[-1] if numbers else ""


def _formula(task: str) -> str:
    """Join the numbers of a task, left to right, by the operators that the words suggest."""
    formula, end = "", 0
    for match in _NUMBER.finditer(task):
        number, between = match[0].replace(",", ""), task[end : match.start()]
        sign = next((sign for words, sign in _SIGNS if words.search(between)), "+")
        if sign == "/" and "remainder" in task.lower():
            sign = "mod"
        inner = f"({formula})" if " " in formula and sign != "+" else formula
        formula, end = f"{inner} {sign} {number}" if formula else number, match.end()
    return f"floor({formula})" if formula and _WHOLE.search(task) else formula


TEXTS: Mapping[str, Callable[[str], str]] = {
    "transcriber-goal": _goal,
    "transcriber-words": _words,
    "transcriber-name": _name,
    "transcriber-number": _number,
    "transcriber-formula": _formula,
}
"""Transcribers that pass one text of the task to every action with one argument; the action that
ends the episode comes last."""
TRANSCRIBERS: tuple[str, ...] = ("transcriber-lines", *TEXTS)
"""Names of the transcribers. ``transcriber-lines`` types each clause of the task as an action, then
the words of the task as arguments."""


class Transcriber:
    """Type the words of the task, rearranged.

    Args:
        name: One of `TRANSCRIBERS`.
        env: The environment, whose actions and grammar are used.

    Raises:
        ConfigurationError: There is no such policy.
    """

    def __init__(self, name: str, env: TextEnv) -> None:
        if name not in TRANSCRIBERS:
            raise ConfigurationError(f"expected one of {', '.join(TRANSCRIBERS)}; got {name!r}")
        self._text, self._specs = TEXTS.get(name), env.action_specs
        self._write = env.spoken.write
        self._plan: list[str] = []
        self._final = ""

    def reset(self, observation: str, info: Mapping[str, Any]) -> None:
        """Plan the actions of the episode from its task and first observation."""
        goal = str(info.get("goal", ""))[:LONGEST]
        text = observation[:LONGEST]
        if self._text is None:
            task = text if goal in text else f"{goal}\n{text}"
            actions = [*_clauses(task), *self._filled(_words(goal).split())]
        else:
            actions = self._with_text(self._text(goal or text))
        self._final = next(self._ends(goal or text), "")
        self._plan = list(dict.fromkeys(actions))[:MOST_ACTIONS]

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Return the next action of the plan; the final one in the last turn or after the plan.

        A planned action whose verb is admissible comes first.
        """
        turns_left = int(info["horizon"]) - int(info["turn"])
        if self._plan and (turns_left > 1 or not self._final):
            verbs = {_verb(action) for action in info.get("admissible_actions") or ()}
            possible = (action for action in self._plan if _verb(action) in verbs)
            action = next(possible, self._plan[0])
            self._plan.remove(action)
            return self._write(action)
        return self._write(self._final) if self._final else ""

    def _with_text(self, text: str) -> list[str]:
        return [
            action
            for spec in self._specs
            if text and not spec.terminal and len(_arguments(spec)) == 1
            for action in self._actions(spec, [text])
        ]

    def _filled(self, words: Sequence[str]) -> Iterator[str]:
        """Yield every action with neighbouring words of the task as its arguments."""
        for spec in self._specs:
            size = len(_arguments(spec))
            for place in range(len(words) - size + 1 if size and not spec.terminal else 0):
                yield from self._actions(spec, words[place : place + size])

    def _ends(self, task: str) -> Iterator[str]:
        """Yield the actions that end an episode, with the text if they take one."""
        text = _goal(task) if self._text is None else self._text(task)
        for spec in self._specs:
            size = len(_arguments(spec))
            if spec.terminal and size <= 1 and (text or not size):
                yield from self._actions(spec, [text] * size)

    def _actions(self, spec: ActionSpec, values: Sequence[str]) -> Iterator[str]:
        """Yield an action with some arguments, if it can be written."""
        arguments = dict(zip(_arguments(spec), values, strict=True))
        with suppress(ConfigurationError):
            yield render(ActionCall(spec.name, arguments), self._specs)


def _arguments(spec: ActionSpec) -> list[str]:
    """Return the arguments that a call needs."""
    return [param.name for param in spec.params if param.required]


def _clauses(task: str) -> Iterator[str]:
    """Yield the lines of a task, then its clauses, each without articles and unchanged."""
    if "\n" in task:
        yield from (line.strip() for line in task.split("\n") if 0 < len(line) <= LONGEST_LINE)
    for clause in _CLAUSE.split(task):
        command = _LEADING.sub("", clause.strip())
        if command:
            yield _ARTICLE.sub("", command)
            yield command


def _verb(action: str) -> str:
    return action.split()[0].lower() if action.split() else ""
