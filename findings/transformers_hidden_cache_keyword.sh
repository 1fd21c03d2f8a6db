#!/usr/bin/env bash
# Package: transformers 5.24.0
# Behaviour: the forward of a causal language model still takes `past_key_values`, with a warning, but
#   inspect.signature no longer shows it; the parameter is `cache` now. The output answers to the
#   attribute `past_key_values`, while its keys hold `cache` alone. Code that looks at the signature
#   or at the keys before it uses a cache finds none.
# Seen: the keyword fills the cache; the signature has `cache` and no `past_key_values`; the keys of
#   the output are logits and cache. With 5.17.0 the signature and the keys have `past_key_values`.
# What to do: look for both names.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "torch==2.13.0" "transformers==5.24.0"
HF_HUB_OFFLINE=1 "$work/venv/bin/python" - <<'PYTHON'
import inspect

import torch
import transformers
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

print("transformers", transformers.__version__)
size = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2)
config = LlamaConfig(vocab_size=20, **size)
model = LlamaForCausalLM(config).eval()
cache = DynamicCache(config=config)
with torch.no_grad():
    out = model(input_ids=torch.tensor([[3, 4, 5]]), past_key_values=cache)
parameters = list(inspect.signature(LlamaForCausalLM.forward).parameters)
print("tokens in the cache:", cache.get_seq_length())
print("parameters:", ", ".join(parameters))
print("keys of the output:", ", ".join(out.keys()))
assert cache.get_seq_length() == 3 and out.past_key_values is cache
assert "past_key_values" not in parameters and "cache" in parameters
assert list(out.keys()) == ["logits", "cache"]
PYTHON
