from __future__ import annotations

import copy
import gc
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import gymnasium
import psutil
import pytest

import agentgym
from agentgym.envs.swe import instance_boxes as opened
from agentgym.envs.swe.engine.observation import LAST_TURN
from agentgym.envs.swe.engine.session import DIED
from agentgym.envs.swe.env import SWEEnv
from agentgym.envs.swe.grading import Grader
from agentgym.envs.swe.instance_boxes import Boxes
from agentgym.envs.swe.runtime import SHOWN, runtime
from agentgym.envs.swe.tasks import TURNS
from agentgym.errors import ConfigurationError, EnvFailure, TaskNotFound
from agentgym.registration import family
from agentgym.rewards import Potential, ShapedReward, TurnCost
from agentgym.sandbox import ExecResult, Sandbox, SandboxLost, SandboxUnavailable
from agentgym.sandbox.namespace.box import NamespaceSandbox
from agentgym.sandbox.registry import AUTOMATIC, load_backend
from agentgym.support.caching import cache_folder
from agentgym.vector import TextVectorEnv
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.small import SUBMIT, SmallSet, bash, small_env
from tests.processes import alive
from tests.sandbox.test_safety import eventually

pytestmark = needs_box
REPAIR = bash("sed -i 's/a - b/a + b/' sums/plain.py")
FIRST = {"split": "train", "index": 0}
EDIT = "```edit\n{}\n<<<<<<< SEARCH\n{}\n=======\n{}\n>>>>>>> REPLACE\n```"


@pytest.fixture
def env() -> Iterator[SWEEnv]:
    swe_env = small_env()
    swe_env.reset(options=FIRST)
    yield swe_env
    swe_env.close()


@pytest.fixture
def grades(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The changes that were graded, one entry for each run of the tests."""
    graded: list[Any] = []
    real = Grader.grade_tests

    def noted(self: Grader, instance: Any, changes: Any) -> Any:
        graded.append(changes)
        return real(self, instance, changes)

    monkeypatch.setattr(Grader, "grade_tests", noted)
    return graded


def test_a_repair_is_submitted(env: SWEEnv) -> None:
    observation, reward, terminated, _, info = env.step(REPAIR)
    assert (observation, reward, terminated) == ("[exit 0]", 0.0, False)
    assert info["details"]["changed"] == ["sums/plain.py"] and "verdict" not in info["details"]
    observation, reward, terminated, _, info = env.step(SUBMIT)
    assert (reward, terminated, info["success"]) == (1.0, True, True)
    assert info["stop_reason"] == "success"
    assert info["details"]["fixed"] == list(env.session.instance.fail_to_pass)


def test_out_of_turns_is_not_graded(env: SWEEnv, grades: list[Any]) -> None:
    observation, _ = env.reset(options={**FIRST, "horizon": 2})
    assert LAST_TURN not in observation
    observation, *_ = env.step(REPAIR)
    assert observation.endswith(LAST_TURN)
    _, reward, terminated, truncated, info = env.step(bash("true"))
    assert (reward, terminated, truncated, info["success"]) == (0.0, False, True, False)
    assert grades == []


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (bash("echo hi; exit 3"), "[exit 3]\nhi"),
        (bash("echo out; echo err >&2"), "[exit 0]\nout\nerr"),
        (bash("cd sums && X=1"), "[exit 0]"),
        ("```bash timeout=1\nsleep 30\n```", "[killed after 1 s]"),
        ("```view start=4 end=5\nsums/plain.py\n```",
         "sums/plain.py, lines 4 to 5 of 13\n     4\tdef add(a, b):\n     5\t    return a - b"),
        ("```view\ntests\n```", "test_plain.py"),
        (EDIT.format("sums/new.py", "", "x = 1\n"), "[made sums/new.py]"),
        (EDIT.format("sums/plain.py", "a - b", "a + b"), "[edited sums/plain.py at line 5]"),
    ],
)  # fmt: skip
def test_what_actions_show(env: SWEEnv, action: str, expected: str) -> None:
    observation, _, _, _, info = env.step(action)
    assert observation == expected and info["action_valid"]


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("I am stuck.", "no action found"),
        (bash("ls") + bash("ls"), "2 actions found"),
        ("```view\nnothing.py\n```", "no file or folder nothing.py"),
        ("```view start=99\nsums/plain.py\n```", "13 lines, none of them"),
        (EDIT.format("sums/plain.py", "a ** b", "x"), "is not in sums/plain.py"),
        (EDIT.format("sums/plain.py", "return", "x"), "occurs 3 times in sums/plain.py"),
        (EDIT.format("sums/plain.py", "", "x"), "sums/plain.py exists"),
        (EDIT.format("nothing.py", "a", "x"), "there is no file nothing.py"),
        (EDIT.format("/usr/x", "", "x"), "/usr/x cannot be written"),
        (EDIT.format("README.md/x", "", "x"), "cannot be written"),
    ],
)
def test_what_cannot_be_done_changes_nothing(env: SWEEnv, action: str, reason: str) -> None:
    old_key = env.step(bash("true"))[4]["state_key"]
    observation, _, _, _, info = env.step(action)
    assert reason in observation and not info["action_valid"]
    assert info["state_key"] == old_key and info["turn"] == 2


def test_output_is_clipped_at_both_ends() -> None:
    env = small_env(max_observation_chars=200)
    env.reset(options=FIRST)
    observation = env.step(bash("seq 1 100000"))[0]
    assert observation.startswith("[exit 0]\n1\n2\n") and observation.endswith("100000")
    assert "characters left out" in observation and len(observation) < 300
    env.close()


def test_commands_start_anew_and_leave_nothing_running(env: SWEEnv) -> None:
    env.step(bash("sleep 300 & echo started"))
    observation = env.step(bash("grep -l sleep /proc/[0-9]*/comm; pwd; echo $X"))[0]
    assert observation == "[exit 0]\n/testbed"


def test_the_state_is_that_of_the_source(env: SWEEnv) -> None:
    first = env.step(REPAIR)[4]["state_key"]
    second = env.step(bash("git stash -q 2>&1; git checkout -q . ; true"))[4]["state_key"]
    third = env.step(REPAIR)[4]["state_key"]
    assert first == third != second


def test_dense_rewards_telescope_and_run_tests_only_after_changes(grades: list[Any]) -> None:
    env = small_env(reward="dense")
    env.reset(options=FIRST)
    rewards = []
    for command in (
        "ls",
        "sed -i 's/return a - b/return a + b if a == 2 and b == 3 else 0/' sums/plain.py",
        "cat sums/plain.py",
        "sed -i 's/a \\* b/a/' sums/plain.py",
        "git checkout sums/plain.py",
        "touch sums/plain.py README.md",
        "echo > notes.txt; echo '#' >> tests/test_plain.py",
        "sed -i 's/a - b/a + b/' sums/plain.py",
    ):
        rewards.append(env.step(bash(command))[1])
    assert rewards == [0.0, 0.5, 0.0, -0.5, 0.0, 0.0, 0.0, 1.0]
    _, reward, _, _, info = env.step(SUBMIT)
    assert reward == 0.0 and info["success"] and sum(rewards) == 1.0
    assert len(grades) == 3
    env.close()


def test_doing_nothing_earns_nothing_and_costs_no_run(grades: list[Any]) -> None:
    for reward in ("sparse", "dense"):
        env = small_env(reward=reward)
        env.reset(options=FIRST)
        _, earned, terminated, _, info = env.step(SUBMIT)
        assert (earned, terminated, info["score"]) == (0.0, True, 0.0)
        assert info["stop_reason"] == "failure"
        env.close()
    assert grades == []


def test_hooks_run_tests_only_if_they_read_the_potential(grades: list[Any]) -> None:
    env = small_env(reward_hooks=[TurnCost()])
    env.reset(options=FIRST)
    assert env.step(REPAIR)[4]["reward_terms"] == {"task": 0.0, "turn_cost": -0.01}
    env.close()
    assert grades == []
    env = small_env(reward_hooks=[Potential()])
    env.reset(options=FIRST)
    assert env.step(REPAIR)[4]["reward_terms"] == {"task": 0.0, "potential": 1.0}
    env.close()
    assert len(grades) == 1


def test_copies_and_snapshots_open_their_box_again(env: SWEEnv) -> None:
    env.step(bash("echo a > notes.txt; echo b > /tmp/x; chmod +x notes.txt"))
    env.step(REPAIR)
    look = bash("cat notes.txt /tmp/x; git diff --stat | cat; test -x notes.txt && echo x")
    copies: list[Callable[[], SWEEnv]] = [
        lambda: pickle.loads(pickle.dumps(env)),
        lambda: copy.deepcopy(env),
    ]
    twins = [make() for make in copies]
    other_small_env = small_env()
    other_small_env.restore(pickle.loads(pickle.dumps(env.snapshot())))
    expected = [env.step(look), env.step(SUBMIT)]
    assert "a\nb\n" in expected[0][0] and expected[1][4]["success"]
    for twin in (*twins, other_small_env):
        assert [twin.step(look), twin.step(SUBMIT)] == expected
        twin.close()


def test_a_fork_goes_its_own_way(env: SWEEnv) -> None:
    fork = env.snapshot()
    env.step(REPAIR)
    repaired = env.snapshot()
    env.restore(fork)
    assert not env.step(SUBMIT)[4]["success"]
    env.restore(repaired)
    assert env.step(SUBMIT)[4]["success"]


def boxes() -> set[int]:
    """Return the processes below this one that are process 1 of a box."""
    pids = set()
    for child in psutil.Process().children(recursive=True):
        with suppress(OSError):
            if f"NSpid:\t{child.pid}\t1\n" in Path(f"/proc/{child.pid}/status").read_text():
                pids.add(child.pid)
    return pids


def test_boxes_end_with_their_episode() -> None:
    boxes_before = boxes()
    env = small_env(sandbox="namespace")
    for _ in range(3):
        env.reset(options=FIRST)
        env.step(bash("true"))
    assert len(boxes() - boxes_before) == 1
    env.close()
    env.close()
    assert not boxes() - boxes_before
    env.reset(options=FIRST)
    env.step(bash("true"))
    del env
    gc.collect()
    assert not boxes() - boxes_before


def death(monkeypatch: pytest.MonkeyPatch, words: str = "lethal") -> None:
    """Let boxes of namespaces die of commands with a word in them, as of a fault of the kernel."""
    real = NamespaceSandbox.exec

    def run(box: NamespaceSandbox, command: str, **options: Any) -> ExecResult:
        if words in command:
            assert box._process is not None
            os.kill(box._process.pid, signal.SIGKILL)
            assert box._process.wait(10)
        return real(box, command, **options)

    monkeypatch.setattr(NamespaceSandbox, "exec", run)


@pytest.mark.parametrize("reward", ["sparse", "dense"])
def test_a_command_of_which_the_box_dies_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, reward: str
) -> None:
    death(monkeypatch)
    env = small_env(sandbox="namespace", reward=reward)
    env.reset(options=FIRST)
    env.step(bash("echo x >> sums/new.py"))
    observation, value, terminated, truncated, info = env.step(bash("echo lethal"))
    assert (observation, value, terminated, truncated) == (DIED, 0.0, True, False)
    assert (info["success"], info["stop_reason"], info["score"]) == (False, "sandbox", 0.0)
    pickle.loads(pickle.dumps(env)).close()
    env.reset(options=FIRST)
    assert env.step(bash("echo on"))[0] == "[exit 0]\non"
    env.close()


def test_such_an_episode_counts_in_the_average(monkeypatch: pytest.MonkeyPatch) -> None:
    death(monkeypatch)
    env = small_env(sandbox="namespace")
    actions = iter([REPAIR, SUBMIT, bash("echo lethal")])  # the first task is solved

    def play(observation: str, info: Any) -> str:
        return next(actions)

    report = agentgym.evaluate(play, env, split="train", num_tasks=2)
    assert [row.stop_reason for row in report.rows] == ["success", "sandbox"]
    assert report.success == 0.5 and report.errors == 0
    env.close()


def test_source_of_which_the_graders_box_dies_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    death(monkeypatch, "pytest.main")
    env = small_env(sandbox="namespace")
    env.reset(options=FIRST)
    env.step(REPAIR)
    _, value, terminated, _, info = env.step(SUBMIT)
    assert (value, terminated, info["stop_reason"]) == (0.0, True, "failure")
    assert info["details"]["verdict"] == "NO" and "died" in info["details"]["grading"]
    env.close()


def test_a_box_that_is_lost_costs_its_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    env = small_env(sandbox="namespace")
    env.reset(options=FIRST)
    env.step(bash("true"))
    monkeypatch.setattr(NamespaceSandbox, "_fails", lambda box: True)
    monkeypatch.setattr("agentgym.sandbox.channel.Channel._message", closed)
    with pytest.raises(SandboxLost):
        env.step(bash("true"))
    with pytest.raises(SandboxUnavailable):  # nor can the next be opened
        env.reset(options=FIRST)
        env.step(bash("true"))
    env.close()


def closed(channel: object) -> None:
    """Find the other end of a channel closed."""
    raise EOFError


def test_a_box_that_cannot_be_opened_costs_its_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    envs = TextVectorEnv([small_env] * 2, backend="thread")
    envs.reset(seed=[1, 2])
    real, count = Boxes.open, iter(range(100))

    def sometimes(self: Boxes, *args: Any, **kwargs: Any) -> Sandbox:
        if next(count) == 0:
            raise EnvFailure("expected a box, got none")
        return real(self, *args, **kwargs)

    monkeypatch.setattr(opened.Boxes, "open", sometimes)
    infos = envs.step([bash("true")] * 2)[4]
    assert sorted(infos["stop_reason"]) == ["", "error"]
    envs.close()


@pytest.mark.slow
def test_sixteen_members() -> None:
    envs = TextVectorEnv([small_env] * 16, backend="thread")
    envs.reset(seed=list(range(16)), options=FIRST)
    first = envs.step([bash(f"echo {n} > mine.txt") for n in range(16)])[0]
    assert list(first) == ["[exit 0]"] * 16
    observations = envs.step([bash("cat mine.txt")] * 16)[0]
    assert [text.split("\n")[1] for text in observations] == [str(n) for n in range(16)]
    envs.step([REPAIR] * 16)
    rewards = envs.step([SUBMIT] * 16)[1]
    assert rewards.tolist() == [1.0] * 16
    envs.close()


def test_the_family_is_played_in_threads() -> None:
    assert family("swe").backend == "thread"
    envs = gymnasium.make_vec("agentgym/SWE-v0", num_envs=1)
    assert envs.unwrapped.backend == "thread"  # type: ignore[attr-defined]
    envs.close()


def test_nothing_of_agentgym_can_be_read_inside(env: SWEEnv) -> None:
    package = Path(agentgym.__file__).parent
    cache = runtime().folder.parents[2]
    for command in (
        f"ls {package}/envs/swe",
        "python -c 'import agentgym'",
        "python -c 'import pip'",
        "find / -name 'bundled.d' -not -path '/proc/*' 2>/dev/null | grep .",
        # But for the folder of the cache itself, of which a box sees the copy of pytest, twice.
        f"find / -path /proc -prune -o -name 'agentgym*' -print | grep -vxF -e {cache} -e {SHOWN}",
        "grep -rl 'a + b' /testbed/.git",
    ):
        observation = env.step(bash(command))[0]
        assert not observation.startswith("[exit 0]"), observation


def test_pytest_runs_as_anybody_calls_it(env: SWEEnv) -> None:
    for command in ("pytest -v", "python -m pytest -vv"):
        text = env.step(bash(command))[0]
        assert text.startswith("[exit 1]") and "pluggy-" in text and "2 failed" in text


def test_the_cache_is_not_shown(env: SWEEnv) -> None:
    text = env.step(bash("echo 'def (' > sums/plain.py; pytest; command -v pytest"))[0]
    assert "/opt/agentgym/site/_pytest/python.py:" in text and "/opt/agentgym/bin/pytest" in text
    assert str(cache_folder()) not in text


def test_there_is_one_commit_and_it_holds_the_fault(env: SWEEnv) -> None:
    command = "git log --all --oneline | wc -l; git status --short; git stash list"
    observation = env.step(bash(command))
    assert observation[0] == "[exit 0]\n1"
    observation = env.step(bash("git show HEAD:sums/plain.py | grep 'a - b'"))
    assert observation[0] == "[exit 0]\n    return a - b"


def test_turns_are_those_of_the_set() -> None:
    assert small_env().default_horizon == TURNS["stored"] == 15
    assert small_env(horizon=3).default_horizon == 3
    assert SWEEnv().default_horizon == TURNS["bundled"] == 20
    assert SWEEnv(data="bundled-tokens").default_horizon == TURNS["bundled-tokens"] == 12


def test_instances_are_found_by_their_name(env: SWEEnv) -> None:
    name = SmallSet().instance("valid", 0).id
    assert env.reset(options={"instance_id": name})[1]["task_id"] == "swe/own/valid/0"
    with pytest.raises(TaskNotFound):
        env.reset(options={"instance_id": "nobody"})
    with pytest.raises(ConfigurationError, match="instance_id alone"):
        env.reset(options={"instance_id": name, "split": "valid"})


@pytest.mark.parametrize(
    "kwargs",
    [
        {"data": 3},
        {"sandbox": "cloud"},
        {"reward": "some"},
        {"command_timeout": 0},
        {"max_observation_chars": 10},
        {"grading_timeout": "long"},
        {"allow_unsafe": "yes"},
        {"expert": "nobody"},
        {"pull": "sometimes"},
        {"image_mirror": 3},
        {"sorce": "bundled"},
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(kwargs: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="expected"):
        SWEEnv(**{"data": SmallSet(), **kwargs})


def test_without_isolation_only_if_one_says_so() -> None:
    with pytest.raises(ConfigurationError, match="allow_unsafe=True"):
        small_env(sandbox="subprocess")


def test_a_wrapper_with_hooks_sees_the_potential_of_dense() -> None:
    env = ShapedReward(small_env(reward="dense"), [Potential()])
    env.reset(options=FIRST)
    assert env.step(REPAIR)[4]["reward_terms"] == {"task": 1.0, "potential": 1.0}
    env.close()


@pytest.mark.slow
def test_no_command_is_carried_out_again_when_a_worker_dies() -> None:
    pids_before = {child.pid for child in psutil.Process().children()}
    envs = TextVectorEnv([small_env] * 2, backend="process", workers=1)
    envs.reset(seed=[0, 1])
    (worker,) = (child for child in psutil.Process().children() if child.pid not in pids_before)
    envs.step([bash("echo x >> log")] * 2)
    boxes = worker.children(recursive=True)
    worker.kill()
    observations, _, _, _, infos = envs.step([bash("cat log")] * 2)
    for observation, reason in zip(observations, infos["stop_reason"], strict=True):
        # Behind a checkpoint the files are brought back; else the episode is lost.
        assert observation == "[exit 0]\nx" if reason == "" else reason == "error"
    assert eventually(lambda: not any(alive(box.pid) for box in boxes))
    envs.reset(seed=[0, 1])
    assert list(envs.step([bash("ls log")] * 2)[4]["stop_reason"]) == ["", ""]
    envs.close()


def test_an_episode_does_not_begin_where_no_box_can_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in AUTOMATIC:
        monkeypatch.setattr(load_backend(name), "probe", classmethod(lambda _: "no such kernel"))
    with pytest.raises(SandboxUnavailable, match="no such kernel"):
        small_env().reset(options=FIRST)
    with pytest.raises(SandboxUnavailable, match="no such kernel"):
        small_env(sandbox="docker").reset(options=FIRST)
