"""Read a folder of tasks in the format of Harbor; nothing of it is run, all is bounded."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentgym.core.tasks import SPLITS, Task, TaskList
from agentgym.errors import AgentGymError, ConfigurationError, DataError
from agentgym.interop.harbor.resources import (
    ALLOWLIST,
    NO_NETWORK,
    PUBLIC,
    HostMachine,
    Network,
    Resources,
    check_number,
    read_network,
    read_resources,
)
from agentgym.sandbox.dockerfile import MOST_BYTES, MOST_FILES, ImageRecipe, read_recipe
from agentgym.sandbox.registry import probe
from agentgym.support.structured_files import parse_toml
from agentgym.support.text_lines import first_line

DEPTH = 4
"""Folders below the one that is named in which tasks are looked for."""
MOST_TASKS = 100_000
LARGEST_TEXT = 1 << 20
"""Bytes of ``task.toml``, and of ``instruction.md``."""
ARTIFACTS = "/logs/artifacts"
"""The folder that every separate verifier gets."""
TEST_SECONDS = 600.0
"""Seconds that tests may take where a task says nothing."""
MOST_REASONS = 10
"""Most reasons that are listed for which tasks are left out."""
COMPOSE = "docker-compose.yaml"
SHELLS = ("sh", "bash", "tini", "dumb-init")
"""Entry points that only start what they are given."""
FETCHING = re.compile(
    r"\b(?:curl|wget|git clone|apt-get|apt|apk|pip3?|uv|uvx|npm|npx|conda|cargo) "
    r"(?:install|add|update|-\S+ )*[^\n]{0,60}"
)
"""What in a script looks as if it fetched something from the network."""
_VARIABLE = re.compile(r"\$\{\w+(?::-([^}]*))?\}")


@dataclass(frozen=True)
class HarborTask:
    """One task."""

    name: str
    """Its path below the folder that was named."""
    folder: Path
    """Where it lies."""
    instruction: str
    """What the model is told."""
    recipe: ImageRecipe
    """What its environment is made of."""
    image: str
    """The image of its environment, where that is needed: one by name, or the tag under which it
    has to be built; empty where files are enough."""
    judge: ImageRecipe | None
    """What the environment of its tests is made of; None if they run where the model worked."""
    artifacts: tuple[tuple[str, tuple[str, ...]], ...]
    """Paths that a separate environment of tests gets, each with the patterns of what is left."""
    test_seconds: float
    """Seconds that the tests may take."""
    environment: Mapping[str, str]
    """Variables of all commands."""
    test_environment: Mapping[str, str]
    """Further variables of the tests."""
    solution_environment: Mapping[str, str]
    """Further variables of the solution."""
    resources: Resources
    """What its box may use."""
    split: str
    """The split that it names; empty if it names none."""
    digest: str
    """Hash of all of its files."""
    network: Network
    """What it may reach if there were a network, which boxes do not have."""
    fetching: str
    """What its tests seem to fetch from the network; empty: nothing."""
    users: bool
    """Whether it names a user, where boxes have one."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What it says of its kind."""


@dataclass(frozen=True)
class HarborFolder:
    """The tasks of a folder."""

    tasks: Mapping[str, HarborTask]
    """Those that can be played, by their ids."""
    left_out: Mapping[str, str]
    """Why others cannot be, by their names."""
    splits: Mapping[str, str]
    """The split of each task."""

    def task_set(self) -> TaskList:
        """Return the tasks as environments have them."""
        tasks_by_split: dict[str, list[Task]] = {
            split: [] for split in SPLITS if split in self.splits.values()
        }
        for task_id, task in self.tasks.items():
            entries = tasks_by_split[self.splits[task_id]]
            content = {"task": task.name, "digest": task.digest, **task.labels}
            split = self.splits[task_id]
            entries.append(Task(task_id, split, len(entries), task.instruction, content))
        return TaskList("harbor", tasks_by_split)

    def notes(self) -> tuple[str, ...]:
        """Return what differs from Harbor, in sentences."""
        notes = []
        count, reasons = len(self.left_out) + len(self.tasks), dict[str, list[str]]()
        for name, reason in self.left_out.items():
            reasons.setdefault(reason, []).append(name)
        for reason, names in list(reasons.items())[:MOST_REASONS]:
            notes.append(
                f"{len(names)} of {count} tasks are left out, such as {names[0]}: {reason}"
            )
        other_names = [name for names in list(reasons.values())[MOST_REASONS:] for name in names]
        if other_names:
            notes.append(f"{len(other_names)} of {count} tasks are left out for other reasons")
        notes += _network_notes(list(self.tasks.values()))
        users = sum(task.users for task in self.tasks.values())
        if users:
            notes.append(f"{users} tasks name users, and boxes have one, who owns all files")
        return tuple(notes)


def _network_notes(tasks: Sequence[HarborTask]) -> list[str]:
    """Return what tasks miss without a network, in sentences."""
    notes = []
    public = sum(task.network.agent == PUBLIC for task in tasks)
    if public:
        notes.append(f"{public} tasks may use the network, and boxes have none")
    some = sum(task.network.agent == ALLOWLIST for task in tasks)
    if some:
        notes.append(f"{some} tasks may reach the hosts that they list, and boxes have no network")
    fetching = [task for task in tasks if task.fetching and task.network.tests != NO_NETWORK]
    if fetching:
        notes.append(
            f"the tests of {len(fetching)} tasks seem to fetch something, such as those of "
            f"{fetching[0].name}: {fetching[0].fetching!r}; as boxes have no network, see that the "
            "oracle solves them"
        )
    return notes


def open_folder(
    folder: Path, *, deal: bool = False, machine: HostMachine | None = None, sandbox: str = "auto"
) -> HarborFolder:
    """Read the tasks of a folder.

    Args:
        folder: A task, or what holds tasks.
        deal: Whether tasks that name no split are dealt to three.
        machine: What the machine has that boxes run on; None: nobody knows.
        sandbox: The back end of the boxes.

    Raises:
        ConfigurationError: There is no task in it that can be played.
    """
    if not folder.is_dir():
        raise ConfigurationError(
            f"expected harbor:FOLDER with the folder of a task, or of tasks, of Harbor; got "
            f"{str(folder)!r:.200}, which is no folder"
        )
    tasks, left_out = dict[str, HarborTask](), dict[str, str]()
    for place in _places(folder):
        name = place.relative_to(folder).as_posix() if place != folder else folder.name
        try:
            task = read_task(place, name)
            _refuse_large(task, machine, sandbox)
            tasks[f"harbor/{name}"] = task
        except (AgentGymError, OSError, ValueError) as error:
            left_out[name] = first_line(str(error))[:300] or repr(error)
    if not tasks:
        reasons = "; ".join(f"{name}: {why}" for name, why in list(left_out.items())[:3])
        raise ConfigurationError(
            f"expected tasks of Harbor (folders with task.toml, instruction.md and tests/test.sh) "
            f"in {folder}, got {reasons or 'none'}"
        )
    return HarborFolder(tasks, left_out, _splits(tasks, deal))


def read_task(folder: Path, name: str) -> HarborTask:
    """Read one task.

    Raises:
        DataError: It is damaged, too large, leads out of its folder, or needs what is not there.
    """
    try:
        document: dict[str, Any] = parse_toml(_text(folder / "task.toml"))
    except ValueError as error:
        raise DataError(f"expected TOML in task.toml, got: {error}") from error
    environment, verifier = _table(document, "environment"), _table(document, "verifier")
    agent, solution = _table(document, "agent"), _table(document, "solution")
    _refuse_unknown(document, environment, verifier)
    if (folder / "environment" / COMPOSE).exists():
        raise DataError(f"it asks for services of {COMPOSE}, and there is one box here")
    if not (folder / "tests" / "test.sh").is_file():
        raise DataError("expected tests/test.sh, which decides, and it is missing")
    digest = _digest(folder)
    image, workdir = str(environment.get("docker_image") or ""), environment.get("workdir") or ""
    recipe = read_recipe(folder / "environment", image, str(workdir))
    _refuse_entry_point(recipe)
    tag = f"agentgym-harbor/{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}:{digest[:12]}"
    verifier_environment = _table(verifier, "environment")
    separate = verifier.get("environment_mode") == "separate" or (
        bool(verifier_environment) and "environment_mode" not in verifier
    )
    if separate and (verifier_environment or (folder / "tests" / "Dockerfile").exists()):
        raise DataError("its tests need an environment of their own kind, which is not built here")
    metadata = _table(document, "metadata")
    return HarborTask(
        name=name,
        folder=folder,
        instruction=_text(folder / "instruction.md").strip(),
        recipe=recipe,
        image=(image or tag) if recipe.obstacles else "",
        judge=recipe if separate else None,
        artifacts=_artifacts(document),
        test_seconds=_seconds(verifier, "timeout_sec", TEST_SECONDS),
        environment=_variables(environment),
        test_environment=_variables(verifier),
        solution_environment=_variables(solution),
        resources=read_resources(environment),
        split=metadata["split"] if metadata.get("split") in SPLITS else "",
        digest=digest,
        network=read_network(document),
        fetching=_fetching(folder / "tests" / "test.sh"),
        users=any(
            str(table.get("user") or "root") not in ("root", "0") for table in (agent, verifier)
        ),
        labels={
            key: str(metadata[key])[:80]
            for key in ("difficulty", "category", "kind")
            if isinstance(metadata.get(key), str)
        },
    )


def _places(folder: Path) -> Iterator[Path]:
    """Yield the folders of tasks, in order; links are not followed."""
    count = 0
    for place, folders, names in os.walk(folder):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = sorted(folders) if depth < DEPTH else []
        if "task.toml" in names:
            folders[:] = []
            count += 1
            if count > MOST_TASKS:
                raise ConfigurationError(f"expected at most {MOST_TASKS:,} tasks in {folder}")
            yield Path(place)


def _refuse_unknown(
    document: Mapping[str, Any], environment: Mapping[str, Any], verifier: Mapping[str, Any]
) -> None:
    """Refuse what no box can do.

    Raises:
        DataError: The task asks for it.
    """
    demands = {
        "several steps": document.get("steps"),
        "an image of Windows": str(environment.get("os", "linux")).lower() != "linux",
        "GPUs": environment.get("gpus") or environment.get("gpu_types"),
        "a TPU": environment.get("tpu"),
        "servers of MCP": environment.get("mcp_servers"),
        "a health check": environment.get("healthcheck"),
        "commands before its tests": verifier.get("collect"),
    }
    names = [name for name, value in demands.items() if value]
    if names:
        raise DataError(f"it asks for {', '.join(names)}, which there is not here")


def _refuse_entry_point(recipe: ImageRecipe) -> None:
    """Refuse an image that starts something by itself: boxes run commands alone.

    Raises:
        DataError: It does.
    """
    for line in recipe.obstacles:
        word, _, arguments = line.partition(" ")
        first = re.split(r"[\s,\]\"']+", arguments.strip("[ \"'"))[0]
        if word.upper() == "ENTRYPOINT" and first.rpartition("/")[2] not in SHELLS:
            raise DataError(f"its image starts a program by itself, which boxes do not: {line:.80}")


def _refuse_large(task: HarborTask, machine: HostMachine | None, sandbox: str) -> None:
    """Refuse a task that asks for more than the machine has.

    Raises:
        DataError: It does.
    """
    reason = "" if machine is None else machine.lacks(task.resources, sandbox == "namespace")
    if machine is not None and not reason and sandbox == "auto":
        reason = machine.lacks(task.resources, files_in_memory=True)
        reason = reason if reason and probe("docker") else ""
    if reason:
        raise DataError(reason)


def _fetching(script: Path) -> str:
    """Return what a script seems to fetch from the network; "" if that is nothing."""
    lines = (line.strip() for line in _text(script).split("\n"))
    matches = (FETCHING.search(line) for line in lines if not line.startswith("#"))
    return next((match[0].strip() for match in matches if match), "")


def _artifacts(document: Mapping[str, Any]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return what a separate environment of tests gets of the model's."""
    artifacts: list[tuple[str, tuple[str, ...]]] = [(ARTIFACTS, ())]
    entries = document.get("artifacts", [])
    for entry in entries if isinstance(entries, list) else []:
        artifact = {"source": entry} if isinstance(entry, str) else entry
        if not isinstance(artifact, dict) or not isinstance(artifact.get("source"), str):
            raise DataError(f"expected artifacts with a source, got {entry!r:.80}")
        source, excluded = artifact["source"], artifact.get("exclude", [])
        if not source.startswith("/") or ".." in source.split("/") or "\0" in source:
            raise DataError(f"expected absolute paths as artifacts, got {source!r:.80}")
        if artifact.get("service") not in (None, "main"):
            raise DataError("its artifacts come from several services, and there is one here")
        artifacts.append(
            (source.rstrip("/"), tuple(map(str, excluded)) if isinstance(excluded, list) else ())
        )
    return tuple(artifacts)


def _variables(table: Mapping[str, Any]) -> dict[str, str]:
    """Return variables; none of them is ever read from this machine."""
    variables = _table(table, "env")
    return {
        str(key): _VARIABLE.sub(lambda match: match[1] or "", str(value))
        for key, value in variables.items()
    }


def _table(table: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = table.get(name) or {}
    if not isinstance(section, dict):
        raise DataError(f"expected a table [{name}] in task.toml, got {section!r:.60}")
    return section


def _seconds(table: Mapping[str, Any], name: str, usual: float) -> float:
    return usual if table.get(name) is None else check_number(name, table[name], 86_400)


def _text(path: Path) -> str:
    """Return a text of bounded length.

    Raises:
        DataError: It is missing, a link, or too long.
    """
    if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST_TEXT:
        raise DataError(f"expected the file {path.name} of at most {LARGEST_TEXT:,} bytes")
    return path.read_text("utf-8", "replace")


def _digest(folder: Path) -> str:
    """Return a hash of the files of a task.

    Raises:
        DataError: There are more, or larger ones, than are taken.
    """
    state, room, count = hashlib.sha256(), MOST_BYTES, 0
    for path in sorted(files_of(folder)):
        count, room = count + 1, room - path.stat().st_size
        if count > MOST_FILES or room < 0:
            raise DataError(
                f"expected at most {MOST_FILES:,} files and {MOST_BYTES:,} bytes in a task"
            )
        content = path.read_bytes()
        state.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        state.update(content)
    return state.hexdigest()


def files_of(folder: Path) -> Iterator[Path]:
    """Yield the regular files below a folder, links left out."""
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place) / name
            if path.is_file() and not path.is_symlink():
                yield path


def _splits(tasks: Mapping[str, HarborTask], deal: bool) -> dict[str, str]:
    """Return the split of each task."""
    if all(task.split for task in tasks.values()):
        return {task_id: task.split for task_id, task in tasks.items()}
    if not deal:
        return dict.fromkeys(tasks, "test")
    # In turns through an order that only the names decide: three of five train.
    order = sorted(
        tasks, key=lambda task_id: hashlib.sha256(task_id.encode("utf-8", "replace")).digest()
    )
    turns = ("test", "train", "valid", "train", "train")
    dealt = {task_id: turns[n % len(turns)] for n, task_id in enumerate(order)}
    return {task_id: dealt[task_id] for task_id in tasks}
