#!/usr/bin/env bash
# Package: accelerate 1.15.0
# Behaviour: where the rows do not fill the last batch of every process, accelerate fills it with the
#   first rows of the epoch. `gather_for_metrics` takes them out again, a training loop does not: its
#   last step counts them twice in an epoch, and one process would have taken another step.
# Seen: ten rows, two processes, batches of four: the last step has rows 8 and 9, and six others.
# What to do: leave the rest out (`drop_last=True`), or let the rows be a multiple of a step's.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "torch==2.13.0" "accelerate==1.15.0"
"$work/venv/bin/python" - <<'PYTHON'
import accelerate
from accelerate.data_loader import prepare_data_loader
from torch.utils.data import DataLoader

print("accelerate", accelerate.__version__)


def last_step(drop_last):
    """What both processes read in their last step, of the epoch's ten rows."""
    rows = []
    for process in (0, 1):
        loader = DataLoader(range(10), batch_size=4, drop_last=drop_last)
        shared = prepare_data_loader(
            loader, num_processes=2, process_index=process, put_on_device=False
        )
        rows += list(shared.batch_sampler)[-1]
    return sorted(rows)


print("rows of the last step:", last_step(drop_last=False))
assert last_step(drop_last=False) == [0, 1, 2, 3, 4, 5, 8, 9], "the first rows are left out now"
assert last_step(drop_last=True) == [0, 1, 2, 3, 4, 5, 6, 7]
PYTHON
