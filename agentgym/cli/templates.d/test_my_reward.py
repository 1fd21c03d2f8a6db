"""The reward of a turn, by hand and in an environment."""

from types import SimpleNamespace

from my_reward import MyReward

import agentgym


def test_words_beyond_the_free_ones_cost():
    hook = MyReward(free=2)
    assert [hook(SimpleNamespace(action=text)) for text in ("go on", "go on now")] == [0.0, -1.0]


def test_it_is_paid_in_an_environment():
    with agentgym.make("textcraft", reward_hooks=(MyReward(weight=0.5, free=0),)) as env:
        env.reset(seed=0)
        info = env.step("one two three")[4]
    assert info["reward_terms"]["my_reward"] == -1.5
