"""Worked examples in the prompt of a policy: in training, in tests, and when it is played."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentgym.cli import main
from agentgym.conversation import DEFAULT, Conversation, Layout, Prompt, SeenTurn
from agentgym.evaluation import read_report
from agentgym.evaluation.demonstrations import make_shots
from agentgym.vector import TextVectorEnv
from tests.policies.installed import declared, install
from tests.toy import TOY_ID, ToyEnv
from tests.trainers import tiny_policy, toy_runs
from tests.trainers.rollouts.shipped_templates import tokenizer
from tests.trainers.row_checks import check_rows
from tests.trainers.scripted_engine import ScriptedEngine
from trainers.cli import main as train
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.trajectory import to_rows

ROOM = TokenBudget(64, 4_000, 8_000)


@pytest.mark.parametrize("grammar", ["native", "react", "tool_call", "xml", "action_tag"])
@pytest.mark.parametrize("template", ["qwen2_5", "gemma", "llama3"])
def test_tokens_are_those_of_the_messages_and_share_the_examples(
    template: str, grammar: str
) -> None:
    """Under a template without a system role, too, whose first example then holds that text."""
    chat = TurnTokenizer(tokenizer(template))
    env = ToyEnv(grammar=grammar)
    prompt = Prompt.at(env, DEFAULT).with_shots(make_shots(env, 2))
    answer = env.spoken.write("press red")
    engine = ScriptedEngine(chat, lambda ids: answer)
    envs = TextVectorEnv([lambda: ToyEnv(grammar=grammar)] * 4)
    runner = RolloutRunner(envs, chat, engine, ROOM, prompt=prompt)
    episodes = runner.run(tiny_policy.tasks(4), horizon=3)
    envs.close()
    openings = set()
    for episode in episodes:
        conversation, row = Conversation(prompt, episode.goal), list[int]()
        for turn in episode.turns:
            row = turn.context if turn.fresh else row + turn.context
            seen_turn = SeenTurn(turn.observation)
            assert row == chat.rerender(conversation.messages(seen_turn))
            conversation.add(seen_turn, turn.text)
            row = row + turn.ids
        text = chat.raw_text(episode.turns[0].context)
        openings.add(text[: text.rindex(episode.turns[0].observation)])
    assert len(openings) == 1, "one opening for all tasks"
    if chat.append_only and not chat.follows:
        check_rows(episodes, to_rows(episodes), chat.action_text)


@pytest.mark.slow
def test_a_run_keeps_its_examples_and_is_played_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    install(monkeypatch, tmp_path / "site", declared(), "agentgym-trainers-test")
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "run"
    changes = {"steps": 1, "sft__max_steps": 2, "eval__every": 0, "eval__num_tasks": 4, "seed": 3}
    room = {"tiny__context": 512, "prompt": "default"}
    assert train(toy_runs.arguments(out, **changes, **room, shots=2)) == 0
    resolved = yaml.safe_load((out / "config.yaml").read_text())["resolved"]
    layout = Layout.from_dict(resolved["layout"])
    shots = make_shots(ToyEnv(), 2, seed=3)
    assert layout.shots == DEFAULT.with_shots(shots).shots
    plain_folder = tmp_path / "plain"
    assert train(toy_runs.arguments(plain_folder, **changes, **room)) == 0
    lengths = [
        json.loads((folder / "episodes.jsonl").read_text().splitlines()[0])["turns"][0]
        ["prompt_tokens"] for folder in (out, plain_folder)
    ]  # fmt: skip
    assert lengths[0] > lengths[1]
    command = ["eval", TOY_ID, "--policy", f"run:{out}", "--num-tasks", "2", "--no-scale"]
    assert main([*command, "--out", "own"]) == 0
    facts = read_report(tmp_path / "own").policy_facts
    assert facts["prompt"] == f"default {layout.sha256}"
    assert main([*command, "--shots", "0", "--out", "none"]) == 0
    facts = read_report(tmp_path / "none").policy_facts
    assert facts["prompt"] == f"default {DEFAULT.sha256}"
    capsys.readouterr()
    arguments = toy_runs.arguments(
        tmp_path / "agent", agent="tests.trainers.toy_agents:words", shots=2
    )
    assert train(arguments) == 2
    assert "expected no --shots with --agent" in toy_runs.last_line(capsys.readouterr().err)
