"""Hashed panels as files that evaluations of other projects read.

- ``panel.json``: the tasks with their names in the official data and their hashes, for any program
- ``verl-agent.parquet``: rows of verl-agent's data sets. Their ``env_kwargs`` name the official
  game, goal or question, and our task for `agentgym.interop.verl_agent`
- ``agentgym-rl.json``: item ids of AgentGym and AgentGym-RL (``[{"item_id": "webshop_6"}]``)
- ``search-r1.parquet``: rows of Search-R1's test set, for question answering

The forms are those of verl-agent's ``examples/data_preprocess``, of AgentGym-RL's ``AgentItemId``
and of Search-R1's ``qa_search_test_merge.py``. A panel's hash is SHA-256 over the hexadecimal
hashes of its tasks, one after the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgym.core.reward_functions import data_source, ground_truth
from agentgym.core.tasks import Panel, Task, TaskSet
from agentgym.episodes.exporter import new_path, write_prompt_rows
from agentgym.errors import ConfigurationError, NotSupported
from agentgym.interop.prompt_rows import prompt_rows
from agentgym.protocols import load_protocol
from agentgym.registration.making import make, resolve
from agentgym.trust import argument_claims

__all__ = ["PanelFiles", "export_panel"]

FORMAT = "agentgym.panel/1"
"""Name and version of the format of ``panel.json``."""
GOAL_ORDER = ("test", "valid", "train")
"""Splits of WebShop in the original's order of goals."""


@dataclass(frozen=True)
class PanelFiles:
    """The files of an exported panel."""

    panel: Panel
    """The panel."""
    files: tuple[str, ...]
    """Names of the files."""
    left_out: Mapping[str, str]
    """Name of a file that this panel has no rows for -> the reason."""


def export_panel(
    env: str,
    out: str | Path,
    *,
    split: str = "test",
    num_tasks: int | None = None,
    seed: int = 0,
    **kwargs: Any,
) -> PanelFiles:
    """Write a panel for other projects.

    Args:
        env: Name of the environment; official data are given by its arguments.
        out: New folder.
        split: Split of the tasks.
        num_tasks: Number of tasks; None: all of the split.
        seed: Seed of the draw.
        **kwargs: Arguments of the environment.

    Returns:
        The panel, the files, and why others are missing.

    Raises:
        ConfigurationError: ``out`` exists, or an argument is invalid.
        DataError: The official data cannot be read.
        DependencyNotInstalled: pyarrow is missing.
    """
    text_env = make(env, disable_env_checker=True, **kwargs)
    with closing(text_env), new_path(out) as folder:
        arguments: Mapping[str, Any] = text_env.spec.kwargs if text_env.spec else {}
        tasks: TaskSet = text_env.get_wrapper_attr("tasks")
        count = tasks.size(split) if num_tasks is None else num_tasks
        panel = tasks.panel(split, count, seed)
        panel_tasks = [tasks.find(task_id) for task_id in panel.ids]
        names = [_official_names(task, tasks, arguments) for task in panel_tasks]
        draw = {"split": split, "num_tasks": count, "seed": seed, **kwargs}
        makers = {
            "verl-agent.parquet": lambda: _verl_rows(panel_tasks, names),
            "agentgym-rl.json": lambda: _items(env, panel_tasks, names),
            "search-r1.parquet": lambda: _question_rows(env, panel_tasks, draw),
        }
        folder.mkdir()
        (folder / "panel.json").write_text(_manifest(env, panel, panel_tasks, names, arguments))
        files, left_out = ["panel.json"], {}
        for name, make_rows in makers.items():
            try:
                rows = make_rows()
            except NotSupported as error:
                left_out[name] = str(error)
                continue
            if name.endswith(".json"):
                (folder / name).write_text(json.dumps(rows, indent=1) + "\n")
            else:
                write_prompt_rows(folder / name, rows)
            files.append(name)
    return PanelFiles(panel, tuple(files), left_out)


def _manifest(
    env: str,
    panel: Panel,
    tasks: Sequence[Task],
    names: Sequence[Mapping[str, Any]],
    arguments: Mapping[str, Any],
) -> str:
    """Return ``panel.json``, without the paths of this machine."""
    env_id = resolve(env).id
    plain = [claim.name for claim in argument_claims(env_id, arguments) if claim.plain]
    rows = [
        {"task_id": task.id, "sha256": task.digest(), "goal": task.goal, **official}
        for task, official in zip(tasks, names, strict=True)
    ]
    data = {
        "format": FORMAT,
        "env_id": env_id,
        "env_kwargs": {name: arguments[name] for name in plain},
        "split": panel.split,
        "seed": panel.seed,
        "num_tasks": len(panel),
        "panel_sha256": panel.sha256,
        "tasks": rows,
    }
    return json.dumps(data, indent=1) + "\n"


def _official_names(task: Task, tasks: TaskSet, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the official data name a task: a game file, the number of a goal, a question."""
    if name := task.content.get("official_name"):
        return {"gamefile": f"json_2.1.1/{task.split}/{name}/game.tw-pddl"}
    if name := task.content.get("file"):
        return {"gamefile": name}
    if arguments.get("split_mode") == "official-index":
        splits_before = GOAL_ORDER[: GOAL_ORDER.index(task.split)]
        return {"goal_idx": task.index + sum(map(tasks.len, splits_before))}
    if "answers" in task.content:
        return {"question": task.goal, "data_source": data_source(task)}
    return {}


def _verl_rows(tasks: Sequence[Task], names: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of verl-agent's data sets; an environment sees its row's ``env_kwargs``."""
    rows = []
    for task, official in zip(tasks, names, strict=True):
        answer = ground_truth(task) if "answers" in task.content else None
        env_kwargs: dict[str, Any] = {"task_id": task.id, **official}
        if answer is not None:
            env_kwargs["ground_truth"] = answer
        rows.append(
            {
                "data_source": "text" if answer is None else data_source(task),
                "prompt": [{"role": "user", "content": task.goal}],
                "ability": "agent",
                "env_kwargs": env_kwargs,
                "extra_info": {"split": task.split, "index": task.index},
            }
        )
    return rows


def _items(
    env: str, tasks: Sequence[Task], names: Sequence[Mapping[str, Any]]
) -> list[dict[str, str]]:
    """Return item ids of AgentGym.

    Raises:
        NotSupported: AgentGym has no item for one of the tasks.
    """
    setups = load_protocol("agentgym").setups
    family = resolve(env).family
    items = setups[family].tasks.items if family in setups else None
    if items is None:
        raise NotSupported(f"AgentGym numbers no tasks of {family}")
    numbers = {name: number for number, name in items.names.items()}
    rows = []
    for task, official in zip(tasks, names, strict=True):
        game_name = task.content.get("official_name")
        # AgentGym counts WebShop's goals as the original does.
        number = official.get("goal_idx") if items.order else numbers.get(str(game_name))
        if number is None:
            splits = ", ".join(items.order) or setups[family].tasks.split
            raise NotSupported(
                f"AgentGym has no item for {game_name or task.id}; its items of {family} are "
                f"official tasks of {splits}"
            )
        rows.append({"item_id": f"{items.prefix}{number}"})
    return rows


def _question_rows(
    env: str, tasks: Sequence[Task], draw: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return rows of Search-R1's test set, with its protocol's prompt in our words.

    Raises:
        NotSupported: The tasks are no questions.
    """
    if not all("answers" in task.content for task in tasks):
        raise NotSupported("the tasks are no questions with answers")
    try:
        prompts = prompt_rows(env, prompt="search-r1", **draw)
    except ConfigurationError as error:
        raise NotSupported(str(error)) from error
    rows = []
    for task, prompt in zip(tasks, prompts, strict=True):
        rows.append(
            {
                "id": task.id,
                "question": task.goal,
                "golden_answers": [*task.content["answers"]],
                **{name: prompt[name] for name in ("data_source", "prompt", "reward_model")},
                "ability": "fact-reasoning",
                "extra_info": {"split": task.split, "index": task.index},
            }
        )
    return rows
