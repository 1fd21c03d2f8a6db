from __future__ import annotations

import pickle
from copy import deepcopy
from typing import Any

import gymnasium
import pytest

from agentgym.core import TextEnv
from agentgym.envs.alfworld.engine.session import Session
from agentgym.envs.alfworld.env import ALFWorldEnv
from agentgym.errors import ConfigurationError
from agentgym.outcome import total
from agentgym.rewards import Potential
from tests.envs.alfworld.data import games, write_pack
from tests.envs.alfworld.tiny import needs_alfworld


def make(**kwargs: Any) -> ALFWorldEnv:
    env = gymnasium.make("agentgym/ALFWorld-v0", **kwargs).unwrapped
    assert isinstance(env, ALFWorldEnv)
    return env


def follow(env: TextEnv) -> tuple[list[float], dict[str, Any]]:
    """Let the expert finish; return the rewards and the last info."""
    rewards: list[float] = []
    while True:
        action = env.oracle_action()
        assert action is not None
        _, reward, terminated, truncated, info = env.step(action)
        rewards.append(reward)
        if terminated or truncated:
            return rewards, info


def test_the_first_text_has_no_banner_and_ends_with_the_task() -> None:
    env = make()
    observation, info = env.reset(seed=0)
    assert observation.startswith("You are in the middle of a room.")
    assert observation.endswith(f"Your task is to: {info['goal']}")


def test_a_solved_task_pays_once_and_ends() -> None:
    env = make(reward_scale=10)
    _, info = env.reset(seed=1)
    rewards, last = follow(env)
    assert rewards == [0.0] * (len(rewards) - 1) + [10.0]
    assert len(rewards) == info["oracle_turns"] and last["oracle_turns"] == 0
    assert (last["success"], last["score"], last["stop_reason"]) == (True, 1.0, "success")


def test_dense_rewards_sum_to_the_whole_and_a_detour_costs_what_the_way_back_earns() -> None:
    env = make(reward="dense")
    _, info = env.reset(options={"split": "test", "index": 4})
    whole = info["oracle_turns"]
    first, there = env.oracle_action(), env.step
    assert first is not None and there(first)[1] == pytest.approx(1 / whole)
    away = next(a for a in env._admissible() if a.startswith("go to "))
    _, reward, *_, info = env.step(away)
    assert reward == pytest.approx((whole - 1 - info["oracle_turns"]) / whole) and reward <= 0
    rewards, last = follow(env)
    assert last["success"]
    assert total([1 / whole, reward, *rewards]) == pytest.approx(1.0, abs=1e-12)


def test_the_potential_is_the_share_of_the_plan_that_is_done() -> None:
    env = make(reward_hooks=[Potential()])
    env.reset(seed=3)
    assert env.potential() == 0.0
    rewards, last = follow(env)
    assert total(rewards) == pytest.approx(1.0) and last["score"] == 1.0


def test_commands_that_do_nothing_are_answered_as_in_the_original() -> None:
    env = make()
    env.reset(seed=0)
    for text in ("go to moon 1", "", "GO TO DESK 1", "dance\nlook", "\x00", "go to " + "x" * 5000):
        observation, reward, terminated, _, info = env.step(text)
        assert observation == "Nothing happens."
        assert (reward, terminated, info["action_valid"], info["success"]) == (
            0,
            False,
            False,
            False,
        )
    assert env.step(" look ")[-1]["action_valid"]


def test_admissible_actions_can_be_shown() -> None:
    env = make(show_admissible=True)
    observation, info = env.reset(seed=0)
    shown = f"Admissible actions: {', '.join(info['admissible_actions'])}"
    assert observation.endswith(shown)
    assert "Admissible actions: " in env.step("look")[0]


def test_tools_say_what_each_command_takes() -> None:
    env = make(grammar="tool_call")
    _, info = env.reset(seed=0)
    tools = {tool["function"]["name"]: tool["function"] for tool in info["tools"]}
    assert set(tools["take"]["parameters"]["properties"]) == {"object", "receptacle"}
    action = env.oracle_action()
    assert action is not None and '"name": "go"' in action
    assert env.step(action)[-1]["action_valid"]
    for written in info["admissible_actions"]:
        assert env.language.read(written)[2] == "", written


@pytest.mark.parametrize("expert", ["shortest", "searching"])
def test_a_fork_continues_like_the_original(expert: str) -> None:
    env = make(expert=expert)
    env.reset(options={"split": "test", "index": 5})
    for _ in range(3):
        env.step(env.oracle_action() or "look")
    copies = [make(expert=expert), deepcopy(env), pickle.loads(pickle.dumps(env))]
    copies[0].restore(pickle.loads(pickle.dumps(env.snapshot())))
    expected = follow(env)
    for copy in copies:
        assert follow(copy) == expected


def test_official_games_are_played_from_a_pack(tmp_path: Any) -> None:
    pack = write_pack(tmp_path / "valid_seen.json.gz", games())
    env = make(data_dir=str(pack), split="valid_seen")
    _, info = env.reset(seed=0)
    assert info["split"] == "valid_seen" and info["task_id"].startswith("alfworld/official/")
    assert follow(env)[1]["success"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"engine": "unity"}, "engine to be one of"),
        ({"reward": "huge"}, "reward to be one of"),
        ({"expert": "lucky"}, "expert to be one of"),
        ({"reward_scale": 0}, "reward_scale to be a finite number above 0"),
        ({"difficulty": "extreme"}, "difficulty: one of easy"),
        ({"receptacles": 1}, "receptacles to be a whole number from 3"),
        ({"order": "size"}, "order"),
        ({"human_goals": True}, "human_goals=False"),
    ],
)
def test_wrong_arguments_are_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make(**wrong)


class TestTheOriginalEngine:
    pytestmark = needs_alfworld

    def test_it_plays_the_same_game(self) -> None:
        native, original = make(difficulty="easy"), make(difficulty="easy", engine="alfworld")
        try:
            options = {"split": "test", "index": 0}
            assert original.reset(options=options) == native.reset(options=options)
            for action in ("look", "fly", native.oracle_action(), "inventory"):
                assert original.step(action or "") == native.step(action or "")
            fork = original.snapshot()
            first = [original.step("look"), original.step("help")]
            original.restore(fork)
            assert [original.step("look"), original.step("help")] == first
            native.step("look"), native.step("help")
            assert follow(original) == follow(native)
        finally:
            original.close()
            original.close()

    def test_a_second_one_runs_beside_the_first(self) -> None:
        envs = [make(difficulty="easy", engine="alfworld") for _ in range(2)]
        try:
            texts = [env.reset(options={"split": "test", "index": 0})[0] for env in envs]
            assert texts[0] == texts[1]
            assert envs[0].step("look") == envs[1].step("look")
        finally:
            for env in envs:
                env.close()


def test_sessions_share_what_never_changes() -> None:
    first, second = make(), make()
    first.reset(options={"split": "train", "index": 7})
    second.reset(options={"split": "train", "index": 7})
    session: Session = first.play.session
    assert session.household is second.play.session.household
