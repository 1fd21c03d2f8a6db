"""Pull the images of many instances before they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agentgym.sandbox import SandboxUnavailable

FAILURES = 3
"""Number of consecutive failures after which pulling stops: the cause is probably not the images,
but the registry's rate limit, a full disk or the network."""


class Pulling(Protocol):
    """Pulls images, into a container engine or agentgym's own store."""

    def find(self, name: str) -> object | None:
        """Return a local image, or None."""

    def ensure(self, name: str) -> object:
        """Pull an image unless it is local.

        Raises:
            SandboxUnavailable: The image cannot be pulled.
        """

    def total_size(self) -> int:
        """Return the total size of the images that it pulled, in bytes."""
        ...


@dataclass
class Fetched:
    """The result of prefetching images."""

    existing: list[str] = field(default_factory=list)
    """Images that were local already."""
    pulled: list[str] = field(default_factory=list)
    """Images that were pulled."""
    failed: dict[str, str] = field(default_factory=dict)
    """Image that cannot be pulled -> reason and remedy."""
    untried: tuple[str, ...] = ()
    """Images that were not tried."""
    why: str = ""
    """Why they were not tried; empty if all were."""


def prefetch(
    names: Iterable[str],
    images: Pulling,
    budget: int | None = None,
    watch: Callable[[str], None] = lambda name: None,
) -> Fetched:
    """Pull the images that are not local yet, in order.

    Pulled images are kept, so an interrupted run continues where it stopped.

    Args:
        names: Names of the images.
        images: Pulls them.
        budget: Stop when the images that agentgym has pulled take this many bytes; None: no limit.
        watch: Called with the name of each image before it is processed.
    """
    image_names = list(dict.fromkeys(names))
    result, consecutive_failures = Fetched(), 0
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
            consecutive_failures += 1
            if consecutive_failures == FAILURES:
                why = f"{FAILURES} images one after the other could not be had"
                return _stopped(result, image_names[position + 1 :], why)
            continue
        result.pulled.append(name)
        consecutive_failures = 0
    return result


def _stopped(result: Fetched, unfetched: Sequence[str], why: str) -> Fetched:
    result.untried = tuple(unfetched)
    result.why = why if unfetched else ""
    return result
