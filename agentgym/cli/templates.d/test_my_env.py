"""What every environment should keep to: solvable, deterministic, and safe with any text."""

from my_env import MyEnv

import agentgym


def test_the_expert_solves_the_test_tasks():
    assert agentgym.evaluate("oracle", MyEnv(), "test", num_tasks=20).success == 1.0


def test_the_same_seed_gives_the_same_text():
    env = MyEnv()
    assert env.reset(seed=3)[0] == env.reset(seed=3)[0]


def test_any_text_is_answered():
    env = MyEnv()
    for text in ("", "guess", "guess -1", "guess " + "9" * 5000, "\x00", "\ud800"):
        env.reset(seed=0)
        _, reward, terminated, _, info = env.step(text)
        assert (reward, terminated, info["action_valid"]) == (0.0, False, False)
