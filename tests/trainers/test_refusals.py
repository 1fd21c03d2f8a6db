"""What a run refuses, its ``--dry-run`` refuses, in the same words."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import AgentGymError
from tests.toy import TOY_ID
from tests.trainers import tiny_policy, toy_runs
from trainers.algorithms.presets import PRESETS
from trainers.cli import main, parse_config
from trainers.config.resolved_env import VALID
from trainers.models.loaded_policy import build_tiny, load_policy
from trainers.output.display import Display
from trainers.output.run_folder import RunFolder
from trainers.phases.held_out import HeldOutPlayer
from trainers.phases.reinforcement import Reinforcement
from trainers.phases.rollout_setup import panel_tasks
from trainers.phases.start_checks import checked_run

CHOICES: dict[str, tuple[Any, ...]] = {
    "preset": tuple(PRESETS),
    "env": (TOY_ID, TOY_ID, toy_runs.NO_EXPERT_ID, toy_runs.TAUGHT_ID, f"{TOY_ID},textworld"),
    "env_kwargs": ("horizon=4", "expert=red", "colour=red"),
    "horizon": ("3", "2,4", "2-5", "1", "5,3"),
    "horizon_gate": (0.5, 2),
    "fit_horizon": (True, False),
    "rl__groups": (1, 2, 3),
    "rl__num_generations": (1, 2, 3),
    "rl__minibatches": (1, 2, 3, 5),
    "rl__num_iterations": (1, 2),
    "async_rollouts__staleness": (0, 1),
    "reward_hooks": ("potential", "turn_cost=0.1", "success_bonus=2", "nonsense", "progressive=2"),
    "rl__success_bonus": (0, 1),
    "rl__invalid_penalty": (0, 0.2),
    "rl__normalize": ("none", "batch", "family"),
    "rl__gamma": (0.5, 2),
    "rl__beta": (0, 0.1),
    "rl__epsilon_high": (0.5, -1),
    "rl__aggregation": ("const", "turn-mean"),
    "rl__filters": ("none", "top-variance", "nonsense"),
    "rl__turn_tokens": (4, 30, 200),
    "rl__episode_tokens": (150, 3),
    "window": (1, 2),
    "backend": ("sync", "thread"),
    "workers": (1,),
    "step_timeout": (9,),
    "engine": ("hf", "hf-copy", "vllm-server"),
    "vllm__sleep": (True,),
    "eval__every": (0, 2),
    "eval__keep": ("best", "last"),
    "eval__baselines": ("none", "bc", "filtered-bc", "expert-iteration"),
    "eval__baseline_steps": (1, 3),
    "eval__num_tasks": (1, 30, 9999),
    "eval__horizon": (2, 9),
    "sft__max_steps": (0, 10),
    "sft__demonstrator": ("random", "expert"),
    "sft__only_successes": (True,),
    "tiny__context": (256, 12),
    "tiny__heads": (2, 3),
    "memory__precision": ("fp32", "bf16"),
    "memory__checkpointing": ("on", "off"),
    "memory__optimizer": ("adamw", "paged-adamw-8bit"),
    "memory__quantize": ("4bit",),
    "export": ("merged",),
    "push_to_hub": ("nowhere", "some/where"),
    "lora__dropout": (0.1,),
    "health__ignore": ("kl",),
    "report_to": ("tensorboard",),
    "seed": (0, 7),
}
"""Values that a person may give, of which some contradict others or are wrong by themselves."""

SETTINGS = 32
"""Combinations that are tried."""


def drawn(number: int, limit: int) -> dict[str, Any]:
    """A few settings, decided by a number."""
    rng = random.Random(number)
    names = rng.sample(sorted(CHOICES), rng.randint(1, limit))
    return {name: rng.choice(CHOICES[name]) for name in names}


def flags(out: Path, changes: dict[str, Any]) -> list[str]:
    """A command line; what is True is a switch."""
    values = {"horizon_every": None, **{k: v for k, v in changes.items() if v is not True}}
    switches = {"fit_horizon": "--fit-horizon", "vllm__sleep": "--vllm.sleep"}
    switches["sft__only_successes"] = "--sft.only-successes"
    switch_flags = [switches[name] for name, value in changes.items() if value is True]
    return toy_runs.arguments(out, *switch_flags, **values)


def begin(out: Path, changes: dict[str, Any]) -> None:
    """Begin a run up to its first turn: all that it makes, with a policy that learned nothing."""
    config = parse_config(flags(out, changes))
    run = checked_run(config)
    folder = RunFolder.open(run.config.out, config, run.resolved())
    policy = build_tiny(run, ["press the red button"])
    path = folder.checkpoints / "fresh"
    policy.save(path)
    panels = {env.name: env.panel(VALID, 4) for env in run.envs}
    HeldOutPlayer(run, policy, len(panel_tasks(panels, run)), together=False).close()
    Reinforcement(run, folder, Display(quiet=True), load_policy(run, path)).close()


def refusal(out: Path, changes: dict[str, Any]) -> str:
    """What the beginning of a run refuses, in one sentence; empty if nothing is."""
    try:
        begin(out, changes)
    except AgentGymError as error:
        return str(error)
    return ""


def read_refusal(argv: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The sentence of a command that refuses what is asked; empty if it does not."""
    capsys.readouterr()
    try:
        code = main(argv)
    except SystemExit as error:  # A setting that cannot be read, by whichever command.
        return f"exit {error.code}"
    message = capsys.readouterr().err.strip()
    assert code == (2 if message else 0), message
    return message.removeprefix("agentgym-train: ")


@pytest.mark.slow
def test_dry_run_and_start_agree_on_what_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What neither the one nor the other refuses does begin."""
    refused = 0
    for number in range(SETTINGS):
        changes, out = drawn(number, 5), tmp_path / str(number)
        sentence = read_refusal([*flags(out, changes), "--dry-run"], capsys)
        assert not out.exists()
        if sentence:
            refused += 1
        else:
            assert refusal(out, changes) == "", changes
    assert SETTINGS / 4 < refused < SETTINGS * 3 / 4


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"rl__turn_tokens": 200, "rl__episode_tokens": 150}, "raise the larger budgets"),
        ({"tiny__context": 12}, "expected the opening of an episode to leave room for a turn of 4"),
        ({"report_to": "trackio"}, "pip install trackio"),
        ({"model": "bare"}, "--chat-template"),
        ({"model": "stuck"}, "expected a chat template"),
        ({"chat_template": "chatml"}, "expected --chat-template only with a pretrained --model"),
        ({"push_to_hub": "nowhere"}, "expected --push-to-hub to be a repository"),
        ({"out": "taken"}, "expected --out to be empty or the folder of a run"),
    ],
)
def test_what_only_a_look_at_something_else_shows_is_refused_by_both(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    expected: str,
) -> None:
    for name, template in (("bare", None), ("stuck", "{{ messages[0]['content'] }}")):
        tokenizer = tiny_policy.tokenizer()  # not the one that other tests share
        tokenizer.chat_template = template
        tokenizer.save_pretrained(tmp_path / name)
        tiny_policy.model().save_pretrained(tmp_path / name)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.tex").write_text("precious")
    monkeypatch.setitem(sys.modules, "trackio", None)
    settings = {
        name: tmp_path / value if name in ("model", "out") else value
        for name, value in changes.items()
    }
    command = toy_runs.arguments(settings.pop("out", tmp_path / "run"), **settings)
    sentence = read_refusal(command, capsys)
    assert expected in sentence
    assert read_refusal([*command, "--dry-run"], capsys) == sentence
    assert not (tmp_path / "run").exists()
