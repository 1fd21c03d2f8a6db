#!/usr/bin/env bash
# Package: reasoning-gym 0.1.25
# Behaviour: most data sets make question i of seed s from the seed s + i. Data sets of neighbouring
#   seeds are the same questions, shifted: question 1 of seed 42 is question 0 of seed 43.
# Seen: of 50 questions of seed 43, 49 are among those of seed 42 (chain_sum, sudoku, syllogism).
# What to do: let training and test be parts of one data set, or put their seeds further apart than
#   the data set is long. A trained-on "held-out" set of the next seed measures memory.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "reasoning-gym==0.1.25"
"$work/venv/bin/python" - <<'PYTHON'
import importlib.metadata

import reasoning_gym

print("reasoning-gym", importlib.metadata.version("reasoning-gym"))
for name in ("chain_sum", "sudoku", "syllogism"):
    train, test, apart = (
        [entry["question"] for entry in reasoning_gym.create_dataset(name, seed=seed, size=50)]
        for seed in (42, 43, 100_042)
    )
    shared, far = len(set(train) & set(test)), len(set(train) & set(apart))
    print(name, "shared with the next seed:", shared, "with a far one:", far)
    assert shared == 49 and train[1:] == test[:-1] and far <= 1, "seeds are kept apart now"
PYTHON
