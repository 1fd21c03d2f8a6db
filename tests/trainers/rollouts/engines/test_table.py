"""The table of engines: what a run can choose is there, and is made from one set of settings."""

from __future__ import annotations

import importlib.util
from typing import get_args, get_type_hints

import pytest

from agentgym.errors import DependencyNotInstalled
from tests.trainers import tiny_policy
from trainers.config.schema import TrainConfig
from trainers.rollouts.engines import ENGINES, _load, check_installed, engine_maker
from trainers.rollouts.engines.base import EngineSettings, Sampling, generate
from trainers.rollouts.engines.hf import HFEngine


def test_the_command_line_offers_exactly_the_table() -> None:
    named, _custom, _imports = get_args(get_type_hints(TrainConfig)["engine"])
    assert get_args(named) == tuple(ENGINES)


@pytest.mark.parametrize("name", ENGINES)
def test_every_row_names_what_exists(name: str) -> None:
    row = ENGINES[name]
    assert callable(_load(row.made_by).for_run)
    assert row.checked_by is None or callable(_load(row.checked_by))


def test_an_engine_is_made_from_a_model_and_settings() -> None:
    model = tiny_policy.model()
    engine = engine_maker("hf", EngineSettings(pad_id=0, context=64, slots=2, seed=3))(model)
    assert isinstance(engine, HFEngine)
    direct = HFEngine(model, 0)
    prompts, sampling = [[4, 5], [6]], Sampling(max_tokens=3)
    assert generate(engine, prompts, sampling) == generate(direct, prompts, sampling)


def test_a_missing_package_is_noticed_before_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    check_installed("hf")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DependencyNotInstalled, match="vllm"):
        check_installed("vllm")
