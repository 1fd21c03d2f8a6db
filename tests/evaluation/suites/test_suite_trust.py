"""A suite that somebody else made runs, imports, opens, contacts and writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentgym.cli import main
from agentgym.evaluation.suites.suite_file import read_suite
from agentgym.trust import EVALUATION, NotTrusted, trusting
from tests.trust.acts import (
    MODULE,
    Place,
    acting_arguments,
    acting_hooks,
    acting_settings,
    harmless_name,
    hostile_place,
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Return the folder of a download."""
    with hostile_place(tmp_path / "download", monkeypatch) as download:
        yield download


def _write(**settings: Any) -> Path:
    content = {"environments": ["textcraft"], "policies": ["random"], "num_tasks": 1, **settings}
    path = Path("suite.yaml")
    path.write_text(yaml.safe_dump(content))
    return path


def _refused(place: Place, **settings: Any) -> str:
    """Check that a suite is refused before anything happens; return the sentence."""
    path = _write(**settings)
    with pytest.raises(NotTrusted, match="--trust") as refused:
        read_suite(path)
    place.assert_that_nothing_happened()
    return str(refused.value)


PLACES = ("all", "environment", "policy")


@pytest.mark.parametrize("where", PLACES)
def test_no_setting_that_is_not_plain(place: Place, where: str) -> None:
    for name, row in acting_settings(EVALUATION):
        value: Any = place.value(row, name)
        value = [value] if name == "task" else value
        if where == "all":
            message = _refused(place, **{name: value})
        elif name in ("out", "chart"):
            continue  # settings of all
        elif where == "environment":
            message = _refused(place, environments=[{"env": "textcraft", name: value}])
        else:
            message = _refused(place, policies=[{"policy": "random", name: value}])
        assert f"{name}=" in message


def test_no_environment_policy_argument_or_hook_that_is_not_plain(place: Place) -> None:
    for name in place.environments().values():
        assert name in _refused(place, environments=[name])
    Path("model").mkdir()
    for policy in (f"{MODULE}:Thing", "run:model", "hf:model", "./model", "model"):
        assert policy in _refused(place, policies=[policy])
    for hook in acting_hooks():
        assert hook in _refused(place, reward_hooks=[hook])
    for kind, name, row in acting_arguments():
        act = {"env": harmless_name(kind), "env_kwargs": {name: place.value(row, name)}}
        assert f"{name}=" in _refused(place, environments=[act])
    _refused(place, policies=[{"policy": "random", "policy_kwargs": {"agent": f"{MODULE}:Thing"}}])
    _refused(place, env_kwargs=[f"sandbox={MODULE}:Thing"], environments=["swe"])


def test_flags_replace_what_a_suite_names(place: Place) -> None:
    path = _write(base_url="http://127.0.0.1:1/v1", env_kwargs={"data": "data.json"})
    with pytest.raises(NotTrusted):
        read_suite(path, {"base_url": "http://127.0.0.1:2/v1"})
    flags = {"base_url": "http://127.0.0.1:2/v1", "env_kwargs": ("data=other",)}
    [single] = read_suite(path, flags).evaluations
    assert single.settings.base_url == "http://127.0.0.1:2/v1"
    with trusting("base_url=http://127.0.0.1:1/v1", "data=data.json", say=lambda text: None):
        [single] = read_suite(path).evaluations
    assert single.settings.base_url == "http://127.0.0.1:1/v1"


def test_results_stay_in_the_folder_of_runs(place: Place) -> None:
    for name in ("/tmp/x", "../x", "elsewhere", "runs/../x", "runs"):
        assert f"out={name}" in _refused(place, out=name)
    assert read_suite(_write(out="runs/mine", chart="runs/mine.png")).out == Path("runs/mine")
    Path("other").mkdir()
    Path("runs").symlink_to("other")
    _refused(place, out="runs/mine")


def test_the_command_says_the_flag_and_takes_it(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(environments=[{"env": "swe", "env_kwargs": {"sandbox": f"{MODULE}:Thing"}}])
    assert main(["eval", "--config", "suite.yaml"]) == 2
    assert f"--trust sandbox={MODULE}:Thing" in capsys.readouterr().err
    place.assert_that_nothing_happened()
    assert main(["eval", "--config", "suite.yaml", "--trust", f"sandbox={MODULE}:Thing"]) == 2
    assert "you trust it" in capsys.readouterr().err and Path("imported").exists()


def test_a_mapping_is_what_the_user_typed(place: Place) -> None:
    [single] = read_suite({"environments": ["mcp:true"], "policies": ["random"]}).evaluations
    assert single.env == "mcp:true"
