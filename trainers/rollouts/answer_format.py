"""The format of a model's turn: thinking and channels around the answer.

The model's text is parsed as a chat server parses it: the answer is the content of the message,
thinking goes into the field that the template reads, and the template decides what later turns see.
The tags of thinking are found in the template itself: tags that it contains, or the way it renders
a message with thinking.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from agentgym.actions.quotes import Quotes
from agentgym.actions.thinking_marks import TEMPLATE_MARKS
from trainers.rollouts.template import ChatTemplate, Message

__all__ = ["Answer", "AnswerFormat"]

FIELDS = ("reasoning_content", "reasoning", "thinking")
"""Fields of a message from which templates read thinking."""
_THOUGHT = "think twice"


class Answer(NamedTuple):
    """A parsed turn of the model."""

    thinking: str
    """Its thinking."""
    content: str
    """Its content: the action."""


@dataclass(frozen=True)
class AnswerFormat:
    """How a template writes the thinking and the content of an answer."""

    opening: str = ""
    """Tag before thinking."""
    closing: str = ""
    """Tag after thinking; empty: the template has no thinking."""
    channel: str = ""
    """Tag before the content if that has a separate channel (gpt-oss), else empty."""
    field: str | None = None
    """Field of a message for its thinking; None: the template does not render thinking."""
    prompted: str = ""
    """The generation prompt, from the end of the last message."""
    plain: str = ""
    """Text that the template puts before the content of an answer without thinking."""
    thought: tuple[str, str] = ("", "")
    """Text that the template puts before and after the thinking of an answer."""
    space: str = ""
    """White space that the template puts after the content of an answer."""

    @classmethod
    def of(cls, template: ChatTemplate) -> AnswerFormat:
        """Detect the format of a template."""
        return replace(cls._of(template), space=template.space_after_answer())

    @classmethod
    def _of(cls, template: ChatTemplate) -> AnswerFormat:
        """Detect the text before the content of an answer."""
        prompted, answer_lead = template.around_answer()
        field, prefix, suffix = _thinking_field(template)
        tags = next((pair for pair in TEMPLATE_MARKS if pair[1] in template.source), None)
        if tags is not None:
            thought = (prefix, suffix) if field else (f"{tags[0]}\n", f"\n{tags[1]}\n\n")
            answer_format = cls(
                *tags, field=field, prompted=prompted, plain=answer_lead, thought=thought
            )
            # Where the prompt opens the thinking, the answer must not open it again.
            if answer_format.begun and not field:
                answer_format = cls(
                    *tags, prompted=prompted, plain=answer_lead, thought=("", thought[1])
                )
            return answer_format
        if field is None:
            return cls(prompted=prompted, plain=answer_lead)
        channel = answer_lead if answer_lead and suffix.endswith(answer_lead) else ""
        return cls(prefix, suffix, channel, field, prompted, answer_lead, (prefix, suffix))

    @property
    def verbatim(self) -> bool:
        """Whether the whole output of the model is the answer."""
        return not self.closing and not self.plain.isspace() and not self.space

    @property
    def begun(self) -> bool:
        """Whether the generation prompt itself opens the thinking."""
        opened = self.prompted.rfind(self.opening) if self.opening else -1
        return opened > self.prompted.rfind(self.closing)

    @property
    def thinks(self) -> bool:
        """Whether the model may think: the prompt has not already closed the thinking."""
        return bool(self.closing) and (self.begun or self.closing not in self.prompted)

    @cached_property
    def leads(self) -> list[str]:
        """Possible texts before the content of an answer that was written, not sampled."""
        candidates = ("", self.plain, f"{self.closing}\n\n")
        return [lead for lead in candidates if self.split(f"{lead}act").content == "act"]

    def split(self, output: str) -> Answer:
        """Parse the text of a turn; if it was cut while thinking, it has no content."""
        if self.space:
            output = output.removesuffix(self.space)
        if not self.closing:
            return Answer("", output.removeprefix(self.plain) if self.plain.isspace() else output)
        text = f"{self.opening}{output}" if self.begun else output
        end = self._end_of_thinking(text)
        if end >= 0:
            thought_text, content = text[: end - len(self.channel or self.closing)], text[end:]
            thought_text = thought_text.removesuffix(self.closing.removesuffix(self.channel))
            _, opened, thinking = thought_text.partition(self.opening)
            return Answer((thinking if opened else thought_text).strip("\n"), content.lstrip("\n"))
        start, opening = text.lstrip(), self.opening.lstrip()
        if self.channel or start.startswith(opening):
            return Answer(start.removeprefix(opening).strip("\n"), "")
        return Answer("", output)

    def _end_of_thinking(self, text: str) -> int:
        """Return where the content begins, or -1.

        Thinking ends at the first closing tag, as on a server; tags in the action after it are
        text. Thinking that was never opened ends at the last tag that is not quoted.
        """
        mark = self.channel or self.closing
        position = text.find(mark)
        if position < 0 or self.channel or text.lstrip().startswith(self.opening.lstrip()):
            return -1 if position < 0 else position + len(mark)
        quotes, start, skipped = Quotes(text, (), "native"), -1, 0
        while position >= 0:
            if position >= skipped:
                skipped = quotes.end(max(start, 0), position, position + len(mark))
                start = position + len(mark) if skipped < 0 else start
            position = text.find(mark, position + len(mark))
        return start

    def message(self, answer: Answer) -> Message:
        """Return an answer as the message that the template reads."""
        extra = {self.field: answer.thinking} if self.field and answer.thinking else {}
        return {"role": "assistant", "content": answer.content, **extra}


def _thinking_field(template: ChatTemplate) -> tuple[str | None, str, str]:
    """Return the field from which a template reads thinking, and the text around it."""
    for field in FIELDS:
        _, prefix = template.around_answer({field: _THOUGHT})
        if _THOUGHT in prefix:
            head, _, tail = prefix.partition(_THOUGHT)
            return field, head, tail
    return None, "", ""
