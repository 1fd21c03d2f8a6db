"""Policies of one's own are evaluated alike, whether given as objects or by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentgym.evaluation import evaluate
from tests.toy import TOY_ID

SLIP = """
TURNS = iter(range(10**6))

def slip(observation, info):
    return None if next(TURNS) == 7 else f"press {observation.split()[-1]}"

async def slip_later(observation, info):
    return slip(observation, info)

class Slip:
    def act(self, observation, info):
        return slip(observation, info)

class SlipLater:
    async def act(self, observation, info):
        return slip(observation, info)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: Any) -> str:
    """Name of a module in which a test may write what it needs."""
    monkeypatch.syspath_prepend(tmp_path)
    name = "own_" + "".join(char if char.isalnum() else "_" for char in request.node.name)
    (tmp_path / f"{name}.py").write_text(SLIP)
    return name


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("attribute", ["slip", "slip_later", "Slip", "SlipLater"])
def test_an_answer_that_is_no_text_costs_its_episode(
    module: str, attribute: str, by_name: bool
) -> None:
    found = getattr(__import__(module), attribute)
    policy = f"{module}:{attribute}" if by_name else found
    report = evaluate(policy, TOY_ID, n=6, concurrency=1)
    assert report.errors == 1 and report.success == 1.0
    [failed] = [row for row in report.rows if not row.valid]
    assert failed.error == "expected the policy to return the text of an action, got NoneType"
