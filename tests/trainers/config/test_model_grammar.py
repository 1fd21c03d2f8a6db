"""Which grammar a pretrained model writes in, if nobody names one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentgym.evaluation.policy_names import policy_env_kwargs
from agentgym.registration.making import resolve as named
from tests.policies.installed import declared, install
from tests.toy import TOY_ID
from tests.trainers import toy_runs
from tests.trainers.rollouts.shipped_templates import tokenizer
from trainers.cli import main as train
from trainers.config.model_grammar import grammar_of_model
from trainers.config.resolve import resolve
from trainers.rollouts.template import ChatTemplate


@pytest.mark.parametrize(
    ("name", "writes"),
    [
        ("qwen2_5", True),
        ("qwen3", True),
        ("qwen3_5_think", False),  # function and parameter tags
        ("llama3", False),  # no tools
        ("phi3", False),
        ("smolvlm", False),
    ],
)
def test_a_template_with_tools_is_told_by_what_it_writes(name: str, writes: bool) -> None:
    assert ChatTemplate(tokenizer(name)).writes_calls() is writes


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, str]:
    """Folders of tokenizers: what decides on the grammar needs no weights."""
    places = {}
    for name in ("qwen2_5", "phi3"):
        tokenizer(name).save_pretrained(tmp_path / name)
        (tmp_path / name / "config.json").write_text('{"model_type": "qwen2"}')
        places[name] = str(tmp_path / name)
    return places


def grammar(model: str, tmp_path: Path, *flags: str) -> tuple[str, str]:
    sizes = {"sft__max_steps": 0, "rl__turn_tokens": 8, "eval__baselines": "none"}
    config = toy_runs.config(tmp_path / "out", *flags, model=model, **sizes)
    [env] = resolve(config).envs
    assert env.make_env().language.grammar == env.grammar
    return env.grammar, env.grammar_reason


def test_the_template_decides_the_grammar_by_default(
    folders: dict[str, str], tmp_path: Path
) -> None:
    name, reason = grammar(folders["qwen2_5"], tmp_path)
    assert name == "tool_call" and "chat template" in reason
    name, reason = grammar(folders["phi3"], tmp_path)
    assert name == "native" and "no tool calls" in reason
    assert grammar("tiny", tmp_path) == ("native", "")
    assert grammar(folders["qwen2_5"], tmp_path, "--prompt", "bare") == ("native", "")
    assert grammar(folders["qwen2_5"], tmp_path, "--grammar", "react") == ("react", "")
    assert grammar(folders["qwen2_5"], tmp_path, "--env-kwargs", "grammar=xml") == ("xml", "")
    assert grammar_of_model(str(tmp_path / "nowhere")).name == ""


def test_the_command_says_which_and_why(
    folders: dict[str, str], tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = toy_runs.arguments(tmp_path / "two", "--grammar", "react", "--env-kwargs", "grammar=xml")
    assert train([*two, "--dry-run"]) == 2
    assert "got react (--grammar) and xml (--env-kwargs)" in capsys.readouterr().err
    assert train([*toy_runs.arguments(tmp_path / "one", shots=2), "--dry-run"]) == 0
    output = capsys.readouterr().out
    assert "actions are written in the grammar native" in output
    assert "prompt with 2 worked examples" in output
    install(monkeypatch, tmp_path / "site", declared(), "agentgym-trainers-test")
    for name, expected in (("qwen2_5", {"grammar": "tool_call"}), ("phi3", {})):
        assert policy_env_kwargs(f"hf:{folders[name]}", named(TOY_ID)) == expected
    assert policy_env_kwargs(f"hf:{folders['qwen2_5']}", named(TOY_ID), ["grammar"]) == {}
