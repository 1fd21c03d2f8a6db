"""What an action means: the first complete search or answer in a policy's text.

Three ways of writing are one command in the native grammar: ``<search>words</search>``,
``search[words]`` and a tool call; ``finish[words]`` is an answer, too. Evidence that a policy has
written itself is no action: a text with an information block before its first command is refused.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from agentgym.actions import (
    MAX_ACTION_CHARS,
    MAX_TEXT_CHARS,
    ActionSpec,
    Param,
    parse,
    strip_think,
)
from agentgym.actions.blank_forms import blank, blank_forms
from agentgym.actions.templates import find_native
from agentgym.core.language import Language, Reading
from agentgym.core.outcome import well_formed
from agentgym.envs.search.engine.information import holds_information, plain_text
from agentgym.errors import ConfigurationError

SEARCH, ANSWER = "search", "answer"
SPECS: tuple[ActionSpec, ...] = (
    ActionSpec(
        SEARCH,
        "Search the corpus for passages; shows the best ones.",
        # Verbatim, since models break lines inside of a tag.
        (Param("query", description="What to look for, in a few words.", verbatim=True),),
        examples=("<search>founder of the town of Marley</search>",),
        native=("<search>{query}</search>", "search[{query}]"),
    ),
    ActionSpec(
        ANSWER,
        "Answer the question in as few words as possible.",
        (Param("answer", description="The answer alone, without a sentence.", verbatim=True),),
        terminal=True,
        examples=("<answer>Ada Marley</answer>",),
        native=("<answer>{answer}</answer>", "answer[{answer}]", "finish[{answer}]"),
    ),
)
"""The actions of the environment."""
BLANKS = tuple(blank(param) for spec in SPECS for param in spec.params)
"""What stands for a value in messages, and is none."""
LONGEST_ARGUMENT = 1000
"""Most characters of a query or an answer."""
FORGED = "only the environment writes <information>: search for it"
"""Refusal of evidence that a policy wrote itself."""

_TOOL_CALL = re.compile(r"<tool_call>", re.IGNORECASE)
_CANONICAL = re.compile(r"<(search|answer)>([^<>]*)</\1>")
_OPEN = re.compile(r"<(search|answer)>", re.IGNORECASE)


class SearchCommand(NamedTuple):
    """What a policy wants to do."""

    name: str
    """``search`` or ``answer``."""
    argument: str
    """The query or the answer: one line of bounded length, without tags."""

    def write(self) -> str:
        """Write the command in its canonical form."""
        return f"<{self.name}>{self.argument}</{self.name}>"


class SearchLanguage(Language):
    """The standard grammars, with a lenient native one, and without self-written evidence.

    Args:
        grammar: One of the standard grammars.
    """

    def __init__(self, grammar: str) -> None:
        super().__init__(SPECS, grammar, MAX_ACTION_CHARS)  # the argument alone is cut
        self._last = "", SearchCommand(SEARCH, "")
        self.forms = blank_forms(SPECS, grammar)

    def understand(self, action: str) -> Reading:
        """Understand model text; what is an action comes back in its canonical form."""
        if self.native and isinstance(action, str):
            text = _visible(action, "native")
            reading = self._read_native(text)
        else:
            reading = Reading(*super().understand(action))
            text = _visible(action, self.grammar)
            if not reading.problem:  # action_tag passes on whatever stands between its tags
                inner = self._read_native(reading.native)
                reading = inner._replace(trailing=reading.trailing)
        # What follows the action is dropped unread, as Search-R1 stops generating there.
        if holds_information(text[: len(text) - len(reading.trailing)]):
            return Reading("", reading.trailing, f"invalid: {FORGED}")
        return reading

    def command(self, native: str) -> SearchCommand:
        """Return the command that a native text is.

        Raises:
            ConfigurationError: It is none, and so never came from :meth:`read`.
        """
        if self._last[0] != native and self._read_native(native).problem:
            raise ConfigurationError(f"expected {self.forms}, got {native!r:.80}")
        return self._last[1]

    def _read_native(self, text: str) -> Reading:
        """Read a text of bounded length in the native grammar."""
        parsed = find(text)
        if parsed is not None:
            command, trailing = parsed
            self._last = command.write(), command
            return Reading(self._last[0], trailing)
        unclosed = _OPEN.search(text)
        why = "no action found"
        if unclosed and any(blank in text for blank in BLANKS):
            why = "a blank is no value"
        elif unclosed:
            why = f"<{unclosed[1].lower()}> is not closed"
            if len(text) - unclosed.start() > MAX_ACTION_CHARS:
                why += f" in the first {MAX_ACTION_CHARS:,} characters"
        elif not text.strip():
            why = "the text holds no action (thinking does not count)"
        return Reading("", "", f"invalid: {why}: write {self.forms}")


def find(text: str) -> tuple[SearchCommand, str] | None:
    """Find the first complete command of a text of bounded length, and the text after it."""
    canonical = _CANONICAL.fullmatch(text)
    if (
        canonical is not None and canonical[2] not in BLANKS
    ):  # nothing can come before it, so there is no need to look
        return _command(canonical[1], canonical[2]), ""
    native = find_native(text, SPECS)
    tool = _TOOL_CALL.search(text)
    bare = text.lstrip().startswith("{")
    if bare or (tool is not None and (native is None or tool.start() < native.start)):
        start = tool.start() if tool is not None and not bare else 0
        parsed = parse(text[start:], SPECS, "tool_call")
        if parsed.call is not None:
            (argument,) = parsed.call.arguments.values()
            return _command(parsed.call.name, argument), parsed.trailing
    if native is None or native.end - native.start > MAX_ACTION_CHARS:
        return None
    (argument,) = native.values.values()
    if argument.strip() in BLANKS:  # copied from a message
        return None
    return _command(native.spec.name, argument), text[native.end :].strip()


def _command(name: str, argument: str) -> SearchCommand:
    return SearchCommand(
        name, plain_text(argument[: 8 * LONGEST_ARGUMENT])[:LONGEST_ARGUMENT].rstrip()
    )


def _visible(action: str, grammar: str) -> str:
    """Return what counts of a text: no thinking, of bounded length."""
    return strip_think(well_formed(action), SPECS, grammar)[:MAX_TEXT_CHARS].rstrip()
