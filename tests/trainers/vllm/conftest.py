"""One real vLLM engine per test module; starting one takes seconds."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from typing import Any

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

HAVE_VLLM = importlib.util.find_spec("vllm") is not None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip = pytest.mark.skip(
        reason="vllm is not installed: .ci/vllm builds an environment and runs these tests"
    )
    for item in items:
        if not HAVE_VLLM and item.path.is_relative_to(os.path.dirname(__file__)):
            item.add_marker(skip)


@pytest.fixture(scope="module")
def model() -> Any:
    from tests.trainers.vllm.policy import make_model

    return make_model()


@pytest.fixture(scope="module")
def engine(model: Any) -> Iterator[Any]:
    from tests.trainers.vllm.policy import CONTEXT
    from trainers.rollouts.engines.policy_weights import policy_weights
    from trainers.rollouts.engines.vllm_colocate import VLLMColocateEngine

    with VLLMColocateEngine(model, max_model_len=CONTEXT, kv_cache_gib=0.25) as opened:
        opened.sync(policy_weights(model), 0)
        yield opened
