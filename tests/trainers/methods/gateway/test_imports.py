"""Nothing of the gateway is imported where no flag names an agent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.trainers import toy_runs
from tests.trainers.methods.gateway.test_doors import SMALL

ROOM = "trainers.methods.gateway"
ROW = {f"{ROOM}.method", f"{ROOM}.settings"}
"""What flags and help need."""
PATHS = [path for room in ("agentgym", "trainers") for path in (toy_runs.ROOT / room).rglob("*.py")]


def test_at_most_three_files_outside_name_it() -> None:
    outside = {path for path in PATHS if "gateway" not in path.parts}
    names = {path.name for path in outside if ROOM in path.read_text()}
    assert 0 < len(names) <= 3, names


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("--agent=tests.trainers.toy_agents:words",)])
def test_a_training_without_an_agent_imports_none_of_it(
    flags: tuple[str, ...], tmp_path: Path
) -> None:
    command = toy_runs.arguments(tmp_path / "run", *flags, **SMALL)
    environment = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    process = toy_runs.run_command(command, environment=environment)
    assert process.returncode == 0, process.stderr[-500:]
    modules = {line.rpartition("|")[2].strip() for line in process.stderr.splitlines()}
    assert "trainers.grpo.trainer" in modules
    loaded = {name for name in modules if name.startswith(f"{ROOM}.")} - ROW
    assert bool(flags) == bool(loaded), loaded
