#!/usr/bin/env bash
# Package: transformers 5.24.0
# Behaviour: `apply_chat_template(messages)` returns a mapping, so that code written for lists of ids
#   goes on without an error: its length is the number of its keys, and looping yields their names.
# Seen: len() is 2 for a conversation of 9 tokens; list() is ['input_ids', 'attention_mask'];
#   return_dict=False gives the 9 ids.
# What to do: pass return_dict=False, or tokenize=False and encode the text yourself.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "transformers==5.24.0" "jinja2==3.1.6"
HF_HUB_OFFLINE=1 "$work/venv/bin/python" - <<'PYTHON'
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

words = ["<unk>", "user", "assistant", ":", "how", "many", "tokens", "are", "these", "?"]
base = Tokenizer(models.WordLevel({word: at for at, word in enumerate(words)}, unk_token="<unk>"))
base.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=base, unk_token="<unk>")
tokenizer.chat_template = "{% for m in messages %}{{ m.role }} : {{ m.content }}\n{% endfor %}"
messages = [{"role": "user", "content": "how many tokens are these ? ?"}]

encoded = tokenizer.apply_chat_template(messages)
ids = tokenizer.apply_chat_template(messages, return_dict=False)
print("transformers", transformers.__version__)
print("length", len(encoded), "of", list(encoded))
print("ids", len(ids), ids)
assert len(encoded) == 2 and list(encoded) == ["input_ids", "attention_mask"], "a list again"
assert len(ids) == 9 == len(encoded["input_ids"])
PYTHON
