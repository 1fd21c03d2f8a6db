#!/usr/bin/env bash
# Package: ray 2.60.0
# Behaviour: an actor with `max_restarts` and `max_task_retries` that dies is made anew by its
#   constructor, and the call that was lost is made again there, without an error. An environment in
#   such an actor goes on in an episode that was never reset and has none of the earlier turns.
# Seen: turns 1, 2, 3, then the process is killed: the next call answers turn 1.
# What to do: leave max_restarts at 0 and replay the episode's actions in a new actor, or let every
#   call name the turn that it expects.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "ray==2.60.0"
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
import os
import signal

import ray

ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False)
print("ray", ray.__version__)


@ray.remote(max_restarts=1, max_task_retries=1)
class Game:
    def __init__(self):
        self.turn = 0

    def step(self):
        self.turn += 1
        return self.turn

    def pid(self):
        return os.getpid()


game = Game.remote()
before = [ray.get(game.step.remote()) for _ in range(3)]
os.kill(ray.get(game.pid.remote()), signal.SIGKILL)
after = ray.get(game.step.remote())
print("turns:", before, "after the restart:", after)
assert before == [1, 2, 3] and after == 1, "a restart is reported now"
ray.shutdown()
PYTHON
