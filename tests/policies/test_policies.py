from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from agentgym.errors import ConfigurationError, NotSupported, PolicyFailure
from agentgym.policies import CallablePolicy, OraclePolicy, Policy, RandomPolicy, begin
from agentgym.policies.mixed import MixedPolicy
from tests.toy import TOY_ID


def episode(env: gymnasium.Env, policy: Policy, seed: int = 0) -> tuple[list[str], dict]:
    observation, info = env.reset(seed=seed)
    begin(policy, observation, info)
    actions: list[str] = []
    over = False
    while not over:
        actions.append(policy.act(observation, info))
        observation, _, terminated, truncated, info = env.step(actions[-1])
        over = terminated or truncated
    return actions, info


def test_random_draws_admissible_actions_and_leaves_the_global_generator_alone():
    np.random.seed(3)
    generator_before = np.random.get_state()[1].tolist()
    env = gymnasium.make(TOY_ID)
    first, info = episode(env, RandomPolicy(7))
    assert info["action_valid"]
    assert first == episode(env, RandomPolicy(7))[0] != episode(env, RandomPolicy(8))[0]
    assert np.random.get_state()[1].tolist() == generator_before
    assert RandomPolicy(fallback="look").act("", {"admissible_actions": []}) == "look"


def test_an_episode_of_a_mixture_depends_on_its_seed_alone():
    offered = {"admissible_actions": [f"press {number}" for number in range(100)]}

    def act(policy: MixedPolicy, seed: int) -> list[str]:
        policy.seed(seed)
        return [policy.act("", offered) for _ in range(20)]

    mixture = MixedPolicy(CallablePolicy(lambda observation, info: "look"), RandomPolicy(7), 0.5, 7)
    first = act(mixture, 1)
    assert act(mixture, 2) != first == act(mixture, 1)
    # What is drawn does not follow whether something is drawn.
    assert len({int(action.split()[1]) // 50 for action in first if action != "look"}) == 2


@pytest.mark.parametrize("grammar", ["native", "xml", "react", "tool_call", "action_tag"])
def test_the_oracle_wins_in_every_grammar(grammar):
    env = gymnasium.make(TOY_ID, grammar=grammar)
    _, info = episode(env, OraclePolicy(env))
    assert info["success"] and info["score"] == 1.0


def test_the_oracle_says_when_it_has_no_plan():
    env = gymnasium.make(TOY_ID)
    policy = OraclePolicy(env)
    episode(env, policy)
    with pytest.raises(NotSupported):
        policy.act("", {})


def test_a_function_is_a_policy():
    env = gymnasium.make(TOY_ID)
    policy = CallablePolicy(lambda observation, info: f"press {observation.split()[-1]}")
    assert isinstance(policy, Policy)
    assert episode(env, policy)[1]["success"]
    with pytest.raises(PolicyFailure, match="the text of an action, got NoneType"):
        CallablePolicy(lambda observation, info: None).act("", {})  # type: ignore[arg-type,return-value]
    with pytest.raises(ConfigurationError, match="function of"):
        CallablePolicy("look")  # type: ignore[arg-type]
