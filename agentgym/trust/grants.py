"""Grants of trust by the user, and `check_trusted`, which every reader of files calls."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from agentgym.errors import ConfigurationError
from agentgym.registration.making import resolve
from agentgym.trust.claims import Claim, env_claims

logger = logging.getLogger(__name__)

FLAG = "--trust"
"""The flag by which the user trusts a value."""
LONGEST = 1000
"""Maximum number of characters of a value in a message."""
Say = Callable[[str], None]


class NotTrusted(ConfigurationError):
    """A file contains a value that needs the user's consent."""


@dataclass(eq=False)
class _Grant:
    """The values that one ``with trusting(...)`` block trusts."""

    texts: frozenset[str]
    """Trusted values, each as ``NAME=VALUE``."""
    say: Say
    """Called with a sentence about each trusted value that a file uses, once per sentence."""
    announced: set[str] = field(default_factory=set)
    """Sentences already passed to ``say``."""

    def announce(self, sentence: str) -> None:
        """Pass a sentence to ``say``, unless that was done before."""
        if sentence not in self.announced:
            self.announced.add(sentence)
            self.say(sentence)


_granted: list[_Grant] = []
"""The active blocks of this process, innermost last."""


@contextmanager
def trusting(*texts: str, say: Say = logger.warning) -> Iterator[None]:
    """Trust values that files contain, within the block and in every thread of this process.

    Args:
        *texts: Trusted values, each as ``NAME=VALUE`` from the message of `NotTrusted`, such as
            ``"sandbox=subprocess"``.
        say: Called with a sentence about each trusted value that a file uses, before its use.

    Raises:
        ConfigurationError: A text is not ``NAME=VALUE``.
    """
    for text in texts:
        if not all(text.partition("=")[:2]):
            raise ConfigurationError(
                f"expected {FLAG} NAME=VALUE, such as sandbox=subprocess, got {text!r:.200}"
            )
    grant = _Grant(frozenset(texts), say)
    _granted.append(grant)
    try:
        yield
    finally:
        _granted.remove(grant)


@contextmanager
def trusting_env(
    env: str | None, arguments: Mapping[str, Any] = MappingProxyType({})
) -> Iterator[None]:
    """Trust the environment that the user typed, if files name it; imports its module.

    Args:
        env: Its name; None trusts nothing.
        arguments: Its arguments that the user typed.

    Raises:
        ConfigurationError: There is no such environment.
    """
    claims = [] if env is None else env_claims(env, arguments)
    env_texts = [] if env is None else [f"env={resolve(env).id}"]
    with trusting(*(claim.text for claim in claims), *env_texts, say=logger.debug):
        yield


def granted() -> tuple[str, ...]:
    """Return all texts that are trusted now, for a child process that continues the work."""
    return tuple(sorted({text for grant in _granted for text in grant.texts}))


def check_trusted(claims: Iterable[Claim], source: str, typed: Container[str] = ()) -> None:
    """Raise unless every value of a file is plain or trusted.

    Args:
        claims: The values of the file.
        source: Description of the file for messages, such as ``"the record"``.
        typed: Texts ``NAME=VALUE`` that count as trusted, because the user typed them before.

    Raises:
        NotTrusted: A value is neither; the message contains the flag that allows it.
    """
    refused = []
    for text, claim in {claim.text: claim for claim in claims if not claim.plain}.items():
        grant = next((grant for grant in reversed(_granted) if text in grant.texts), None)
        if grant is not None:
            grant.announce(f"{source} says {_shorten(text)}, which {claim.deed}; you trust it")
        elif text not in typed:
            refused.append(claim)
    if refused:
        description = " and ".join(
            f"{_shorten(claim.text)}, which {claim.deed}" for claim in refused
        )
        flags = " ".join(f"{FLAG} {shlex.quote(claim.text)}" for claim in refused)
        raise NotTrusted(
            f"expected {source} to name only plain data, because somebody else may have written "
            f"it, got {description}; if you trust that, add {flags} (in Python: within "
            "agentgym.trust.trusting)"
        )


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} [...]"
