"""Every module that reads records or settings of files is known, and gives what they name away.

A module that begins to read such files fails here until it has a row. A row of ``CHECKED`` names
the function that checks, which the module has to call; the tests beside these try each with every
kind of the table. A row of ``DATA`` says why nothing that the file names is resolved.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OF_MODULES = {("yaml", "load"), ("yaml", "safe_load"), ("tomllib", "load"), ("tomllib", "loads")}
FUNCTIONS = {
    "read_episodes", "read_any", "read_settings", "read_config", "read_structured",
    "parse_structured", "parse_toml", "parse_yaml",
}  # fmt: skip
"""What reads records and settings; data in other forms, such as tables, names nothing."""

CHECKED: Mapping[str, str] = {
    "agentgym/protocols/protocol_file.py": "check_trusted",
    "agentgym/evaluation/suites/suite_file.py": "check_trusted",
    "trainers/cli.py": "check_settings",
    "trainers/config/preset_file.py": "check_trusted",
    "trainers/policies/merged_run.py": "check_settings",
    "trainers/policies/runs.py": "check_settings",
}
DATA: Mapping[str, str] = {
    "agentgym/envs/swe/making/red_team/exploit.py": "exploits of the package",
    "agentgym/envs/webshop/browser/recorded_visits.py": "looks whether it is a file of records",
    "agentgym/episodes/any_file.py": "gives records on; make_env checks them",
    "agentgym/episodes/exporter.py": "gives records on; make_env checks them",
    "agentgym/episodes/file_replay.py": "gives records on; make_env checks them",
    "agentgym/evaluation/evaluation_folder.py": "reads results",
    "agentgym/protocols/items.py": "ids of tasks, in a file that the user typed",
    "agentgym/evaluation/training_runs.py": "compares results and settings",
    "agentgym/envs/swe/making/harbor/dataset.py": "names and digests of tasks that are published",
    "agentgym/interop/harbor/folder.py": "a folder that the user typed; what it runs is in boxes",
    "agentgym/rewards/judge/question.py": "prompts of the package",
    "agentgym/rewards/machine.py": "states and numbers",
    "agentgym/sandbox/remote/leased_boxes.py": "a message of a client with the token",
    "agentgym/support/bundled_files.py": "tables of the package",
    "agentgym/support/structured_files.py": "gives what it reads on",
    "agentgym/authoring/synth/reading.py": "a specification is words and numbers",
    "agentgym/viewer/episode_files.py": "shows records",
    "trainers/config/config_file.py": "gives settings on to the modules above",
    "trainers/config/family_defaults.py": "training defaults of the package",
    "trainers/config/model_choices.py": "reads the precision of the run",
    "trainers/models/memory_choice.py": "reads checkpointing and tokens of a pass of the run",
    "trainers/phases/multirun/cache.py": "a file that this process has written",
    "trainers/phases/multirun/seeds.py": "whole numbers",
    "trainers/output/card.py": "writes settings",
    "trainers/output/run_folder.py": "compares settings",
    "trainers/phases/recorded_episodes.py": "actions alone, in the environment of the run",
}
MAKERS: Mapping[str, str] = {
    "agentgym/episodes/replay.py": "check_trusted",
    "agentgym/evaluation/policy_names.py": "check_trusted",
    "agentgym/episodes/task_reference.py": "check_trusted",
    "agentgym/evaluation/entries/sealed_panel.py": "make_env_of",
    "agentgym/evaluation/entries/verification.py": "make_env_of",
    "agentgym/interop/played_rows.py": "read_reference",
    "agentgym/interop/skyrl.py": "read_reference",
    "trainers/config/file_trust.py": "check_trusted",
}
"""Modules that make or check what records, settings or rows name, which others have read."""


def _calls(path: Path) -> tuple[set[tuple[str, str]], set[str]]:
    """Return the calls in a file: of attributes of names, and of plain names."""
    calls = [node.func for node in ast.walk(ast.parse(path.read_text()))
             if isinstance(node, ast.Call)]  # fmt: skip
    attributes = {
        (function.value.id, function.attr)
        for function in calls
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)
    }
    return attributes, {function.id for function in calls if isinstance(function, ast.Name)}


def _readers() -> set[str]:
    readers = set()
    for package in ("agentgym", "trainers"):
        for path in (ROOT / package).rglob("*.py"):
            place = path.relative_to(ROOT)
            if all(map(str.isidentifier, place.with_suffix("").parts)):
                attributes, names = _calls(path)
                if attributes & OF_MODULES or names & FUNCTIONS:
                    readers.add(place.as_posix())
    return readers


def test_every_reader_has_a_row_and_every_row_a_reader() -> None:
    assert _readers() == {*CHECKED, *DATA}


@pytest.mark.parametrize("place", [*CHECKED, *MAKERS])
def test_what_acts_on_a_file_checks_it(place: str) -> None:
    assert {**CHECKED, **MAKERS}[place] in _calls(ROOT / place)[1]
