"""Whether a teacher reads the student's token ids as the student means them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from agentgym.errors import ConfigurationError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["check_vocabulary", "refuse_vocabulary"]

logger = logging.getLogger(__name__)


def check_vocabulary(
    student: PreTrainedTokenizerBase, teacher: PreTrainedTokenizerBase, name: str
) -> None:
    """Check that every token of the student is the same id of the teacher, which may have more.

    Args:
        student: Tokenizer of the policy.
        teacher: Tokenizer of the teacher.
        name: Name of the teacher, for messages.

    Raises:
        ConfigurationError: A token has another id there, or none.
    """
    teacher_vocab = teacher.get_vocab()
    for token, number in sorted(student.get_vocab().items(), key=lambda item: item[1]):
        if teacher_vocab.get(token) != number:
            wording = f"id {teacher_vocab[token]}" if token in teacher_vocab else "no id"
            raise refuse_vocabulary(name, f"token {token!r} has id {number} and {wording} there")
    if student.chat_template != teacher.chat_template:
        logger.warning(
            "the chat template of the teacher %s differs from that of the policy, in which it "
            "reads every episode", name,
        )  # fmt: skip


def refuse_vocabulary(name: str, difference: str) -> ConfigurationError:
    """Return the refusal of a teacher with other tokens."""
    return ConfigurationError(
        f"expected a teacher with the tokenizer of the policy, because it scores the policy's "
        f"token ids, got {name}: {difference}; choose a model of the same family, or imitate its "
        "recorded episodes (--sft.episodes)"
    )
