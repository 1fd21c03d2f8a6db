from __future__ import annotations

import random
from functools import cache
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from agentgym.registration import FAMILIES
from agentgym.vector import TextVectorEnv
from agentgym.vector.backends import BACKENDS
from tests.contract.conftest import TURNS, share, short
from tests.contract.playing import WORDS, admissible_action

REGISTERED = [family.id for family in FAMILIES]


def actions(turn: int, num_envs: int = 2) -> tuple[str, ...]:
    return tuple(WORDS[(turn + 3 * slot) % len(WORDS)] for slot in range(num_envs))


def plain(value: Any) -> Any:
    """Turn arrays into lists, so that results can be compared."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.tolist()
    return [plain(item) for item in value] if isinstance(value, tuple | list) else value


def run(envs: Any, turns: int = 8) -> list[Any]:
    log = [plain(envs.reset(seed=[3, 4], options={"horizon": 3}))]
    log += [plain(envs.step(actions(turn))) for turn in range(turns)]
    envs.close()
    return log


@cache
def looped(env_id: str) -> list[Any]:
    """Run Gymnasium's loop, once for all that is compared with it."""
    return run(gymnasium.make_vec(env_id, num_envs=2, vectorization_mode="sync"))


def valid_actions(env_id: str, seed: int, expert: bool) -> list[str]:
    """Play an episode with the demonstrator or with any of the actions on offer."""
    env: Any = gymnasium.make(env_id, **short(env_id)).unwrapped
    info, rng = env.reset(seed=seed)[1], random.Random(seed)
    actions: list[str] = []
    over = False
    while not over and len(actions) < share(env_id, TURNS):
        shown_action = env.demonstrator_action() if expert else None
        actions.append(admissible_action(rng, env, info) if shown_action is None else shown_action)
        _, _, terminated, truncated, info = env.step(actions[-1])
        over = terminated or truncated
    env.close()
    return actions


@pytest.fixture
def expected(env_id: str) -> list[Any]:
    return looped(env_id)


def test_gymnasiums_pipes_equal_its_loop(env_id: str, expected: list[Any]) -> None:
    kwargs = {"vector_kwargs": {"shared_memory": False}}
    envs = gymnasium.make_vec(env_id, num_envs=2, vectorization_mode="async", **kwargs)
    assert run(envs) == expected


def test_valid_play_passes_gymnasiums_vector_environments(env_id: str) -> None:
    """Their arrays have the type of the first environment's first value."""
    plays = [valid_actions(env_id, seed, expert=seed == 3) for seed in (3, 4)]
    turns = [*zip(*plays, strict=False)]  # of the shorter one: then it is reset
    logs: list[list[Any]] = []
    for mode in ("sync", "async"):
        envs = gymnasium.make_vec(env_id, num_envs=2, vectorization_mode=mode, **short(env_id))
        logs.append([plain(envs.reset(seed=[3, 4]))])
        logs[-1] += [plain(envs.step(actions)) for actions in turns]
        envs.close()
    our_envs = TextVectorEnv.make(env_id, 2, autoreset_mode="NextStep", **short(env_id))
    logs.append(
        [plain(our_envs.reset(seed=[3, 4])), *(plain(our_envs.step(turn)) for turn in turns)]
    )
    our_envs.close()
    assert logs[0] == logs[1] == logs[2]


# Ray's actors run the workers of the process back end: tests/vector/test_vector.py compares them.
@pytest.mark.parametrize("backend", [name for name in BACKENDS if name != "ray"])
def test_our_vector_env_equals_gymnasiums(env_id: str, expected: list[Any], backend: str) -> None:
    if env_id in REGISTERED:
        envs = gymnasium.make_vec(
            env_id, num_envs=2, backend=backend, workers=1, autoreset_mode="NextStep"
        )
    else:
        envs = TextVectorEnv.make(env_id, 2, backend=backend, workers=1, autoreset_mode="NextStep")
    assert isinstance(envs, TextVectorEnv)
    assert run(envs) == expected


def test_same_step_autoreset_equals_gymnasiums(env_id: str) -> None:
    mode = AutoresetMode.SAME_STEP
    peer = gymnasium.make_vec(
        env_id, num_envs=2, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}
    )
    log = run(peer)
    assert run(TextVectorEnv.make(env_id, 2, autoreset_mode=mode)) == log


def test_disabled_autoreset(env_id: str) -> None:
    envs = TextVectorEnv.make(env_id, 2)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    envs.reset(seed=0, options={"horizon": 2})
    mask = np.array([True, False])
    envs.step(actions(0))
    observations, _ = envs.reset(seed=[9, 9], options={"reset_mask": mask, "horizon": 2})
    results = envs.step(("no such action", "no such action"))
    assert results[3].tolist() == [False, True]
    envs.reset(seed=[9, 9], options={"reset_mask": ~mask, "horizon": 2})
    assert envs.reset(seed=[9, 9])[0][1] == observations[0]
    envs.close()


def test_texts_pass_through_gymnasiums_shared_memory(env_id: str) -> None:
    envs = TextVectorEnv.make(env_id, 2)
    peer = gymnasium.make_vec(env_id, num_envs=2, vectorization_mode="async")
    assert peer.reset(seed=3)[0] == envs.reset(seed=3)[0]
    for turn in range(2):
        assert peer.step(actions(turn))[0] == envs.step(actions(turn))[0]
    peer.close()
    envs.close()


def test_groups_start_alike(env_id: str) -> None:
    envs = TextVectorEnv.make(env_id, 4)
    results = envs.reset_groups([{"split": "train", "index": 2}, {"split": "test"}], 2, seed=1)
    assert results[0] == results[1] and results[2] == results[3]
    assert results[0][1]["task_id"] != results[2][1]["task_id"]
    envs.close()
