"""The environment: its actions per domain, and what it refuses."""

from __future__ import annotations

import pytest

from agentgym.envs.service.env import ServiceEnv
from agentgym.envs.service.experts import SPEAKING
from agentgym.errors import ConfigurationError


def test_each_domain_has_a_dozen_tools_and_all_together_share_some() -> None:
    names = {
        domain: [spec.name for spec in ServiceEnv(domain=domain).action_specs]
        for domain in ("retail", "airline", "telecom", None)
    }
    assert all(len(names[domain]) == 12 for domain in ("retail", "airline", "telecom"))
    assert len(names[None]) == len(set(names[None])) == 21
    assert set(names[None]) == {name for some in names.values() for name in some}


def test_a_tool_of_another_domain_fails_and_changes_nothing() -> None:
    env = ServiceEnv()
    env.reset(options={"split": "test", "index": 0})
    observation, _, _, _, info = env.step("rebook[#123, #456]")
    assert observation == "error: orders have no tool rebook" and info["details"]["failed"]
    assert info["action_valid"] and info["details"]["reason"] == observation


def test_blanks_and_case_of_a_tiny_policy_do_not_matter() -> None:
    env = ServiceEnv(difficulty="easy", domain="retail", expert="oracle")
    for index in range(20):
        _, info = env.reset(options={"split": "test", "index": index})
        while not info["stop_reason"]:
            action = env.demonstrator_action()
            assert action is not None
            spaced = action.lower().replace("[", "[ ").replace(",", " ,").replace("]", " ]")
            info = env.step(spaced)[4]
        assert info["success"]


@pytest.mark.parametrize("expert", SPEAKING)
def test_thinking_needs_the_native_grammar(expert: str) -> None:
    assert ServiceEnv(expert=expert, grammar="native")
    with pytest.raises(ConfigurationError, match="native grammar"):
        ServiceEnv(expert=expert, grammar="xml")


@pytest.mark.parametrize(
    "kwargs", [{"domain": "bakery"}, {"difficulty": "extreme"}, {"reward": "f1"}, {"expert": "x"}]
)
def test_unknown_choices(kwargs: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(kwargs.values()))):
        ServiceEnv(**kwargs)  # type: ignore[arg-type]
