from __future__ import annotations

import json
import pickle
import subprocess
import sys
from copy import deepcopy
from typing import Any

import gymnasium
import pytest
from gymnasium.error import ResetNeeded

from agentgym.core.env import TextEnv
from agentgym.core.outcome import total
from agentgym.envs.alfworld.engine.session import HouseholdSession
from agentgym.envs.alfworld.env import ALFWorldEnv
from agentgym.envs.alfworld.generator import GeneratorConfig, generate, trial_folder
from agentgym.envs.alfworld.official.packs import Pack
from agentgym.envs.alfworld.original.session import OriginalSession
from agentgym.envs.alfworld.session import GameSession
from agentgym.errors import ConfigurationError, DataError, EnvFailure, TaskNotFound
from agentgym.rewards import Potential
from tests.envs.alfworld.data import games, pack_item, write_pack, write_trial
from tests.envs.alfworld.tiny import needs_alfworld


def make(**kwargs: Any) -> ALFWorldEnv:
    env = gymnasium.make("agentgym/ALFWorld-v0", **kwargs).unwrapped
    assert isinstance(env, ALFWorldEnv)
    return env


def follow(env: TextEnv) -> tuple[list[float], dict[str, Any]]:
    """Let the expert finish; return the rewards and the last info."""
    rewards: list[float] = []
    while True:
        action = env.demonstrator_action()
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
    plan_length = info["oracle_turns"]
    first, step = env.demonstrator_action(), env.step
    assert first is not None and step(first)[1] == pytest.approx(1 / plan_length)
    away = next(a for a in env._admissible() if a.startswith("go to "))
    _, reward, *_, info = env.step(away)
    assert (
        reward == pytest.approx((plan_length - 1 - info["oracle_turns"]) / plan_length)
        and reward <= 0
    )
    rewards, last = follow(env)
    assert last["success"]
    assert total([1 / plan_length, reward, *rewards]) == pytest.approx(1.0, abs=1e-12)


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


@pytest.mark.parametrize("grammar", ["native", "xml"])
def test_admissible_actions_are_shown_as_they_are_typed_in_an_order_that_tells_nothing(
    grammar: str,
) -> None:
    env = make(show_admissible=True, grammar=grammar)
    observation, info = env.reset(seed=0)
    for _ in range(4):
        listed = info["admissible_actions"]
        assert observation.endswith(f"\n\nAdmissible actions: {', '.join(listed)}")
        assert listed != sorted(listed)
        observation, *_, info = env.step(env.demonstrator_action() or "")


@pytest.mark.parametrize("reward", ["sparse", "dense"])
def test_rewards_of_a_solved_task_sum_to_their_scale_and_sparse_ones_come_at_the_end(
    reward: str,
) -> None:
    env = make(reward=reward, reward_scale=2.5, difficulty="easy")
    for index in range(12):
        env.reset(options={"split": "test", "index": index})
        rewards, last = follow(env)
        assert last["success"] and total(rewards) == pytest.approx(2.5)
        if reward == "sparse":
            assert set(rewards[:-1]) <= {0.0} and rewards[-1] == 2.5
        env.reset(options={"split": "test", "index": index})
        assert env.step("look")[1] == 0.0 == env.step("dance")[1]


def test_tools_say_what_each_command_takes() -> None:
    env = make(grammar="tool_call")
    _, info = env.reset(seed=0)
    tools = {tool["function"]["name"]: tool["function"] for tool in info["tools"]}
    assert set(tools["take"]["parameters"]["properties"]) == {"object", "receptacle"}
    action = env.demonstrator_action()
    assert action is not None and '"name": "go"' in action
    assert env.step(action)[-1]["action_valid"]
    for admissible in info["admissible_actions"]:
        assert env.language.read(admissible)[2] == "", admissible


@pytest.mark.parametrize("expert", ["oracle", "searching"])
def test_a_fork_continues_like_the_original(expert: str) -> None:
    env = make(expert=expert)
    env.reset(options={"split": "test", "index": 5})
    for _ in range(3):
        env.step(env.demonstrator_action() or "look")
    copies = [make(expert=expert), deepcopy(env), pickle.loads(pickle.dumps(env))]
    copies[0].restore(pickle.loads(pickle.dumps(env.snapshot())))
    expected = follow(env)
    for copy in copies:
        assert follow(copy) == expected


def test_official_games_are_played_from_a_pack(tmp_path: Any) -> None:
    pack = write_pack(tmp_path / "valid_seen.json.gz", games())
    env = make(data=str(pack), split="valid_seen")
    _, info = env.reset(seed=0)
    assert info["split"] == "valid_seen" and info["task_id"].startswith("alfworld/official/")
    assert follow(env)[1]["success"]


def test_nothing_in_info_names_the_official_game(tmp_path: Any) -> None:
    env = make(data=str(write_pack(tmp_path / "valid_seen.json.gz", games(12))))
    for index in range(12):
        _, info = env.reset(options={"split": "valid_seen", "index": index})
        content = env.task.content
        hidden = [content["task_type"], content["scene"], *content["official_name"].split("/")]
        for _ in range(3):
            text = json.dumps({**info, "goal": "", "tools": []}).lower()
            assert not [word for word in hidden if str(word).lower() in text]
            info = env.step(env.demonstrator_action() or "")[-1]


def test_the_first_split_there_is_is_played_where_there_is_no_train(tmp_path: Any) -> None:
    pack = write_pack(tmp_path / "valid_unseen.json.gz", games(3))
    for data in (pack, tmp_path):
        env = make(data=str(data))
        assert env.split == "valid_unseen" == env.reset(seed=0)[1]["split"]
    write_pack(tmp_path / "train.json.gz", games(4))
    assert make(data=str(tmp_path)).split == "train" == make().split
    assert make(data=str(tmp_path), split="test").split == "valid_unseen"
    with pytest.raises(TaskNotFound, match="valid_unseen"):
        make(data=str(pack), split="train")


def test_the_command_evaluates_a_pack_by_its_split(tmp_path: Any) -> None:
    pack = write_pack(tmp_path / "valid_seen.json.gz", games(4))
    command = [sys.executable, "-m", "agentgym", "eval", "alfworld", "--policy", "oracle"]
    command += ["--num-tasks", "4", "--split", "valid_seen", "--env-kwargs", f"data={pack}"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0 and "1.000" in process.stdout, process.stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (")", "", "unclosed"),
        ("(:goal", "(:goal (and) ", "one goal formula"),
        ("(inReceptacle ", "(inReceptacle agent1 ", "argument"),
        ("(inReceptacle ", "(inReceptacle nobody ", "declared objects"),
        ("(:goal (and", "(:goal (and (flies ?x)", "one of"),
    ],
)
def test_a_malformed_problem_is_told_when_the_environment_is_made(
    tmp_path: Any, old: str, new: str, message: str
) -> None:
    sound, broken = games(2)
    text = broken.problem.replace(old, new, 1)
    assert text != broken.problem
    pack, folder = tmp_path / "train.json", tmp_path / "folder" / "train"
    pack.write_text(json.dumps([pack_item(sound), {**pack_item(broken), "pddl_problem": text}]))
    write_trial(folder / trial_folder(sound), sound)
    wrong_trial = write_trial(folder / trial_folder(broken), broken, pddl_problem=text)
    for data, place in ((pack, f"item 1 of {pack}"), (folder, str(wrong_trial / "game.tw-pddl"))):
        with pytest.raises(DataError, match=message) as caught:
            make(data=str(data))
        assert f"in pddl_problem of {place}: expected" in str(caught.value)


def test_a_checked_pack_is_not_checked_again(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    pack = write_pack(tmp_path / "train.json.gz", games(3))
    make(data=str(pack))

    def forbidden(problem: str, where: str) -> None:
        raise AssertionError("checked twice")

    monkeypatch.setattr("agentgym.envs.alfworld.official.packs.check_playable", forbidden)
    assert len(Pack(pack).entries) == 3
    write_pack(pack, games(4))
    with pytest.raises(AssertionError, match="twice"):
        Pack(pack)


@pytest.mark.parametrize(
    ("bad_input", "message"),
    [
        ({"engine": "unity"}, "engine to be one of"),
        ({"reward": "huge"}, "reward to be one of"),
        ({"expert": "lucky"}, "expert to be one of"),
        ({"reward_scale": 0}, "reward_scale to be a finite number above 0"),
        ({"difficulty": "extreme"}, "difficulty among easy"),
        ({"receptacles": 1}, "receptacles to be a whole number from 3"),
        ({"order": "size"}, "order"),
        ({"human_goals": True}, "human_goals=False"),
        ({"human_goals": "no"}, "human_goals to be True or False"),
        ({"show_admissible": 1}, "show_admissible to be True or False"),
        ({"reward_scale": "1"}, "reward_scale to be a finite number"),
        ({"reward_scale": float("nan")}, "reward_scale to be a finite number"),
        ({"engine": ["native"]}, "engine to be one of"),
        ({"difficulty": None}, "expected generator settings"),
        ({"difficulty": 3}, "expected generator settings"),
        ({"task_types": 3}, "task_types to be a sequence"),
        ({"generator_seed": "a"}, "seed"),
        ({"data": 5}, "data= to be a path"),
        ({"hidden": "yes"}, "hidden to be True, False or None"),
    ],
)
def test_wrong_arguments_are_named(bad_input: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make(**bad_input)


def test_a_fork_of_another_engine_or_expert_is_refused_and_changes_nothing() -> None:
    active, game = GameSession(), games(1)[0]
    active.start(game)
    active.step("look")
    for session in (GameSession("alfworld"), GameSession(expert="searching")):
        with pytest.raises(ConfigurationError, match="engine='native' with expert='oracle'"):
            session.restore(game, active.snapshot())
    for bad_input in (None, (), active.native.state, active.snapshot()._asdict()):
        with pytest.raises(ConfigurationError, match="expected a snapshot"):
            active.restore(game, bad_input)  # type: ignore[arg-type]
    snapshot = active.snapshot()
    foreign = GameSession()
    foreign.start(games(2)[1])
    with pytest.raises(ConfigurationError, match="receptacles"):
        active.restore(generate(GeneratorConfig.of("hard"), "train", 0), foreign.snapshot())
    assert active.snapshot() == snapshot


class TestTheOriginalEngine:
    pytestmark = needs_alfworld

    def test_it_plays_the_same_game(self) -> None:
        native, original = make(difficulty="easy"), make(difficulty="easy", engine="alfworld")
        try:
            options = {"split": "test", "index": 0}
            assert original.reset(options=options) == native.reset(options=options)
            for action in ("look", "fly", native.demonstrator_action(), "inventory"):
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

    @pytest.mark.parametrize("fatal", [("help",), ("help", "look", "inventory")])
    def test_a_command_on_which_it_fails_is_a_wrong_one_unless_it_fails_on_all(
        self, fatal: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        step = OriginalSession.step

        def failing(self: OriginalSession, command: str) -> tuple[str, float, bool]:
            if command in fatal or (len(fatal) > 1 and self._commands):
                raise EnvFailure(f"the engine died of {command}")
            return step(self, command)

        env = make(difficulty="easy", engine="alfworld")
        try:
            env.reset(options={"split": "test", "index": 0})
            assert not env.step(env.demonstrator_action() or "")[2]
            monkeypatch.setattr(OriginalSession, "step", failing)
            if len(fatal) > 1:
                with pytest.raises(EnvFailure, match="died of help"):
                    env.step("help")
                return
            _, reward, terminated, _, info = env.step("help")
            assert (reward, terminated, info["success"]) == (0.0, True, False)
            assert info["stop_reason"] == "action_error"
        finally:
            env.close()

    def test_it_refuses_a_fork_of_the_native_engine(self) -> None:
        options = {"split": "test", "index": 0}
        native, original = make(difficulty="easy"), make(difficulty="easy", engine="alfworld")
        try:
            native.reset(options=options)
            native.step(native.demonstrator_action() or "")
            _, info = original.reset(options=options)
            with pytest.raises(ConfigurationError):
                original.restore(native.snapshot())
            assert original.step("help")[-1]["state_key"] == info["state_key"]
            with pytest.raises(ConfigurationError):
                native.restore(original.snapshot())
        finally:
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
    with pytest.raises(ResetNeeded, match=r"env\.reset"):
        first.session  # noqa: B018
    first.reset(options={"split": "train", "index": 7})
    second.reset(options={"split": "train", "index": 7})
    session: HouseholdSession = first.session.native
    assert session.household is second.session.native.household
