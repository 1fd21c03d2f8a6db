"""The tables of other projects' names on the page of concepts, against these projects' own code."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CONCEPTS = ROOT / ".site" / "concepts.md"
NAME = re.compile(r"`([^`]+)`")


def tables() -> list[list[dict[str, str]]]:
    """Return the tables of the page's last section: rows, as cells by the titles of columns."""
    section = CONCEPTS.read_text(encoding="utf-8").partition("## The same things elsewhere\n")[2]
    result = []
    for lines in re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE):
        title, _, *rows = (
            [cell.strip() for cell in line.strip("|").split("|")] for line in lines.splitlines()
        )
        assert all(len(row) == len(title) for row in rows)
        result.append([dict(zip(title, row, strict=True)) for row in rows])
    return result


def names(project: str, tables: list[list[dict[str, str]]]) -> set[str]:
    cells = [row[project] for rows in tables for row in rows if project in row]
    return {re.sub(r"\(.*", "", name) for cell in cells for name in NAME.findall(cell)}


def flat(values: Any, prefix: str = "") -> Iterator[str]:
    for key, value in values.items() if isinstance(values, dict) else ():
        yield f"{prefix}{key}"
        yield from flat(value, f"{prefix}{key}.")


def parameters(*functions: Any) -> set[str]:
    return {name for function in functions for name in inspect.signature(function).parameters}


def of_trl() -> set[str]:
    trl, peft = import_module("trl"), import_module("peft")
    known_names = {
        f.name for kind in (trl.GRPOConfig, trl.SFTConfig) for f in dataclasses.fields(kind)
    }
    known_names |= {f"LoraConfig.{f.name}" for f in dataclasses.fields(peft.LoraConfig)}
    return known_names | parameters(trl.GRPOTrainer) | {*dir(trl)}


def of_gymnasium() -> set[str]:
    gymnasium = import_module("gymnasium")
    return {
        *dir(gymnasium),
        *dir(gymnasium.envs.registration),
        *dir(gymnasium.Env),
        *gymnasium.Env.__annotations__,
    } | parameters(gymnasium.make, gymnasium.Env.reset, gymnasium.Env.step)


def of_verl() -> set[str]:
    verl = import_module("verl")
    folder = Path(verl.__file__ or "").parent / "trainer" / "config"
    keys = {*flat(yaml.safe_load((folder / "_generated_ppo_trainer.yaml").read_text()))}
    parts = [key.split(".") for key in keys]
    return {".".join(part[start:]) for part in parts for start in range(len(part))}


def of_verifiers() -> set[str]:
    vf = import_module("verifiers.v1")
    config = import_module("verifiers.v1.configs.cli.eval").EvalConfig
    kinds = [config, vf.AgentConfig, vf.SamplingConfig]
    kinds += [config.model_fields["select"].annotation]
    return {*dir(vf)} | {name for kind in kinds for name in kind.model_fields}


def of_inspect() -> set[str]:
    inspect_ai = import_module("inspect_ai")
    known_parameters = parameters(inspect_ai.Task, inspect_ai.eval)
    for part in ("agent", "dataset", "log", "model", "scorer", "solver"):
        known_parameters |= {*dir(import_module(f"inspect_ai.{part}"))}
    return known_parameters | {*dir(inspect_ai), *inspect_ai.model.GenerateConfig.model_fields}


PROJECTS: dict[str, tuple[str, Callable[[], set[str]]]] = {
    "TRL": ("trl", of_trl),
    "verl": ("verl", of_verl),
    "Gymnasium": ("gymnasium", of_gymnasium),
    "verifiers": ("verifiers", of_verifiers),
    "Inspect": ("inspect_ai", of_inspect),
}
"""Column -> the module without which it is not checked, and the names that the project has."""


@pytest.mark.parametrize("project", PROJECTS)
def test_every_name_is_the_project_s_own(project: str) -> None:
    module, known_names = PROJECTS[project]
    pytest.importorskip(module, reason=f"{module} is in .ci/peers")
    concepts, flags, _ = tables()
    expected_names = names(project, [concepts, flags])
    assert len(expected_names) > 5 and sorted(expected_names - known_names()) == []


def test_our_flags_and_metrics_exist() -> None:
    flag_names = pytest.importorskip("tests.test_flag_names", reason="the trainer's flags")
    _, flags, metrics = tables()
    known_names = {f"--{name}" for name in flag_names.flags_of(flag_names.all_commands())}
    our_names = names("flag", [flags])
    assert len(our_names) > 20 and sorted(our_names - known_names) == []
    text = "".join(path.read_text("utf-8") for path in (ROOT / "trainers").rglob("*.py"))
    our_names = names("metric", [metrics])
    assert len(our_names) > 5 and [name for name in our_names if f'"{name}"' not in text] == []


@pytest.mark.parametrize("project", ["TRL", "verl"])
def test_every_metric_is_the_project_s_own(project: str) -> None:
    package = PROJECTS[project][0]
    module = pytest.importorskip(package, reason=f"{package} is in .ci/peers")
    *_, metrics = tables()
    folder = Path(module.__file__ or "").parent
    text = "".join(path.read_text("utf-8") for path in folder.rglob("*.py"))
    # verl puts the worker before some names when it logs them.
    expected_names = {name.removeprefix("actor/") for name in names(project, [metrics])}
    assert (
        len(expected_names) > 2
        and [name for name in expected_names if f'{name}"' not in text] == []
    )
