"""Token-exact turns: what a chat template adds around observations, without re-encoding actions.

A conversation is assembled as ``start + action + suffix(obs) + action + suffix(obs) + ...`` where
the actions are the sampled ids themselves. The suffix of an observation is what the model's own
chat template puts between the end-of-turn token of an assistant message and the next assistant
message, found by prefix difference on a dummy conversation.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal

from agentgym.caching import BoundedCache
from agentgym.errors import ConfigurationError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["ChatTemplate", "History", "Message", "TurnTokenizer"]

logger = logging.getLogger(__name__)

Message = Mapping[str, str]
"""One chat message: ``{"role": ..., "content": ...}``."""
History = Literal["keep", "fork", "error"]
"""What to do when the chat template rewrites earlier turns (Qwen3 strips their ``<think>``)."""

_CACHED = 50_000
_USER, _ACTION = "north room", "look around"
_PROBES = ("a door", "two\nlines of text", "1. item $45", "  spaced  ", "", "ends in newline\n")


class TurnTokenizer:
    """Turn observations into token suffixes and sampled tokens into action text.

    Attributes:
        tokenizer: The wrapped tokenizer.
        end_of_turn: Id of the token that closes an assistant message.
        stop_ids: Ids that end generation: ``end_of_turn`` and the tokenizer's EOS.
        pad_id: Id used for padding.
        append_only: Whether the template itself never rewrites earlier turns.
        history: The policy in force: ``"keep"`` feeds every sampled token back verbatim (one row
            per episode, also where the template would drop thinking or add empty think blocks);
            ``"fork"`` renders the conversation anew as the template wants it, which starts a new
            training row whenever earlier tokens change; ``"error"`` has refused such templates.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        *,
        history: History = "keep",
        end_of_turn: int | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        """Study the chat template and check the prefix property over three turns.

        Args:
            tokenizer: A tokenizer with a chat template.
            history: What to do if the template rewrites history; ``"error"`` refuses it.
            end_of_turn: Id that closes an assistant message; found in the template if None.
            template_kwargs: Extra arguments of ``apply_chat_template``, e.g. ``enable_thinking``.

        Raises:
            ConfigurationError: No chat template, no end-of-turn token, or history is rewritten and
                ``history`` is ``"error"``.
        """
        self.tokenizer = tokenizer
        self.history: History = history
        self._template = ChatTemplate(tokenizer, end_of_turn, template_kwargs)
        # Openings and observations come again in every member of a group, short actions everywhere.
        self._starts: BoundedCache[tuple[tuple[str, str], ...], list[int]] = BoundedCache(_CACHED)
        self._suffixes: BoundedCache[str, list[int]] = BoundedCache(_CACHED)
        self._texts: BoundedCache[tuple[int, ...], str] = BoundedCache(_CACHED)
        specials = sorted(set(tokenizer.all_special_tokens), key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, specials)) or r"(?!)")
        end, eos = self._template.end_of_turn, tokenizer.eos_token_id
        self.end_of_turn = end
        self.stop_ids: tuple[int, ...] = (end,) if eos in (None, end) else (end, eos)
        self.pad_id: int = end if tokenizer.pad_token_id is None else tokenizer.pad_token_id
        self.append_only = self._check_prefix()

    def start(self, messages: Sequence[Message]) -> list[int]:
        """Ids of the messages before the first action, with the generation prompt; a fresh list."""
        key = tuple((m["role"], m["content"]) for m in messages)
        ids = self._starts.get(key)
        if ids is None:
            ids = self._starts.put(key, self.rerender(messages))
        return list(ids)

    def observe(self, text: str, closed: bool = True) -> list[int]:
        """Return the ids between a sampled action and the next one: the observation in its markup.

        If the action was not ``closed`` by the end-of-turn token (the token limit cut it), that
        token is put first, as context the policy is not trained on.
        """
        ids = self._suffixes.get(text)
        if ids is None:
            ids = self._suffixes.put(text, self._template.suffix(self.neutral(text)))
        return list(ids) if closed else [self.end_of_turn, *ids]

    def rerender(self, messages: Sequence[Message]) -> list[int]:
        """Ids of a whole conversation as the template renders it now, with the generation prompt.

        Sampled actions are its assistant messages.
        """
        return self._template.render(
            [{"role": m["role"], "content": self.neutral(m["content"])} for m in messages]
        )

    def action_text(self, ids: Sequence[int]) -> str:
        """Text of a sampled turn for the environment; special tokens are left out."""
        key = tuple(ids)
        text = self._texts.get(key)
        if text is None:
            text = self._template.decode([i for i in key if i not in self.stop_ids])
            self._texts.put(key, text)
        return text

    def raw_text(self, ids: Sequence[int]) -> str:
        """Text of a sampled turn as the model wrote it, special tokens and all."""
        return self._template.decode(ids, special=True)

    def encode_action(self, text: str) -> list[int]:
        """Ids of an action that was written, not sampled (a demonstration), with its stop token."""
        return [*self._template.encode(self.neutral(text)), self.end_of_turn]

    def neutral(self, text: str) -> str:
        """Put a space into special tokens inside a text, so that it cannot forge chat markup."""
        return self._special.sub(lambda m: f"{m[0][0]} {m[0][1:]}", text)

    def _check_prefix(self) -> bool:
        """Return whether renderings extend each other, with thinking and without.

        Raises:
            ConfigurationError: They do not, and ``history`` is ``"error"``.
        """
        plain = self._template.first_rewrite("go {}")
        thinking = self._template.first_rewrite("<think>\nplan {}\n</think>\n\ngo {}")
        problem = plain or thinking
        if problem is None:
            return True
        if self.history == "error":
            raise ConfigurationError(
                "expected a chat template whose renderings extend each other turn by turn, but "
                f"{problem}. Use history='keep' (sampled tokens stay in the context as they are) "
                "or history='fork' (a new training row per rewrite)."
            )
        if self.history == "keep":
            logger.warning(
                "the chat template rewrites %s turns (%s); history='keep' feeds them back as they "
                "were sampled (one row per episode), history='fork' follows the template",
                "earlier" if plain else "the thinking of earlier",
                problem,
            )
        return False


class ChatTemplate:
    """Render with one tokenizer's chat template, whole conversations and the suffixes of turns."""

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        end_of_turn: int | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        """Study the template; the arguments are those of ``TurnTokenizer``.

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

        The end-of-turn token before them is left out.

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
