"""Families of the house are trained through the door of the command."""

from __future__ import annotations

import json

import pytest

from agentgym.envs.search.experts import EXPERTS
from tests.envs.swe.boxed import needs_box
from tests.trainers import tiny_policy, toy_runs
from trainers.algorithms.sampling import UniformSampler
from trainers.cli import main, parse_config
from trainers.config.resolve import resolve
from trainers.config.resolved_env import TRAIN
from trainers.config.sections import TinyConfig
from trainers.models.tiny import build_model

SMALL = {
    **toy_runs.SETTINGS,
    "steps": 1,
    "horizon-every": 1,
    "sft.demonstrations": 24,
    "sft.max-steps": 4,
    "sft.eval-every": 4,
    "sft.eval-tasks": 4,
    "rl.groups": 2,
    "rl.num-generations": 2,
    "memory.micro-tokens": 2000,
    "eval.num-tasks": 6,
    "eval.every": 0,
}
"""One step of everything."""
HOOKS = ("gold_evidence=0.3", "retrieval_hit", "format", "search_cost", "no_search_penalty",
         "progressive")  # fmt: skip

CHAINS = ("difficulty=easy", "topk=1", "size=400")
"""Questions of one to five hops."""


@pytest.mark.slow
def test_search_is_trained_on_questions_that_fit_its_stages(tmp_path, capsys):
    out = tmp_path / "run"
    small = {**SMALL, "env": "search", "horizon": "3,4,6", "rl.turn-tokens": 8, "out": out}
    flags = [f"--{name}={value}" for name, value in small.items()]
    flags += ["--fit-horizon", "--env-kwargs", *CHAINS, "--reward-hooks", *HOOKS]
    assert main(flags) == 0, capsys.readouterr().err
    summary = json.loads((out / "summary.json").read_text())
    assert summary["env"] == "search:local + difficulty=easy size=400"
    assert summary["horizon"] == {"rounds": [3, 4, 6], "every": 1, "fit": True}
    assert summary["eval"]["oracle"]["success"] == 1.0
    demonstrated = [json.loads(line) for line in (out / "episodes.jsonl").open()]
    assert demonstrated and all(len(episode["turns"]) <= 3 for episode in demonstrated)
    paid = {name for episode in demonstrated for turn in episode["turns"]
            for name in turn["reward_terms"]}  # fmt: skip
    assert {hook.partition("=")[0] for hook in HOOKS} <= paid


@pytest.mark.slow
def test_mathpython_is_trained_without_a_process_of_its_own(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("agentgym.authoring.tools.python_tool.open_sandbox", None)
    out = tmp_path / "run"
    small = {**SMALL, "env": "mathpython", "rl.turn-tokens": 24, "out": out}
    assert main([f"--{name}={value}" for name, value in small.items()]) == 0, (
        capsys.readouterr().err
    )
    summary = json.loads((out / "summary.json").read_text())
    assert summary["env"] == "mathpython:easy"
    assert summary["eval"]["oracle"]["success"] == 1.0
    # The demonstrator calculates, then answers, and is not always right.
    assert summary["eval"]["demonstrator"]["turns_mean"] == 2.0


@pytest.mark.parametrize("expert", sorted(EXPERTS))
def test_stages_of_search_draw_questions_by_their_hops(expert):
    run = resolve(parse_config(["--env=search", "--env-kwargs", *CHAINS, f"expert={expert}"]))
    tasks, env = run.envs[0].make_training_tasks(0, UniformSampler), run.envs[0].make_env()
    hops = {
        horizon: {env.tasks.problem(env.tasks.find(draw["task_id"])).hops for draw in drawn}
        for horizon, drawn in ((rounds, tasks(1, 60, rounds)) for rounds in run.envs[0].rounds)
    }
    assert {horizon: max(counts) for horizon, counts in hops.items()} == {3: 2, 4: 3, 6: 5}
    assert env.tasks.oracle_turns(env.tasks.task(TRAIN, 0)) <= 6


@pytest.mark.slow
@needs_box
def test_swe_runs_its_whole_path_in_sandboxes(tmp_path, capsys):
    """Demonstrations, warm start, rollouts, steps, evaluation: not that a tiny model learns it."""
    out = tmp_path / "run"
    small = {**SMALL, "env": "swe", "horizon": "5,6", "sft.demonstrations": 6, "sft.eval-tasks": 2,
             "sft.max-steps": 2, "sft.eval-every": 2, "eval.num-tasks": 2, "rl.turn-tokens": 24,
             "eval.valid-tasks": 2, "tiny.context": 1024, "steps": 2, "out": out}  # fmt: skip
    flags = [f"--{name}={value}" for name, value in small.items()]
    assert main(flags) == 0, capsys.readouterr().err
    summary = json.loads((out / "summary.json").read_text())
    assert summary["env"] == "swe:brief" and summary["horizon"]["rounds"] == [5, 6]
    assert summary["eval"]["oracle"]["success"] == 1.0
    rolled = [json.loads(line) for line in (out / "episodes.jsonl").open()]
    assert rolled and all(episode["env_id"] == "agentgym/SWE-v0" for episode in rolled)


@pytest.mark.slow
@needs_box
def test_a_model_of_ones_own_trains_on_swe_by_one_command(tmp_path, capsys):
    """Rollouts in boxes, a step, evaluation and a model on disk; it is far too small to learn."""
    model_path, out = chat_model(tmp_path / "model"), tmp_path / "run"
    small = {**toy_runs.SETTINGS, "env": "swe", "model": model_path, "horizon": "6", "steps": 1,
             "rl.groups": 1, "rl.num-generations": 2, "rl.turn-tokens": 8,
             "rl.episode-tokens": 4000,
             "sft.demonstrations": 1, "sft.max-steps": 0, "eval.num-tasks": 1,
             "eval.valid-tasks": 1,
             "eval.every": 0, "out": out}  # fmt: skip
    assert main([f"--{name}={value}" for name, value in small.items()]) == 0
    summary = json.loads((out / "summary.json").read_text())
    assert summary["env"] == "swe:brief" and summary["eval"]["oracle"]["success"] == 1.0
    rolled = [json.loads(line) for line in (out / "episodes.jsonl").open()]
    assert len(rolled) == 2 and all(episode["turns"] for episode in rolled)


def chat_model(folder):
    """A small chat model in a folder, such as ``save_pretrained`` writes."""
    tokenizer = tiny_policy.tokenizer(words=("you", "bash", "submit", "`"))
    size = TinyConfig(hidden=16, layers=2, heads=2, intermediate=32, context=8192)
    build_model(tokenizer, size).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_swe_is_rolled_out_in_threads():
    run = resolve(parse_config(["--env=swe"]))
    assert run.config.backend == "thread"
