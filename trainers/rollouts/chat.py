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
from typing import TYPE_CHECKING, Any, Literal

from agentgym.errors import ConfigurationError
from trainers.rollouts.template import ChatTemplate, Message

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["History", "Message", "TurnTokenizer"]

logger = logging.getLogger(__name__)

History = Literal["keep", "fork", "error"]
"""What to do when the chat template rewrites earlier turns (Qwen3 strips their ``<think>``)."""

_CACHE_LIMIT = 50_000


class TurnTokenizer:
    """Turns observations into token suffixes and sampled tokens into action text.

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
        self._starts: dict[tuple[tuple[str, str], ...], list[int]] = {}
        self._suffixes: dict[str, list[int]] = {}
        self._texts: dict[tuple[int, ...], str] = {}
        specials = sorted(set(tokenizer.all_special_tokens), key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, specials)) or r"(?!)")
        end, eos = self._template.end_of_turn, tokenizer.eos_token_id
        self.end_of_turn = end
        self.stop_ids: tuple[int, ...] = (end,) if eos in (None, end) else (end, eos)
        self.pad_id: int = end if tokenizer.pad_token_id is None else tokenizer.pad_token_id
        self.append_only = self._check_prefix()

    def start(self, messages: Sequence[Message]) -> list[int]:
        """Ids of an opening conversation, up to and with the generation prompt.

        Args:
            messages: Messages before the first action, normally system (optional) and user.

        Returns:
            Token ids; a fresh list.
        """
        key = tuple((m["role"], m["content"]) for m in messages)
        ids = self._starts.get(key)
        if ids is None:
            ids = self.rerender(messages)
            _remember(self._starts, key, ids)
        return list(ids)

    def observe(self, text: str, closed: bool = True) -> list[int]:
        """Ids between a sampled action and the next one: the observation and its chat markup.

        Args:
            text: Observation that answers the action.
            closed: Whether the action ended with the end-of-turn token. If not (the token limit
                cut it) that token is put first, as context the policy is not trained on.

        Returns:
            Token ids; a fresh list.
        """
        ids = self._suffixes.get(text)
        if ids is None:
            ids = self._template.suffix(self.neutral(text))
            _remember(self._suffixes, text, ids)
        return list(ids) if closed else [self.end_of_turn, *ids]

    def rerender(self, messages: Sequence[Message]) -> list[int]:
        """Ids of a whole conversation as the template renders it now.

        Args:
            messages: All messages so far; sampled actions are the assistant messages.

        Returns:
            Token ids, up to and with the generation prompt.
        """
        return self._template.render(
            [{"role": m["role"], "content": self.neutral(m["content"])} for m in messages]
        )

    def action_text(self, ids: Sequence[int]) -> str:
        """Text of sampled ids for the environment; special tokens are left out.

        Args:
            ids: One sampled turn, with or without its stop token.

        Returns:
            The decoded text.
        """
        key = tuple(ids)
        text = self._texts.get(key)
        if text is None:
            text = self._template.decode([i for i in key if i not in self.stop_ids])
            _remember(self._texts, key, text)
        return text

    def raw_text(self, ids: Sequence[int]) -> str:
        """Text of sampled ids as the model wrote it, special tokens and all.

        Args:
            ids: One sampled turn.

        Returns:
            The decoded text.
        """
        return self._template.decode(ids, special=True)

    def encode_action(self, text: str) -> list[int]:
        """Ids of an action that was written, not sampled (a demonstration), with its stop token.

        Args:
            text: Action text.

        Returns:
            Token ids, ending with ``end_of_turn``.
        """
        return [*self._template.encode(self.neutral(text)), self.end_of_turn]

    def neutral(self, text: str) -> str:
        """Break up special tokens inside text, so that it cannot forge chat markup.

        Args:
            text: Text from an environment or a policy.

        Returns:
            The text with a space after the first character of every special token in it.
        """
        return self._special.sub(lambda m: f"{m[0][0]} {m[0][1:]}", text)

    def _check_prefix(self) -> bool:
        """Check over three turns that each rendering extends the one before it.

        Returns:
            Whether the property holds for thinking and for plain actions.

        Raises:
            ConfigurationError: It does not hold and ``history`` is ``"error"``.
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


def _remember(cache: dict[Any, Any], key: Any, value: Any) -> None:
    """Store a value, emptying a cache that has grown too large."""
    if len(cache) >= _CACHE_LIMIT:
        cache.clear()
    cache[key] = value
