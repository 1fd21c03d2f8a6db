from __future__ import annotations

from typing import Any

import pytest

from agentgym.core.env import TextEnv
from agentgym.core.guard import GuardedEnv
from agentgym.errors import EnvFailure, TaskNotFound
from tests.toy import ToyEnv


class Fussy(ToyEnv):
    def _act(self, action: str) -> Any:
        if action == "garbage":
            return None
        raise {"boom": RuntimeError, "lost": TaskNotFound, "down": EnvFailure}[action]("why")


def test_a_guarded_environment_fails_in_one_way_only():
    env = GuardedEnv(Fussy())
    assert isinstance(env.unwrapped, TextEnv)
    for action in ("boom", "down", "lost", "garbage"):
        env.reset(seed=0)
        with pytest.raises(EnvFailure, match="got None" if action == "garbage" else "why"):
            env.step(action)
    with pytest.raises(TaskNotFound):
        env.reset(options={"task_id": "nowhere"})


def test_a_guarded_environment_is_otherwise_the_same():
    plain_env, guarded = ToyEnv(), GuardedEnv(ToyEnv())
    assert plain_env.reset(seed=3) == guarded.reset(seed=3)
    assert plain_env.step("press red") == guarded.step("press red")
