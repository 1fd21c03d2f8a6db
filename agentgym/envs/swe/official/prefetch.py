"""Bring the images of many instances before they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agentgym.sandbox import SandboxUnavailable

FAILURES = 3
"""Images one after the other that cannot be had, until the cause is taken to be none of theirs: a
limit of the registry, a disk that is full, a network that is down."""


class Pulling(Protocol):
    """What brings images: those of an engine, or of a store."""

    def find(self, name: str) -> object | None:
        """Return an image that is there."""

    def ensure(self, name: str) -> object:
        """Bring an image if it is not there; SandboxUnavailable says why it cannot be had."""

    def total_size(self) -> int:
        """Return the bytes of what it brought."""
        ...


@dataclass
class Fetched:
    """What became of images."""

    existing: list[str] = field(default_factory=list)
    """Those that were there already."""
    pulled: list[str] = field(default_factory=list)
    """Those that were pulled."""
    failed: dict[str, str] = field(default_factory=dict)
    """Those that cannot be had, each with the reason and what to do."""
    left: tuple[str, ...] = ()
    """Those that were not tried any more."""
    why: str = ""
    """Why not."""


def prefetch(
    names: Iterable[str],
    images: Pulling,
    budget: int | None = None,
    watch: Callable[[str], None] = lambda name: None,
) -> Fetched:
    """Pull the images that are not there yet, in their order.

    What was pulled stays whatever comes after it, so a run that was cut off goes on where it
    stopped.

    Args:
        names: The images.
        images: What brings them.
        budget: Bytes; no image is pulled any more once those that agentgym has pulled take them.
        watch: Told the name of each image before it is looked for.
    """
    image_names = list(dict.fromkeys(names))
    result, row = Fetched(), 0
    for position, name in enumerate(image_names):
        watch(name)
        if images.find(name) is not None:
            result.existing.append(name)
            continue
        if budget is not None and images.total_size() >= budget:
            return _stopped(result, image_names[position:], "the budget for images is used up")
        try:
            images.ensure(name)
        except SandboxUnavailable as problem:
            result.failed[name] = str(problem)
            row += 1
            if row == FAILURES:
                why = f"{FAILURES} images one after the other could not be had"
                return _stopped(result, image_names[position + 1 :], why)
            continue
        result.pulled.append(name)
        row = 0
    return result


def _stopped(result: Fetched, left: Sequence[str], why: str) -> Fetched:
    result.left = tuple(left)
    result.why = why if left else ""
    return result
