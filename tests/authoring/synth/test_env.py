"""The bundled specifications as environments: experts, chance, forks, secrets, and the command."""

from __future__ import annotations

import os
import pickle
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentgym.authoring.synth.making import names
from agentgym.cli import main
from agentgym.core.env import TextEnv
from agentgym.episodes import Recorder, read_episodes, replay
from agentgym.registration.making import make, make_env, resolve
from tests.authoring.synth.test_specification import LAMPS, write_file
from tests.contract.playing import finish

BUNDLED = ("accounts", "lab", "warehouse")
ROOT = Path(__file__).resolve().parents[3]


def opened(name: str, **kwargs: Any) -> TextEnv:
    return make_env(resolve(f"synth:{name}")[1], kwargs, "--env-kwargs")


class Drawing:
    def __init__(self) -> None:
        self._rng = random.Random(0)

    def act(self, observation: str, info: dict[str, Any]) -> str:
        return self._rng.choice(info["admissible_actions"])


@pytest.mark.parametrize(
    "name", ["accounts", pytest.param("lab", marks=pytest.mark.slow), "warehouse"]
)
def test_the_expert_solves_what_chance_seldom_does(name: str) -> None:
    env = opened(name)
    solved, lucky, lengths = 0, 0, set()
    for index in range(30):
        options = {"split": "test", "index": index}
        observation, info = env.reset(seed=index, options=options)
        lengths.add(env.tasks.oracle_turns(env.task))
        solved += finish(env, env.oracle(), observation, info)["success"]
        observation, info = env.reset(seed=index, options=options)
        lucky += finish(env, Drawing(), observation, info)["success"]
    assert solved == 30 and lucky <= 7 and len(lengths) >= 4
    assert names() == sorted(BUNDLED)


def test_luck_is_of_the_seed_and_of_the_fork() -> None:
    env = opened("lab", reward="dense", horizon=80)
    ends = set()
    for seed in range(12):
        env.reset(seed=seed, options={"split": "train", "index": 4})
        snapshot = pickle.loads(pickle.dumps(env.snapshot()))
        plays = []
        for _ in range(2):
            env.restore(snapshot)
            play = []
            while not play or not play[-1][4]["stop_reason"]:
                play.append(env.step(str(env.oracle_action())))
            plays.append([(turn[0], turn[1], turn[4]["state_key"]) for turn in play])
            assert sum(turn[1] for turn in play) == pytest.approx(1.0)
        assert plays[0] == plays[1]
        ends.add(len(plays[0]))
    assert len(ends) >= 2


def test_offered_actions_reveal_nothing_hidden() -> None:
    env = opened("accounts")
    offers: dict[str, set[tuple[str, ...]]] = {}
    refused = 0
    for index in range(30):
        observation, info = env.reset(seed=0, options={"split": "train", "index": index})
        assert "needs a" not in observation
        facts = [fact for fact in env.task.content["begin"] if not fact.startswith("needs")]
        key = str([env.task.content["entities"], facts])
        offers.setdefault(key, set()).add(tuple(sorted(info["admissible_actions"])))
        grants = [action for action in info["admissible_actions"] if action.startswith("open ")]
        old_key = info["state_key"]
        for grant in grants[:1]:
            observation, _, _, _, info = env.step(grant)
            refusal = observation == "That account has not the role that the folder needs."
            refused += refusal
            assert info["action_valid"] and (info["state_key"] == old_key) == refusal
    assert all(len(actions) == 1 for actions in offers.values()) and refused > 5


def test_a_record_replays_with_its_luck(tmp_path: Path) -> None:
    recorder = Recorder(make("synth:lab"), tmp_path / "episodes.jsonl")
    _, info = recorder.reset(seed=4, options={"split": "test", "index": 2})
    while not info["stop_reason"]:
        info = recorder.step(str(recorder.unwrapped.oracle_action()))[4]  # type: ignore[attr-defined]
    recorder.close()
    (episode,) = read_episodes(tmp_path / "episodes.jsonl")
    assert episode.env_id == "synth/lab-v0" and replay(episode).equal


@pytest.mark.slow
def test_tasks_are_the_same_in_a_process_that_hashes_in_another_order() -> None:
    code = (
        "import agentgym\n"
        f"for name in {BUNDLED}:\n"
        "    env = agentgym.make(f'synth:{name}').unwrapped\n"
        "    print(env.tasks.panel('test', 5, seed=1).sha256, env.configuration)\n"
    )
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    lines = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True, text=True, check=True, cwd=ROOT,
    ).stdout.splitlines()  # fmt: skip
    for name, line in zip(BUNDLED, lines, strict=True):
        env = opened(name)
        assert line == f"{env.tasks.panel('test', 5, seed=1).sha256} {env.configuration}"


def test_turns_choose_a_level_and_tasks_know_their_set() -> None:
    env = opened("warehouse", turns=[4, 4])
    assert {env.tasks.oracle_turns(env.tasks.task("test", n)) for n in range(8)} == {4}
    assert env.tasks.task("test", 0).id == "synth/warehouse-4to4/test/0"
    assert opened("warehouse", sizes={"test": 7}).tasks.len("test") == 7
    for bad_input in ({"turns": 99}, {"sizes": {"dev": 3}}, {"sizes": {"test": 0}}):
        with pytest.raises(ValueError, match=f"expected .*{next(iter(bad_input))}"):
            opened("warehouse", **bad_input)


def test_the_command_checks_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_file(tmp_path, LAMPS)
    assert main(["synth", str(file), "--num-tasks", "5"]) == 0
    output = capsys.readouterr().out
    assert "2 tools without chance, 2 facts, 1 goals" in output
    commands = re.findall(rf"^(agentgym\S*.*) synth:{re.escape(str(file))}$", output, re.MULTILINE)
    assert commands == ["agentgym play", "agentgym certify", "agentgym train"]
    checks = ["--checks", "expert", "idle"]
    assert main(["certify", f"synth:{file}", "--split", "test", "--num-tasks", "5", *checks]) == 0
    file.write_text("name: 3")
    assert main(["synth", str(file)]) == 2
    assert "expected name of" in capsys.readouterr().err
