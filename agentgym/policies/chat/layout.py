"""How an episode is laid out as the messages of a request: templates, history and lists as data."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from agentgym.errors import ConfigurationError

KINDS = ("step", "turns")
"""``step``: one message of the user, made anew in each turn; ``turns``: the conversation so far."""
ROLES = ("system", "user", "assistant")
LONGEST_TEMPLATE = 32_768
"""Most characters of a template."""
PROMPT_FIELDS = (
    "task", "step", "taken", "shown", "history", "observation", "admissible", "actions",
)  # fmt: skip
"""Fields of the templates of prompts."""
HISTORY_FIELDS = ("number", "observation", "action")
"""Fields of the template of one turn of the history."""
OPENING_FIELDS = ("task", "actions")
"""Fields of the messages before the first observation."""

_FIELD = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def fill(template: str, values: Mapping[str, Any]) -> str:
    """Put values into the fields of a template; text of a value is never read as a field.

    Args:
        template: Text with fields such as ``{task}``.
        values: One value for each field.
    """
    return _FIELD.sub(lambda found: str(values[found[1]]), template)


class Seen(NamedTuple):
    """What a policy saw in one turn."""

    observation: str
    """The environment's text."""
    admissible: Sequence[str] = ()
    """The actions that the environment offered, in its grammar."""
    reason: str = ""
    """Why the last action was invalid; layouts show it as little as the papers do."""

    @property
    def explained(self) -> str:
        """The observation, with the reason where it does not hold that already."""
        if not self.reason or self.reason in self.observation:
            return self.observation
        reason = self.reason.removeprefix("invalid: ")
        return f"{self.observation}\n[The last action was invalid: {reason}]"


class Past(NamedTuple):
    """A turn that was played."""

    seen: Seen
    """What the policy saw."""
    said: str
    """Its whole answer."""


@dataclass(frozen=True)
class Message:
    """A message that stands before the first observation."""

    role: str
    """``system``, ``user`` or ``assistant``."""
    content: str
    """Its template, with the fields of `OPENING_FIELDS`."""


@dataclass(frozen=True)
class AdmissibleStyle:
    """How the list of admissible actions is written."""

    item: str = "{action}"
    """Template of one action, with the field ``{action}``."""
    separator: str = "\n"
    """What stands between two."""
    exclude: tuple[str, ...] = ()
    """Actions that are left out."""
    rename: Mapping[str, str] = field(default_factory=dict)
    """Beginning of an action -> what is shown in its place, such as a form without its words."""

    def write(self, actions: Sequence[str]) -> str:
        """Write a list of native actions; what is shown alike is shown once."""
        shown = dict.fromkeys(self._shown(each) for each in actions if each not in self.exclude)
        return self.separator.join(fill(self.item, {"action": action}) for action in shown)

    def _shown(self, action: str) -> str:
        found = (text for head, text in self.rename.items() if action.startswith(head))
        return next(found, action)


@dataclass(frozen=True)
class ObservationStyle:
    """How observations are written."""

    separator: str = ""
    """What parts them, where they are shown in parts."""
    part: str = "{part}"
    """Template of a part, with the field ``{part}``."""
    after_task: bool = False
    """Leave out everything up to the part that is the task, which stands elsewhere."""

    def write(self, observation: str, task: str) -> str:
        """Write an observation; without a separator, or where the task is missing, as it is."""
        if not self.separator:
            return observation
        parts = observation.split(self.separator)
        if self.after_task:
            if task not in parts:
                return observation
            parts = parts[parts.index(task) + 1 :]
        return self.separator.join(fill(self.part, {"part": part}) for part in parts)


@dataclass(frozen=True)
class Layout:
    """The messages of a request, as data.

    Templates hold fields: ``{task}``, ``{step}`` (number of this turn, from 1), ``{taken}`` (turns
    before it), ``{shown}`` (those in the history), ``{history}``, ``{observation}``,
    ``{admissible}`` and ``{actions}`` (how to act, from the environment).

    Raises:
        ConfigurationError: A field is out of its domain, or a template has an unknown field.
    """

    kind: str
    """One of `KINDS`."""
    first: str
    """Template of what the user says in the first turn."""
    later: str
    """The same for the turns after it."""
    opening: tuple[Message, ...] = ()
    """Messages before it."""
    window: int | None = None
    """Turns of history shown; None: all."""
    history: str = "{number}: {observation}\n{action}"
    """``step``: template of one turn of the history, with the fields of `HISTORY_FIELDS`."""
    history_separator: str = "\n"
    """``step``: what stands between two of them."""
    admissible: AdmissibleStyle = field(default_factory=AdmissibleStyle)
    """How the list of admissible actions is written."""
    observation: ObservationStyle = field(default_factory=ObservationStyle)
    """How observations are written."""
    longest: int | None = None
    """``step``: characters from which on the prompt is the one of the first turn, without
    history; None: any number."""

    def __post_init__(self) -> None:
        """Validate."""
        if self.kind not in KINDS:
            raise ConfigurationError(
                f"expected the layout to be one of {', '.join(KINDS)}; got {self.kind!r:.80}"
            )
        templates = [
            ("first", self.first, PROMPT_FIELDS),
            ("later", self.later, PROMPT_FIELDS),
            ("history", self.history, HISTORY_FIELDS),
            ("admissible.item", self.admissible.item, ("action",)),
            ("observation.part", self.observation.part, ("part",)),
            *(("opening", each.content, OPENING_FIELDS) for each in self.opening),
        ]
        for name, template, known in templates:
            check_template(name, template, known)
        for each in self.opening:
            if each.role not in ROLES:
                raise ConfigurationError(
                    f"expected the role of an opening message to be one of {', '.join(ROLES)}; "
                    f"got {each.role!r:.80}"
                )
        for name, low in (("window", 0), ("longest", 1)):
            value = getattr(self, name)
            if value is not None and value < low:
                raise ConfigurationError(
                    f"expected {name} of the layout to be at least {low}, got {value}"
                )

    def to_dict(self) -> dict[str, Any]:
        """Return the layout as JSON-safe data."""
        return asdict(self)


def check_template(name: str, template: Any, known: Collection[str]) -> None:
    """Refuse a template that is too long, or has a field that nothing fills.

    Raises:
        ConfigurationError: It is, or has.
    """
    if not isinstance(template, str) or len(template) > LONGEST_TEMPLATE:
        raise ConfigurationError(
            f"expected the template {name} to be a text of at most {LONGEST_TEMPLATE:,} "
            f"characters, got {template!r:.80}"
        )
    unknown = [found for found in _FIELD.findall(template) if found not in known]
    if unknown:
        fields = ", ".join(f"{{{each}}}" for each in known)
        raise ConfigurationError(
            f"expected fields of the template {name} among {fields}; got {{{unknown[0]}}}"
        )


class Prompt:
    """A layout at an environment.

    Args:
        layout: The layout.
        action_prompt: How to write actions, from ``env.unwrapped.action_prompt()``.
        read: Returns the native action of a text in the environment's grammar, empty if there is
            none. Default: the environment's grammar is the native one.
        name: What the layout is called in reports.
    """

    def __init__(
        self,
        layout: Layout,
        action_prompt: str = "",
        read: Callable[[str], str] = str,
        name: str = "",
    ) -> None:
        self.layout, self.name = layout, name
        self._actions, self._read = action_prompt, read

    def messages(self, task: str, turns: Sequence[Past], seen: Seen) -> list[dict[str, Any]]:
        """Return the messages of a request.

        Args:
            task: The task in words.
            turns: The turns that were played.
            seen: What the policy sees now.
        """
        opening = {"task": task, "actions": self._actions}
        messages = [
            {"role": each.role, "content": fill(each.content, opening)}
            for each in self.layout.opening
        ]
        last = self._step if self.layout.kind == "step" else self._turns
        return [*messages, *last(task, turns, seen)]

    def _step(self, task: str, turns: Sequence[Past], seen: Seen) -> list[dict[str, Any]]:
        """Return one message with everything in it."""
        layout, recent = self.layout, self._recent(turns)
        text = self._said(task, len(turns), seen, recent, layout.later if turns else layout.first)
        if layout.longest is not None and turns and len(text) > layout.longest:
            text = self._said(task, len(turns), seen, (), layout.first)
        return [{"role": "user", "content": text}]

    def _turns(self, task: str, turns: Sequence[Past], seen: Seen) -> list[dict[str, Any]]:
        """Return what the user and the assistant said; the first observation is never left out."""
        recent = self._recent(turns)
        cut = len(turns) - len(recent)
        messages: list[dict[str, Any]] = []
        for number, past in enumerate([*recent, None], cut):
            now = seen if past is None else past.seen
            template = self.layout.later if number else self.layout.first
            text = self._said(task, number, now, (), template)
            if cut and number == cut:
                begun = self._said(task, 0, turns[0].seen, (), self.layout.first)
                text = f"{begun}\n[... {cut} earlier turns ...]\n{text}"
            messages.append({"role": "user", "content": text})
            if past is not None:
                messages.append({"role": "assistant", "content": past.said})
        return messages

    def _recent(self, turns: Sequence[Past]) -> Sequence[Past]:
        window = self.layout.window
        return turns if window is None else turns[max(0, len(turns) - window) :]

    def _said(
        self, task: str, taken: int, seen: Seen, recent: Sequence[Past], template: str
    ) -> str:
        layout = self.layout
        history = [
            fill(
                layout.history,
                {
                    "number": number,
                    "observation": layout.observation.write(past.seen.observation, task),
                    "action": self._read(past.said),
                },
            )
            for number, past in enumerate(recent, taken - len(recent) + 1)
        ]
        native = [self._read(action) or action for action in seen.admissible]
        values = {
            "task": task,
            "step": taken + 1,
            "taken": taken,
            "shown": len(recent),
            "history": layout.history_separator.join(history),
            "observation": layout.observation.write(seen.observation, task),
            "admissible": layout.admissible.write(native),
            "actions": self._actions,
        }
        return fill(template, values)
