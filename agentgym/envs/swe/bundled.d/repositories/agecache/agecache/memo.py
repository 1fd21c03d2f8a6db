"""Functions that remember their results."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar

from agecache.cache import AgeCache

R = TypeVar("R")
_MISSING: Any = object()


def memoize(
    cache: AgeCache[Hashable, Any], typed: bool = False
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Make a function look into a cache before it computes.

    Args:
        cache: Where the results are kept; use one cache for each function.
        typed: Whether arguments of different types, such as 1 and 1.0, are different.

    Returns:
        A decorator. Exceptions are not remembered; None is a result like any other.
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        @wraps(function)
        def remembering(*args: Hashable, **kwargs: Hashable) -> R:
            key = make_key(args, kwargs, typed)
            found = cache.get(key, _MISSING)
            if found is _MISSING:
                found = function(*args, **kwargs)
                cache.put(key, found)
            return found  # type: ignore[no-any-return]

        return remembering

    return decorate


def make_key(args: tuple[Hashable, ...], kwargs: dict[str, Hashable], typed: bool) -> Hashable:
    """Return what stands for a call; the order of keyword arguments does not matter."""
    named = tuple(sorted(kwargs.items(), key=lambda item: item[0]))
    if not typed:
        return args, named
    types = tuple(type(value) for value in args) + tuple(type(value) for _, value in named)
    return args, named, types
