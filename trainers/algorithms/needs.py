"""Requirements of a preset's parts beyond the policy's episodes, such as a critic or a judge."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["JUDGE", "REFERENCE", "REFILL", "Need", "needs_of"]


class Need(str):
    """A requirement, identified by its name (it compares and prints as the name).

    A part of a preset, such as a signal, lists its own in an attribute ``needs``.

    Args:
        name: Its name.
        description: What must be available, in words.
        method: Name of the method that provides it; empty: the trainer or the run does.
    """

    __slots__ = ("description", "method")
    description: str
    method: str

    def __new__(cls, name: str, description: str, method: str = "") -> Need:
        """Make a string with a description."""
        need = super().__new__(cls, name)
        need.description, need.method = description, method
        return need


REFERENCE = Need("reference", "a frozen reference policy that fills aux['logp_ref']")
JUDGE = Need("judge", "a judge of episodes: --reward-hooks judge_mask:model=NAME,url=URL")
"""Fulfilled by a reward hook."""
REFILL = Need("refill", "further groups, to replace those without a learning signal", "refill")


def needs_of(parts: Iterable[object]) -> tuple[Need, ...]:
    """Return what parts need, each need once, in the order of the parts."""
    return tuple(dict.fromkeys(need for part in parts for need in getattr(part, "needs", ())))
