"""Any local model with a chat template, played by name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import gymnasium
import pytest
import torch
from transformers import AutoModelForCausalLM
from transformers.utils.logging import enable_progress_bar, is_progress_bar_enabled

from agentgym.cli import main
from agentgym.errors import ConfigurationError
from agentgym.evaluation import evaluate
from agentgym.evaluation.policy_names import load_policy, policy_content
from tests.toy import TOY_ID
from trainers.policies import weights
from trainers.rollouts.engines.hf import HFEngine

pytestmark = pytest.mark.usefixtures("kinds")


@pytest.fixture
def env() -> gymnasium.Env[str, str]:
    return gymnasium.make(TOY_ID, horizon=5)


SHORT = {"turn_tokens": 4, "system": ""}


def test_a_folder_plays(small_model: Path, env: Any) -> None:
    for name in (f"hf:{small_model}", str(small_model)):
        with load_policy(name, env, **SHORT) as maker:
            report = evaluate(maker, env, num_tasks=4, backend="thread", concurrency=4)
        assert report.n == 4 and maker.facts["kind"] == "hf"
        assert maker.facts["sampling"] == {"greedy": True}, "the model's own config samples nothing"
        assert maker.facts["budget"]["turn_tokens"] == 4


def test_the_weights_decide_what_is_played(finished: Path, env: Any) -> None:
    """A trained checkpoint, as a model without its run, plays as in its run."""
    with load_policy(f"hf:{finished / 'checkpoints' / 'best'}", env, **SHORT) as maker:
        report = evaluate(maker, env, num_tasks=10)
    with load_policy(f"run:{finished}", env, checkpoint="best", temperature=0) as maker:
        assert [row.score for row in evaluate(maker, env, num_tasks=10).rows] == [
            row.score for row in report.rows
        ]
    assert report.score_mean > 0


def test_the_model_s_own_config_says_how_it_samples(
    small_model: Path, env: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for file in small_model.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    config = json.loads((folder / "generation_config.json").read_text())
    config |= {"do_sample": True, "temperature": 0.5, "top_p": 0.75}
    (folder / "generation_config.json").write_text(json.dumps(config))
    maker = load_policy(f"hf:{folder}", env, **SHORT)
    assert maker.facts["sampling"] == {"greedy": False, "temperature": 0.5, "top_p": 0.75}
    maker = load_policy(f"hf:{folder}", env, **SHORT, temperature=0)
    assert maker.facts["sampling"] == {"greedy": True}
    assert not caplog.messages
    config |= {"top_k": 3, "repetition_penalty": 1.25}
    (folder / "generation_config.json").write_text(json.dumps(config))
    maker = load_policy(f"hf:{folder}", env, **SHORT)
    assert maker.facts["sampling"]["top_k"] == 3
    (message,) = caplog.messages
    assert "repetition_penalty of 1.25, without which it plays" in message


def test_the_command_s_sampling_flags_are_those_of_the_model(
    small_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policies = ["--policy", f"hf:{small_model}", "--policy", "random"]
    argv = ["eval", TOY_ID, *policies, "--num-tasks", "1", "--horizon", "1", "--no-scale"]
    argv += ["--policy-kwargs", "turn_tokens=2", "--temperature", "0.5", "--top-p", "0.9"]
    # Options of one policy are no other's: the random policy refuses turn_tokens alone.
    assert main([*argv, "--out", str(tmp_path / "both")]) == 1
    reports = [json.loads(file.read_text()) for file in (tmp_path / "both").glob("*/report.json")]
    [sampling] = [report["policy_facts"]["sampling"] for report in reports]
    assert (sampling["temperature"], sampling["top_p"]) == (0.5, 0.9)
    assert "got turn_tokens" in capsys.readouterr().out
    assert main([*argv[:4], "--policy-kwargs", "temperature=1", "--temperature", "0.5"]) == 2
    message = capsys.readouterr().err
    assert "one temperature, got --temperature 0.5 and --policy-kwargs temperature=1" in message


def test_the_system_message_is_that_of_training_unless_told(small_model: Path, env: Any) -> None:
    def first_prompt(**options: Any) -> int:
        policy: Any = load_policy(f"hf:{small_model}", env, turn_tokens=4, **options)()
        observation, info = env.reset(options={"split": "test", "index": 0})
        policy.reset(observation, info)
        policy.act(observation, info)
        return int(policy.last_output.prompt_tokens)

    bare, instructed, default = first_prompt(system=""), first_prompt(system="go"), first_prompt()
    assert bare < instructed < default


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"turn_tokens": 0}, "expected turn_tokens to be at least 1, got 0"),
        ({"window": "all"}, "expected window to be at least 1, got 'all'"),
        ({"threads": 0}, "expected threads to be at least 1, got 0"),
        ({"precision": "fp8"}, "expected precision fp32 or bf16, got .fp8."),
        ({"chat_template": "mine"}, "one of chatml, .*got 'mine'"),
        ({"end_of_turn": "<nowhere>"}, "expected the end of turn to be a token"),
        ({"end_of_turn": "<|user|>"}, "the chosen end of turn, but it puts '<.end.>' there"),
        ({"history": "error"}, "expected history auto or keep"),
        ({"checkpoint": "best"}, "among temperature, top_p, turn_tokens, .*got checkpoint"),
    ],
)
def test_bad_options_are_named(small_model: Path, env: Any, options: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        load_policy(f"hf:{small_model}", env, **options)


def test_a_damaged_model_is_refused(small_model: Path, env: Any, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for file in small_model.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(ConfigurationError, match="which cannot be loaded"):
        load_policy(f"hf:{folder}", env)
    (folder / "tokenizer_config.json").unlink()
    with pytest.raises(ConfigurationError, match="the folder has no tokenizer"):
        load_policy(f"hf:{folder}", env)


def test_other_weights_at_the_same_place_are_noticed(
    small_model: Path, env: Any, tmp_path: Path
) -> None:
    origin, twin = tmp_path / "here", tmp_path / "there"
    for folder in (origin, twin):
        shutil.copytree(small_model, folder)

    def facts(folder: Path) -> dict[str, Any]:
        with load_policy(f"hf:{folder}", env, **SHORT) as maker:
            assert maker.facts["weights_sha256"] == policy_content(f"hf:{folder}")
            assert policy_content(str(folder)) == maker.facts["weights_sha256"]
            return dict(maker.facts)

    facts_before = facts(origin)
    assert facts_before["weights_sha256"] == facts(twin)["weights_sha256"], "no path counts"
    (origin / "notes.txt").write_text("of no account")
    with load_policy(f"hf:{origin}", env, **SHORT) as maker:
        evaluate(maker, env, num_tasks=2, out=tmp_path / "out")
    [file] = origin.glob("*.safetensors")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    assert facts(origin)["weights_sha256"] != facts_before["weights_sha256"]
    refused = pytest.raises(ConfigurationError, match=r"policy_facts.weights_sha256 was '\w{16}'")
    with load_policy(f"hf:{origin}", env, **SHORT) as maker, refused:
        evaluate(maker, env, num_tasks=2, out=tmp_path / "out")
    # Settings that decide what is played make another policy as well.
    with load_policy(f"hf:{twin}", env, turn_tokens=4, system="Be brief.") as maker:
        assert maker.facts["system"] == "Be brief." and maker.facts != facts_before


def test_of_large_weights_pieces_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "WHOLE", 100)
    monkeypatch.setattr(weights, "PIECE", 10)
    file = tmp_path / "model.safetensors"
    content = bytearray(2000)
    digests = set()
    for place in (None, 0, 5, 1015, 1999):
        changed = bytearray(content)
        if place is not None:
            changed[place] = 1
        file.write_bytes(changed)
        digests.add(weights.weights_sha256(tmp_path))
    file.write_bytes(content + b"0")
    digests.add(weights.weights_sha256(tmp_path))
    (tmp_path / "tokenizer_config.json").write_text('{"chat_template": "{{ x }}", "path": "/a"}')
    digests.add(weights.weights_sha256(tmp_path))
    assert len(digests) == 7
    (tmp_path / "tokenizer_config.json").write_text('{"chat_template": "{{ x }}", "path": "/b"}')
    assert weights.weights_sha256(tmp_path) in digests


@pytest.mark.parametrize("options", [{}, {"threads": 3}])
def test_loading_and_playing_leave_the_threads_of_the_caller_alone(
    small_model: Path, env: Any, monkeypatch: pytest.MonkeyPatch, options: dict[str, int]
) -> None:
    threads_before, thread_counts = torch.get_num_threads(), set()
    torch.set_num_threads(2)
    advance = HFEngine.advance

    def watched(engine: HFEngine, timeout: float | None = None) -> Any:
        thread_counts.add(torch.get_num_threads())
        return advance(engine, timeout)

    monkeypatch.setattr(HFEngine, "advance", watched)
    try:
        with load_policy(f"hf:{small_model}", env, **SHORT, **options) as maker:
            assert torch.get_num_threads() == 2
            evaluate(maker, env, num_tasks=3, concurrency=2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads_before)
    assert thread_counts == {options.get("threads", 1)}, "a small model plays with one unless told"


def test_episodes_that_play_together_are_those_of_each_alone(small_model: Path, env: Any) -> None:
    def play_rows(concurrency: int | None) -> list[Any]:
        requests.clear()
        with load_policy(f"hf:{small_model}", env, **SHORT, temperature=1.5) as maker:
            report = evaluate(maker, env, num_tasks=12, concurrency=concurrency)
        return [(row.task_id, row.score, row.turns, row.completion_tokens) for row in report.rows]

    requests: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        advance = HFEngine.advance

        def watched(engine: HFEngine, timeout: float | None = None) -> Any:
            requests.append(engine.running)
            return advance(engine, timeout)

        patch.setattr(HFEngine, "advance", watched)
        alone = play_rows(1)
        assert max(requests) == 1
        assert play_rows(None) == alone
        assert max(requests) > 1, "several at a time unless told otherwise"


def test_loading_writes_no_bar_into_a_log(
    small_model: Path, env: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    enable_progress_bar()
    load_policy(f"hf:{small_model}", env, **SHORT).close()
    assert "Loading" not in capfd.readouterr().err
    assert is_progress_bar_enabled(), "the caller's setting stays"


def test_a_model_stored_in_bfloat16_can_play_in_float32(
    small_model: Path, env: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "half"
    shutil.copytree(small_model, folder)
    AutoModelForCausalLM.from_pretrained(small_model, dtype="bfloat16").save_pretrained(folder)
    with load_policy(f"hf:{folder}", env, **SHORT) as stored:
        assert stored.facts["dtype"] == "bfloat16"
    with load_policy(f"hf:{folder}", env, **SHORT, precision="fp32") as exact:
        assert exact.facts["dtype"] == "float32"
