#!/usr/bin/env bash
# Package: accelerate 1.15.0
# Behaviour: `accumulate` divides every loss by `gradient_accumulation_steps`, and steps at the end of
#   the data as well, where fewer batches may be left. That last step has a fraction of the gradient.
# Seen: five batches of equal gradients and 4 accumulation steps: gradients 1 and 0.25.
# What to do: let the number of batches be a multiple, or scale the loss by the batches of the step.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "torch==2.13.0" "accelerate==1.15.0"
"$work/venv/bin/python" - <<'PYTHON'
import accelerate
import torch

print("accelerate", accelerate.__version__)
helper = accelerate.Accelerator(gradient_accumulation_steps=4, cpu=True)
model = torch.nn.Linear(1, 1, bias=False)
batches = torch.utils.data.DataLoader(torch.ones(5, 1), batch_size=1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
model, optimizer, batches = helper.prepare(model, optimizer, batches)
gradients = []
for batch in batches:
    with helper.accumulate(model):
        helper.backward(model(batch).mean())
        if helper.sync_gradients:
            gradients.append(model.weight.grad.item())
        optimizer.step()
        optimizer.zero_grad()
print("gradients of the steps:", gradients)
assert gradients == [1.0, 0.25], "the last step is scaled now"
PYTHON
