#!/usr/bin/env bash
# Package: trl 1.16.0
# Behaviour: with assistant_only_loss=True SFTTrainer writes conversations with a version of its own of
#   the chat templates that it knows, such as Qwen3's. That version puts a block of thinking before
#   every answer, Qwen3's before the last one only. The tokenizer keeps its own template, by which
#   earlier answers are written otherwise in generation than they were trained.
# Seen: of two answers without thinking both begin with <think>\n\n</think>\n\n in the trainer's row;
#   by the tokenizer's template, which is still Qwen3's after that, only the second does.
# What to do: decode a row before training, and give the tokenizer the template that was trained.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "torch==2.13.0" "transformers==5.17.0" "trl==1.16.0"
cd "$work"
HF_HUB_OFFLINE=1 "$work/venv/bin/python" - <<'PYTHON'
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
talk = [
    {"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"},
    {"role": "user", "content": "Bye"}, {"role": "assistant", "content": "See you"},
]
written = tokenizer.apply_chat_template(talk, tokenize=False)
args = trl.SFTConfig(
    "out", assistant_only_loss=True, use_cpu=True, bf16=False, report_to=[], max_length=None
)
trainer = trl.SFTTrainer(
    Qwen3ForCausalLM(config), args=args, processing_class=tokenizer,
    train_dataset=Dataset.from_list([{"messages": talk}]),
)
(row,) = trainer.train_dataset
trained = tokenizer.decode(row["input_ids"])
print("the tokenizer's template:", repr(written), "\nthe trainer's row:", repr(trained))
EMPTY = "<|im_start|>assistant\n<think>\n\n</think>\n\n"
assert (written.count(EMPTY), trained.count(EMPTY)) == (1, 2), "expected a block before each answer"
assert trainer.processing_class.chat_template == template
PYTHON
