"""How recorded episodes are compared."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

from agentgym.certification import Status, certify, interfaces
from agentgym.certification.interfaces import INTERFACES
from agentgym.core import Outcome
from tests.toy import TOY_ID, ToyEnv

TOY = f"tests.toy:{TOY_ID}"


class FailingEnv(ToyEnv):
    """Breaks at the second turn."""

    def _act(self, action: str) -> Outcome:
        if self.turn:
            raise RuntimeError(f"broken in {id(self)}")
        return super()._act(action)


gymnasium.register("certified/FailingEnv-v0", entry_point=FailingEnv)


@pytest.mark.slow
def test_failures_have_to_be_alike_and_not_their_words() -> None:
    name = f"{__name__}:certified/FailingEnv-v0"
    certificate = certify(name, ["again", "http", "mcp"], num_tasks=3)
    assert certificate.passed
    assert all("with the same failure" in result.summary for result in certificate.results)


def test_the_hash_is_that_of_the_seed() -> None:
    def sha256(**settings: Any) -> str:
        return certify(TOY, ["again"], num_tasks=6, **settings).episodes_sha256

    assert sha256() == sha256() != sha256(seed=1)
    assert sha256(horizon=2) != sha256(horizon=3)


@pytest.mark.slow
def test_a_difference_says_where_it_is() -> None:
    name = "tests.certification.drawers:drawers/Instances-v0"
    [result] = certify(name, ["again"], num_tasks=3).results
    assert result.status is Status.FAIL
    assert "drawers/t" in result.evidence[0] and "turn 0, observation: '" in result.evidence[0]


def test_a_server_that_does_not_start_in_time_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interfaces, "PATIENCE", 0.0)
    result = certify(TOY, ["http"], num_tasks=1)["http"]
    assert result.status is Status.NOT_RUN and "expected a server within 0 s" in result.summary


def test_every_interface_says_where_it_plays() -> None:
    assert all(replay.__doc__ for replay in INTERFACES.values())
