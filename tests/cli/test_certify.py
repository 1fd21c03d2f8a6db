"""``agentgym certify``, on families and on an environment that has every fault."""

from __future__ import annotations

import json
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
    gymnasium.registry.pop(f"own-certify/{kind.__name__}-v0", None)
    gymnasium.register(f"own-certify/{kind.__name__}-v0", entry_point=kind)
gymnasium.registry.pop("own-certify/Own-v0", None)
gymnasium.register("own-certify/Own-v0", entry_point="own_certify:Env")
'''


@pytest.fixture
def own_env(tmp_path, monkeypatch):
    (tmp_path / "own_certify.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_certify", raising=False)
    return "own_certify:own-certify/Own-v0"


TASKS = ("--checks", "expert", "idle")


def test_each_fault_is_named(capsys, own_env, tmp_path):
    code, out, err = run(capsys, "certify", own_env, *TASKS, "--out", str(tmp_path / "out"))
    assert (code, err) == (1, "")
    assert "own/hopeless: the expert's episode ended (turn limit)" in out
    assert "own/given: doing nothing solves it" in out
    assert "own/broken: the expert's episode ended (broken): " in out
    assert out.count("the engine is down") == 2 and "2 fail" in out
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert [len(result["evidence"]) for result in certificate["results"]] == [2, 2]


def test_sound_tasks_pass(capsys, own_env):
    argv = ("certify", own_env, "--env-kwargs", "kinds=good", "--checks", "expert", "blind")
    code, out, err = run(capsys, *argv)
    assert (code, err) == (0, "") and "solves 1 of 1 tasks" in out
    assert "1.000 [0.207, 1.000]" in out, "one task says little about a blind policy"


def test_without_an_expert_all_else_is_checked(capsys, own_env):
    name = own_env.replace("Own", "NoExpert")
    kinds = ("--env-kwargs", "kinds=good+hopeless+given")
    code, out, err = run(capsys, "certify", name, *kinds, *TASKS, "blind")
    assert (code, err) == (1, "") and "own/given: doing nothing solves it" in out
    assert "there is no expert, so nothing shows that the tasks can be solved" in out
    assert " 0.667 [" in out and "1 not applicable" in out


def test_an_expert_that_is_lost_in_one_task_fails_that_task(capsys, own_env):
    name = own_env.replace("Own", "SomeExpert")
    code, out, _ = run(capsys, "certify", name, "--env-kwargs", "kinds=good+hopeless", *TASKS)
    assert code == 1 and "own/hopeless: the expert's episode ended (agent stopped)" in out


EASY = "+".join(["good"] * 12)


def test_tasks_that_a_blind_policy_solves_fail(capsys, own_env):
    argv = ("certify", own_env, "--env-kwargs", f"kinds={EASY}", "--checks", "blind")
    code, out, _ = run(capsys, *argv)
    assert code == 1 and "blind-shortest 1.000 [0.758, 1.000], limit 0.25" in out
    assert run(capsys, *argv, "--blind-limit", "0.8")[0] == 0


SAMPLE = (
    "unique_ids", "disjoint_splits", "near_duplicates", "seed_control", "expert", "idle", "again",
    "other_order", "interleaved", "abandoned", "other_randomness", "replays", "rescores", "forks",
    "worthless_answers", "unbroken",
)  # fmt: skip
"""Checks that every family passes within seconds."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(family.name, marks=needs_box if family.name == "swe" else ())
        for family in FAMILIES
    ],
)
def test_a_sample_of_every_family_is_certified(capsys, name):
    code, out, err = run(capsys, "certify", name, "--num-tasks", "3", "--checks", *SAMPLE)
    assert (code, err) == (0, ""), out
    assert "0 fail" in out and "0 not run" in out


def test_json_is_the_certificate(capsys, own_env):
    argv = ("certify", own_env, "--env-kwargs", "kinds=good", *TASKS, "--json")
    code, out, _ = run(capsys, *argv)
    assert code == 0 and json.loads(out)["format"] == "agentgym.certificate/1"


def test_what_did_not_fit_names_the_flag(capsys, own_env):
    code, out, _ = run(capsys, "certify", own_env, "--seconds", "0.000001", *TASKS)
    assert code == 0 and "2 not run" in out and "raise --seconds" in out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("textworld", "--num-tasks", "0"), "expected --num-tasks to be an integer of at least 1"),
        (("textworld", "--blind-limit", "2"), "expected --blind-limit to be a share from 0 to 1"),
        (("textworld", "--checks", "htpp"), "did you mean"),
        (("textworld", "--split", "dev"), "dev"),
        (("nothing",), "nothing"),
    ],
)
def test_bad_input_is_said_before_anything_is_played(capsys, arguments, problem):
    code, out, err = run(capsys, "certify", *arguments)
    assert code == 2 and problem in err and out == ""
