#!/usr/bin/env bash
# Package: trl 1.16.0
# Behaviour: GRPOTrainer carries a tool call out and then drops its result if the result does not fit
#   into `max_completion_length`. The environment is in a state that the model has not seen, the
#   episode ends there, and nothing that is logged tells it from an episode that was finished.
# Seen: with 96 tokens the tool ran once an episode, its result of 200 words is in no completion,
#   tools/call_frequency is 1 and completions/clipped_ratio 0; with 2,048 tokens the result is there.
# What to do: let max_completion_length hold all calls and results of an episode.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "torch==2.13.0" "transformers==5.17.0" "trl==1.16.0" jmespath
cd "$work"
HF_HUB_OFFLINE=1 TRL_EXPERIMENTAL_SILENCE=1 "$work/venv/bin/python" - <<'PYTHON'
import json
import re
from pathlib import Path

import trl
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

print("trl", trl.__version__)
template = (Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja").read_text()
marks = ["<|endoftext|>", *sorted(set(re.findall(r"<\|[a-z_]+\|>", template)))]
letters = sorted(pre_tokenizers.ByteLevel.alphabet())
raw = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
raw.decoder = decoders.ByteLevel()
raw.add_special_tokens(marks)
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=raw, eos_token="<|im_end|>", pad_token="<|endoftext|>"
)
tokenizer.chat_template = template
size = dict(hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
config = Qwen3Config(
    vocab_size=len(tokenizer), num_key_value_heads=2, head_dim=8, max_position_embeddings=4096, **size
)
Qwen3ForCausalLM(config).save_pretrained("model")
tokenizer.save_pretrained("model")
CALL = "<tool_call>\n" + json.dumps({"name": "look", "arguments": {}}) + "\n</tool_call><|im_end|>"
runs = []


def look() -> str:
    """Look around."""
    runs.append("look")
    return "tree " * 200


class Caller(trl.GRPOTrainer):
    """A policy that calls the tool once and then says that it is done."""

    def _generate_single_turn(self, prompt_ids, *args, **kwargs):
        texts = ["done<|im_end|>" if self.asked else CALL for _ in prompt_ids]
        self.asked = True
        return [tokenizer(text)["input_ids"] for text in texts], None


seen = {}
for length in (96, 2048):
    runs.clear()
    completions = []

    def reward(completions, **columns):
        seen[length] = (len(runs), sum("tree" in str(text) for text in completions))
        return [0.0] * len(completions)

    args = trl.GRPOConfig(
        "out", max_steps=1, per_device_train_batch_size=2, num_generations=2, use_cpu=True,
        max_completion_length=length, bf16=False, report_to=[], gradient_checkpointing=False,
        save_strategy="no",
    )
    trainer = Caller(
        "model", args=args, processing_class=tokenizer, reward_funcs=reward, tools=[look],
        train_dataset=Dataset.from_list([{"prompt": [{"role": "user", "content": "Go"}]}] * 2),
    )
    trainer.asked = False
    trainer.train()
    log = trainer.state.log_history[0]
    logged = {key: log[key] for key in ("tools/call_frequency", "completions/clipped_ratio")}
    print("max_completion_length", length, "(tool runs, completions with its result):", seen[length], logged)
    assert logged == {"tools/call_frequency": 1.0, "completions/clipped_ratio": 0.0}
assert seen == {96: (2, 0), 2048: (2, 2)}, seen
PYTHON
