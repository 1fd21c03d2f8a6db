"""Read the files of tau-bench or tau2-bench as they are: tables, tasks and policy of a domain.

Tasks of tau-bench are the module-level list of a Python file, of calls ``Task(...)`` with calls
``Action(...)`` in ``actions``. The file is parsed, never executed; only literals are read.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentgym.envs.service.published.contents import read_table, read_text
from agentgym.envs.service.published.problem import (
    TABLES,
    Call,
    PublishedProblem,
    World,
    read_call,
)
from agentgym.envs.service.published.tau2 import DATABASE, is_tau2, read_tau2
from agentgym.errors import ConfigurationError, DataError

FILES: Mapping[str, str] = {"train": "tasks_train.py", "valid": "tasks_dev.py"}
"""Split -> its file; ``test`` is ``tasks_test.py``, or else ``tasks.py``."""
SOURCE = "https://github.com/sierra-research/tau-bench"


def read_problems(folder: Path, domain: str | None) -> Mapping[str, tuple[PublishedProblem, ...]]:
    """Read the tasks of a folder.

    Args:
        folder: A checkout of tau-bench or tau2-bench, or the folder of a domain in it.
        domain: ``retail`` or ``airline``; None: that of the folder.

    Returns:
        The tasks of each split that has some.

    Raises:
        ConfigurationError: The folder is of no domain, or of another one.
        DataError: A file is missing, or is not of its project's form.
    """
    root = folder.expanduser().resolve()
    names = list(TABLES) if domain is None else [domain]
    for name in names:
        for place in (root, root / "data" / "tau2" / "domains" / name):
            if is_tau2(place, name):
                return read_tau2(place, name)
    return _read(*_find(root, names))


def _find(root: Path, names: Sequence[str]) -> tuple[Path, str]:
    """Return the folder of a domain of tau-bench, and its name."""
    for name in names:
        for place in (root, root / "tau_bench" / "envs" / name):
            if all((place / "data" / f"{table}.json").is_file() for table in TABLES.get(name, ())):
                return place, name
    tables = " or ".join(
        ", ".join(f"data/{table}.json" for table in TABLES.get(name, ())) for name in names
    )
    raise ConfigurationError(
        f"expected data to be a checkout of tau-bench or tau2-bench, or the folder of a domain in "
        f"it, with {tables} or {DATABASE}, got {str(root)!r:.200}; git clone {SOURCE}"
    )


@lru_cache(maxsize=4)
def _read(folder: Path, domain: str) -> Mapping[str, tuple[PublishedProblem, ...]]:
    tables = {name: read_table(folder / "data" / f"{name}.json") for name in TABLES[domain]}
    policy = read_text(folder / "wiki.md").strip()
    world = World(domain, policy, tables)
    test = "tasks_test.py" if (folder / "tasks_test.py").is_file() else "tasks.py"
    files = {"test": folder / test} | {split: folder / name for split, name in FILES.items()}
    problems = {
        split: tuple(_problem(world, entry, file) for entry in _task_list(file))
        for split, file in files.items()
        if split == "test" or file.is_file()
    }
    if not any(problems.values()):
        raise DataError(f"expected tasks in {', '.join(map(str, files.values()))}, got empty lists")
    return {split: tasks for split, tasks in problems.items() if tasks}


def _task_list(file: Path) -> Sequence[ast.expr]:
    """Return the expressions of the tasks of a file."""
    try:
        tree = ast.parse(read_text(file))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise DataError(f"expected Python with tasks in {file}, but {error}") from error
    lists = [
        node.value.elts
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List)
    ]
    if len(lists) != 1:
        raise DataError(f"expected one list of tasks in {file}, got {len(lists)}")
    return lists[0]


def _problem(world: World, entry: ast.expr, file: Path) -> PublishedProblem:
    try:
        task = _fields(entry)
        return PublishedProblem(
            world,
            user=str(ast.literal_eval(task["user_id"])),
            instruction=str(ast.literal_eval(task["instruction"])),
            actions=tuple(_call(world.domain, _fields(action)) for action in task["actions"].elts),
            outputs=tuple(map(str, ast.literal_eval(task["outputs"]))) if "outputs" in task else (),
        )
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(
            f"expected a task of tau-bench in line {entry.lineno} of {file}, with user_id, "
            f"instruction, actions and outputs as literals, but {type(error).__name__}: {error}"
        ) from error


def _call(domain: str, action: Mapping[str, Any]) -> Call:
    """Return an action."""
    arguments = ast.literal_eval(action.get("kwargs") or action["arguments"])
    return read_call(domain, str(ast.literal_eval(action["name"])), arguments)


def _fields(entry: ast.expr) -> dict[str, Any]:
    """Return the fields of ``Task(...)``, ``Action(...)`` or an object, by name."""
    if isinstance(entry, ast.Call):
        return {str(keyword.arg): keyword.value for keyword in entry.keywords}
    if isinstance(entry, ast.Dict):
        return {
            str(ast.literal_eval(key)): value
            for key, value in zip(entry.keys, entry.values, strict=True)
            if key is not None
        }
    raise ValueError(f"neither a call nor an object: {ast.dump(entry)[:80]}")
