"""Read the files of tau2-bench as they are: database, tasks, splits and policy of a domain.

Tasks are judged as tau2-bench judges them without a model: by the database, if a task's
``reward_basis`` has ``DB``, and by ``communicate_info``, if it has ``COMMUNICATE``. Statements
(``nl_assertions``), which a model would judge, are counted and not judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentgym.envs.service.published.contents import as_table, read_json, read_text
from agentgym.envs.service.published.problem import TABLES, TAU2, PublishedProblem, World, read_call
from agentgym.errors import DataError

DATABASE, TASKS, SPLITS = "db.json", "tasks.json", "split_tasks.json"
BASES = ("DB", "COMMUNICATE", "NL_ASSERTION")
"""What a reward may be based on."""
INSTRUCTIONS = ("known_info", "reason_for_call", "unknown_info", "task_instructions")
"""Fields of the instructions of whoever plays the customer, in our order."""


def is_tau2(folder: Path, domain: str) -> bool:
    """Return whether a folder is of a domain of tau2-bench."""
    if not all((folder / name).is_file() for name in (DATABASE, TASKS)):
        return False
    tables = read_json(folder / DATABASE)
    return isinstance(tables, dict) and set(TABLES[domain]) <= set(tables)


@lru_cache(maxsize=4)
def read_tau2(folder: Path, domain: str) -> Mapping[str, tuple[PublishedProblem, ...]]:
    """Read the tasks of a folder.

    Args:
        folder: The folder of a domain.
        domain: ``retail`` or ``airline``.

    Returns:
        The tasks of ``train`` and ``test``; all are of ``test`` without a file of splits.

    Raises:
        DataError: A file is not of tau2-bench's form.
    """
    database, file = read_json(folder / DATABASE), folder / TASKS
    tables = {name: as_table(database[name], f"at {name} of {DATABASE}") for name in TABLES[domain]}
    world = World(TAU2 + domain, read_text(folder / "policy.md").strip(), tables)
    entries = read_json(file)
    if not isinstance(entries, list) or not entries:
        raise DataError(f"expected a list of tasks in {file}")
    problems = dict(_problem(world, entry, file) for entry in entries)
    splits: Any = {"train": [], "test": list(problems)}
    if (folder / SPLITS).is_file():
        splits = read_json(folder / SPLITS)
    try:
        parts = {name: tuple(problems[key] for key in splits[name]) for name in ("train", "test")}
    except (KeyError, TypeError) as error:
        raise DataError(
            f"expected train and test with ids of tasks in {folder / SPLITS}, but "
            f"{type(error).__name__}: {error}"
        ) from error
    return {name: tasks for name, tasks in parts.items() if tasks}


def _problem(world: World, task: Any, file: Path) -> tuple[str, PublishedProblem]:
    """Return a task and its id."""
    try:
        criteria, basis = task["evaluation_criteria"], task["evaluation_criteria"]["reward_basis"]
        if "DB" not in basis or set(basis) - set(BASES) or task.get("initial_state"):
            raise ValueError(f"reward_basis {basis}, initial_state {task.get('initial_state')}")
        calls = (read_call(world.domain, a["name"], a["arguments"]) for a in criteria["actions"])
        outputs = criteria["communicate_info"] if "COMMUNICATE" in basis else None
        statements = criteria["nl_assertions"] if "NL_ASSERTION" in basis else None
        return str(task["id"]), PublishedProblem(
            world,
            user="",
            instruction=_instruction(task["user_scenario"]),
            actions=tuple(calls),
            outputs=tuple(map(str, outputs or ())),
            unjudged=len(statements or ()),
        )
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise DataError(
            f"expected tasks of tau2-bench in {file}, each with id, user_scenario and "
            "evaluation_criteria: actions of the agent, and a reward_basis of DB and other names "
            f"among {', '.join(BASES)}; but {type(error).__name__}: {error}"
        ) from error


def _instruction(scenario: Mapping[str, Any]) -> str:
    """Return what the customer wants and knows."""
    instructions = scenario["instructions"]
    if not isinstance(instructions, str):
        texts = [scenario.get("persona"), *(instructions.get(name) for name in INSTRUCTIONS)]
        instructions = "\n".join(str(text) for text in texts if text)
    return str(instructions)
