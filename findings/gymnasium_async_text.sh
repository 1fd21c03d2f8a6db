#!/usr/bin/env bash
# Package: gymnasium 1.4.0
# Behaviour: AsyncVectorEnv with its default `shared_memory=True` reads `Text` observations once, when
#   it is made. Whatever the environments say later, reset and step return that first, empty memory:
#   the first character of the space, `max_length` times. There is no error and no warning.
# Seen: an environment that says "ready", then "go", is read as "000000" both times; SyncVectorEnv and
#   AsyncVectorEnv with shared_memory=False read "ready" and "go".
# What to do: pass shared_memory=False where a part of the observation is a Text.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "gymnasium==1.4.0"
cat >"$work/play.py" <<'PYTHON'
import gymnasium
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv


class Speaker(gymnasium.Env):
    observation_space = gymnasium.spaces.Text(max_length=6)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return "ready", {}

    def step(self, action):
        return "go", 0.0, False, False, {}


def read(kind, **options):
    envs = kind([Speaker, Speaker], **options)
    seen = [envs.reset(seed=0)[0], envs.step([0, 0])[0]]
    envs.close()
    print(kind.__name__, options, seen)
    return seen


if __name__ == "__main__":
    print("gymnasium", gymnasium.__version__)
    said = [("ready", "ready"), ("go", "go")]
    assert read(SyncVectorEnv) == said
    assert read(AsyncVectorEnv, shared_memory=False) == said
    blank = Speaker.observation_space.character_list[0] * 6
    assert read(AsyncVectorEnv) == [(blank, blank)] * 2, "shared memory is read again now"
PYTHON
"$work/venv/bin/python" "$work/play.py"
