"""Environments of other projects by name, ``PREFIX:NAME``, and the modules that make them.

Such a name is registered with Gymnasium when it is first used. Gymnasium allows few characters in
an id, so the id is ``PREFIX/NAME-v0`` with all other characters escaped: ``gem:game:Sudoku``
becomes ``gem/game_3ASudoku-v0``. Commands and records accept both forms.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from urllib.parse import quote, unquote

import gymnasium

from agentgym.errors import ConfigurationError
from agentgym.support.redaction import for_others

SHORT_NAME = 60
"""Maximum number of characters of a short name."""


@dataclass(frozen=True, slots=True)
class Import:
    """The environments of another project, under one prefix."""

    module: str
    """Module with ``make(reference, **options)`` and optionally ``names()``, which lists the
    references."""
    form: str
    """Placeholder for the reference after the prefix, for help texts."""
    example: str
    """Example of a reference."""
    summary: str
    """Description in one line."""
    packages: tuple[str, ...] = ()
    """Import names of the packages that it needs beyond the core."""
    extra: str = ""
    """Extra of the distribution that installs them."""
    backend: str = "sync"
    """Default backend of vector environments."""


IMPORTS: Mapping[str, Import] = {
    prefix: Import(**{**row, "packages": tuple(row.get("packages", ()))})
    for prefix, row in json.loads(Path(__file__).with_suffix(".json").read_text("utf-8")).items()
}
"""The imports by prefix, which ``imports.json`` holds."""

FORMS = ", ".join(f"{prefix}:{kind.form}" for prefix, kind in IMPORTS.items())
"""All forms of names of other projects' environments, for error messages."""
_ID = re.compile(r"(?P<prefix>[a-z-]+)/(?P<name>[\w.-]+)-v0", re.ASCII)


def find(name: str) -> tuple[str, str] | None:
    """Register the environment of another project with a name.

    Args:
        name: ``PREFIX:NAME``, or the id of the environment.

    Returns:
        A short name for files and tables, and the id; None if the name has no known prefix.

    Raises:
        ConfigurationError: The reference after the prefix is empty, or contains a secret.
    """
    parts = split(name)
    if parts is None:
        return None
    prefix, reference = parts
    kind = IMPORTS[prefix]
    if not reference.strip():
        raise ConfigurationError(
            f"expected {prefix}:{kind.form}, such as {prefix}:{kind.example}; got {name!r}"
        )
    if for_others(reference) != reference:
        raise ConfigurationError(
            f"expected {prefix}:{kind.form} without users, passwords, keys and tokens, because "
            f"records hold it; got {for_others(reference)!r} with one: pass it as the page of "
            "imports (agentgym/interop/imports.md) says"
        )
    return short_name(prefix, reference), register(prefix, reference)


def register(prefix: str, reference: str) -> str:
    """Register an environment with Gymnasium, once; return its id."""
    env_id = f"{prefix}/{_escaped(reference)}-v0"
    if env_id not in gymnasium.registry:
        gymnasium.register(
            env_id,
            entry_point=f"{IMPORTS[prefix].module}:make",
            vector_entry_point=f"agentgym.vector.entry:{prefix}",
            kwargs={"reference": reference},
        )
    return env_id


def split(name: str) -> tuple[str, str] | None:
    """Split a name or id into prefix and reference; None if it has no known prefix."""
    prefix, colon, reference = name.partition(":")
    if colon and prefix in IMPORTS:
        return prefix, reference
    match = _ID.fullmatch(name)
    if match is None or match["prefix"] not in IMPORTS:
        return None
    return match["prefix"], unquote(match["name"].replace("_", "%"))


def short_name(prefix: str, reference: str) -> str:
    """Return a name for files and tables; a hash keeps names apart that had to be cut."""
    word = re.sub(r"[^a-z0-9]+", "-", f"{prefix}-{reference}".lower()).strip("-")
    if len(word) <= SHORT_NAME:
        return word
    digest = hashlib.sha256(reference.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{word[: SHORT_NAME - 9].strip('-')}-{digest}"


def offered(prefix: str) -> tuple[str, ...]:
    """Return the references that a prefix offers, sorted; empty if they cannot be listed.

    Raises:
        DependencyNotInstalled: The other project's package is missing.
    """
    names: Callable[[], Iterable[str]] | None
    names = getattr(import_module(IMPORTS[prefix].module), "names", None)
    return tuple(sorted(names())) if names else ()


def _escaped(reference: str) -> str:
    """Percent-encode a text, with ``_`` for ``%``, so that ids can contain it; `split` decodes."""
    escaped = quote(reference, safe="", errors="replace").replace("_", "%5F").replace("~", "%7E")
    return escaped.replace("%", "_")
