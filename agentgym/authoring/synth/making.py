"""``synth:NAME`` and ``synth:FILE.yaml``: environments from specifications, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentgym.authoring.synth.env import SynthEnv
from agentgym.authoring.synth.specification import Specification, read
from agentgym.errors import ConfigurationError
from agentgym.support.guesses import with_guesses

BUNDLED = Path(__file__).parent / "bundled"
"""Folder of the specifications that the package brings."""
ENDINGS = (".yaml", ".yml")


def make(reference: str, **options: Any) -> SynthEnv:
    """Make the environment of a specification.

    Args:
        reference: A bundled name, or a file that ends in ``.yaml`` or ``.yml``.
        **options: Arguments of :class:`~agentgym.authoring.synth.env.SynthEnv`.

    Raises:
        ConfigurationError: There is no such specification, or an argument is wrong.
        DataError: The file is no specification, or makes no tasks.
    """
    return SynthEnv(open_specification(reference), **options)


def names() -> list[str]:
    """Return the names of the bundled specifications."""
    return sorted(file.stem for file in BUNDLED.glob("*.yaml"))


def open_specification(reference: str) -> Specification:
    """Read a specification by its bundled name or its file.

    Raises:
        ConfigurationError: It is neither.
        DataError: The file is missing or no specification.
    """
    if reference.endswith(ENDINGS):
        return read(Path(reference).expanduser())
    if reference not in names():
        raise ConfigurationError(
            f"expected a bundled specification or a file that ends in {' or '.join(ENDINGS)}, got "
            f"{with_guesses([reference], names())}"
        )
    return read(BUNDLED / f"{reference}.yaml")
