"""Models whose chat template is special or missing, given to ``agentgym-train``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.cli import main as agentgym
from tests.toy import TOY_ID, ToyEnv
from tests.trainers import tiny_policy, toy_runs
from trainers.cli import main
from trainers.config.resolve import resolve
from trainers.models.tiny import CHAT_TEMPLATE, build_model

pytestmark = pytest.mark.slow

QUICK = {
    "steps": 1, "sft__max_steps": 0, "eval__every": 0, "eval__num_tasks": 4, "horizon": "3",
    "rl__groups": 3, "rl__num_generations": 2, "rl__turn_tokens": 6, "rl__episode_tokens": 120,
}  # fmt: skip
NO_SYSTEM = (
    "{%- if messages[0]['role'] == 'system' -%}{{ raise_exception('no system role') }}{%- endif -%}"
    + CHAT_TEMPLATE
)
FIRST_ONLY = CHAT_TEMPLATE.replace("in messages", "in messages[:2]")
LONG_ID = "agentgym-test/Long-v0"


class LongEnv(ToyEnv):
    """Every third task begins with more than a small model can read."""

    def _start(self, task: Any, rng: Any) -> str:
        text = super()._start(task, rng)
        return text if task.index % 3 else f"{text} {'. ' * 250}"


if LONG_ID not in gymnasium.registry:
    gymnasium.register(LONG_ID, entry_point="tests.trainers.test_chat_doors:LongEnv")


def model(folder: Path, template: str | None, positions: int = 256) -> Path:
    """A small chat model with a template."""
    tokenizer = tiny_policy.tokenizer(words=("you", "act", "think"))
    tokenizer.chat_template = CHAT_TEMPLATE
    build_model(tokenizer, tiny_policy.SIZE).save_pretrained(folder)
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": positions}))
    return folder


def sentence(capsys: pytest.CaptureFixture[str]) -> str:
    """What is said last on standard error."""
    message = capsys.readouterr().err
    assert "Traceback" not in message
    return toy_runs.last_line(message)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (None, "got none: use an instruct model, or choose a template by --chat-template"),
        (FIRST_ONLY, "expected a chat template with a place for the observation of a turn"),
        (
            "{%- for m in messages -%}{{ m['role'] }} {{ m['content'] }}\n{%- endfor -%}",
            "between an action and the observation after it, but the chat template does not",
        ),
        ("{{ raise_exception('not today') }}", "but it fails: not today"),
    ],
)
def test_a_template_that_cannot_hold_an_episode_is_refused(tmp_path, capsys, template, expected):
    model_path = model(tmp_path / "model", template)
    out = tmp_path / "run"
    assert main(toy_runs.arguments(out, **QUICK, model=model_path)) == 2
    assert expected in sentence(capsys)
    assert not out.exists()


def test_a_chosen_template_trains_and_stays_with_the_policy(tmp_path, capsys):
    model_path = model(tmp_path / "model", None)
    file = tmp_path / "mine.jinja"
    file.write_text(CHAT_TEMPLATE)
    out = tmp_path / "run"
    flags = ["--chat-template", str(file), "--end-of-turn", "<|end|>"]
    assert main(toy_runs.arguments(out, *flags, **QUICK, model=model_path)) == 0
    file.unlink()
    assert agentgym(["eval", TOY_ID, "--policy", f"run:{out}", "--num-tasks", "2"]) == 0
    assert agentgym(["eval", TOY_ID, "--policy", f"hf:{model_path}", "--num-tasks", "2"]) == 2
    assert "--chat-template" in sentence(capsys)


def test_adapters_stand_on_the_chosen_layers(tmp_path, capsys):
    model_path = model(tmp_path / "model", CHAT_TEMPLATE)
    out = tmp_path / "run"
    changes = {**QUICK, "model": model_path, "lora__r": 2}
    bad_flags = ["--lora.targets", "q_proj", "no_proj"]
    assert main(toy_runs.arguments(out, *bad_flags, **changes)) == 2
    assert "expected --lora.targets to be all-linear, or linear layers" in sentence(capsys)
    flags = ["--lora.targets", "q_proj", "v_proj"]
    assert main(toy_runs.arguments(out, *flags, **changes)) == 0
    saved = json.loads((out / "checkpoints/trained/adapter_config.json").read_text())
    assert sorted(saved["target_modules"]) == ["q_proj", "v_proj"]


def test_a_chosen_end_that_the_template_does_not_write_is_refused(tmp_path, capsys):
    model_path = model(tmp_path / "model", CHAT_TEMPLATE)
    out = tmp_path / "run"
    flags = ["--end-of-turn", "<|user|>"]
    assert main(toy_runs.arguments(out, *flags, **QUICK, model=model_path)) == 2
    assert "close an answer with '<|user|>', the chosen end of turn, but it puts" in sentence(
        capsys
    )
    assert not out.exists()


def test_system_text_goes_into_the_first_message_where_there_is_no_system_role(tmp_path):
    model_path = model(tmp_path / "model", NO_SYSTEM)
    out = tmp_path / "run"
    assert main(toy_runs.arguments(out, **QUICK, model=model_path)) == 0
    other_folder = tmp_path / "other"
    assert (
        main(toy_runs.arguments(other_folder, **QUICK, model=model(tmp_path / "m", CHAT_TEMPLATE)))
        == 0
    )
    prompt_tokens = [
        [turn["prompt_tokens"] for line in lines for turn in json.loads(line)["turns"][:1]]
        for lines in ((f / "episodes.jsonl").read_text().splitlines() for f in (out, other_folder))
    ]
    # Two newlines stand where one message ended and the next began.
    assert prompt_tokens[0] == prompt_tokens[1]


def test_an_opening_that_no_model_of_this_size_can_read_is_told_before_training(tmp_path, capsys):
    model_path = model(tmp_path / "model", CHAT_TEMPLATE, positions=24)
    out = tmp_path / "run"
    changes = {**QUICK, "rl__episode_tokens": 20}
    assert main(toy_runs.arguments(out, **changes, model=model_path)) == 2
    message = sentence(capsys)
    assert "expected the opening of an episode to leave room for a turn of 6 tokens" in message
    assert "among the 24 that the model reads" in message
    assert not (out / "metrics.jsonl").exists()


def test_an_episode_that_is_too_long_in_mid_run_costs_only_itself(tmp_path):
    out = tmp_path / "run"
    changes = {**QUICK, "env": LONG_ID, "rl__groups": 9, "seed": 1}
    model_path = model(tmp_path / "model", CHAT_TEMPLATE)
    assert main(toy_runs.arguments(out, **changes, model=model_path)) == 0
    (record,) = toy_runs.by_phase(out)["rl"]
    assert 0 < record["ended_by_token_limit"] < 1


@pytest.mark.parametrize(
    ("flags", "turn", "episode"),
    [
        ([], 1024, 4096 + 3 * 1024),
        (["--rl.turn-tokens=100"], 100, 4096 + 300),
        (["--rl.episode-tokens=2000"], 1024, 2000),
        (["--template-args", "enable_thinking=false"], 256, 4096),
    ],
)
def test_a_model_that_thinks_has_the_tokens_for_it(tmp_path, flags, turn, episode):
    thinking = CHAT_TEMPLATE.replace(
        "<|assistant|>{%- endif",
        "<|assistant|>{%- if enable_thinking is defined and not enable_thinking -%}"
        "<think></think>{%- endif -%}{%- endif",
    )
    model_path = model(tmp_path / "model", thinking)
    open_budgets = {"rl__turn_tokens": None, "rl__episode_tokens": None}
    config = toy_runs.config(tmp_path, *flags, **{**QUICK, **open_budgets, "model": model_path})
    rl = resolve(config).config.rl
    assert (rl.turn_tokens, rl.episode_tokens) == (turn, episode)


def test_the_rows_of_a_step_follow_the_template(tmp_path):
    """By default the history is followed; ``keep`` trains one row per episode."""
    rewriting = CHAT_TEMPLATE.replace(
        "{{ m['content'] }}", "{{ m['content'] }}{{ ' think' if m['role'] == 'assistant' }}"
    )
    model_path = model(tmp_path / "model", rewriting)
    rows = {}
    for history in ("auto", "keep"):
        out = tmp_path / history
        flags = [] if history == "auto" else [f"--rollout.history={history}"]
        assert main(toy_runs.arguments(out, *flags, **QUICK, model=model_path)) == 0
        (record,) = toy_runs.by_phase(out)["rl"]
        rows[history] = record["rows"]
    # An answer that was cut at its limit goes on where the template adds a word to it.
    assert rows["keep"] == 1 and 2 < rows["auto"] <= record["turns"]
