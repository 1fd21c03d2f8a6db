#!/usr/bin/env bash
# Package: peft 0.21.2
# Behaviour: adapters on the embedding of a model whose head is tied to it, with
#   `ensure_weight_tying=True`, share one storage; `merge_and_unload` adds the change of both to the
#   one matrix. The merged model is not the one that was trained.
# Seen: with a change of d, the merged embedding is W + 2 d (to 1e-6), not W + d.
# What to do: leave embedding and head out of `target_modules`, or serve the adapter unmerged.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "torch==2.13.0" "transformers==5.17.0" "peft==0.21.2"
HF_HUB_OFFLINE=1 "$work/venv/bin/python" - <<'PYTHON'
import peft
import torch
from transformers import LlamaConfig, LlamaForCausalLM

print("peft", peft.__version__)
torch.manual_seed(0)
size = dict(hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
model = LlamaForCausalLM(LlamaConfig(vocab_size=32, tie_word_embeddings=True, **size)).eval()
before = model.get_input_embeddings().weight.detach().clone()
config = peft.LoraConfig(r=2, target_modules=["embed_tokens"], ensure_weight_tying=True)
adapted = peft.get_peft_model(model, config)
layer = adapted.base_model.model.model.embed_tokens
with torch.no_grad():
    layer.lora_embedding_A["default"].normal_()
    layer.lora_embedding_B["default"].normal_()
change = layer.get_delta_weight("default").detach().clone()
merged = adapted.merge_and_unload().get_input_embeddings().weight.detach()
times = ((merged - before) * change).sum() / (change * change).sum()
print("the change was added", round(times.item(), 4), "times")
assert torch.allclose(merged, before + 2 * change, atol=1e-5), "it is added another number of times"
PYTHON
