#!/usr/bin/env bash
# Package: trl 1.16.0
# Behaviour: a deep copy of a model that has TRL's fused head computes with the layers of the model it
#   was copied from, wherever it is called without that head. The head replaces `forward` by a
#   function that keeps the first model's own `forward`; a copy takes the function along as it is.
# Seen: after all weights of the copy were set to 0, copy(ids).logits equal those of the first model,
#   while copy(ids, labels=ids, fused_lm_head=True) has the log-probabilities of a uniform policy.
# What to do: copy the model before the head is added.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "torch==2.13.0" "transformers==5.17.0" "trl==1.16.0"
HF_HUB_OFFLINE=1 "$work/venv/bin/python" - <<'PYTHON'
import copy
import math

import torch
import trl
from transformers import LlamaConfig, LlamaForCausalLM
from trl.trainer.utils import add_fused_lm_head

print("trl", trl.__version__)
torch.manual_seed(0)
size = dict(hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
model = LlamaForCausalLM(LlamaConfig(vocab_size=32, **size)).eval()
add_fused_lm_head(model)
twin = copy.deepcopy(model)
ids = torch.arange(8)[None]
with torch.no_grad():
    for weight in twin.parameters():
        weight.zero_()
    plain = (twin(ids).logits - model(ids).logits).abs().max().item()
    fused = twin(ids, labels=ids, fused_lm_head=True).log_probs
print("copy without the head, largest difference to the first model:", plain)
print("copy with the head, log-probability of a token:", fused.unique().tolist())
assert plain == 0.0, "the copy computes with its own layers now"
assert torch.allclose(fused, torch.full_like(fused, -math.log(32)), atol=1e-5)
PYTHON
