#!/usr/bin/env bash
# Package: trl 1.16.0
# Behaviour: the sampler of GRPOTrainer and RLOOTrainer leaves out the prompts that do not fill a
#   generation batch, in every epoch. A data set of fewer prompts than a batch is never played.
# Seen: batches of four prompts, each twice: of eight prompts all are drawn, of five four, of three none.
# What to do: repeat the rows of a small data set, or lower the batch (generation_batch_size).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "torch==2.13.0" "transformers==5.17.0" "trl==1.16.0"
HF_HUB_OFFLINE=1 "$work/venv/bin/python" - <<'PYTHON'
import trl
from trl.trainer.utils import RepeatSampler

print("trl", trl.__version__)
drawn = {}
for prompts in (8, 5, 3):
    sampler = RepeatSampler(range(prompts), mini_repeat_count=2, batch_size=4, shuffle=False)
    drawn[prompts] = len(set(sampler))
    print(prompts, "prompts, drawn:", drawn[prompts])
assert drawn == {8: 8, 5: 4, 3: 0}, "the rest is drawn now"
PYTHON
