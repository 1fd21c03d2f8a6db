"""Environments for SkyRL: an expert earns the same through its methods."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.episodes.prompt_writer import ENV_CLASS
from agentgym.episodes.task_reference import COLUMN
from agentgym.errors import ConfigurationError, DataError
from agentgym.interop.prompt_rows import prompt_rows
from agentgym.interop.skyrl import SkyRLEpisode
from agentgym.registration import FAMILIES
from agentgym.trust import NotTrusted
from tests.toy import TOY_ID
from tests.trust.acts import acting_arguments, harmless_name, hostile_place

IDS = [*(entry.id for entry in FAMILIES), TOY_ID]


@pytest.mark.parametrize("env_id", IDS)
def test_an_expert_earns_the_same(env_id: str) -> None:
    local: Any = gymnasium.make(env_id).unwrapped
    for row in prompt_rows(env_id, split="test", num_tasks=2):
        task_id = row["extra_info"]["task_id"]
        observation, info = local.reset(options={"task_id": task_id})
        with SkyRLEpisode(env_config={}, extras=row) as env:
            messages, _ = env.init(row["prompt"])
            assert messages == row["prompt"]
            over = False
            while not over:
                assert messages[-1]["role"] == "user" and observation in messages[-1]["content"]
                action = local.oracle_action()
                observation, reward, terminated, truncated, info = local.step(action)
                turn = env.step(action)
                over = turn["done"]
                assert (turn["reward"], over) == (reward, terminated or truncated)
                messages = messages if over else turn["observations"]
            assert env.get_metrics() == {
                "success": 1.0, "score": info["score"], "turns": info["turn"]
            }  # fmt: skip
    local.close()


def test_metrics_are_means() -> None:
    metrics = SkyRLEpisode.aggregate_metrics([{"success": 1.0, "turns": 2}, {"success": 0.0}])
    assert metrics == {"success": 0.5, "turns": 2.0}


@pytest.mark.parametrize("extras", [None, {}, {COLUMN: "webshop"}, {COLUMN: '{"env": "x"}'}])
def test_a_row_without_a_task_is_told_so(extras: Any) -> None:
    with pytest.raises(DataError, match="expected a row that agentgym export --to prompts"):
        SkyRLEpisode(extras=extras)


def test_a_prompt_of_single_messages_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="adds a message each turn"):
        prompt_rows("webshop", prompt="verl-agent", num_tasks=1)


def test_skyrl_gym_makes_it() -> None:
    skyrl_gym = pytest.importorskip("skyrl_gym", reason="skyrl-gym is in .ci/peers")
    skyrl_gym.register(id=ENV_CLASS, entry_point="agentgym.interop.skyrl:SkyRLEnv")
    row = prompt_rows(TOY_ID, split="test", num_tasks=1)[0]
    with skyrl_gym.make(row["env_class"], env_config={}, extras=row) as env:
        assert env.init(row["prompt"])[0][-1]["role"] == "user"
        assert not env.step("nonsense")["done"]


def test_a_row_that_somebody_else_made_acts_on_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hostile_place(tmp_path / "download", monkeypatch) as place:
        rows = [{"env": name, "task_id": "x"} for name in place.environments().values()]
        rows += [
            {"env": harmless_name(kind), "task_id": "x", "kwargs": {name: place.value(row, name)}}
            for kind, name, row in acting_arguments()
        ]
        rows += [{"env": "webshop", "task_id": "x", "prompt": str(tmp_path / "prompt.toml")}]
        for hostile in rows:
            with pytest.raises(NotTrusted, match="--trust"):
                SkyRLEpisode(extras={COLUMN: json.dumps(hostile)})
            place.assert_that_nothing_happened()
        trusted = {"trust": ["sandbox=subprocess"]}
        row = {"env": "swe", "task_id": "x", "kwargs": {"sandbox": "subprocess", "data": "gone"}}
        with pytest.raises(NotTrusted, match="data=gone") as refused:
            SkyRLEpisode(trusted, {COLUMN: json.dumps(row)})
        assert "subprocess" not in str(refused.value)
