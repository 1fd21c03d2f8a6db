"""A file of settings, or the folder of a run, that somebody else made acts on nothing by itself."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import yaml

from agentgym.registration import FAMILIES
from agentgym.trust import NotTrusted, trusting
from agentgym.trust.table import Entry
from tests.trust.acts import (
    MODULE,
    Place,
    acting_arguments,
    acting_hooks,
    acting_settings,
    hostile_place,
)
from trainers.cli import main, parse_config
from trainers.config.file_trust import remember_typed, training_table
from trainers.config.schema import TrainConfig
from trainers.config.sections import EnvConfig


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Return the folder of a download."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with hostile_place(tmp_path / "download", monkeypatch) as download:
        yield download


def _names(cls: Any, prefix: str = "") -> list[str]:
    """Return the settings of a dataclass by their names with dots."""
    names: list[str] = []
    hints = get_type_hints(cls)
    for item in fields(cls):
        section = next((t for t in (hints[item.name], *get_args(hints[item.name]))
                        if is_dataclass(t)), None)  # fmt: skip
        is_leaf = section is None or item.name == "envs"
        names += [f"{prefix}{item.name}"] if is_leaf else _names(section, f"{item.name}.")
    return names


def test_every_setting_of_a_training_has_a_row_and_no_row_is_left_over() -> None:
    settings = {*_names(TrainConfig), *_names(EnvConfig)}
    assert settings == {*training_table()}


def _write(settings: dict[str, Any]) -> None:
    Path("run").mkdir(exist_ok=True)
    Path("run/config.yaml").write_text(yaml.safe_dump({"env": "webshop", **settings}))


READERS = (["--config", "run/config.yaml"], ["--resume", "--out", "run"])
"""Commands that read settings from a file."""


@pytest.mark.parametrize("argv", READERS, ids=" ".join)
def test_no_setting_that_is_not_plain(place: Place, argv: list[str]) -> None:
    for name, row in acting_settings(training_table()):
        if f"--{name}" in argv:  # typed
            continue
        value: Any = place.value(row, name)
        if name in ("report_to", "rl.filters", "sft.episodes"):
            value = ["wandb"] if name == "report_to" else [value]
        if name == "model":
            Path("weights").mkdir(exist_ok=True)
            value = "weights"
        section, dot, last = name.rpartition(".")
        _write({section: {last: value}} if dot else {name: value})
        with pytest.raises(NotTrusted, match="--trust") as refused:
            parse_config(argv)
        assert name in str(refused.value)
        place.assert_that_nothing_happened()


@pytest.mark.parametrize("argv", READERS, ids=" ".join)
@pytest.mark.parametrize("listed", [False, True])
def test_no_environment_argument_or_hook_that_is_not_plain(
    place: Place, argv: list[str], listed: bool
) -> None:
    acts: list[dict[str, Any]] = [{"env": name} for name in place.environments().values()]
    acts += [{"env": "webshop", "reward_hooks": [hook]} for hook in acting_hooks()]
    families = {entry.name for entry in FAMILIES}
    for kind, name, row in acting_arguments():
        if kind in families:
            text = f"{name}={str(place.value(row, name)).replace('True', 'true')}"
            acts.append({"env": kind, "env_kwargs": [text]})
    for act in acts:
        _write({"env": [{"env": "textcraft"}, act]} if listed else act)
        with pytest.raises(NotTrusted, match="--trust"):
            parse_config(argv)
        place.assert_that_nothing_happened()


def test_what_the_user_types_is_no_news(place: Place) -> None:
    _write({"agent_command": "touch ran", "rl": {"sampler": f"{MODULE}:Thing"}})
    argv = ["--config", "run/config.yaml"]
    with pytest.raises(NotTrusted) as refused:
        parse_config(argv)
    message = str(refused.value)
    assert "--trust 'agent_command=touch ran'" in message and "rl.sampler" in message
    assert parse_config([*argv, "--agent-command", "other", "--rl.sampler", "uniform"])
    with trusting("agent_command=touch ran", f"rl.sampler={MODULE}:Thing", say=lambda text: None):
        assert parse_config(argv).agent_command == "touch ran"
    place.assert_that_nothing_happened()


def test_what_was_typed_for_a_folder_counts_there_alone(place: Place) -> None:
    _write({"agent_command": "touch ran"})
    remember_typed(Path("run"), yaml.safe_load(Path("run/config.yaml").read_text()))
    assert parse_config(["--resume", "--out", "run"]).agent_command == "touch ran"
    shutil.copytree("run", "moved")
    with pytest.raises(NotTrusted):
        parse_config(["--resume", "--out", "moved"])
    _write({"agent_command": "touch ran", "agent": f"{MODULE}:Thing"})
    with pytest.raises(NotTrusted, match="agent=") as refused:
        parse_config(["--resume", "--out", "run"])
    assert "touch ran" not in str(refused.value)


def test_the_command_takes_the_flag_that_its_refusal_shows(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    _write({"env": "textcraft", "rl": {"sampler": f"{MODULE}:Thing"}})
    argv = ["--config", "run/config.yaml", "--dry-run"]
    assert main(argv) == 2 and f"--trust rl.sampler={MODULE}:Thing" in capsys.readouterr().err
    place.assert_that_nothing_happened()
    assert main([*argv, "--trust", f"rl.sampler={MODULE}:Thing"]) == 2  # it is no sampler
    assert "expected --rl.sampler" in capsys.readouterr().err and Path("imported").exists()


@pytest.mark.parametrize(
    "parts",
    [
        {"terms": [{"part": f"{MODULE}:Thing"}]},
        {"loss": {"part": "PolicyLoss", "other": f"{MODULE}:Thing"}},
    ],
)
def test_a_file_of_a_preset_names_no_code(place: Place, parts: dict[str, Any]) -> None:
    Path("parts.yaml").write_text(yaml.safe_dump(parts))
    assert main(["textcraft", "--preset-file", "parts.yaml", "--dry-run"]) == 2
    place.assert_that_nothing_happened()


def test_every_row_that_is_not_plain_was_tried() -> None:
    rows = {name for name, row in training_table().items() if isinstance(row, Entry)}
    assert {name for name, _ in acting_settings(training_table())} <= rows
    assert len(acting_settings(training_table())) >= 15
