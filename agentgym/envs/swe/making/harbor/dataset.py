"""The manifest with which a folder of tasks is a dataset of Harbor's hub.

It lists the tasks with the digests that Harbor computes when it publishes them.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
from pathlib import Path

from agentgym.errors import DataError
from agentgym.support.structured_files import parse_toml

MANIFEST = "dataset.toml"
PARTS = ("environment", "tests", "solution")
"""Folders of a task that are published."""
FILES = ("task.toml", "instruction.md", "README.md")
"""Files of a task that are published."""
IGNORED = ("__pycache__", "*.pyc", ".DS_Store", "*.swp", "*.swo", "*~")
"""Names that Harbor leaves out."""


def write_manifest(folder: Path, name: str, description: str) -> int:
    """Write the manifest of the tasks in a folder.

    Args:
        folder: The folder, with a folder for each task.
        name: Name of the dataset, ``OWNER/NAME``.
        description: Description in one line.

    Returns:
        The number of tasks.

    Raises:
        DataError: A ``task.toml`` cannot be read, or names no task.
    """
    lines = ['schema_version = "1.0"', "", "[dataset]"]
    lines += [f"name = {json.dumps(name)}", f"description = {json.dumps(description)}"]
    tasks = sorted(path.parent for path in folder.glob("*/task.toml"))
    for task in tasks:
        entries = {"name": _name(task), "digest": f"sha256:{content_hash(task)}"}
        lines += ["", "[[tasks]]", *(f"{key} = {json.dumps(v)}" for key, v in entries.items())]
    (folder / MANIFEST).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(tasks)


def _name(task: Path) -> str:
    path = task / "task.toml"
    try:
        name = parse_toml(path.read_text(encoding="utf-8"))["task"]["name"]
    except (ValueError, LookupError, TypeError) as error:
        raise DataError(
            f"expected {path} to name its task, but: {type(error).__name__}: {error}; remove its "
            "folder, so that it is written again"
        ) from error
    return str(name)


def content_hash(task: Path) -> str:
    """Return the digest of a task's files, as Harbor's ``Packager`` does."""
    files = [task / name for name in FILES]
    files += [path for part in PARTS for path in (task / part).rglob("*")]
    published = {path.relative_to(task).as_posix(): path for path in files if path.is_file()}
    total = hashlib.sha256()
    for name, path in sorted(published.items()):
        if not any(fnmatch.fnmatch(part, p) for part in name.split("/") for p in IGNORED):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f"{name}\0{digest}\n".encode())
    return total.hexdigest()
