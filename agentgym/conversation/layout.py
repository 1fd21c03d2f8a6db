"""Layouts of episodes as messages, defined as data: templates, window, history and lists."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any

from agentgym.errors import ConfigurationError
from agentgym.support.typed_json import read_json

KINDS = ("step", "turns")
"""``step``: a single user message, rebuilt in each turn; ``turns``: the conversation so far."""
ROLES = ("system", "user", "assistant")
LONGEST_TEMPLATE = 32_768
"""Maximum number of characters of a template."""
PROMPT_FIELDS = (
    "task", "step", "taken", "shown", "history", "observation", "admissible", "actions",
)  # fmt: skip
"""Fields of prompt templates."""
HISTORY_FIELDS = ("number", "observation", "action")
"""Fields of the template for one turn of the history."""
OPENING_FIELDS = ("task", "actions")
"""Fields of the messages before the first observation."""

_FIELD = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def fill(template: str, values: Mapping[str, Any]) -> str:
    """Fill the fields of a template; the text of a value is never parsed for fields.

    Args:
        template: Text with fields such as ``{task}``.
        values: One value for each field.
    """
    # Not str.format: templates may contain other braces, and str.format can read attributes.
    return _FIELD.sub(lambda match: str(values[match[1]]), template)


@cache
def fields_of(template: str) -> frozenset[str]:
    """Return the names of the fields of a template."""
    return frozenset(_FIELD.findall(template))


@dataclass(frozen=True)
class OpeningMessage:
    """A message before the first observation."""

    role: str
    """``system``, ``user`` or ``assistant``."""
    content: str
    """Template, with the fields of `OPENING_FIELDS`."""


@dataclass(frozen=True)
class ShotTurn:
    """A turn of a worked example."""

    observation: str
    """The environment's text."""
    action: str
    """The action, in the environment's grammar."""
    admissible: tuple[str, ...] = ()
    """Admissible actions, for layouts that list them."""


@dataclass(frozen=True)
class Shot:
    """A worked example: the first turns of an episode of the demonstrator."""

    task: str
    """The task in words."""
    turns: tuple[ShotTurn, ...]
    """The turns, in order."""
    result: str = ""
    """Observation after the last action."""


@dataclass(frozen=True)
class AdmissibleStyle:
    """How the list of admissible actions is written."""

    item: str = "{action}"
    """Template of one action, with the field ``{action}``."""
    separator: str = "\n"
    """Separator between actions."""
    exclude: tuple[str, ...] = ()
    """Actions that are left out."""
    rename: Mapping[str, str] = field(default_factory=dict)
    """Prefix of an action -> text shown in its place, such as a form without its arguments."""

    def write(self, actions: Sequence[str]) -> str:
        """Write a list of native actions; entries with equal text are shown once."""
        texts = dict.fromkeys(
            self._rename_action(action) for action in actions if action not in self.exclude
        )
        return self.separator.join(fill(self.item, {"action": action}) for action in texts)

    def _rename_action(self, action: str) -> str:
        texts = (text for head, text in self.rename.items() if action.startswith(head))
        return next(texts, action)


@dataclass(frozen=True)
class ObservationStyle:
    """How observations are written."""

    separator: str = ""
    """Separator between parts of an observation; empty if it has no parts."""
    part: str = "{part}"
    """Template of a part, with the field ``{part}``."""
    after_task: bool = False
    """Leave out everything up to and including the part with the task, which is shown elsewhere."""

    def write(self, observation: str, task: str) -> str:
        """Write an observation; unchanged without a separator or if the task is missing."""
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

    With ``turns``, user messages are the first observation and, after each response, the next one.
    Beyond a window the first observation stays, because it contains the task; the turns after it
    are dropped without a notice. The prefix before the window is then the same in every turn, so
    that inference engines can cache it and training rows share it.

    Templates hold fields: ``{task}``, ``{step}`` (number of this turn, from 1), ``{taken}`` (turns
    before it), ``{shown}`` (those in the history), ``{history}``, ``{observation}``,
    ``{admissible}`` and ``{actions}`` (how to act, from the environment).

    Raises:
        ConfigurationError: A value is out of range, or a template has an unknown field.
    """

    kind: str
    """One of `KINDS`."""
    first: str
    """Template of the user message in the first turn."""
    later: str
    """Template of the user message in later turns."""
    opening: tuple[OpeningMessage, ...] = ()
    """Messages before it."""
    window: int | None = None
    """Number of turns of history: responses with the observations that followed; None: all."""
    history: str = "{number}: {observation}\n{action}"
    """``step``: template of one turn of the history, with the fields of `HISTORY_FIELDS`."""
    history_separator: str = "\n"
    """``step``: separator between turns of the history."""
    admissible: AdmissibleStyle = field(default_factory=AdmissibleStyle)
    """How the list of admissible actions is written."""
    observation: ObservationStyle = field(default_factory=ObservationStyle)
    """How observations are written."""
    longest: int | None = None
    """``step``: length in characters from which the prompt of the first turn is used, without
    history; None: no limit."""
    shots: tuple[Shot, ...] = ()
    """Worked examples, each a conversation between the opening and the first observation."""
    reasons: bool = False
    """Whether the user message says why the last action was invalid if the observation does not."""

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
            *(("opening", message.content, OPENING_FIELDS) for message in self.opening),
        ]
        for name, template, field_names in templates:
            check_template(name, template, field_names)
        for opening in self.opening:
            if opening.role not in ROLES:
                raise ConfigurationError(
                    f"expected the role of an opening message to be one of {', '.join(ROLES)}; "
                    f"got {opening.role!r:.80}"
                )
        # With turns, the window must include the answer to which the last observation replies.
        for name, low in (("window", int(self.kind == "turns")), ("longest", 1)):
            value = getattr(self, name)
            if value is not None and value < low:
                raise ConfigurationError(
                    f"expected {name} of the layout to be at least {low}, got {value}"
                )

    @property
    def lists_actions(self) -> bool:
        """Whether user messages list the admissible actions."""
        return "admissible" in fields_of(self.first) | fields_of(self.later)

    @property
    def grows(self) -> bool:
        """Whether the messages of each turn begin with all messages of the previous turn."""
        return self.kind == "turns" and self.window is None

    @property
    def sha256(self) -> str:
        """First 8 hexadecimal digits of a SHA-256 that identifies the layout."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def windowed(self, window: int | None) -> Layout:
        """Return the layout with another window; None keeps the current one.

        Raises:
            ConfigurationError: The window is negative.
        """
        return self if window is None else replace(self, window=window)

    def with_shots(self, shots: Sequence[Shot]) -> Layout:
        """Return the layout with other worked examples, reduced to the parts that it shows."""
        if not self.lists_actions:
            shots = [
                replace(shot, turns=tuple(replace(turn, admissible=()) for turn in shot.turns))
                for shot in shots
            ]
        return replace(self, shots=tuple(shots))

    def to_dict(self) -> dict[str, Any]:
        """Return the layout as JSON-safe data."""
        # Through JSON: tuples become lists, as a file gives them back.
        fields: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        if not self.shots:  # so that layouts without examples keep their hash
            del fields["shots"]
        return fields

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Layout:
        """Build a layout from the data of `to_dict`.

        Raises:
            ConfigurationError: The data is not a layout.
            DataError: A field is missing or has another type.
        """
        return read_json(cls, data, "layout")


def check_template(name: str, template: object, field_names: Collection[str]) -> None:
    """Check that a template is not too long and has only known fields.

    Raises:
        ConfigurationError: The template is too long or has an unknown field.
    """
    if not isinstance(template, str) or len(template) > LONGEST_TEMPLATE:
        raise ConfigurationError(
            f"expected the template {name} to be a text of at most {LONGEST_TEMPLATE:,} "
            f"characters, got {template!r:.80}"
        )
    unknown = [part for part in fields_of(template) if part not in field_names]
    if unknown:
        fields = ", ".join(f"{{{part}}}" for part in field_names)
        raise ConfigurationError(
            f"expected fields of the template {name} among {fields}; got {{{unknown[0]}}}"
        )


BARE = Layout("turns", "{observation}", "{observation}")
"""Only the texts of the environment and the model."""
DEFAULT = replace(
    BARE,
    opening=(
        OpeningMessage(
            "system",
            "You act in a text environment, one action per turn, until the task is done.\n"
            "{actions}",
        ),
    ),
)
"""The default layout: a system message on how to act, then all turns."""


def tool_instructions(horizon: int | None = None) -> str:
    """Return instructions for acting with tool calls; the tool protocol defines their format.

    Args:
        horizon: Maximum number of turns of the episode, if known.
    """
    budget = "" if horizon is None else f", and you have {horizon}"
    return (
        "You act in a text environment by calling tools, one call at a time, until the task is "
        f"done. Each call is a turn{budget}. An answer in words changes nothing."
    )
