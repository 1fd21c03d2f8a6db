"""``agentgym validate``, on families and on an environment that has every fault."""

from __future__ import annotations

import sys

import pytest

from agentgym.registration import FAMILIES
from tests.cli.test_commands import run, wide
from tests.envs.swe.boxed import needs_box

__all__ = ["wide"]

OWN = '''
import gymnasium
from agentgym.actions import ActionSpec
from agentgym.core.env import TextEnv
from agentgym.errors import EnvFailure
from agentgym.core.outcome import Outcome
from agentgym.core.tasks import Task, TaskList

KINDS = ("good", "hopeless", "given", "broken")


class Env(TextEnv):
    """Say go; of four tasks only the first is as it should be."""

    action_specs = (
        ActionSpec("go", "Go.", native="go"),
        ActionSpec("give", "Give up.", terminal=True, native="give up"),
    )

    def __init__(self, kinds="all", **kwargs):
        chosen = KINDS if kinds == "all" else kinds.split("+")
        name = "own/{kind}" if len({*chosen}) == len(chosen) else "own/{kind}/{n}"
        tasks = [
            Task(name.format(kind=kind, n=n), "train", n, kind) for n, kind in enumerate(chosen)
        ]
        super().__init__(TaskList("own", {"train": tasks}), **{"horizon": 4, **kwargs})

    def _start(self, task, rng):
        if task.goal == "broken":
            raise EnvFailure("the engine is down")
        return task.goal

    def _admissible(self):
        return ["go", "stay"]

    def _act(self, action):
        won = {"good": action == "go", "given": True}.get(self.task.goal, False)
        return Outcome("", float(won), terminated=action == "give up" or won, success=won)

    def _oracle_action(self):
        return "go"


class NoExpert(Env):
    def _oracle_action(self):
        return None


class SomeExpert(Env):
    def _oracle_action(self):
        return None if self.task.goal == "hopeless" else "go"


for kind in (NoExpert, SomeExpert):
    gymnasium.registry.pop(f"own-validate/{kind.__name__}-v0", None)
    gymnasium.register(f"own-validate/{kind.__name__}-v0", entry_point=kind)
gymnasium.registry.pop("own-validate/Own-v0", None)
gymnasium.register("own-validate/Own-v0", entry_point="own_validate:Env")
'''


@pytest.fixture
def own_env(tmp_path, monkeypatch):
    (tmp_path / "own_validate.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_validate", raising=False)
    return "own_validate:own-validate/Own-v0"


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_each_fault_is_named_and_written_down(capsys, own_env, tmp_path, jobs):
    file = tmp_path / "failing.txt"
    code, out, err = run(capsys, "validate", own_env, "--failing", str(file), "--concurrency", jobs)
    assert (code, err) == (1, "")
    assert "own/hopeless: the expert's episode ended (turn limit)" in out
    assert "own/given: doing nothing solves it" in out
    assert "own/broken: the expert's episode ended (broken): " in out
    assert out.count("the engine is down") == 2 and "; doing nothing fails: " in out
    assert "4 tasks checked, 3 fail." in out
    assert sorted(file.read_text().split()) == ["own/broken", "own/given", "own/hopeless"]


def test_sound_tasks_pass(capsys, own_env, tmp_path):
    file = tmp_path / "failing.txt"
    argv = ("validate", own_env, "--env-kwargs", "kinds=good", "--failing", str(file))
    code, out, err = run(capsys, *argv)
    assert (code, err) == (0, "") and "1 tasks checked, 0 fail." in out
    assert "1.000 [0.207, 1.000]" in out, "one task says little about a blind policy"
    assert file.read_text() == ""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_without_an_expert_all_else_is_checked(capsys, own_env, jobs):
    name = own_env.replace("Own", "NoExpert")
    argv = ("validate", name, "--env-kwargs", "kinds=good+hopeless+given", "--concurrency", jobs)
    code, out, err = run(capsys, *argv)
    assert (code, err) == (1, "") and "own/given: doing nothing solves it" in out
    assert "own/good: " not in out and "own/hopeless: " not in out
    assert " 0.667 [" in out and "3 tasks checked, 1 fail." in out
    assert "NoExpert has no expert: nothing shows that the tasks of train can be solved" in out
    [row] = [line for line in out.splitlines() if "│" in line and "no expert" in line]
    assert [part.strip() for part in row.split("│")][2:5] == ["3", "no expert", "1"]


def test_an_expert_that_is_lost_in_one_task_fails_that_task(capsys, own_env):
    name = own_env.replace("Own", "SomeExpert")
    code, out, err = run(capsys, "validate", name, "--env-kwargs", "kinds=good+hopeless")
    assert (code, err) == (1, "") and "has no expert" not in out
    assert "own/hopeless: the expert's episode ended (agent stopped)" in out
    assert "2 tasks checked, 1 fail." in out


EASY = "+".join(["good"] * 12)


def test_tasks_that_a_blind_policy_solves_fail(capsys, own_env):
    argv = ("validate", own_env, "--env-kwargs", f"kinds={EASY}")
    code, out, err = run(capsys, *argv)
    assert (code, err) == (1, "") and "12 tasks checked, 0 fail." in out
    assert "blind-shortest 1.000 [0.758, 1.000]" in out
    assert (
        "split train: blind-shortest, which reads no word, solves 1.000 of 12 tasks, more "
        "than --blind-limit 0.25; "
    ) in out
    assert run(capsys, *argv, "--blind-limit", "0.8")[0] == 0
    code, out, _ = run(capsys, *argv, "--blind-tasks", "1")
    assert code == 0 and "which reads no word" not in out
    code, out, _ = run(capsys, *argv, "--blind-tasks", "0")
    assert code == 0 and "not played" in out


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(family.name, marks=needs_box if family.name == "swe" else ())
        for family in FAMILIES
    ],
)
def test_every_family_can_be_validated(capsys, name):
    blind = "0" if name == "swe" else "1"  # 50 turns of each policy in a sandbox
    code, out, err = run(capsys, "validate", name, "--num-tasks", "1", "--blind-tasks", blind)
    assert (code, err) == (0, "")
    assert " fail." in out and "train" in out


def test_splits_can_be_chosen(capsys):
    code, out, _ = run(
        capsys, "validate", "textworld", "--split", "valid", "test", "--num-tasks", "2"
    )
    assert code == 0 and "4 tasks checked" in out and "train" not in out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("textworld", "--num-tasks", "0"), "expected --num-tasks to be an integer of at least 1"),
        (
            ("textworld", "--concurrency", "0"),
            "expected --concurrency to be an integer of at least 1",
        ),
        (
            ("textworld", "--blind-tasks", "-1"),
            "expected --blind-tasks to be an integer of at least 0",
        ),
        (("textworld", "--blind-limit", "2"), "expected --blind-limit to be a share from 0 to 1"),
        (("textworld", "--split", "dev"), "dev"),
        (("nothing",), "nothing"),
        (("textworld", "--failing", "/no/such/folder/x"), "can be written"),
    ],
)
def test_bad_input_is_said_before_anything_is_played(capsys, arguments, problem):
    code, out, err = run(capsys, "validate", *arguments)
    assert code == 2 and problem in err and out == ""
