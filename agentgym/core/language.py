"""The language between an environment and a policy: a grammar over a set of actions."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from typing import Any, NamedTuple

from agentgym.actions import (
    MAX_TEXT_CHARS,
    ActionSpec,
    check_grammar,
    openai_tools,
    parse,
    prompt,
    strip_think,
    translate,
)
from agentgym.actions.parser import unix_line_ends
from agentgym.actions.templates import find_native
from agentgym.actions.thinking import may_hold_thinking
from agentgym.core.outcome import bounded, well_formed
from agentgym.errors import ConfigurationError

ACTION_LENGTH = 4096
"""Default maximum number of characters of an action, thinking removed."""


class Reading(NamedTuple):
    """Result of parsing a policy's text."""

    native: str
    """The action in the native grammar; empty if there is none."""
    trailing: str = ""
    """Text after the first complete action."""
    problem: str = ""
    """Why there is no action; empty if there is one."""


class Language:
    """Read and write actions in one grammar.

    Args:
        specs: The actions.
        grammar: The grammar.
        length: Maximum number of characters of an action, thinking removed.

    Raises:
        ConfigurationError: There is no such grammar.
    """

    def __init__(
        self, specs: tuple[ActionSpec, ...], grammar: str, length: int = ACTION_LENGTH
    ) -> None:
        self.specs, self.grammar, self.length = specs, check_grammar(grammar), length
        self.native = grammar == "native"
        self.literal = grammar in ("native", "action_tag")
        """Whether actions reach the family exactly as the policy wrote them."""

    def read(self, action: str) -> Reading:
        """Parse model text: thinking stripped, length bounded, never evaluated.

        Native text, and text between the tags of ``action_tag``, is passed on unchanged, because a
        family's parser may be more or less strict than its declaration.

        Raises:
            ConfigurationError: The action is not a ``str``.
        """
        return Reading(*self.understand(action))

    def understand(self, action: str) -> tuple[str, str, str]:
        """Return the values of :meth:`read` as a plain tuple, which is faster.

        Languages with another way of parsing override this method.

        Raises:
            ConfigurationError: The action is not a ``str``.
        """
        if not isinstance(action, str):
            raise ConfigurationError(
                f"expected the action to be a str, got {type(action).__name__}: {action!r:.80}"
            )
        if not action.isascii():
            action = well_formed(action)
        if "\r" in action:
            action = unix_line_ends(action)
        if self.native:
            if len(action) > self.length or may_hold_thinking(action):
                action = self._bounded(strip_think(action, self.specs))
            return action, "", ""
        parsed = parse(action, self.specs, self.grammar)
        if parsed.error:
            return "", parsed.trailing, f"invalid: {parsed.error}"
        return bounded(parsed.native, self.length, brackets=False), parsed.trailing, ""

    def _bounded(self, action: str) -> str:
        """Bound native text; if the action is beyond the bound, drop the text before it."""
        if len(action) > self.length:
            match = find_native(action[:MAX_TEXT_CHARS], self.specs)
            if match is not None and match.end > self.length:
                action = action[match.start :]
        return bounded(action, self.length, brackets=False)

    def write(self, native: str) -> str:
        """Write a native action in this grammar.

        Returns:
            Text that :meth:`read` parses to exactly this action; ``native`` itself if the grammar
            cannot express it (families declare parameters with significant white space as
            ``verbatim``).
        """
        return native if self.native else _write(self.specs, self.grammar, native)

    def prompt(self) -> str:
        """Return the paragraph that explains to a language model how to write actions."""
        return prompt(self.specs, self.grammar)

    def tools(self) -> list[dict[str, Any]]:
        """Describe the actions as OpenAI tools, in new objects."""
        # Parse the cached JSON each time, so that callers can modify their own copy.
        tools: list[dict[str, Any]] = json.loads(_tools_json(self.specs))
        return tools


@lru_cache(maxsize=8192)
def _write(specs: tuple[ActionSpec, ...], grammar: str, native: str) -> str:
    """Write a native action in a grammar; cached, because admissible actions recur every turn."""
    try:
        text = translate(native, specs, grammar)
    except ConfigurationError:
        return native
    # Return only text that parses back to the same action.
    return text if parse(text, specs, grammar).native == native else native


@cache
def _tools_json(specs: tuple[ActionSpec, ...]) -> str:
    return json.dumps(openai_tools(specs))


def checked_language(language: Language) -> Language:
    """Return a language through which every turn goes.

    Raises:
        ConfigurationError: It overrides `Language.read`, which turns do not call.
    """
    if type(language).read is not Language.read:
        raise ConfigurationError(
            f"expected a language that overrides understand, got {type(language).__name__}, "
            "which overrides read: turns would pass it by; move what it does to understand"
        )
    return language
