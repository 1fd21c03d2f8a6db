#!/usr/bin/env bash
# Package: bitsandbytes 0.50.2
# Behaviour: on a CPU the import reports that a 4-bit kernel cannot be loaded and asks for the package
#   kernels, which is not one of its requirements. Quantized layers work without it.
# Seen: "Failed to load CPU gemm_4bit_forward from kernels-community: No module named 'kernels'", and a
#   4-bit layer whose answers are finite and near those of the layer it was made from.
# What to do: ignore the message, or install kernels.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "torch==2.13.0" "bitsandbytes==0.50.2"
CUDA_VISIBLE_DEVICES='' "$work/venv/bin/python" - 2>&1 <<'PYTHON' | tee "$work/output"
import importlib.metadata
import importlib.util

import bitsandbytes
import torch

print("bitsandbytes", bitsandbytes.__version__)
required = importlib.metadata.requires("bitsandbytes") or []
named = [line for line in required if line.startswith("kernels") and "extra" not in line]
assert not named and importlib.util.find_spec("kernels") is None, "kernels is a requirement now"
torch.manual_seed(0)
plain = torch.nn.Linear(128, 128, bias=False)
layer = bitsandbytes.nn.Linear4bit(128, 128, bias=False, quant_type="nf4")
layer.load_state_dict(plain.state_dict())
with torch.no_grad():
    inputs = torch.randn(4, 128)
    expected, answers = plain(inputs), layer.to("cpu")(inputs)
error = ((answers - expected).norm() / expected.norm()).item()
print("relative error of a 4-bit layer:", round(error, 3))
assert 0 < error < 0.3, "the layer is not quantized, or wrong"
PYTHON
grep -q "No module named 'kernels'" "$work/output" || { echo "the import says nothing now" >&2; exit 1; }
