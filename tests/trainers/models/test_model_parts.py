"""A model's folder whose parts do not fit one another is refused before the run, in a sentence."""

from __future__ import annotations

import inspect
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import (
    AutoModelForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    Mamba2Config,
    MambaConfig,
    MiniMaxConfig,
    PretrainedConfig,
    RwkvConfig,
)

from agentgym.errors import ConfigurationError
from tests.trainers import tiny_policy, toy_runs
from trainers.cli import main
from trainers.config.model_files.adapter_folder import base_of
from trainers.models.model_parts import check_history
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines.hf import HFEngine

SIZES = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 64, "max_position_embeddings": 256, "head_dim": 8,
}  # fmt: skip
STATES: dict[str, PretrainedConfig] = {
    "mamba": MambaConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, state_size=8),
    "mamba2": Mamba2Config(
        vocab_size=99, hidden_size=32, num_hidden_layers=2, state_size=8, num_heads=8, head_dim=8,
        n_groups=1,
    ),
    "minimax": MiniMaxConfig(
        vocab_size=99, **SIZES, num_local_experts=2,
        layer_types=["linear_attention", "full_attention"],
    ),
    "rwkv": RwkvConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, context_length=64),
}  # fmt: skip


def folder(path: Path, made_of: PretrainedConfig | None = None, **changes: Any) -> Path:
    """A model with the toy's tokenizer, of random weights; ``changes`` go into its settings."""
    tokenizer = tiny_policy.tokenizer()
    if made_of is None:
        tiny_policy.model().save_pretrained(path)
    else:
        made_of.pad_token_id = made_of.bos_token_id = made_of.eos_token_id = None
        AutoModelForCausalLM.from_config(made_of).save_pretrained(path)
    tokenizer.save_pretrained(path)
    for file, values in changes.items():
        target = path / f"{file}.json"
        stored = json.loads(target.read_text()) if target.exists() else {}
        target.write_text(json.dumps({**stored, **values}))
    return path


def refusal(model: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    """What the dry run says, which ends with the code of a wrong setting."""
    assert main(toy_runs.arguments(model.parent / "run", "--dry-run", *flags, model=model)) == 2
    return toy_runs.last_line(capsys.readouterr().err)


def test_a_tokenizer_with_more_tokens_than_the_embedding_has_rows(tmp_path, capsys):
    place = folder(tmp_path / "model")
    rows = json.loads((place / "config.json").read_text())["vocab_size"]
    tokenizer = tiny_policy.tokenizer()
    tokenizer.add_tokens(["purple", "<|tool|>"])
    tokenizer.save_pretrained(place)
    message = refusal(place, capsys)
    assert f"has {rows} of them" in message and f"of '<|tool|>', is {rows + 1}" in message
    assert f"resize_token_embeddings({rows + 2})" in message
    assert main(["--env=x"]) == 2  # The command itself is alive.


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"generation_config": {"eos_token_id": [2, 7777]}}, "the eos_token_id of its generation"),
        ({"generation_config": {"pad_token_id": 5000}}, "the pad_token_id of its generation"),
        ({"config": {"pad_token_id": 5000}}, "the pad_token_id of its configuration is 5000"),
        ({"config": {"vocab_size": 9}}, "has 9 of them"),
    ],
)
def test_an_id_beyond_the_embedding(tmp_path, capsys, changes, says):
    assert says in refusal(folder(tmp_path / "model", **changes), capsys)


def test_an_embedding_that_is_padded_is_fine(tmp_path, capsys):
    config = LlamaConfig(vocab_size=512, **SIZES)
    place = folder(tmp_path / "model", config)
    assert main(toy_runs.arguments(tmp_path / "run", "--dry-run", model=place)) == 0


@pytest.mark.parametrize("end", ["<|im_end|>", "<|eot_id|>", "<end_of_turn>"])
def test_a_chat_template_of_another_model(end):
    template = (
        "{% for m in messages %}<|user|>{{ m.content }}" + end + "<|end|>{% endfor %}<|assistant|>"
    )
    with pytest.raises(ConfigurationError, match="is the template of another model"):
        TurnTokenizer(tiny_policy.tokenizer(template))


@pytest.mark.parametrize("kind", STATES)
def test_an_architecture_with_a_history_of_its_own(tmp_path, capsys, kind):
    """In the dry run, in evaluation, and where an engine is made."""
    place = folder(tmp_path / "model", STATES[kind])
    model = AutoModelForCausalLM.from_pretrained(place)
    if kind == "mamba2" and "cache" in inspect.signature(model.forward).parameters:
        # Newer versions of transformers keep its state in a cache, even behind padding.
        HFEngine(model)
        assert "--lora.targets that PEFT can adapt" in refusal(place, capsys)
        dry = toy_runs.arguments(tmp_path / "run", "--dry-run", "--lora.r=0", model=place)
        assert main(dry) == 0
        return
    assert "which keeps its history otherwise" in refusal(place, capsys)
    with pytest.raises(ConfigurationError, match="which keeps its history otherwise"):
        HFEngine(model)


def test_architectures_with_attention_are_served():
    for config in (
        LlamaConfig(vocab_size=99, **SIZES),
        Gemma3TextConfig(
            vocab_size=99, **SIZES, sliding_window=3,
            layer_types=["sliding_attention", "full_attention"],
        ),
    ):  # fmt: skip
        config.pad_token_id = None
        check_history("model", config)


def test_a_model_that_takes_a_cache_and_ignores_it_is_noticed():
    from transformers import LlamaForCausalLM

    class Forgets(LlamaForCausalLM):
        def forward(self, *args: Any, past_key_values: Any = None, **kwargs: Any) -> Any:
            kwargs.pop("attention_mask", None)
            kwargs.pop("position_ids", None)
            return super().forward(*args, **{**kwargs, "use_cache": False})

    torch.manual_seed(0)
    with pytest.raises(ConfigurationError, match="other logits than for the whole text"):
        HFEngine(Forgets(LlamaConfig(vocab_size=99, **SIZES)))


def adapters(place: Path, base: Path) -> Path:
    """Adapters of a model."""
    model = AutoModelForCausalLM.from_pretrained(base)
    adapted = get_peft_model(model, LoraConfig(target_modules="all-linear", task_type="CAUSAL_LM"))
    adapted.save_pretrained(place)
    tiny_policy.tokenizer().save_pretrained(place)
    return place


def test_adapters_in_the_place_of_a_model_name_their_base_and_the_command(tmp_path, capsys):
    base = folder(tmp_path / "base")
    message = refusal(adapters(tmp_path / "adapters", base), capsys)
    assert (
        f"got adapters of {base}" in message and "merge" in message and "--method linear" in message
    )


def test_every_checkpoint_of_a_moved_run_finds_its_base(tmp_path):
    run = tmp_path / "old" / "run"
    base = folder(run / "checkpoints" / "warm-start")
    for name in ("trained", "best", "rl/checkpoint-4"):
        adapters(run / "checkpoints" / name, base)
    adapters(run / "baselines" / "bc" / "checkpoints" / "trained", base)
    other_folder = folder(tmp_path / "old" / "first" / "checkpoints" / "merged")
    adapters(run / "checkpoints" / "on-other", other_folder)
    shutil.move(tmp_path / "old", tmp_path / "new")
    moved = tmp_path / "new" / "run"
    for place in moved.rglob("adapter_config.json"):
        base_path = Path(base_of(place.parent))
        expected = moved / "checkpoints" / "warm-start"
        if place.parent.name == "on-other":
            expected = tmp_path / "new" / "first" / "checkpoints" / "merged"
        assert base_path == expected, place
