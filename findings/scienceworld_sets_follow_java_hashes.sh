#!/usr/bin/env bash
# Package: scienceworld 1.2.3
# Behaviour: the gold path of a variation, and the order in which a room lists its objects, depend on
#   what the process loaded before. Its random generator is seeded at every load, but it keeps
#   objects in sets, whose order follows from Java's identity hashes. Needs Java.
# Seen: five loads of variation 0 of find-living-thing give at least two gold paths; with
#   JAVA_TOOL_OPTIONS="-XX:+UnlockExperimentalVMOptions -XX:hashCode=2", one hash for all, they give one.
# What to do: set these options, or start a process for each episode.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "scienceworld==1.2.3"
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
import os
from importlib.metadata import version

from scienceworld import ScienceWorldEnv

print("scienceworld", version("scienceworld"))


def gold_paths():
    env = ScienceWorldEnv("", envStepLimit=100)
    paths = []
    for _ in range(5):
        env.load("find-living-thing", 0, "easy", generateGoldPath=True)
        paths.append(tuple(env.get_gold_action_sequence()))
    env.close()
    return len(set(paths))


usual = gold_paths()
os.environ["JAVA_TOOL_OPTIONS"] = "-XX:+UnlockExperimentalVMOptions -XX:hashCode=2"
same_hash = gold_paths()
print("different gold paths of five loads:", usual, "- with one hash for all objects:", same_hash)
assert usual > 1 and same_hash == 1
PYTHON
