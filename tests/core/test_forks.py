"""Snapshots: where they fit, and what a restore that fails leaves behind."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest

from agentgym.core.env import TextEnv
from agentgym.core.fingerprint import fingerprint
from agentgym.core.hooks import TurnContext, TurnState
from agentgym.core.tasks import Task, TaskList
from agentgym.errors import AgentGymError, ConfigurationError, EnvFailure, TaskNotFound
from agentgym.rewards import InvalidAction, LinearAlpha, Potential, Progressive, TurnCost
from agentgym.vector import TextVectorEnv
from tests.toy import ToyEnv

FIRST = {"split": "train", "index": 0}
MODES: dict[str, list[dict[str, Any]]] = {
    "agentgym/WebShop-v0": [
        {"size": 200},
        {"size": 200, "observation_mode": "compact"},
        {"size": 200, "reward": "strict"},
        {"size": 200, "grammar": "xml"},
        {"size": 200, "expert": "careful"},
        {"size": 200, "reward_hooks": [TurnCost()]},
    ],
    "agentgym/ALFWorld-v0": [{}, {"reward": "dense"}, {"expert": "searching"}],
    "agentgym/TextWorld-v0": [{}, {"reward": "dense"}, {"inventory": True}],
}
HOOKS: list[list[Any]] = [
    [],
    [TurnCost()],
    [TurnCost(0.02)],
    [TurnCost(weight=2.0)],
    [TurnCost(name="cost")],
    [TurnCost(), InvalidAction()],
    [InvalidAction(), TurnCost()],
    [Potential()],
    [Potential(gamma=0.9)],
    [Potential(phi=lambda state: state.score)],
    [Potential(phi=lambda state: state.score + 1.0)],
    [Progressive(alpha=LinearAlpha(0.0, 1.0, 10))],
    [Progressive(alpha=LinearAlpha(0.0, 1.0, 20))],
]


def play_on(env: TextEnv) -> list[Any]:
    """Go on with an episode, and through the beginning of the next."""
    steps = [env.step("press red"), env.step("press blue"), env.step("nonsense")]
    return [*steps, env.reset()]


# -- what fits ---------------------------------------------------------------------------------


def test_a_snapshot_fits_where_the_arguments_are_equal() -> None:
    """However they were given; and views of an episode may differ."""
    env = ToyEnv(reward_hooks=[TurnCost(0.25), Progressive()])
    env.reset(seed=3, options={"horizon": 7})
    env.step("press red")
    state = pickle.loads(pickle.dumps(env.snapshot()))
    expected = play_on(env)
    by_name = gymnasium.make("agentgym-test/Toy-v0", reward_hooks=[TurnCost(0.25), Progressive()])
    copies: list[Any] = [
        ToyEnv(grammar="native", reward_hooks=(TurnCost(0.25), Progressive()), horizon=8),
        copy.deepcopy(env),
        pickle.loads(pickle.dumps(env)),
        by_name.unwrapped,
    ]
    for copied in copies:
        copied.restore(state)
        assert play_on(copied) == expected
    views = ToyEnv(
        horizon=20, split="test", expose_oracle=True, render_mode="ansi",
        reward_hooks=[TurnCost(0.25), Progressive()],
    )  # fmt: skip
    views.restore(state)
    assert views.step("press red")[:4] == expected[0][:4]


@pytest.mark.parametrize("env_id", MODES)
def test_a_snapshot_of_another_configuration_is_refused(env_id: str) -> None:
    envs = [gymnasium.make(env_id, **kwargs).unwrapped for kwargs in MODES[env_id]]
    states = []
    for env in envs:
        assert isinstance(env, TextEnv)
        env.reset(seed=1, options=FIRST)
        states.append(env.snapshot())
    for i, env in enumerate(envs):
        assert isinstance(env, TextEnv)
        for j, state in enumerate(states):
            if i == j:
                env.restore(state)
                continue
            snapshot = pickle.dumps(env.snapshot())
            with pytest.raises(ConfigurationError, match="same arguments"):
                env.restore(state)
            assert pickle.dumps(env.snapshot()) == snapshot


def test_hooks_of_a_snapshot_never_replace_others() -> None:
    """Neither for the rest of the episode nor after the next reset."""
    envs = [ToyEnv(reward_hooks=hooks) for hooks in HOOKS]
    twins = [ToyEnv(reward_hooks=hooks) for hooks in HOOKS]
    assert len({env.configuration for env in envs}) == len(HOOKS)
    for env in [*envs, *twins]:
        env.reset(seed=2)
        env.step("press red")
    states = [env.snapshot() for env in envs]
    for env, twin in zip(envs, twins, strict=True):
        for state in states:
            if state.configuration != env.configuration:
                with pytest.raises(ConfigurationError, match="reward hooks"):
                    env.restore(state)
        assert play_on(env) == play_on(twin)


def test_closures_are_told_apart() -> None:
    def phi(scale: float) -> Callable[[TurnState], float]:
        return lambda state: scale * state.score

    names = [
        fingerprint(ToyEnv, (), {"reward_hooks": [Potential(phi=f)]})
        for f in (phi(0.5), phi(0.7), partial(_scaled, scale=0.5), partial(_scaled, scale=0.7))
    ]
    assert len(set(names)) == 4
    same_print = fingerprint(ToyEnv, (), {"reward_hooks": [Potential(phi=phi(0.5))]})
    assert same_print == names[0]


def _scaled(state: TurnState, scale: float) -> float:
    return scale * state.score


def test_another_class_or_task_set_is_refused() -> None:
    class Other(ToyEnv):
        pass

    env = ToyEnv()
    env.reset(options=FIRST)
    state = env.snapshot()
    other_env = Other()
    other_env.reset(options=FIRST)
    with pytest.raises(ConfigurationError, match="another class"):
        other_env.restore(state)
    twin = ToyEnv()
    twin.tasks = TaskList("toy", {"train": []})
    with pytest.raises(TaskNotFound):
        twin.restore(state)
    changed = Task(env.task.id, "train", 0, env.task.goal, {"buttons": ["red"]})
    twin.tasks = TaskList("toy", {"train": [changed]})
    with pytest.raises(ConfigurationError, match="other content"):
        twin.restore(state)


@pytest.mark.parametrize("state", [None, "x", (1, 2), {}])
def test_what_is_no_snapshot_is_refused(state: Any) -> None:
    env = ToyEnv()
    env.reset(seed=0)
    with pytest.raises(ConfigurationError, match="expected a snapshot"):
        env.restore(state)
    envs = TextVectorEnv([ToyEnv])
    envs.reset_slots([0])
    with pytest.raises(ConfigurationError, match="snapshot_slots"):
        envs.restore_slots([0], [state])


# -- a restore that fails ----------------------------------------------------------------------


@dataclass
class Count:
    """A hook with a memory."""

    name: str = "count"
    weight: float = 1.0
    turns: int = 0

    def __call__(self, context: TurnContext) -> float:
        self.turns += 1
        return float(self.turns)

    def reset(self) -> None:
        self.turns = 0


class Brittle(ToyEnv):
    """Its engine is half restored when it breaks."""

    def _restore(self, state: Any) -> None:
        super()._restore(state[0])
        if state[1] == "broken":
            raise EnvFailure("half way")

    def _snapshot(self) -> Any:
        return self._pressed, "whole"


def damaged(state: Any) -> list[Any]:
    episode = {name: value for name, value in state.episode.items() if name != "score"}
    return [
        replace(state, engine=(1, "broken")),
        replace(state, engine=None),
        replace(state, episode=episode),
        replace(state, hooks=None),
        replace(state, hooks=([], *state.hooks[1:])),
        replace(state, rng={"bit_generator": "PCG64"}),
        replace(state, rng=np.random.MT19937(0).state),
    ]


def test_a_failed_restore_leaves_the_environment_as_it_was() -> None:
    make = partial(Brittle, reward_hooks=[Count()])
    source = make()
    source.reset(seed=9)
    source.step("press gold")
    for state in damaged(source.snapshot()):
        env, twin = make(), make()
        for member in (env, twin):
            member.reset(seed=4)
            member.step("press red")
        with pytest.raises(Exception) as failed:
            env.restore(state)
        assert not isinstance(failed.value, AssertionError)
        assert play_on(env) == play_on(twin)


def test_a_restore_that_fails_before_any_episode_leaves_none_running() -> None:
    source = Brittle()
    source.reset(seed=9)
    env = Brittle()
    with pytest.raises(EnvFailure):
        env.restore(replace(source.snapshot(), engine=(1, "broken")))
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("press red")
    env.restore(source.snapshot())
    assert env.step("press red") == source.step("press red")


@pytest.mark.parametrize("backend", ["sync", "thread", "process"])
def test_forks_between_slots_of_different_configurations(backend: str) -> None:
    """The vector environment checks all snapshots before it touches a slot."""
    shaped = partial(ToyEnv, reward_hooks=[TurnCost(0.5)])
    envs = TextVectorEnv([ToyEnv, shaped, shaped, ToyEnv], backend=backend, workers=2)
    twins = TextVectorEnv([ToyEnv, shaped, shaped, ToyEnv])
    for member in (envs, twins):
        member.reset_slots(range(4), range(4))
        member.step_slots(range(4), ["press red"] * 4)
    forks = envs.snapshot_slots([1, 0])
    with pytest.raises(ConfigurationError, match="slot 2"):
        envs.restore_slots([3, 2], forks[::-1][:1] + forks[1:])
    actions = ["press blue"] * 4
    assert envs.step_slots(range(4), actions) == twins.step_slots(range(4), actions)
    envs.restore_slots([2, 3], forks)
    steps = envs.step_slots([2, 3], ["press gold"] * 2)
    assert [step[4]["turn"] for step in steps] == [2, 2]
    assert steps[0][4]["task_id"] == forks[0].info["task_id"]
    envs.close()


@pytest.mark.parametrize("backend", ["sync", "thread", "process"])
def test_a_slot_that_cannot_restore_stays_as_it_was(backend: str) -> None:
    envs = TextVectorEnv([Brittle] * 3, backend=backend, workers=2)
    twins = TextVectorEnv([Brittle] * 3)
    for member in (envs, twins):
        member.reset_slots(range(3), range(3))
        member.step_slots(range(3), ["press red"] * 3)
    (fork,) = envs.snapshot_slots([0])
    broken = replace(fork, state=replace(fork.state, engine=(1, "broken")))
    with pytest.raises(EnvFailure, match="half way"):
        envs.restore_slots([1, 2], [broken, fork])
    twins.restore_slots([2], twins.snapshot_slots([0]))
    actions = ["press blue"] * 3
    assert envs.step_slots(range(3), actions) == twins.step_slots(range(3), actions)
    envs.close()


@pytest.mark.parametrize("group_size, seed", [("a", 0), (0, 0), (True, 0), (1, "a"), (1, -1)])
def test_groups_that_make_no_sense(group_size: Any, seed: Any) -> None:
    envs = TextVectorEnv([ToyEnv] * 2)
    with pytest.raises(AgentGymError):
        envs.reset_groups([FIRST], group_size, seed)
