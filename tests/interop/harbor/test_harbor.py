"""``harbor:FOLDER``: other people's tasks, hostile ones among them."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym import evaluate
from agentgym.core.env import TextEnv
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.interop.harbor.folder import open_folder
from agentgym.interop.harbor.world import read_reward
from agentgym.registration.making import make
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.small import SUBMIT, bash

SUM = """\
if [ "$(cat /app/sum.txt 2>/dev/null)" = 55 ]; then echo 1; else echo 0; fi \\
    > /logs/verifier/reward.txt
"""
TOML = """\
schema_version = "1.4"
[metadata]
difficulty = "easy"
[environment]
network_mode = "no-network"
workdir = "/app"
"""


def write_task(folder: Path, test: str = SUM, toml: str = TOML, **files: str) -> Path:
    """Write a task: the sum of ten numbers."""
    texts = {
        "instruction.md": "Write the sum of /app/numbers.txt to /app/sum.txt.",
        "task.toml": toml,
        "environment/Dockerfile": "FROM python:3.12-slim\nWORKDIR /app\nCOPY numbers.txt .\n",
        "environment/numbers.txt": "".join(f"{n}\n" for n in range(1, 11)),
        "solution/solve.sh": "awk '{s+=$1} END {print s}' /app/numbers.txt > /app/sum.txt\n",
        "tests/test.sh": f"#!/bin/bash\n{test}",
        **files,
    }
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def opened(folder: Path, **options: object) -> TextEnv:
    env = make(f"harbor:{folder}", **options).unwrapped
    assert isinstance(env, TextEnv)
    return env


@needs_box
def test_its_own_tests_are_the_reward(tmp_path: Path) -> None:
    env = opened(write_task(tmp_path / "sum").parent)
    observation, info = env.reset(options={"split": "test", "index": 0})
    assert "Write the sum" in observation and info["task_id"] == "harbor/sum"
    assert env.step(bash("wc -l < numbers.txt; pwd"))[0] == "[exit 0]\n10\n/app"
    assert env.step(SUBMIT)[1:3] == (0.0, True)
    assert evaluate("oracle", env, split="test").success == 1
    assert evaluate("random", env, split="test", horizon=3).success == 0
    env.close()


@needs_box
def test_an_episode_is_forked(tmp_path: Path) -> None:
    env = opened(write_task(tmp_path / "sum"))
    env.reset(seed=0)
    env.step(bash("echo 55 > sum.txt"))
    state = pickle.loads(pickle.dumps(env.snapshot()))
    env.step(bash("rm sum.txt"))
    assert env.step(SUBMIT)[1] == 0
    env.restore(state)
    assert env.step(SUBMIT)[1] == 1
    env.close()


@needs_box
def test_the_expert_goes_on_after_other_commands(tmp_path: Path) -> None:
    env = opened(write_task(tmp_path / "sum"))
    _, info = env.reset(seed=0)
    assert info["oracle_turns"] == 3
    info = env.step(bash("echo wrong > sum.txt"))[4]
    while not info["stop_reason"]:
        *_, info = env.step(env.oracle_action() or "")
    assert info["success"]
    env.close()


def test_a_task_without_a_solution_has_no_expert(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "sum")
    (folder / "solution/solve.sh").unlink()
    env = opened(folder)
    _, info = env.reset(seed=0)
    assert env.oracle_action() is None and info["oracle_turns"] == -1
    env.close()


@needs_box
def test_tests_apart_see_artifacts_and_nothing_else(tmp_path: Path) -> None:
    toml = f'artifacts = [{{ source = "/app", exclude = ["left"] }}]\n{TOML}'
    toml += '[verifier]\nenvironment_mode = "separate"\n'
    test = "[ -e /tmp/trap ] || [ -e /app/left ] || [ -e /srv ] || " + SUM
    env = opened(write_task(tmp_path / "sum", test, toml))
    env.reset(seed=0)
    env.step(bash("echo 55 > sum.txt; touch left /tmp/trap; mkfifo pipe; ln -s /tests link"))
    assert env.step(SUBMIT)[1] == 1
    env.close()


@needs_box
def test_what_breaks_the_tests_is_not_paid(tmp_path: Path) -> None:
    env = opened(write_task(tmp_path / "sum", "cat /app/numbers.txt > /dev/null && " + SUM))
    env.reset(seed=0)
    env.step(bash("echo 55 > sum.txt; rm numbers.txt; mkdir -p /logs/verifier"))
    env.step(bash("echo 1 > /logs/verifier/reward.txt; echo 'echo 1' > /tests/test.sh"))
    _, reward, terminated, _, info = env.step(SUBMIT)
    assert (reward, terminated, info["success"]) == (0.0, True, False)
    assert "wrote no reward" in info["details"]["reason"]
    env.close()


@needs_box
@pytest.mark.parametrize(
    "test",
    [
        "true", "echo nan > /logs/verifier/reward.txt", "kill -9 -1", "exit 3",
        pytest.param("sleep 60", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_tests_that_say_nothing_break_the_episode(test: str, tmp_path: Path) -> None:
    toml = TOML + "[verifier]\ntimeout_sec = 1.0\n"
    env = opened(write_task(tmp_path / "sum", test, toml))
    env.reset(seed=0)
    with pytest.raises(EnvFailure, match="untouched"):
        env.step(SUBMIT)
    env.close()


@needs_box
def test_variables_of_this_machine_stay_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "s3cret")
    toml = TOML + '[environment.env]\nA = "${SECRET_KEY}"\nB = "${NONE:-b}"\n'
    env = opened(write_task(tmp_path / "sum", toml=toml))
    env.reset(seed=0)
    observation = env.step(bash("echo $A,$B; env"))[0]
    assert ",b\n" in observation and "s3cret" not in observation
    env.close()


@needs_box
def test_scripts_run_in_boxes_alone(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    evil = f"touch {mark}; curl -m 2 http://example.com && touch {mark}\n"
    env = opened(write_task(tmp_path / "sum", evil + SUM, **{"solution/solve.sh": evil}))
    _, info = env.reset(seed=0)
    while not info["stop_reason"]:
        *_, info = env.step(env.oracle_action() or "")
    assert not mark.exists()
    env.close()


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"task.toml": "no toml ["}, "TOML"),
        ({"task.toml": TOML + "[[steps]]\nname = 'a'\n"}, "several steps"),
        ({"task.toml": TOML + "gpus = 1\n"}, "GPUs"),
        ({"task.toml": TOML + 'os = "windows"\n'}, "Windows"),
        ({"task.toml": TOML + "memory_mb = -1\n"}, "memory_mb"),
        ({"task.toml": "environment = 3\n"}, "table"),
        ({"task.toml": f'artifacts = ["/a/../../b"]\n{TOML}'}, "absolute paths"),
        ({"instruction.md": "x" * (2 << 20)}, "instruction.md"),
        ({"environment/Dockerfile": "FROM x\nCOPY ../../secret /app/\n"}, "inside"),
    ],
)
def test_what_cannot_be_played_is_left_out(
    files: dict[str, str], reason: str, tmp_path: Path
) -> None:
    write_task(tmp_path / "good")
    write_task(tmp_path / "bad", **files)
    task_folder = open_folder(tmp_path)
    assert list(task_folder.tasks) == ["harbor/good"] and reason in task_folder.left_out["bad"]
    (note,) = task_folder.notes()
    assert note.startswith("1 of 2 tasks are left out, such as bad")
    with pytest.raises(ConfigurationError, match="expected tasks of Harbor"):
        make(f"harbor:{tmp_path / 'bad'}")


def test_links_lead_nowhere(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s")
    folder = write_task(tmp_path / "tasks" / "one")
    (folder / "instruction.md").unlink()
    (folder / "instruction.md").symlink_to(secret)
    os.symlink(tmp_path, tmp_path / "tasks" / "loop")
    with pytest.raises(ConfigurationError, match=r"instruction\.md"):
        open_folder(tmp_path / "tasks")


def test_a_changed_file_changes_the_panel(tmp_path: Path) -> None:
    def panel() -> str:
        env = opened(tmp_path)
        digest: str = env.tasks.panel("test", 1, 0).sha256
        env.close()
        return digest

    folder = write_task(tmp_path / "sum")
    panel_before = panel()
    assert panel() == panel_before
    (folder / "tests/test.sh").write_text("true")
    assert panel() != panel_before


def test_tasks_without_splits_are_dealt_where_that_is_asked_for(tmp_path: Path) -> None:
    for number in range(10):
        write_task(tmp_path / f"t{number}")
    env = opened(tmp_path)
    assert env.tasks.splits == ("test",)
    env.close()
    env = opened(tmp_path, deal=True)
    sizes = {split: env.tasks.len(split) for split in env.tasks.splits}
    assert sizes == {"train": 6, "valid": 2, "test": 2}
    env.close()


def test_a_task_that_needs_an_image_says_how_to_build_it(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "sum")
    (folder / "environment/Dockerfile").write_text("FROM python\nRUN pip install x\n")
    (task,) = open_folder(folder).tasks.values()
    assert task.image.startswith("agentgym-harbor/sum:") and task.recipe.obstacles
    env = opened(folder, sandbox="namespace")
    env.reset(seed=0)
    with pytest.raises(EnvFailure, match=f"docker build -t {task.image}"):
        env.step(bash("ls"))
    env.close()


@pytest.mark.parametrize(
    ("content", "as_json", "value"),
    [
        (b"1\n", False, 1.0),
        (b"0.25", False, 0.25),
        (b"nan", False, None),
        (b"", False, None),
        (b'{"reward": 0.5, "other": 1}', True, 0.5),
        (b'{"a": 0, "b": 1}', True, 0.5),
        (b'{"reward": "1"}', True, None),
        (b"1", True, 1.0),
        (b"[", True, None),
        (b"{}", True, None),
        (b'{"reward": 1e999}', True, None),
    ],
)
def test_rewards_are_read_as_harbor_reads_them(
    content: bytes, as_json: bool, value: float | None
) -> None:
    assert read_reward(content, as_json) == value


@given(st.binary(max_size=200), st.booleans())
def test_any_reward_is_a_finite_number_or_none(content: bytes, as_json: bool) -> None:
    reward = read_reward(content, as_json)
    assert reward is None or abs(reward) <= 1e15
