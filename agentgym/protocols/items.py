"""From the names that a paper has for its tasks to the ids of ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentgym.conversation.layout import fill
from agentgym.core.tasks import TaskSet, whole_number
from agentgym.errors import ConfigurationError, DataError, TaskNotFound
from agentgym.protocols.schema import Items, Setup
from agentgym.support.structured_files import read_structured

LARGEST = 1 << 24
"""Most bytes of a file of items."""


def choose_tasks(setup: Setup, tasks: TaskSet, named: Sequence[str] | None) -> list[str] | None:
    """Return the ids of the tasks that a protocol plays, in its order.

    Args:
        setup: The protocol.
        tasks: The tasks of the environment.
        named: Items, ids of tasks, or JSON files of items, that a person asked for in place of the
            protocol's; None: none.

    Returns:
        Ids; None if all tasks of a split are played.

    Raises:
        ConfigurationError: ``named`` is no list.
        DataError: The list of items is not here, or a task is not in the data.
    """
    items = setup.tasks.items
    if isinstance(named, str):
        raise ConfigurationError(f"expected a list of tasks, got the text {named!r:.200}")
    if named is not None:
        entries = [entry for name in named for entry in _entries(name)]
        return [_task_id(items, entry, tasks, setup) for entry in entries]
    if items is None:
        return None
    if items.listed_in:
        raise DataError(
            f"expected the items that {setup.protocol} plays in {setup.env}; this package does not "
            f"list them: give {items.listed_in} as --task FILE (tasks=[FILE]), or single "
            f"items such as --task {items.prefix}0"
        )
    if items.names:
        return [_named(items, number, tasks, setup) for number in items.names]
    return None


def are_items(items: Items | None, named: Sequence[str]) -> bool:
    """Return whether all tasks that a person asked for are items of the protocol."""
    entries = [entry for name in named for entry in _entries(name)]
    return items is not None and all(entry.startswith(items.prefix) for entry in entries)


def _entries(name: str) -> list[str]:
    """Return the items of a file, or the one that is named."""
    path = Path(name)
    if path.suffix != ".json":
        return [name]
    data = read_structured(path, "items", largest=LARGEST)
    items = [_item(entry) for entry in data] if isinstance(data, list) else []
    if not items or not all(items):
        raise DataError(
            f'expected a JSON list of items, or of objects with an "item_id", in {path}'
        )
    return items


def _item(entry: object) -> str:
    name = entry.get("item_id") if isinstance(entry, dict) else entry
    return name if isinstance(name, str) else ""


def _task_id(items: Items | None, entry: str, tasks: TaskSet, setup: Setup) -> str:
    """Return the id of a task that is an item's, or named by its own id."""
    if items is None or not entry.startswith(items.prefix):
        return entry
    number = whole_number(entry.removeprefix(items.prefix))
    if number is None:
        return entry
    return (
        _counted(items, number, tasks, setup)
        if items.order
        else _named(items, number, tasks, setup)
    )


def _counted(items: Items, number: int, tasks: TaskSet, setup: Setup) -> str:
    """Return the task of a number that goes through several splits."""
    number_left, total = number, 0
    for split in items.order:
        size = tasks.len(tasks.check(split))
        if number_left < size:
            return tasks.task(split, number_left).id
        number_left, total = number_left - size, total + size
    raise DataError(
        f"expected an item of {setup.env} from {items.prefix}0 to {items.prefix}{total - 1}, which "
        f"are all tasks of this data, got {items.prefix}{number}{_remedy(setup)}"
    )


def _named(items: Items, number: int, tasks: TaskSet, setup: Setup) -> str:
    """Return the task of a number that has a name."""
    if number not in items.names:
        raise DataError(
            f"expected an item of {setup.protocol} from {items.prefix}{min(items.names)} to "
            f"{items.prefix}{max(items.names)}, got {items.prefix}{number}"
        )
    name = items.names[number]
    try:
        return tasks.find(fill(items.task_id, {"name": name})).id
    except TaskNotFound as error:
        raise DataError(
            f"expected the task {name} of item {items.prefix}{number}, but the data does not hold "
            f"it{_remedy(setup)}"
        ) from error


def _remedy(setup: Setup) -> str:
    return f"; {setup.data.remedy}" if setup.data else ""
