"""Bring the images of many instances before they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from agentgym.sandbox import SandboxUnavailable
from agentgym.sandbox.docker.images import Images

FAILURES = 3
"""Images one after the other that cannot be had, until the cause is taken to be none of theirs: a
limit of the registry, a disk that is full, a network that is down."""


@dataclass
class Fetched:
    """What became of images."""

    there: list[str] = field(default_factory=list)
    """Those that were on the engine already."""
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
    images: Images,
    budget: int | None = None,
    watch: Callable[[str], None] = lambda name: None,
) -> Fetched:
    """Pull the images that are not on the engine yet, in their order.

    What was pulled stays whatever comes after it, so a run that was cut off goes on where it
    stopped.

    Args:
        names: The images.
        images: What brings them.
        budget: Bytes; no image is pulled any more once those that agentgym has pulled take them.
        watch: Told the name of each image before it is looked for.
    """
    wanted = list(dict.fromkeys(names))
    result, row = Fetched(), 0
    for position, name in enumerate(wanted):
        watch(name)
        if images.find(name) is not None:
            result.there.append(name)
            continue
        if budget is not None and _size(images) >= budget:
            return _stopped(result, wanted[position:], "the budget for images is used up")
        try:
            images.ensure(name)
        except SandboxUnavailable as problem:
            result.failed[name] = str(problem)
            row += 1
            if row == FAILURES:
                why = f"{FAILURES} images one after the other could not be had"
                return _stopped(result, wanted[position + 1 :], why)
            continue
        result.pulled.append(name)
        row = 0
    return result


def _size(images: Images) -> int:
    return sum(int(image["size"]) for image in images.records.ours())


def _stopped(result: Fetched, left: Sequence[str], why: str) -> Fetched:
    result.left = tuple(left)
    result.why = why if left else ""
    return result
