"""Read the files of tau-bench as they are: tables, tasks and policy of a domain.

Tasks are the module-level list of a Python file, of calls ``Task(...)`` with calls ``Action(...)``
in ``actions``. The file is parsed, never executed; only literals are read.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentgym.core.tasks import canonical_json
from agentgym.envs.service.published.problem import (
    SPECS,
    TABLES,
    Call,
    PublishedProblem,
    World,
)
from agentgym.errors import ConfigurationError, DataError
from agentgym.support.strict_json import parse_json

FILES: Mapping[str, str] = {"train": "tasks_train.py", "valid": "tasks_dev.py"}
"""Split -> its file; ``test`` is ``tasks_test.py``, or else ``tasks.py``."""
SOURCE = "https://github.com/sierra-research/tau-bench"
LARGEST = 1 << 25
"""Maximum size of a file in bytes."""


def read_problems(folder: Path, domain: str | None) -> Mapping[str, tuple[PublishedProblem, ...]]:
    """Read the tasks of a folder.

    Args:
        folder: A checkout of tau-bench, or the folder of a domain in it.
        domain: ``retail`` or ``airline``; None: that of the folder.

    Returns:
        The tasks of each split that has some.

    Raises:
        ConfigurationError: The folder is of no domain, or of another one.
        DataError: A file is missing, or is not of tau-bench's form.
    """
    root = folder.expanduser().resolve()
    return _read(*_find(root, domain))


def _find(root: Path, domain: str | None) -> tuple[Path, str]:
    """Return the folder of a domain, and its name."""
    names = list(TABLES) if domain is None else [domain]
    for name in names:
        for place in (root, root / "tau_bench" / "envs" / name):
            if all((place / "data" / f"{table}.json").is_file() for table in TABLES.get(name, ())):
                return place, name
    tables = " or ".join(
        ", ".join(f"data/{table}.json" for table in TABLES.get(name, ())) for name in names
    )
    raise ConfigurationError(
        f"expected data to be a checkout of tau-bench or the folder of a domain in it, with "
        f"{tables}, got {str(root)!r:.200}; git clone {SOURCE}"
    )


@lru_cache(maxsize=4)
def _read(folder: Path, domain: str) -> Mapping[str, tuple[PublishedProblem, ...]]:
    tables = {name: _table(folder / "data" / f"{name}.json") for name in TABLES[domain]}
    policy = _text(folder / "wiki.md").strip()
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


def _text(file: Path) -> str:
    try:
        size = file.stat().st_size
        if size > LARGEST:
            raise DataError(f"expected at most {LARGEST} bytes in {file}, got {size}")
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"expected a readable file of tau-bench at {file}, but {error}") from error


def _table(file: Path) -> dict[str, dict[str, Any]]:
    try:
        rows = parse_json(_text(file))
    except ValueError as error:
        raise DataError(f"expected JSON in {file}, but {error}") from error
    if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
        raise DataError(f"expected an object of rows by id in {file}")
    return rows


def _task_list(file: Path) -> Sequence[ast.expr]:
    """Return the expressions of the tasks of a file."""
    try:
        tree = ast.parse(_text(file))
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
    """Return an action; one of a tool has all its arguments, as JSON."""
    name = str(ast.literal_eval(action["name"]))
    arguments = dict(ast.literal_eval(action.get("kwargs") or action["arguments"]))
    canonical_json(arguments)
    params = [param.name for spec in SPECS[domain] if spec.name == name for param in spec.params]
    if missing := [param for param in params if param not in arguments]:
        raise ValueError(f"{name} without {', '.join(missing)}")
    return Call(name, arguments)


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
