"""What a chat template does around observations, found out by rendering dummy conversations."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from agentgym.errors import ConfigurationError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["ChatTemplate", "Message"]

logger = logging.getLogger(__name__)

Message = Mapping[str, str]
"""One chat message: ``{"role": ..., "content": ...}``."""

_USER, _ACTION = "north room", "look around"
_PROBES = ("a door", "two\nlines of text", "1. item $45", "  spaced  ", "", "ends in newline\n")


class ChatTemplate:
    """Rendering and suffixes of one tokenizer's chat template.

    Attributes:
        tokenizer: The tokenizer.
        end_of_turn: Id of the token that closes an assistant message.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        end_of_turn: int | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        """Study the template.

        Args:
            tokenizer: A tokenizer with a chat template.
            end_of_turn: Id that closes an assistant message; found in the template if None.
            kwargs: Extra arguments of ``apply_chat_template``, e.g. ``enable_thinking``.

        Raises:
            ConfigurationError: No chat template, or no end-of-turn token in it.
        """
        if not getattr(tokenizer, "chat_template", None):
            raise ConfigurationError(
                "expected a tokenizer with a chat_template, got none: use an instruct model or set "
                "tokenizer.chat_template (trainers.models.tiny.CHAT_TEMPLATE only appends)."
            )
        self.tokenizer = tokenizer
        self._kwargs = dict(kwargs or {})
        self._backend = getattr(tokenizer, "backend_tokenizer", None)
        self.end_of_turn = self._find_end_of_turn() if end_of_turn is None else end_of_turn
        self._end_text = str(tokenizer.convert_ids_to_tokens(self.end_of_turn))
        self._base = self._dummy_base()
        self._wrap = self._find_wrapper()

    def encode(self, text: str) -> list[int]:
        """Ids of a text, special tokens in it included, none added.

        The Rust tokenizer is called directly (5x cheaper) unless padding or truncation left on by
        somebody else would change the result.
        """
        fast = self._backend
        if fast is not None and fast.truncation is None and fast.padding is None:
            return list(fast.encode(text, add_special_tokens=False).ids)
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def decode(self, ids: Sequence[int], special: bool = False) -> str:
        """Text of ids, with or without special tokens."""
        decoder = self.tokenizer if self._backend is None else self._backend
        return str(decoder.decode(list(ids), skip_special_tokens=not special))

    def text(self, messages: Sequence[Message], prompt: bool = True) -> str:
        """Render messages to text, with the generation prompt if wanted."""
        return str(
            self.tokenizer.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=prompt, **self._kwargs
            )
        )

    def render(self, messages: Sequence[Message]) -> list[int]:
        """Render messages to ids with the generation prompt."""
        return self.encode(self.text(messages))

    def suffix(self, observation: str) -> list[int]:
        """Ids from the end of an assistant message to the next one, around an observation.

        Args:
            observation: The observation's text.

        Returns:
            The ids, without the end-of-turn token before them.

        Raises:
            ConfigurationError: The template renders earlier messages differently because of it.
        """
        if self._wrap is None:
            return self._slow_suffix(observation)
        head, tail, strip = self._wrap
        body = observation.strip() if strip else observation
        return self.encode(f"{self._end_text}{head}{body}{tail}")[1:]

    def first_rewrite(self, action: str) -> str | None:
        """Check over three turns that each rendering extends the one before it.

        Args:
            action: Format of the three actions, given the turn's number twice.

        Returns:
            What is rewritten and where, or None if the template is append-only for such actions.
        """
        messages: list[Message] = [{"role": "user", "content": _USER}]
        before = self.text(messages)
        for turn in range(1, 4):
            said = action.format(turn, turn)
            messages += [
                {"role": "assistant", "content": said},
                {"role": "user", "content": f"step {turn}"},
            ]
            after, want = self.text(messages), f"{before}{said}{self._end_text}"
            if not after.startswith(want):
                return f"turn {turn} renders {after[: len(want)]!r} instead of {want!r}"
            before = after
        return None

    def _dummy(self, observation: str) -> list[Message]:
        """A conversation of one action and one observation after it."""
        return [
            {"role": "user", "content": _USER},
            {"role": "assistant", "content": _ACTION},
            {"role": "user", "content": observation},
        ]

    def _find_end_of_turn(self) -> int:
        """The first special token after the assistant's text."""
        text = self.text(self._dummy("x"), prompt=False)
        if _ACTION not in text:
            raise ConfigurationError(
                f"expected the chat template to render the text of messages, got {text!r}: "
                "templates that want typed content (images) are not supported."
            )
        tail = text[text.rindex(_ACTION) + len(_ACTION) :]
        special = set(self.tokenizer.all_special_ids) | set(self.tokenizer.added_tokens_decoder)
        for token in self.encode(tail):
            if token in special:
                return token
        raise ConfigurationError(
            "expected the chat template to close an assistant message with a special token, found "
            f"none in {tail!r}: pass end_of_turn=<token id>."
        )

    def _dummy_base(self) -> list[int]:
        """Ids of the dummy conversation up to the end-of-turn token of its action.

        Two renderings that differ only in the observation share exactly this prefix and the
        opening markup of the observation; trimming at the last end-of-turn token leaves the base.
        """
        one, two = self.text(self._dummy("alpha 1")), self.text(self._dummy("beta 2"))
        same = takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False))
        shared = "".join(a for a, _ in same)
        end = shared.rfind(self._end_text)
        if end < 0:
            raise ConfigurationError(
                f"expected {self._end_text!r} between an action and the observation after it, but "
                "the chat template does not put it there: pass the right end_of_turn=<token id>."
            )
        return self.encode(shared[: end + len(self._end_text)])

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

        Returns:
            None if some probe renders otherwise; then every suffix is rendered by the template.
        """
        mark = "\u2042mark\u2042"
        text = self.text(self._dummy(mark))
        at = text.index(mark)
        end = text.rindex(self._end_text, 0, at) + len(self._end_text)
        for strip in (False, True):
            self._wrap = (text[end:at], text[at + len(mark) :], strip)
            if all(self.suffix(probe) == self._slow_suffix(probe) for probe in _PROBES):
                return self._wrap
        logger.info("the chat template is not a plain wrapper: it renders every observation")
        return None
