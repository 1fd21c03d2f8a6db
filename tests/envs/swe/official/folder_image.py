"""Folders in place of images: rows of published sets in real boxes, without an engine."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentgym.envs.swe.grading import Grade, Grader
from agentgym.envs.swe.instance import ImageSource, Instance
from agentgym.envs.swe.instance_boxes import Boxes, apply_in_box
from agentgym.envs.swe.runtime import SHOWN, runtime
from agentgym.sandbox import SandboxConfig
from agentgym.sandbox.namespace.box import NamespaceSandbox

FOLDERS: dict[str, Path] = {}
"""Name of an image -> folder with its repository."""


class FolderImage(NamespaceSandbox):
    """A box with the repository of an image, and this machine's Python and pytest."""

    images = True

    def __init__(self, config: SandboxConfig, pull: str = "missing") -> None:
        shared = runtime()
        super().__init__(
            replace(
                config,
                image="",
                tree=FOLDERS[config.image],
                visible=(shared.folder,),
                mounts={SHOWN: shared.folder},
                hidden=shared.hidden,
                path=shared.path,
                environment={
                    **shared.environment,
                    "PYTHONPATH": str(shared.folder / "site"),
                    **config.environment,
                },
            )
        )


BOXES = Boxes(sandbox=f"{__name__}:{FolderImage.__name__}")
GRADER = Grader(BOXES, timeout=30)


def diff(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Return the unified diff between two sets of files."""
    from agentgym.envs.swe.edits import write_diff

    return write_diff(*({k: v.encode() for k, v in files.items()} for files in (before, after)))


def make_instance(
    folder: Path, files: Mapping[str, str], solution: Mapping[str, str], **fields: Any
) -> Instance:
    """Make an instance whose image is a folder.

    Args:
        folder: Where the repository is to lie; it must not exist.
        files: The repository.
        solution: Files that the right solution changes.
        **fields: Fields of the instance; ``tests`` are files that its test patch brings.
    """
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    FOLDERS[str(folder)] = folder
    tests: Mapping[str, str] = fields.pop("tests", {})
    existing = {path: files[path] for path in tests if path in files}
    files_before = {path: files[path] for path in solution}
    instance = Instance(
        id=folder.name,
        repo="quiet/ledger",
        statement="Sums are wrong.",
        source=ImageSource(str(folder)),
        patch=diff(files_before, solution),
        fail_to_pass=(),
        pass_to_pass=(),
        test_patch=diff(existing, tests),
        log_format="pytest",
    )
    return replace(instance, **fields)


def graded(instance: Instance, files: Mapping[str, str], grader: Grader = GRADER) -> Grade:
    """Grade files that an agent wrote."""
    with grader.boxes.open(instance) as box:
        for path, text in files.items():
            box.write(path, text.encode())
        changes = box.changes()
    return grader.grade(instance, changes)


def gold(instance: Instance, grader: Grader = GRADER) -> Grade:
    """Grade the right solution."""
    with grader.boxes.open(instance) as box:
        apply_in_box(box, instance.patch, "the solution")
        changes = box.changes()
    return grader.grade(instance, changes)
