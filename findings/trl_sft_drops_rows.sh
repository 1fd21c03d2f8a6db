#!/usr/bin/env bash
# Package: trl 1.16.0
# Behaviour: SFTTrainer leaves out rows in which no token is learned, such as rows whose answer lies
#   behind `max_length`. A progress bar is all that says so; the epoch is shorter than the data set.
# Seen: of four rows with answers behind 80, 80, 80 and 8 words, one is left at max_length=48; with
#   max_length=None all four are.
# What to do: compare len(trainer.train_dataset) with the rows, or set max_length to hold the longest.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "torch==2.13.0" "transformers==5.17.0" "trl==1.16.0"
cd "$work"
HF_HUB_OFFLINE=1 "$work/venv/bin/python" - <<'PYTHON'
import trl
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

print("trl", trl.__version__)
words = ["<unk>", "<s>", "word", "answer"]
raw = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<s>", pad_token="<s>")
size = dict(hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
model = LlamaForCausalLM(LlamaConfig(vocab_size=len(words), **size))
rows = [{"prompt": "word " * count, "completion": "answer"} for count in (80, 80, 80, 8)]
left = {}
for length in (48, None):
    args = trl.SFTConfig(
        "out", max_length=length, completion_only_loss=True, use_cpu=True, bf16=False, report_to=[]
    )
    trainer = trl.SFTTrainer(
        model, args=args, train_dataset=Dataset.from_list(rows), processing_class=tokenizer
    )
    left[length] = len(trainer.train_dataset)
    print("max_length", length, "rows left:", left[length], "of", len(rows))
assert left == {48: 1, None: 4}, "expected three rows to be left out"
PYTHON
