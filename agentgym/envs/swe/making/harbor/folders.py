"""Write SWE tasks as folders in the format of Harbor (``schema_version = "1.4"``).

A folder holds the repository with its fault, the instruction, the solution, and ``tests/`` with a
standalone judge (:mod:`.judge`). Harbor grades in a separate environment, which receives only the
files of the repository from the model's; the hidden tests exist only there. So the folder runs
wherever Harbor does, without agentgym.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import re
import shutil
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgym.core.tasks import Task
from agentgym.envs.swe.diffs import apply_diff
from agentgym.envs.swe.env import SWEEnv
from agentgym.envs.swe.grading.grader import solution_paths, test_files
from agentgym.envs.swe.grading.protection import fixed_files
from agentgym.envs.swe.grading.twins import canaries_for_suite
from agentgym.envs.swe.held_out.bank import load_bank
from agentgym.envs.swe.instance import FolderSource, Instance
from agentgym.envs.swe.making.harbor.judge import KNOWLEDGE
from agentgym.envs.swe.runtime import PACKAGE, WORKDIR
from agentgym.envs.swe.trees import contents
from agentgym.errors import ConfigurationError
from agentgym.sandbox.base import ENVIRONMENT
from agentgym.sandbox.dockerfile import NO_IMAGE
from agentgym.support.bundled_files import fill_templates
from agentgym.support.caching import SCRATCH, publish
from agentgym.support.random_stream import Stream

OWNER = "agentgym"
"""Organization in the names of tasks that nobody owns at a hub."""
JUDGE = "judge.zip"
"""File of ``tests/`` with the judge and the modules that it needs."""
MODULES = (
    "errors",
    "envs/swe/diffs",
    "envs/swe/git_names",
    "envs/swe/grading/copying",
    "envs/swe/grading/junit",
    "envs/swe/grading/protection",
    "envs/swe/grading/runner",
    "envs/swe/grading/suite_names",
    "envs/swe/grading/test_run",
    "envs/swe/grading/twins",
    "envs/swe/grading/verdict",
    "envs/swe/making/harbor/confinement",
    "envs/swe/making/harbor/judge",
    "envs/swe/held_out/answers",
    "envs/swe/held_out/asking",
    "envs/swe/held_out/driver",
    "envs/swe/instance",
    "envs/swe/parsed_source",
    "envs/swe/runtime",
    "support/caching",
    "support/random_stream",
    "support/text_lines",
)
"""Modules of agentgym that the judge takes along; they need the standard library alone."""
TIMEOUT = 120
"""Seconds that the tests, and the held-out questions, may take each."""
LONGEST_AGENT = 3600
"""Seconds that an agent may take."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_MAIN = """\
import os
import sys

from agentgym.envs.swe.making.harbor.judge import main

sys.exit(main())
"""
_INSTALL = """\
{mark}
# (boxes of agentgym find Python, git and pytest without these lines)
RUN apt-get update && apt-get install -y --no-install-recommends git \\
    && rm -rf /var/lib/apt/lists/* && pip install --no-cache-dir "pytest>=8"
"""


@dataclass(frozen=True)
class FolderOptions:
    """How tasks are written."""

    image: str = ""
    """An image that holds Python 3.10 or later, git and pytest 8 or later; empty makes one of the
    Python of this process from the Docker Hub, into which git and pytest are installed."""
    owner: str = OWNER
    """Organization in the names of the tasks."""


def write_folder(task: Task, instance: Instance, folder: Path, options: FolderOptions) -> None:
    """Write one task.

    Args:
        task: The task.
        instance: What it is made of.
        folder: Where; it must not exist.
        options: How.

    Raises:
        ConfigurationError: The repository lies in an image, or the tests in no repository.
        DataError: The instance, or the bank of its questions, is damaged.
    """
    source = instance.source
    if not isinstance(source, FolderSource):
        raise ConfigurationError(
            f"expected a task that is made of a folder, bundled or of agentgym swe build, got "
            f"{task.id}, whose repository lies in the image {source.image}"
        )
    sources = contents(source)
    patched = apply_diff(instance.patch, sources.get)
    files = {f"environment/repository/{path}": content for path, content in sources.items()}
    changed = {path: content for path, content in patched.items() if content is not None}
    removed = sorted(path for path, content in patched.items() if content is None)
    files |= {f"solution/files/{path}": content for path, content in changed.items()}
    texts = {
        **fill_templates(__file__, _values(task, instance, options)),
        "solution/solution.patch": instance.patch,
        "solution/removed.txt": "".join(f"{path}\n" for path in removed),
    }
    files |= {path: text.encode() for path, text in texts.items()}
    files[f"tests/{JUDGE}"] = judge_archive()
    encoded = json.dumps(knowledge(instance), sort_keys=True).encode()
    files[f"tests/{KNOWLEDGE}"] = gzip.compress(encoded, mtime=0)
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(0o755 if path.endswith(".sh") else 0o644)
    (folder / "solution" / "files").mkdir(exist_ok=True)


def folder_name(task: Task) -> str:
    """Return the name of a task's folder, which tells no more than its id."""
    return re.sub(r"[^a-z0-9]+", "-", task.id.lower()).strip("-")


def knowledge(instance: Instance) -> dict[str, Any]:
    """Return the data that the judge of an instance needs.

    Raises:
        DataError: The bank of its questions is missing or damaged.
    """
    assert isinstance(instance.source, FolderSource)
    sources = contents(instance.source)
    hidden = apply_diff(instance.test_patch, sources.get) if instance.test_patch else {}
    selection = test_files(instance)
    fixed, _ = fixed_files({**sources, **hidden}, instance.protected)
    stream = Stream("canaries", instance.id, instance.patch, "harbor")
    canaries = canaries_for_suite(
        fixed, selection, instance.fail_to_pass, instance.pass_to_pass, stream
    )
    brought = {path: content for path, content in hidden.items() if content is not None}
    packages, questions = _questions(instance)
    return {
        "before": _packed(sources),
        "fixed": _packed({**brought, **fixed, **canaries.files}),
        "twins": [list(twin) for twin in canaries.twins],
        "along": list(canaries.along),
        "chosen": list(selection),
        "fail_to_pass": list(instance.fail_to_pass),
        "pass_to_pass": list(instance.pass_to_pass),
        "allowed": sorted(solution_paths(instance)),
        "protected": list(instance.protected),
        "environment": {**ENVIRONMENT, **_PYTEST, **instance.environment},
        "timeout": TIMEOUT,
        "packages": packages,
        "questions": questions,
    }


_PYTEST = {
    "PYTHONNOUSERSITE": "1",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_ADDOPTS": "-p no:cacheprovider",
}


def _questions(instance: Instance) -> tuple[list[str], list[list[Any]]]:
    """Return the driver's imports, and programs with their right answers."""
    if instance.held_out is None:
        return [], []
    bank = load_bank(instance.held_out)
    if instance.id not in bank.tasks:
        return [], []
    return list(bank.packages), [list(question) for question in bank.draw(instance.id, "harbor")]


def judge_archive() -> bytes:
    """Return the judge and its data as an archive, reproducible to the byte."""
    buffer = io.BytesIO()
    texts = {f"agentgym/{name}.py": (PACKAGE / f"{name}.py").read_text("utf-8") for name in MODULES}
    folders = {path.rpartition("/")[0] for path in texts}
    folders |= {"/".join(folder.split("/")[:n]) for folder in folders for n in range(1, 6)}
    texts |= {f"{folder}/__init__.py": "" for folder in folders}
    texts["judge.py"] = _MAIN
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in sorted(texts.items()):
            archive.writestr(zipfile.ZipInfo(path, _EPOCH), text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _values(task: Task, instance: Instance, options: FolderOptions) -> dict[str, object]:
    """Return what stands for the names in the templates."""
    details = {
        key: instance.details[key] for key in ("kind", "difficulty") if key in instance.details
    }
    return {
        "statement": instance.statement.strip(),
        "workdir": WORKDIR,
        "judge": JUDGE,
        "image": options.image or f"python:{sys.version_info[0]}.{sys.version_info[1]}-slim",
        "install": "" if options.image else _INSTALL.format(mark=NO_IMAGE),
        "owner": options.owner,
        "name": folder_name(task),
        "split": json.dumps(task.split),
        "details": "".join(f"{key} = {json.dumps(value)}\n" for key, value in details.items()),
        "agent": LONGEST_AGENT,
        "verifier": 3 * TIMEOUT,
    }


def _packed(files: Mapping[str, bytes]) -> dict[str, str]:
    return {path: base64.b64encode(content).decode() for path, content in files.items()}


def write_folders(
    env: SWEEnv,
    out: Path,
    *,
    split: str | None = None,
    num_tasks: int | None = None,
    seed: int = 0,
    options: FolderOptions | None = None,
    watch: Callable[[int, int], None] = lambda done_count, total: None,
) -> tuple[int, int]:
    """Write tasks of an environment, each into a folder of its own; those that are there stay.

    So an interrupted run resumes where it stopped.

    Args:
        env: The environment.
        out: Folder of the folders.
        split: Split of the tasks; None: all splits.
        num_tasks: How many of each split, drawn as a panel; None: all of them.
        seed: Seed of the draw.
        options: How they are written.
        watch: Called with the number done and the total after each.

    Returns:
        How many were written, and how many were there.

    Raises:
        ConfigurationError: A task has no folder as repository, or nothing can be written there.
        TaskNotFound: There is no such split.
        DataError: An instance, or the bank of its questions, is damaged.
    """
    tasks, ids = env.tasks, list[str]()
    for split_name in tasks.splits if split is None else (split,):
        count = tasks.len(split_name)
        ids += tasks.panel(
            split_name, count if num_tasks is None else min(num_tasks, count), seed
        ).ids
    written_count = 0
    for done_count, task_id in enumerate(ids, 1):
        task = tasks.find(task_id)
        target = out / folder_name(task)
        if not target.exists():
            try:
                _publish(task, tasks.problem(task), target, options or FolderOptions())
            except OSError as error:
                raise ConfigurationError(
                    f"expected a folder that can be written to, got {out}: {error}"
                ) from error
            written_count += 1
        watch(done_count, len(ids))
    return written_count, len(ids) - written_count


def _publish(task: Task, instance: Instance, target: Path, options: FolderOptions) -> None:
    """Write a folder under another name, which becomes the real one when it is whole."""
    scratch = target.with_name(f"{SCRATCH}{os.getpid()}-{target.name}")
    try:
        write_folder(task, instance, scratch, options)
        publish(scratch, target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
