"""Token-exact turns: convert texts of an episode to ids and back, without re-encoding actions.

A conversation is assembled as ``start + action + suffix(obs) + action + suffix(obs) + ...`` where
the actions are the sampled ids themselves. The suffix of an observation is the text that the
model's chat template puts between the end-of-turn token of an assistant message and the next
assistant message. Templates that rewrite earlier turns are handled by
:class:`trainers.rollouts.context.TokenContext`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from agentgym.actions.thinking import first_mark
from agentgym.errors import ConfigurationError
from agentgym.support.caching import BoundedCache
from trainers.rollouts.answer_format import Answer, AnswerFormat
from trainers.rollouts.template import ChatTemplate, Message

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["History", "TurnTokenizer"]

logger = logging.getLogger(__name__)

History = Literal["auto", "keep", "error"]
"""How to treat earlier turns that the chat template rewrites (Qwen3 strips their thinking)."""

_CACHED = 50_000
_SHORT = 64
"""Maximum tokens of an action whose text is cached: short actions recur, thinking does not."""


class TurnTokenizer:
    """Turn observations into token suffixes and sampled tokens into action text.

    Attributes:
        tokenizer: The wrapped tokenizer.
        end_of_turn: Id of the token that closes an assistant message when another follows.
        stop_ids: Ids that end generation: of the end of a turn, not of a channel within it.
        pad_id: Id used for padding.
        append_only: Whether the template itself never rewrites earlier turns.
        thinks: Whether the model may think before it answers.
        follows: Whether each prompt is rendered anew from the conversation, because the template
            does not keep all that a turn may hold (thinking, channels, white space at its ends).
        joined: An answer whose first token would merge with the end of the generation prompt, so
            that a written action has no separate tokens; None if the tokenizer never merges them.
        history: The mode in force: ``"auto"`` gives the model what a chat server would, which
            starts a new training row whenever earlier text changes; ``"keep"`` feeds every sampled
            token back verbatim (one row per episode, also where the template would drop thinking or
            add empty think blocks); ``"error"`` has refused such templates.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        *,
        history: History = "auto",
        end_of_turn: int | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
        stop_ids: Sequence[int] = (),
    ) -> None:
        """Analyse the chat template and check the prefix property over three turns.

        Args:
            tokenizer: A tokenizer with a chat template.
            history: How to treat rewritten history; ``"error"`` rejects such templates.
            end_of_turn: Id that closes an assistant message; found in the template if None.
            template_kwargs: Extra arguments of ``apply_chat_template``, e.g. ``enable_thinking``.
            stop_ids: Further ids that end generation, such as the model's generation config names.

        Raises:
            ConfigurationError: No chat template, one that cannot hold an episode, no end-of-turn
                token, or history is rewritten and ``history`` is ``"error"``.
        """
        self.tokenizer = tokenizer
        self.history: History = history
        self._template = ChatTemplate(tokenizer, end_of_turn, template_kwargs)
        self._format = AnswerFormat.of(self._template)
        # Caches: openings and observations recur in every member of a group, short actions
        # everywhere.
        self._starts: BoundedCache[tuple[tuple[str, str], ...], list[int]] = BoundedCache(_CACHED)
        self._suffixes: BoundedCache[str, list[int]] = BoundedCache(_CACHED)
        self._texts: BoundedCache[tuple[int, ...], str] = BoundedCache(_CACHED)
        # Longest first, as the first match wins; (?!) matches nothing.
        marks = sorted(self._template.markup(), key=lambda mark: (-len(mark), mark))
        self._special = re.compile("|".join(map(re.escape, marks)) or r"(?!)")
        # Kept in the text, so that the environment sees where thinking ends.
        self._thinking_ids = frozenset(
            tokenizer.convert_tokens_to_ids(token)
            for token in tokenizer.all_special_tokens
            if first_mark(token)[0]
        )
        self.end_of_turn = self._template.end_of_turn
        self.end_text = self._template.end_text
        self.stop_ids = self._find_stops(stop_ids)
        pad = tokenizer.pad_token_id
        self.pad_id: int = self.end_of_turn if pad is None else pad
        self.thinks = self._format.thinks
        self.joined = self._template.joined_answer()
        self._trims = self._template.trims_answer()
        self._lead = self._find_lead()
        self.append_only = self._check_prefix()
        # A template may strip answers, but a policy may begin or end one with white space.
        spaced = self.append_only and self._rewrite(f"{self._lead}  ", " \n") is None
        exact = self.append_only and spaced and self._format.verbatim
        self.follows = history == "auto" and not exact

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
        token comes first, as context that is not trained on.
        """
        ids = self._suffixes.get(text)
        if ids is None:
            ids = self._suffixes.put(text, self._template.suffix(self.neutral(text)))
        return list(ids) if closed else [self.end_of_turn, *ids]

    @property
    def template(self) -> ChatTemplate:
        """The chat template."""
        return self._template

    def text(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> str:
        """Render a whole conversation with the generation prompt."""
        return self._template.text(self.clean(messages), tools=tools)

    def clean(self, messages: Sequence[Message]) -> list[Message]:
        """Return messages whose texts cannot forge chat markup."""
        return [{k: v if k == "role" else self.neutral(v) for k, v in m.items()} for m in messages]

    def follow_up(self, messages: Sequence[Message], closed: bool = True) -> list[int] | None:
        """Return the ids of messages after a sampled answer, as `observe` does for one.

        None if the template does not simply append them.
        """
        if [message["role"] for message in messages] == ["user"]:
            return self.observe(messages[0]["content"], closed)
        ids = self._template.after_answer(self.clean(messages))
        return ids if closed or ids is None else [self.end_of_turn, *ids]

    def rerender(self, messages: Sequence[Message]) -> list[int]:
        """Ids of a whole conversation as the template renders it now, with the generation prompt.

        Sampled actions are its assistant messages.
        """
        return self.encode(self.text(messages))

    def encode(self, text: str) -> list[int]:
        """Ids of rendered text, markup included."""
        return self._template.encode(text)

    def encode_after_end(self, text: str) -> list[int]:
        """Ids of rendered text after the end-of-turn token."""
        return self._template.encode_after_end(text)

    def message(self, ids: Sequence[int]) -> Message:
        """Return a sampled turn as the message that the template reads, with its thinking."""
        if self._format.verbatim:
            return {"role": "assistant", "content": self.action_text(ids)}
        return self._format.message(self._answer(ids))

    def action_text(self, ids: Sequence[int]) -> str:
        """Text of a sampled turn for the environment, without thinking and special tokens."""
        key = tuple(ids)
        text = self._texts.get(key)
        if text is None:
            if self._format.verbatim:
                tokens = [i for i in key if i not in self.stop_ids]
                marked = not self._thinking_ids.isdisjoint(tokens)
                text = self._template.decode(tokens, special=marked)
            else:
                text = self._answer(key).content
            if len(key) <= _SHORT:
                self._texts.put(key, text)
        return text

    def follow(
        self, old_text: str, prompt: Sequence[int], ids: Sequence[int], stopped: bool, text: str
    ) -> tuple[list[int], int]:
        """Find the next prompt after a sampled turn, if the template re-renders the conversation.

        The row continues if the new rendering starts with it: with its ids, or with its text if the
        tokenizer would have chosen other tokens than were sampled.

        Args:
            old_text: The text of the prompt of the turn.
            prompt: Its ids.
            ids: The sampled tokens.
            stopped: Whether a stop token ended them.
            text: The new rendering.

        Returns:
            The ids of the new prompt, and the position from which they are new to the row; 0: a new
            row.
        """
        row = [*prompt, *ids]
        for answer in self._as_prompted(ids, stopped):
            beginning = f"{old_text}{answer}"
            # Only after that token can the rest be encoded separately with the same result.
            if old_text and text.startswith(beginning) and beginning.endswith(self.end_text):
                closing = [] if stopped else [self.end_of_turn]
                suffix = self.encode_after_end(text[len(beginning) :])
                return [*row, *closing, *suffix], len(row)
        anew = self.encode(text)
        return anew, len(row) if anew[: len(row)] == row else 0

    def _as_prompted(self, ids: Sequence[int], stopped: bool) -> list[str]:
        """Texts of a sampled turn, alone and within a conversation; a cut turn is closed."""
        answer_ids = ids[:-1] if stopped else ids
        end = self.tokenizer.convert_ids_to_tokens(ids[-1] if stopped else self.end_of_turn)
        texts = self.raw_text(answer_ids), self._template.decode_behind_end(answer_ids)
        return [f"{text}{end}" for text in dict.fromkeys(texts)]

    def raw_text(self, ids: Sequence[int]) -> str:
        """Text of a sampled turn as the model wrote it, with special tokens."""
        return self._template.decode(ids, special=True)

    def closed(self, ids: list[int], stopped: bool) -> list[int]:
        """Return a sampled turn as later turns see it: closed by the template's end-of-turn token.

        A model may stop with another token, such as end of text.
        """
        if self.history == "keep" or not stopped or ids[-1] == self.end_of_turn:
            return ids
        return [*ids[:-1], self.end_of_turn]

    def encode_action(self, text: str, thinking: str = "") -> list[int]:
        """Ids of an action that was written, not sampled (a demonstration), with its stop token.

        They are the tokens that the template's rendering gives the action after its prompt.
        """
        prefix, suffix = self._format.thought
        lead = f"{prefix}{self.neutral(thinking)}{suffix}" if thinking else self._lead
        action = self._trimmed(self.neutral(text))
        ids = self._template.encode_answer(f"{lead}{action}{self._format.space}")
        return [*ids, self.stop_ids[0]]

    def _trimmed(self, action: str) -> str:
        """Return an action without the white space that the template drops."""
        prefix, behind = self._trims
        action = action.lstrip() if prefix else action
        return action.rstrip() if behind else action

    def neutral(self, text: str) -> str:
        """Put a space into special tokens inside a text, so that it cannot forge chat markup."""
        return self._special.sub(lambda m: f"{m[0][0]} {m[0][1:]}", text)

    def _answer(self, ids: Sequence[int]) -> Answer:
        """Parse a sampled turn; special tokens are left out of its texts."""
        answer_ids = ids[:-1] if ids and ids[-1] in self.stop_ids else ids
        thinking, content = self._format.split(self.raw_text(answer_ids))
        return Answer(self._special.sub("", thinking), self._special.sub("", content))

    def _find_stops(self, extra: Sequence[int]) -> tuple[int, ...]:
        """Ids that end a turn: gpt-oss ends its thinking with the token that ends messages."""
        template, answer = self._template, self._format
        inside = set(self.encode(f"{answer.thought[0]} x {answer.thought[1]}{answer.plain}"))
        eos = self.tokenizer.eos_token_id
        ends = [self.end_of_turn, template.last_id, *([] if eos is None else [eos]), *extra]
        return tuple(dict.fromkeys(end for end in ends if end not in inside)) or (self.end_of_turn,)

    def _find_lead(self) -> str:
        """Find the text before a written action, preferably one that later renderings keep."""
        leads = self._format.leads or [""]
        return next((lead for lead in leads if self._rewrite(lead) is None), leads[0])

    def _check_prefix(self) -> bool:
        """Return whether renderings extend each other, with thinking and without.

        Raises:
            ConfigurationError: They do not, and ``history`` is ``"error"``.
        """
        advice = self._rewrite(self._lead) or self._misplacement()
        prefix, suffix = self._format.thought
        if not self._format.closing:  # Does a template without thinking keep unknown tags?
            prefix, suffix = f"{self._lead}<think>\n", "\n</think>\n\n"
        problem = advice or self._rewrite(f"{prefix}plan{suffix}")
        if problem is None:
            return True
        if self.history == "error":
            raise ConfigurationError(
                "expected a chat template whose renderings extend each other turn by turn, but "
                f"{problem}. Use history='auto' (a new training row per rewrite) or "
                "history='keep' (sampled tokens stay in the context as they are)."
            )
        if self.history == "keep":
            logger.warning(
                "the chat template rewrites %s turns (%s); history='keep' feeds them back as they "
                "were sampled (one row per episode), history='auto' follows the template",
                "earlier" if advice else "the thinking of earlier",
                problem,
            )
        return False

    def _rewrite(self, lead: str, tail: str = "") -> str | None:
        """Check over three turns that each rendering extends the one before it.

        Returns:
            A description of the rewritten part, or None if the template is append-only for actions
            between ``lead`` and ``tail``.
        """
        stop = str(self.tokenizer.convert_ids_to_tokens(self.stop_ids[0]))
        messages: list[Message] = [{"role": "user", "content": "north room"}]
        text = self._template.text(messages)
        for turn in range(1, 4):
            action = f"{lead}go {turn}{tail}"
            answer = self._format.message(self._format.split(action))
            messages += [answer, {"role": "user", "content": f"step {turn}"}]
            longer_text = self._template.text(messages)
            want = f"{text}{action}{self._format.space}{stop}"
            if not longer_text.startswith(want):
                return f"turn {turn} renders {longer_text[: len(want)]!r} instead of {want!r}"
            text = longer_text
        return None

    def _misplacement(self) -> str | None:
        """Check over three turns that the ids of written actions occur in the next rendering.

        Returns:
            A description of the ids found instead, or None.
        """
        if self.joined is not None:
            return (
                f"the tokenizer joins the generation prompt {self._format.prompted!r} with the "
                f"answer {self.joined!r}, so that a written answer has no tokens of its own"
            )
        messages: list[Message] = [{"role": "user", "content": "north room"}]
        prompt = self.rerender(messages)
        for turn in range(1, 4):
            ids = self.encode_action(f"go {turn}")
            answer = self._format.message(Answer("", f"go {turn}"))
            messages += [answer, {"role": "user", "content": f"step {turn}"}]
            anew, row = self.rerender(messages), [*prompt, *ids]
            if anew[: len(row)] != row:
                rendered, sampled = (
                    self.tokenizer.convert_ids_to_tokens(part[len(prompt) : len(row)])
                    for part in (anew, row)
                )
                return f"turn {turn} has the tokens {rendered} instead of {sampled}"
            prompt = anew
        return None
