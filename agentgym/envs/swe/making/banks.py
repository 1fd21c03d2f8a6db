"""Make the held-out questions of a folder of tasks of any kind.

A bank belongs to a state of the sound source. Tasks whose solution leads to the repository as it
lies in the folder share one; a task with another sound state, such as a release, has its own.
Each task is written as soon as it is finished, so an interrupted run resumes there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentgym.envs.swe.diffs import apply_diff
from agentgym.envs.swe.grading.protection import is_protected
from agentgym.envs.swe.held_out.bank import Questions, read_bank
from agentgym.envs.swe.instance import FolderSource, Instance
from agentgym.envs.swe.instance_boxes import Boxes
from agentgym.envs.swe.making.held_out.building import BankBuilder, QuestionedTask
from agentgym.envs.swe.making.mutation import source_files
from agentgym.envs.swe.making.wrong_repairs import edits_anywhere, wrong_repairs
from agentgym.envs.swe.stored_instances import StoredInstances, bank_file
from agentgym.envs.swe.trees import contents
from agentgym.support.random_stream import Stream

TOGETHER = 10
"""Number of tasks whose questions are made and written together."""

Files = Mapping[str, "bytes | None"]


@dataclass(frozen=True)
class BankProgress:
    """How far the questions of a folder are."""

    task: str
    """The task that was done last."""
    questions: Questions
    """Its questions."""
    done: int
    """Tasks that are done."""
    total: int
    """Tasks that there are."""


def build_banks(
    folder: Path,
    *,
    only: Collection[str] = (),
    search: bool = True,
    boxes: Boxes | None = None,
    watch: Callable[[BankProgress], None] | None = None,
) -> dict[str, Questions]:
    """Make the held-out questions of the tasks of a folder, as ``agentgym swe build`` does.

    Args:
        folder: The folder of tasks.
        only: Names of repositories; all if empty.
        search: Whether to look for wrong repairs that the tests accept, next to the fault of each
            task and anywhere in the library, and for programs that detect them; a run without it
            can be followed by one with it.
        boxes: How boxes are opened.
        watch: Called after every task.

    Returns:
        The questions of each task, by its id. ``enough`` is False where there are too few.

    Raises:
        DataError: A file of the folder is missing or damaged.
    """
    stored = StoredInstances(folder)
    tasks = [task for task in _tasks(stored) if not only or task.repository in only]
    questions: dict[str, Questions] = {}
    # A repository as it lies in the folder comes before other states of it, which borrow from it.
    for name in dict.fromkeys(
        task.file for task in sorted(tasks, key=lambda task: bool(task.sound))
    ):
        file_tasks = [task for task in tasks if task.file == name]
        first = file_tasks[0]
        with BankBuilder(
            stored.folder_of(first.repository),
            stored.repositories()[first.repository].digest,
            name,
            tests={path: text for task in file_tasks for path, text in task.tests.items()},
            sound=first.sound,
            boxes=boxes,
        ) as builder:
            for start in range(0, len(file_tasks), TOGETHER):
                part = file_tasks[start : start + TOGETHER]
                builder.add([task.fault for task in part])
                for task in part:
                    if search:
                        builder.tell_apart(
                            task.fault, wrong_repairs(task.repaired, task.fault.files)
                        )
                    task_questions = builder.bank().tasks[task.fault.id]
                    questions[task.fault.id] = task_questions
                    if watch:
                        built_count = len(questions)
                        watch(BankProgress(task.fault.id, task_questions, built_count, len(tasks)))
            if search:
                _guard(builder, stored, first)
    return questions


def _guard(builder: BankBuilder, stored: StoredInstances, task: _Task) -> None:
    """Search a whole library for edits that its tests accept, or load those found earlier."""
    lender = bank_file(stored.folder, task.repository)
    if lender != task.file and lender.exists():
        builder.borrow(read_bank(lender))
        return
    folder = stored.folder_of(task.repository)
    paths = {*source_files(folder), *task.sound}
    files = {path: (folder / path).read_bytes() for path in paths if (folder / path).is_file()}
    state = {path: content for path, content in {**files, **task.sound}.items() if content}
    sources = {path: state[path] for path in sorted(state) if path.endswith(".py")}
    stream = Stream("edits anywhere", task.repository)
    builder.guard(edits_anywhere(sources, stream))


@dataclass(frozen=True)
class _Task:
    """A task, and the inputs of its bank."""

    repository: str
    file: Path
    tests: Mapping[str, str]
    sound: Files
    repaired: Files
    fault: QuestionedTask


def _tasks(stored: StoredInstances) -> Iterator[_Task]:
    """Yield the tasks of a folder, each with its sound state."""
    for record in stored.records().values():
        instance = stored.instance(*stored.find(record.id))
        repository = record.folder or record.repo
        sound, faulty, tests = states(instance)
        bank_name = record.id if sound else repository
        fault = QuestionedTask(record.id, faulty, instance.fail_to_pass)
        folder = contents(FolderSource(stored.folder_of(repository)))
        repaired = {path: sound.get(path, folder.get(path)) for path in faulty}
        yield _Task(repository, bank_file(stored.folder, bank_name), tests, sound, repaired, fault)


def states(instance: Instance) -> tuple[Files, Files, Mapping[str, str]]:
    """Return the files that identify the states of a task.

    Args:
        instance: The task, whose source is a folder.

    Returns:
        Files of the sound source that differ from the folder, files of the faulty source that
        differ from the sound one, and the sources of all tests, hidden ones among them.
    """
    assert isinstance(instance.source, FolderSource)
    folder = contents(FolderSource(instance.source.folder))
    faulty = contents(instance.source)
    repaired = _patched(faulty, instance.patch)
    tested = _patched(repaired, instance.test_patch)
    tests = {
        path: content.decode("utf-8", "replace")
        for path, content in tested.items()
        if path.endswith(".py") and is_protected(path)
    }
    names = {path for path in {*folder, *faulty, *repaired} if not is_protected(path)}
    sound = {p: repaired.get(p) for p in sorted(names) if repaired.get(p) != folder.get(p)}
    fault = {p: faulty.get(p) for p in sorted(names) if faulty.get(p) != repaired.get(p)}
    return sound, fault, tests


def _patched(files: Mapping[str, bytes], patch: str) -> dict[str, bytes]:
    """Return files with a diff applied."""
    changed = apply_diff(patch, files.get) if patch else {}
    return {path: c for path, c in {**files, **changed}.items() if c is not None}
