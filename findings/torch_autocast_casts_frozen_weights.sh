#!/usr/bin/env bash
# Package: torch 2.13.0
# Behaviour: autocast keeps the low-precision copy of a float32 weight until its outermost context
#   ends, but only of a weight that requires gradients. A frozen one, as in a model that only
#   generates, is cast again in every forward pass.
# Seen: ten forward passes of a linear layer without gradients, in one context: 1 cast of the weight
#   if it requires gradients, 10 if it does not; in ten contexts 10 casts of either.
# What to do: cast frozen weights once, or open one context around many passes of trained ones.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "torch==2.13.0" numpy
"$work/venv/bin/python" - <<'PYTHON'
import contextlib

import torch
from torch.profiler import ProfilerActivity, profile

PASSES = 10


def count_casts(trained: bool, one_context: bool) -> int:
    layer = torch.nn.Linear(256, 512, bias=False).requires_grad_(trained)
    autocast = torch.autocast("cpu", torch.bfloat16)
    outer = autocast if one_context else contextlib.nullcontext()
    inner = contextlib.nullcontext() if one_context else autocast
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiled, torch.no_grad():
        with outer:
            for _ in range(PASSES):
                with inner:
                    layer(torch.randn(1, 256))
    operations = profiled.key_averages(group_by_input_shape=True)
    casts = [o for o in operations if o.key == "aten::_to_copy" and o.input_shapes[0] == [512, 256]]
    return sum(operation.count for operation in casts)


print("torch", torch.__version__)
one = {trained: count_casts(trained, one_context=True) for trained in (True, False)}
many = {trained: count_casts(trained, one_context=False) for trained in (True, False)}
print("casts in one context: trained", one[True], "frozen", one[False])
print("casts in ten contexts: trained", many[True], "frozen", many[False])
assert one == {True: 1, False: PASSES}
assert many == {True: PASSES, False: PASSES}
PYTHON
