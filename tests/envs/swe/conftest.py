"""The small repositories are material of tests, and no tests themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentgym.envs.swe.instance import Instance
from tests.envs.swe.small import SmallSet, make_bank

collect_ignore = ["repositories"]


@pytest.fixture(autouse=True, scope="module")
def grades() -> None:
    """Grade anew whatever is asked."""


@pytest.fixture(scope="session")
def questioned(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    """The first small task, with held-out questions that were made for it."""
    instance = SmallSet().instance("train", 0)
    return replace(instance, held_out=make_bank(instance, tmp_path_factory.mktemp("banks")))
