#!/usr/bin/env bash
# Package: gymnasium 1.4.0
# Behaviour: the vector environments make the array of an entry of `info` from the first value that
#   comes, and of its type alone. An int of one environment and None of the next is a TypeError in
#   the middle of a batch; a bool and None are an array of bools in which the None reads False.
# Seen: TypeError for {"left": 3}, {"left": None}; [True False] for {"done": True}, {"done": None};
#   a key that is absent is the documented way: [3 0] with the mask [True False].
# What to do: give a key one type in all turns, or leave it out.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "gymnasium==1.4.0"
"$work/venv/bin/python" - <<'PYTHON'
import gymnasium
from gymnasium.vector import SyncVectorEnv


class Counter(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, info):
        self.info = info

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, 0.0, False, False, dict(self.info)


def step(first, second):
    envs = SyncVectorEnv([lambda: Counter(first), lambda: Counter(second)])
    envs.reset(seed=0)
    return envs.step([0, 0])[-1]


print("gymnasium", gymnasium.__version__)
try:
    infos = step({"left": 3}, {"left": None})
except TypeError as error:
    print("int and None:", type(error).__name__, error)
else:
    raise SystemExit(f"an int and None are an array now: {infos}")
done = step({"done": True}, {"done": None})["done"]
print("bool and None:", done)
assert done.tolist() == [True, False], "a bool and None are another array now"
infos = step({"left": 3}, {})
print("int and absent:", infos["left"], infos["_left"])
assert infos["left"].tolist() == [3, 0] and infos["_left"].tolist() == [True, False]
PYTHON
