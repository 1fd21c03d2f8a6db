#!/usr/bin/env bash
# Package: textarena 0.7.4
# Behaviour: `env.reset(seed=...)` seeds Python's global generator. Whatever else the program draws
#   from `random` (a random opponent, a sampler, a shuffle) is the same after each reset of that seed,
#   and an episode depends on what others draw in between.
# Seen: random.random() after reset(seed=7) is the same number twice, whatever was seeded before.
# What to do: draw from a random.Random of your own, and save and restore the global state around
#   reset and step.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "textarena==0.7.4"
"$work/venv/bin/python" - <<'PYTHON'
import importlib.metadata
import random

import textarena

print("textarena", importlib.metadata.version("textarena"))


def draw_after_reset(seed):
    random.seed(seed)
    env = textarena.make("TicTacToe-v0")
    env.reset(num_players=2, seed=7)
    return random.random()


draws = [draw_after_reset(seed) for seed in (1, 2)]
print("after random.seed(1) and random.seed(2):", draws)
assert draws[0] == draws[1], "the global generator is left alone now"
PYTHON
