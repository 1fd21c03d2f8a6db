"""``--policy DIR`` of a run that somebody else made acts on nothing that its settings name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import agentgym
from agentgym.cli import main
from agentgym.evaluation.policy_names import policy_env_kwargs
from agentgym.registration import FAMILIES
from agentgym.registration.making import make, resolve
from agentgym.trust import NotTrusted, trusting
from agentgym.trust.table import ENVIRONMENTS
from tests.trust.acts import MODULE, Place, acting_arguments, hostile_place
from trainers.config.file_trust import remember_typed
from trainers.policies.run_envs import HARMLESS
from trainers.policies.runs import Runs


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Return the folder of a download."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with hostile_place(tmp_path / "download", monkeypatch) as download:
        yield download


def _write(env_id: str, kwargs: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """Write the folder of a run whose weights are never reached."""
    checkpoint = Path("run/checkpoints/trained")
    checkpoint.mkdir(parents=True, exist_ok=True)
    (checkpoint / "model.safetensors").touch()
    resolved = {"env_id": env_id, "env": kwargs, "prompt": "bare", "layout": {}}
    content = {"env": "textcraft", **settings, "resolved": resolved}
    Path("run/config.yaml").write_text(yaml.safe_dump(content))
    return content


ID = "agentgym/TextCraft-v0"
AGENTS = [
    ("agent_command", "touch ran"),
    ("agent", f"{MODULE}:Thing"),
]


@pytest.mark.parametrize(("name", "value"), AGENTS)
def test_the_agent_of_a_run_is_neither_run_nor_imported(
    place: Place, name: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content = _write(ID, {}, **{name: value})
    env = make("textcraft")
    with pytest.raises(NotTrusted, match=f"{name}="):
        Runs().load("run", env, seed=0)
    for policy in ("run", "run:run", "run/checkpoints/trained"):
        assert main(["eval", "textcraft", "--policy", policy, "--num-tasks", "1"]) == 2
        assert "--trust" in capsys.readouterr().err
    place.assert_that_nothing_happened()
    remember_typed(Path("run"), content)
    for path in ("run", "run/checkpoints/trained"):
        with pytest.raises(Exception) as other_error:
            Runs().load(path, env, seed=0)
        assert not isinstance(other_error.value, NotTrusted)


def test_no_argument_of_a_runs_environment_that_is_not_plain(place: Place) -> None:
    families = {entry.name: entry.id for entry in FAMILIES}
    attempts = 0
    for kind, name, row in acting_arguments():
        if kind not in families or name in HARMLESS:
            continue
        content = _write(families[kind], {name: place.value(row, name)})
        with pytest.raises(NotTrusted, match=f"--trust '?{name}="):
            policy_env_kwargs("run:run", resolve(kind))
        assert policy_env_kwargs("run:run", resolve(kind), [name]) == {}
        attempts += 1
        if (kind, name) == ("swe", "sandbox"):
            with pytest.raises(NotTrusted):
                agentgym.evaluate("run:run", kind, num_tasks=1)
            remember_typed(Path("run"), content)
            assert policy_env_kwargs("run:run", resolve(kind)) == {name: f"{MODULE}:Thing"}
    place.assert_that_nothing_happened()
    assert attempts > len(ENVIRONMENTS) / 2


def test_what_a_run_says_is_used_if_it_is_trusted(place: Place) -> None:
    _write("agentgym/SWE-v0", {"sandbox": "subprocess", "allow_unsafe": True, "difficulty": "easy"})
    messages: list[str] = []
    with trusting("sandbox=subprocess", "allow_unsafe=true", say=messages.append):
        kwargs = policy_env_kwargs("run:run", resolve("swe"))
    assert kwargs["allow_unsafe"] is True and len(messages) == 2
