"""What the user trusts, and the check through which every reader of files goes."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from agentgym.errors import ConfigurationError
from agentgym.registration.making import resolve
from agentgym.trust.claims import Claim, env_claims

logger = logging.getLogger(__name__)

FLAG = "--trust"
"""The flag that allows what a file names."""
LONGEST = 1000
"""Most characters of a value that a message shows."""
Say = Callable[[str], None]


class NotTrusted(ConfigurationError):
    """A file names what only the user may name."""


@dataclass(eq=False)
class _Grant:
    """What a block trusts."""

    texts: frozenset[str]
    """What is trusted, each as ``NAME=VALUE``."""
    say: Say
    """Told what a file makes happen, once for each."""
    announced: set[str] = field(default_factory=set)
    """What it has been told."""

    def announce(self, sentence: str) -> None:
        """Say a sentence, unless it has been said."""
        if sentence not in self.announced:
            self.announced.add(sentence)
            self.say(sentence)


_granted: list[_Grant] = []
"""The blocks that this process is in, the innermost last."""


@contextmanager
def trusting(*texts: str, say: Say = logger.warning) -> Iterator[None]:
    """Allow what files name within the block, in every thread of this process.

    Args:
        *texts: What is allowed, each as ``NAME=VALUE`` of a refusal, such as
            ``"sandbox=subprocess"``.
        say: Told what a file makes happen, before it does.

    Raises:
        ConfigurationError: A text is no ``NAME=VALUE``.
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
def trusting_env(env: str | None) -> Iterator[None]:
    """Allow files to name the environment that the user typed; imports its module.

    Raises:
        ConfigurationError: There is no such environment.
    """
    named = [] if env is None else [env_claims(env, {})[0].text, f"env={resolve(env).id}"]
    with trusting(*named, say=logger.debug):
        yield


def granted() -> tuple[str, ...]:
    """Return all that is trusted now, for a process that goes on with the work of this one."""
    return tuple(sorted({text for grant in _granted for text in grant.texts}))


def check_trusted(claims: Iterable[Claim], source: str, typed: Container[str] = ()) -> None:
    """Refuse what a file names, unless it is plain or trusted.

    Args:
        claims: What it names.
        source: What kind of file it is, such as ``"the record"``.
        typed: Texts ``NAME=VALUE`` that the user typed elsewhere.

    Raises:
        NotTrusted: It names something else; the message has the flag that allows it.
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
