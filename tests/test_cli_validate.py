"""``agentgym validate``, on families and on an environment that has every fault."""

from __future__ import annotations

import sys

import pytest

from agentgym.registration import FAMILIES
from tests.test_cli import run, wide

__all__ = ["wide"]

OWN = '''
import gymnasium
from agentgym.actions import ActionSpec
from agentgym.core import TextEnv
from agentgym.errors import EnvFailure
from agentgym.outcome import Outcome
from agentgym.tasks import Task, TaskList

KINDS = ("good", "hopeless", "given", "broken")


class Env(TextEnv):
    """Say go; of four tasks only the first is as it should be."""

    action_specs = (
        ActionSpec("go", "Go.", native="go"),
        ActionSpec("give", "Give up.", terminal=True, native="give up"),
    )

    def __init__(self, kinds="all", **kwargs):
        chosen = KINDS if kinds == "all" else kinds.split("+")
        tasks = [Task(f"own/{kind}", "train", n, kind) for n, kind in enumerate(chosen)]
        super().__init__(TaskList("own", {"train": tasks}), **{"max_turns": 4, **kwargs})

    def _start(self, task, rng):
        if task.goal == "broken":
            raise EnvFailure("the engine is down")
        return task.goal

    def _act(self, action):
        won = {"good": action == "go", "given": True}.get(self.task.goal, False)
        return Outcome("", float(won), terminated=action == "give up" or won, success=won)

    def _oracle_action(self):
        return "go"


gymnasium.registry.pop("own-validate/Own-v0", None)
gymnasium.register("own-validate/Own-v0", entry_point="own_validate:Env")
'''


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "own_validate.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_validate", raising=False)
    return "own_validate:own-validate/Own-v0"


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_each_fault_is_named_and_written_down(capsys, own, tmp_path, jobs):
    file = tmp_path / "failing.txt"
    code, out, err = run(capsys, "validate", own, "--failing", str(file), "--jobs", jobs)
    assert (code, err) == (1, "")
    assert "own/hopeless: the expert's episode ends by horizon" in out
    assert "own/given: doing nothing solves it" in out
    assert "own/broken: the expert's episode ends by error: " in out
    assert out.count("the engine is down") == 2 and "; doing nothing fails: " in out
    assert "4 tasks checked, 3 fail." in out
    assert sorted(file.read_text().split()) == ["own/broken", "own/given", "own/hopeless"]


def test_sound_tasks_pass(capsys, own, tmp_path):
    file = tmp_path / "failing.txt"
    argv = ("validate", own, "--set", "kinds=good", "--failing", str(file))
    code, out, err = run(capsys, *argv)
    assert (code, err) == (0, "") and "1 tasks checked, 0 fail." in out
    assert file.read_text() == ""


@pytest.mark.parametrize("name", [entry.name for entry in FAMILIES])
def test_every_family_can_be_validated(capsys, name):
    code, out, err = run(capsys, "validate", name, "--n", "1")
    assert (code, err) == (0, "")
    assert " fail." in out and "train" in out


def test_splits_can_be_chosen(capsys):
    code, out, _ = run(capsys, "validate", "textworld", "--split", "valid", "test", "--n", "2")
    assert code == 0 and "4 tasks checked" in out and "train" not in out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("textworld", "--n", "0"), "expected --n to be at least 1"),
        (("textworld", "--jobs", "0"), "expected --jobs to be at least 1"),
        (("textworld", "--split", "dev"), "dev"),
        (("nothing",), "nothing"),
        (("textworld", "--failing", "/no/such/folder/x"), "can be written"),
    ],
)
def test_bad_input_is_said_before_anything_is_played(capsys, arguments, problem):
    code, out, err = run(capsys, "validate", *arguments)
    assert code == 2 and problem in err and out == ""
