from __future__ import annotations

import pytest

from agentgym.core import TextEnv
from agentgym.errors import EnvFailure, TaskNotFound
from tests.toy import ToyEnv
from trainers.phases.safe_env import GuardedEnv


class Fussy(ToyEnv):
    def _act(self, action: str):
        raise {"boom": RuntimeError, "lost": TaskNotFound, "down": EnvFailure}[action]("why")


def test_a_guarded_environment_fails_in_one_way_only():
    env = GuardedEnv(Fussy())
    assert isinstance(env.unwrapped, TextEnv)
    for action, error in [("boom", EnvFailure), ("down", EnvFailure), ("lost", TaskNotFound)]:
        env.reset(seed=0)
        with pytest.raises(error, match="why"):
            env.step(action)


def test_a_guarded_environment_is_otherwise_the_same():
    plain, guarded = ToyEnv(), GuardedEnv(ToyEnv())
    assert plain.reset(seed=3) == guarded.reset(seed=3)
    assert plain.step("press red") == guarded.step("press red")
