"""A tokenizer's chat template: render conversations, and the text between turns, to text and ids.

Templates differ in what they accept. Some raise on a system message or leave it out, some require
content as a list of typed parts, some print today's date. These differences are detected once, by
rendering small conversations, and hidden behind one interface.
"""

from __future__ import annotations

import datetime
import logging
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from agentgym.actions import ActionSpec, Param, openai_tools, parse
from agentgym.errors import ConfigurationError
from trainers.rollouts.bounded_jinja import is_plain, render

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["ChatTemplate", "Message"]

logger = logging.getLogger(__name__)

Message = Mapping[str, str]
"""One chat message: ``{"role": ..., "content": ...}``; an answer may hold its thinking as well."""

TODAY = datetime.date(2026, 1, 1)
"""Date for templates that print today's date: a run must not depend on the calendar."""
_SYSTEM, _USER, _ACTION = "house rules", "north room", "look around"
_PROBES = ("a door", "two\nlines of text", "1. item $45", "  spaced  ", "", "ends in newline\n")
_MARKUP = re.compile(r"<[^<>\s]+>|\[/?[A-Z_]+\]")
"""Pattern of role markers, whether or not the tokenizer treats them as special."""
_JOINED = 64
"""Words that are tried after the generation prompt."""
END_MARK = r"<\|[^<>|\s]+\|>|</s>|<\w*(?:end|eos|eot)\w*>"
"""Regular expression for the tokens with which models end a turn."""
_SPEC = ActionSpec("open_door", "Open a door.", (Param("side"),))
_CALL = {"name": _SPEC.name, "arguments": {"side": "north"}}
_TOOL = openai_tools((_SPEC,))[0]
_THINK_TAG = re.compile(r"</?think>")


class ChatTemplate:
    """Render with one tokenizer's chat template, whole conversations and the suffixes of turns.

    Attributes:
        tokenizer: The tokenizer.
        end_of_turn: Id of the token that closes an answer when another message follows.
        end_text: Its text.
        last_id: Id of the token that closes an answer at the end of a conversation; another one in
            templates such as gpt-oss's.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        end_of_turn: int | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        """Analyse the template.

        Args:
            tokenizer: A tokenizer with a chat template.
            end_of_turn: Id that closes an answer; found in the template if None.
            kwargs: Extra arguments of ``apply_chat_template``, e.g. ``enable_thinking``.

        Raises:
            ConfigurationError: No chat template, one without a place for the texts of an episode,
                or no end-of-turn token in it.
        """
        if not getattr(tokenizer, "chat_template", None):
            raise ConfigurationError(
                "expected a model with a chat template, got none: use an instruct model, or choose "
                "a template by --chat-template, such as chatml or a file"
            )
        self.tokenizer = tokenizer
        self._kwargs = dict(kwargs or {})
        if "strftime_now" in self.source:
            self._kwargs.setdefault("strftime_now", TODAY.strftime)
        self._backend = getattr(tokenizer, "backend_tokenizer", None)
        # A tokenizer that renders without a template (Mistral's) needs no bound.
        self._bounded = is_plain(tokenizer)
        # Each probe uses the results of the previous ones.
        self._typed = self._folds = False
        self._typed = not self._shows([("user", _USER)])
        self._check_places()
        self._folds = not self._shows([("system", _SYSTEM), ("user", _USER)])
        end_id = self._special_after_action(self._dummy("x"))
        if end_of_turn is None and (foreign := self._foreign_end()):
            raise ConfigurationError(
                f"expected a chat template of this tokenizer, but it closes an answer with "
                f"{foreign!r}, which is no token of the tokenizer: it is the template of another "
                "model; use the model's own, or choose a template by --chat-template whose tokens "
                "the tokenizer has"
            )
        if end_of_turn is None and end_id is None:
            raise ConfigurationError(
                "expected the chat template to close an assistant message with a special token, "
                "found none: choose its token by --end-of-turn (in Python end_of_turn=<token id>)"
            )
        self.end_of_turn = int(end_id if end_of_turn is None else end_of_turn)  # type: ignore[arg-type]
        last = self._special_after_action(self._dummy("x")[:2])
        self.last_id = self.end_of_turn if last is None or end_of_turn is not None else last
        self.end_text = str(tokenizer.convert_ids_to_tokens(self.end_of_turn))
        self._opening = self.text([{"role": "user", "content": _USER}])
        self._opening_ids = self.encode(self._opening)
        self._base = self._dummy_base()
        self._wrap = self._find_wrapper()

    @property
    def source(self) -> str:
        """The template's own text."""
        return str(self.tokenizer.chat_template)

    def encode(self, text: str) -> list[int]:
        """Ids of a text, special tokens in it included, none added.

        The Rust tokenizer is called directly (5x cheaper) unless padding or truncation left on by
        somebody else would change the result.
        """
        fast = self._backend
        if fast is not None and fast.truncation is None and fast.padding is None:
            return list(fast.encode(text, add_special_tokens=False).ids)
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def encode_after_end(self, text: str) -> list[int]:
        """Ids of a text after the end-of-turn token, which may swallow white space."""
        return self.encode(self.end_text + text)[1:]  # A special token is one id.

    def encode_answer(self, text: str) -> list[int]:
        """Ids of a text after the generation prompt, up to the token that closes it.

        Prompt and text are encoded together, because a tokenizer may encode the beginning of a text
        differently from its continuation.

        If the tokenizer would merge the end of the prompt with the text, the text is encoded alone,
        as the policy must write it after the prompt.
        """
        ids = self._behind_prompt(text)
        return self.encode_after_end(text) if ids is None else ids

    def _behind_prompt(self, text: str) -> list[int] | None:
        """Ids of a text after the generation prompt; None if no token starts there."""
        ids = self.encode(f"{self._opening}{text}{self.end_text}")
        begin = len(self._opening_ids)
        if ids[:begin] != self._opening_ids or ids[-1:] != [self.end_of_turn]:
            return None
        return ids[begin:-1]

    def joined_answer(self) -> str | None:
        """Return an answer that the tokenizer merges with the end of the prompt, if there is one.

        The candidates start like tokens that begin with the prompt's last token, such as a space.
        """
        last = self.tokenizer.convert_ids_to_tokens(self._opening_ids[-1])
        words = (t.removeprefix(last) for t in self.tokenizer.get_vocab() if t.startswith(last))
        probes = sorted(word for word in words if word.isalnum())
        return next((word for word in probes[:_JOINED] if self._behind_prompt(word) is None), None)

    def decode_behind_end(self, ids: Sequence[int]) -> str:
        """Text of ids that follow a token, with special tokens.

        Decoded alone, leading white space could be lost.
        """
        return self.decode([self.end_of_turn, *ids], special=True).removeprefix(self.end_text)

    def decode(self, ids: Sequence[int], special: bool = False) -> str:
        """Text of ids, with or without special tokens."""
        decoder = self.tokenizer if self._backend is None else self._backend
        return str(decoder.decode(list(ids), skip_special_tokens=not special))

    def text(
        self,
        messages: Sequence[Message],
        prompt: bool = True,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> str:
        """Render messages to text, with the generation prompt if wanted, and tools if there are."""
        chat_messages: list[Any] = _folded(messages) if self._folds else [dict(m) for m in messages]
        if self._typed:
            for message in chat_messages:
                message["content"] = [{"type": "text", "text": message["content"]}]
        if not self._bounded:
            tool_arguments = {"tools": list(tools)} if tools else {}
            return str(
                self.tokenizer.apply_chat_template(
                    chat_messages,
                    tokenize=False,
                    add_generation_prompt=prompt,
                    **tool_arguments,
                    **self._kwargs,
                )
            )
        variables = {
            **self.tokenizer.special_tokens_map, **self._kwargs, "messages": chat_messages,
            "tools": list(tools) or None, "documents": None, "add_generation_prompt": prompt,
        }  # fmt: skip
        return render(self._named(bool(tools)), variables)

    def _named(self, tools: bool) -> str:
        """Return the template in use: a tokenizer may have a second one for tools."""
        named = self.tokenizer.chat_template
        if not isinstance(named, Mapping):
            return str(named)
        return str(self.tokenizer.get_chat_template(tools=[{}] if tools else None))

    def render(self, messages: Sequence[Message]) -> list[int]:
        """Render messages to ids with the generation prompt."""
        return self.encode(self.text(messages))

    def markup(self) -> set[str]:
        """Texts that observations must not contain: special tokens and message markers."""
        dummy: list[Message] = [{"role": "system", "content": _SYSTEM}, *self._dummy("x")]
        marks = set(_MARKUP.findall(self.text(dummy))) | set(self.tokenizer.all_special_tokens)
        return {mark for mark in marks if not _THINK_TAG.fullmatch(mark)}

    def around_answer(self, extra: Mapping[str, str] | None = None) -> tuple[str, str]:
        """Return the template's text around the last answer of a conversation.

        Args:
            extra: Further entries of the message, such as its thinking.

        Returns:
            The generation prompt, and what the template puts before the answer's content that is
            not in the prompt.
        """
        user: Message = {"role": "user", "content": _USER}
        answer: Message = {"role": "assistant", "content": _ACTION, **(extra or {})}
        prompt, conversation = self.text([user]), self.text([user, answer], prompt=False)
        added = conversation[len(_shared(prompt, conversation)) :]
        return prompt[prompt.rindex(_USER) + len(_USER) :], added[: added.rindex(_ACTION)]

    def space_after_answer(self) -> str:
        """Return the white space that the template puts before the token that closes an answer."""
        text = self.text(self._dummy("x"))
        tail = text[text.index(_ACTION) + len(_ACTION) :]
        space = tail[: max(0, tail.find(self.end_text))]
        return space if space.isspace() else ""

    def trims_answer(self) -> tuple[bool, bool]:
        """Return whether the template drops white space before and after an answer."""
        spaced: Message = {"role": "assistant", "content": f" \n{_ACTION}\n "}
        text = self.text([self._dummy("x")[0], spaced, self._dummy("x")[2]])
        return f" \n{_ACTION}" not in text, f"{_ACTION}\n " not in text

    def suffix(self, observation: str) -> list[int]:
        """Ids from the end of an assistant message to the next one, around an observation.

        The end-of-turn token before them is left out.

        Raises:
            ConfigurationError: The template renders earlier messages differently because of it.
        """
        if self._wrap is None:
            return self._slow_suffix(observation)
        head, tail, strip = self._wrap
        body = observation.strip() if strip else observation
        return self.encode_after_end(f"{head}{body}{tail}")

    def shows_role(self, role: str) -> bool:
        """Return whether the template renders a message of a role after an answer."""
        return self._shows([("user", _USER), ("assistant", _ACTION), (role, "a door")])

    def shows_tools(self, tools: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether the template renders the list of tools."""
        try:
            text = self.text([{"role": "user", "content": _USER}], tools=tools)
        except Exception:  # whatever a template raises, or runs into
            logger.debug("the chat template refuses tools", exc_info=True)
            return False
        return all(tool["function"]["name"] in text for tool in tools)

    def writes_calls(self) -> bool:
        """Return whether the template renders tools, and calls as in the grammar ``tool_call``."""
        if not self.shows_tools([_TOOL]):
            return False
        user: Message = {"role": "user", "content": _USER}
        call = {"type": "function", "id": "call00000", "function": _CALL}
        answer: Any = {"role": "assistant", "content": "", "tool_calls": [call]}
        try:
            text = self.text([user, answer], prompt=False)
        except Exception:  # whatever a template raises, or runs into
            logger.debug("the chat template refuses tool calls", exc_info=True)
            return False
        call_text = text[len(_shared(self.text([user]), text)) :].partition(self.end_text)[0]
        return parse(call_text, (_SPEC,), "tool_call").call is not None

    def after_answer(self, messages: Sequence[Message]) -> list[int] | None:
        """Ids of messages after an answer, without the end-of-turn token that closes it.

        None if the template does not simply append them.
        """
        answered = self._dummy("x")[:2]
        rendered = self.text(answered, prompt=False)
        base = rendered[: rendered.rfind(self.end_text) + len(self.end_text)]
        text = self.text([*answered, *messages])
        if not base.endswith(self.end_text) or not text.startswith(base):
            return None
        return self.encode_after_end(text[len(base) :])

    def _dummy(self, observation: str) -> list[Message]:
        """A conversation of one action and one observation after it."""
        return [
            {"role": "user", "content": _USER},
            {"role": "assistant", "content": _ACTION},
            {"role": "user", "content": observation},
        ]

    def _shows(self, parts: Sequence[tuple[str, str]]) -> bool:
        """Return whether the template accepts these messages and renders all their texts."""
        try:
            text = self.text([{"role": role, "content": content} for role, content in parts])
        except Exception:  # whatever a template raises, or runs into
            logger.debug("the chat template refuses %s", parts, exc_info=True)
            return False
        return all(content in text for _, content in parts)

    def _check_places(self) -> None:
        """Check that the template renders actions and observations.

        Raises:
            ConfigurationError: It does not.
        """
        try:
            text = self.text(self._dummy("a door"))
        except Exception as error:  # whatever a template raises, or runs into
            raise ConfigurationError(
                "expected a chat template that renders user, assistant and user messages, but it "
                f"fails: {error}"
            ) from error
        for place, probe in (("action", _ACTION), ("observation", "a door")):
            if probe not in text:
                raise ConfigurationError(
                    f"expected a chat template with a place for the {place} of a turn, but "
                    f"{probe!r} is missing in {text!r}: use another chat template."
                )

    def _special_after_action(self, messages: Sequence[Message]) -> int | None:
        """The first special token after the assistant's text."""
        text = self.text(messages, prompt=False)
        tail = text[text.rindex(_ACTION) + len(_ACTION) :]
        special = set(self.tokenizer.all_special_ids) | set(self.tokenizer.added_tokens_decoder)
        return next((token for token in self.encode(tail) if token in special), None)

    def _foreign_end(self) -> str | None:
        """Return the text that closes an answer, if it looks like another tokenizer's token."""
        text = self.text(self._dummy("x"))
        mark = re.compile(rf"\s*({END_MARK})").match(text, text.index(_ACTION) + len(_ACTION))
        return mark[1] if mark and len(self.encode(mark[1])) != 1 else None

    def _dummy_base(self) -> list[int]:
        """Ids of the dummy conversation up to the end-of-turn token of its action.

        Two renderings that differ only in the observation share exactly this prefix and the
        opening markup of the observation; trimming at the last end-of-turn token leaves the base.
        """
        first, second = self.text(self._dummy("alpha 1")), self.text(self._dummy("beta 2"))
        shared = _shared(first, second)
        end = shared.rfind(self.end_text)
        if end < 0:
            raise ConfigurationError(
                f"expected {self.end_text!r} between an action and the observation after it, but "
                "the chat template does not put it there: choose another by --end-of-turn or "
                "--chat-template"
            )
        return self.encode(shared[: end + len(self.end_text)])

    def _slow_suffix(self, observation: str) -> list[int]:
        """Suffix of an observation by rendering the whole dummy conversation."""
        ids, base = self.render(self._dummy(observation)), self._base
        if ids[: len(base)] != base:
            raise ConfigurationError(
                "expected the chat template to render earlier messages independently of the last "
                f"observation, but it changed for {observation[:80]!r}: use another chat template."
            )
        return ids[len(base) :]

    def _find_wrapper(self) -> tuple[str, str, bool] | None:
        """Fixed text around an observation, if the template is that simple: (head, tail, strip).

        None if some probe renders otherwise; then every suffix is rendered by the template.
        """
        mark = "\u2042mark\u2042"
        text = self.text(self._dummy(mark))
        position = text.index(mark)
        end = text.rindex(self.end_text, 0, position) + len(self.end_text)
        for strip in (False, True):
            self._wrap = (text[end:position], text[position + len(mark) :], strip)
            if all(self.suffix(probe) == self._slow_suffix(probe) for probe in _PROBES):
                return self._wrap
        logger.info("the chat template is not a plain wrapper: it renders every observation")
        return None


def _shared(first: str, second: str) -> str:
    """Return the common prefix of two texts."""
    equal_pairs = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return "".join(a for a, _ in equal_pairs)


def _folded(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Put a system message in front of the text of the first user message, as Gemma's users do."""
    if not messages or messages[0]["role"] != "system":
        return [dict(message) for message in messages]
    head, *later_messages = (dict(message) for message in messages)
    if not later_messages or later_messages[0]["role"] != "user":
        return [{"role": "user", "content": head["content"]}, *later_messages]
    later_messages[0]["content"] = f"{head['content']}\n\n{later_messages[0]['content']}"
    return later_messages
