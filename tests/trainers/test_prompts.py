"""What a model reads: the same messages in training, evaluation and exports, under every prompt."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import gymnasium
import pytest
import yaml

import agentgym
from agentgym.cli import main
from agentgym.conversation import BARE, Prompt
from agentgym.episodes import ChatOptions, ChatWriter, read_episodes
from agentgym.errors import ConfigurationError, DataError
from agentgym.evaluation import evaluate, read_report
from agentgym.evaluation.policy_names import load_policy
from agentgym.policies import ChatConfig, ChatPolicy
from agentgym.protocols import find_prompt
from agentgym.vector import TextVectorEnv
from tests.episodes.test_rescorer import recorded
from tests.policies.chat.test_protocols import ACTIONS, CONVERSATIONS, GENERATED, REACT, TAGGED
from tests.policies.endpoint import completion
from tests.policies.installed import declared, install
from tests.toy import TOY_ID
from tests.trainers.rollouts.shipped_templates import tokenizer
from tests.trainers.scripted_engine import ScriptedEngine
from trainers.cli import main as train
from trainers.policies.model_policy import ModelPlayer, ModelPolicy
from trainers.policies.shared_engine import SharedEngine
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines.base import Sampling
from trainers.rollouts.rollout_runner import RolloutRunner

HORIZON = 6
ROOM = TokenBudget(1_000, 400_000, 800_000)
PROMPTS = [
    ("default", "alfworld", "ACT"),
    ("default", "webshop", "ACT"),
    *(("agentgym", name, REACT) for name in ("alfworld", "webshop")),
    *(("verl-agent", name, TAGGED) for name in ("alfworld", "webshop")),
    *((protocol, name, form) for protocol, (name, form, _) in CONVERSATIONS.items()),
]


def kwargs_of(name: str) -> dict[str, Any]:
    """Arguments of generated tasks, with WebShop's pages in the parts that papers show."""
    modes = {"observation_mode": "text"} if name == "webshop" else {}
    return {**GENERATED[name], **modes}


@pytest.mark.parametrize(("prompt", "name", "form"), PROMPTS)
def test_all_that_ask_a_model_give_it_the_same_messages(
    serve: Any, tmp_path: Path, prompt: str, name: str, form: str
) -> None:
    answers = [form.replace("ACT", action) for action in ACTIONS[name]]
    server = serve(lambda body, number: completion(answers[number - 1]))
    record = tmp_path / "episodes.jsonl"
    play = partial(
        evaluate, env=name, split="train", num_tasks=1, prompt=prompt, horizon=HORIZON,
        concurrency=1, env_kwargs=kwargs_of(name),
    )  # fmt: skip
    report = play(ChatPolicy(ChatConfig("m", server.url), ""), record=record)
    conversations = [request["messages"] for request in server.requests]
    [episode] = read_episodes(record)
    assert len(conversations) == HORIZON and report.policy_facts["prompt"].startswith(f"{prompt} ")

    chat = TurnTokenizer(tokenizer("qwen2_5"))
    expected = [chat.text(messages) for messages in conversations]

    def read(engine: ScriptedEngine) -> list[str]:
        return [chat.raw_text(ids) for ids in chain(*engine.calls)]

    make: Callable[[], Any] = partial(agentgym.make, name, **report.env_kwargs)
    env: Any = make()
    laid_out = find_prompt(prompt, name).at(env.unwrapped)
    env.close()
    training, local = ScriptedEngine(chat, answers), ScriptedEngine(chat, answers)
    envs = TextVectorEnv([make])
    RolloutRunner(envs, chat, training, ROOM, prompt=laid_out).run(
        [{"task_id": episode.task_id}], horizon=HORIZON, seeds=[episode.seed]
    )
    envs.close()
    assert read(training) == expected
    play(ModelPolicy(ModelPlayer(SharedEngine(local, Sampling()), chat, Prompt(BARE), ROOM)))
    assert read(local)[:HORIZON] == expected

    out = tmp_path / "sft.jsonl"
    command = ["export", str(record), str(out), "--to", "sft", "--rows", "turn"]
    assert main([*command, *([] if prompt == "default" else ["--prompt", prompt])]) == 0
    assert [json.loads(line)["prompt"] for line in out.read_text().splitlines()] == conversations


# -- through the commands --------------------------------------------------------------------------

# A turn of one token is read back as that token, whatever an untrained model writes.
SHORT = [
    "--env", "alfworld", "--steps", "2", "--horizon", "3", "--rl.groups", "2",
    "--rl.num-generations",
    "2", "--rl.turn-tokens", "1", "--sft.max-steps", "2", "--sft.copy-steps", "0",
    "--sft.no-only-successes", "--sft.demonstrations", "4",
    "--eval.every", "0", "--eval.baselines", "none", "--eval.num-tasks", "2",
    "--tiny.hidden", "16", "--tiny.layers", "1", "--tiny.heads", "2", "--tiny.context", "4096",
    "--rl.episode-tokens", "2048",
]  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two steps under each prompt."""
    folder = tmp_path_factory.mktemp("prompts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trainers.phases.warm_start.VOCABULARY_EPISODES", 4)
        for name in ("", "verl-agent", "agentgym"):
            prompt_flags = ["--prompt", name] if name else []
            assert train([*SHORT, *prompt_flags, "--out", str(folder / (name or "none"))]) == 0
    return {name: folder / (name or "none") for name in ("", "verl-agent", "agentgym")}


def tokens_read(path: Path) -> list[list[int | None]]:
    return [[turn.prompt_tokens for turn in episode.turns] for episode in read_episodes(path)]


@pytest.mark.slow
@pytest.mark.parametrize("prompt", ["verl-agent", "agentgym"])
def test_a_trained_model_is_evaluated_under_the_prompt_of_its_training(
    runs: dict[str, Path],
    prompt: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
) -> None:
    from transformers import AutoTokenizer

    install(monkeypatch, tmp_path / "site", declared(), "agentgym-trainers-test")
    monkeypatch.chdir(tmp_path)
    run = runs[prompt]
    command = ["eval", "alfworld", "--policy", f"run:{run}", "--num-tasks", "2", "--horizon", "3"]
    assert main([*command, "--no-scale", "--out", "own"]) == 0
    prompt_fact = read_report(tmp_path / "own").policy_facts["prompt"]
    assert prompt_fact == f"{prompt} {find_prompt(prompt, 'alfworld').layout.sha256}"
    export = ["export", "own/episodes.jsonl", "rows.jsonl", "--to", "sft", "--rows", "turn"]
    assert main([*export, "--prompt", prompt]) == 0
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    chat = TurnTokenizer(AutoTokenizer.from_pretrained(run / "checkpoints" / "trained"))
    prompt_lengths = [len(chat.rerender(row["prompt"])) for row in rows]
    assert prompt_lengths == [*chain(*tokens_read(tmp_path / "own" / "episodes.jsonl"))]
    other_protocol = "agentgym" if prompt == "verl-agent" else "verl-agent"
    assert main([*command, "--protocol", other_protocol, "--prompt", prompt, "--out", "two"]) == 2
    assert (
        f"expected one prompt, got that of the protocol {other_protocol} and {prompt}"
        in " ".join(capsys.readouterr().err.split())
    )


def test_a_run_knows_its_prompt(runs: dict[str, Path], capsys: Any) -> None:
    trained = {name: tokens_read(run / "episodes.jsonl") for name, run in runs.items()}
    first = {name: episodes[0][0] for name, episodes in trained.items()}
    assert first[""] < min(first["verl-agent"], first["agentgym"]), "the default tells nothing"
    for name, run in runs.items():
        config = yaml.safe_load((run / "config.yaml").read_text())
        assert config["resolved"]["prompt"] == (name or "bare")
        records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        [rollout, *_] = [record for record in records if record.get("phase") == "rl"]
        rows = rollout["turns"] if name == "verl-agent" else 1.0
        assert rollout["rows"] == rows, "one message a step is a row for each turn"
        card = next(run.glob("checkpoints/*/README.md")).read_text()
        assert f"`{name or 'bare'}`" in card
    capsys.readouterr()
    out = str(runs["agentgym"])
    assert train(["--resume", "--out", out, "--steps", "3", "--prompt", "default"]) == 2
    assert "prompt was agentgym and is default" in " ".join(capsys.readouterr().err.split())


def test_a_prompt_brings_its_grammar_and_refuses_another(capsys: Any, tmp_path: Path) -> None:
    arguments = [*SHORT, "--prompt", "verl-agent", "--out", str(tmp_path / "run"), "--dry-run"]
    assert train(arguments) == 0
    assert train([*arguments, "--env-kwargs", "grammar=native"]) == 2
    assert "expected the grammar action_tag" in " ".join(capsys.readouterr().err.split())
    assert train([*SHORT, "--prompt", "nobody", "--dry-run"]) == 2
    assert "expected a prompt (default, bare," in " ".join(capsys.readouterr().err.split())


OWN = """
format = "agentgym.protocol/1"
name = "mine"
["agentgym-test/Toy-v0".prompt]
kind = "step"
first = "Now {observation} Choose of {admissible}."
later = "Before: {history}. Now {observation} Choose of {admissible}."
history = "{action}"
["agentgym-test/Toy-v0".tasks]
split = "test"
"""


def test_a_file_of_ones_own_is_a_prompt(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(OWN)
    server = serve(lambda body, number: completion("press red"))
    command = ["eval", TOY_ID, "--policy", "chat", "--model", "m", "--base-url", server.url]
    prompt = ["--prompt", "mine.toml"]
    assert (
        main([*command, *prompt, "--num-tasks", "1", "--horizon", "2", "--no-scale", "--out", "e"])
        == 0
    )
    conversations = [request["messages"] for request in server.requests]
    assert [len(messages) for messages in conversations] == [1, 1]
    assert conversations[1][0]["content"].startswith("Before: press red. Now ")
    export = ["export", "e/episodes.jsonl", "sft.jsonl", *prompt, "--to"]
    assert main([*export, "sft"]) == main([*export, "csv"]) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "expected rows of turns (--rows turn) with the prompt mine" in message
    assert "and --prompt with --to sft only" in message
    assert main([*export, "sft", "--rows", "turn"]) == 0
    rows = Path("sft.jsonl").read_text().splitlines()
    assert [json.loads(row)["prompt"] for row in rows] == conversations


def test_an_episode_that_plays_otherwise_now_has_no_list_of_actions(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(OWN)
    episode = recorded(gymnasium.make(TOY_ID), 3)
    prompt = find_prompt(tmp_path / "mine.toml", TOY_ID)
    writer = ChatWriter(ChatOptions(shape="turn"), prompt.at)
    assert len(writer.rows(episode)) == len(episode.turns)
    other_episode = replace(episode, start=replace(episode.start, observation="press nothing"))
    with pytest.raises(DataError, match="to play as it was recorded"):
        writer.rows(other_episode)
    writer.close()


def test_a_system_message_and_a_prompt_are_refused(
    small_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, tmp_path / "site", declared(), "agentgym-trainers-test")
    env = gymnasium.make(TOY_ID, horizon=3)
    for options, message in (({"system": "go"}, "expected system or the prompt bare"), ({}, "")):
        maker = load_policy(f"hf:{small_model}", env, turn_tokens=4, **options)
        if message:
            with pytest.raises(ConfigurationError, match=message):
                evaluate(maker, env, num_tasks=1, prompt="bare")
        else:
            facts = evaluate(maker, env, num_tasks=1, prompt="bare").policy_facts
            assert facts["prompt"].startswith("bare ")
