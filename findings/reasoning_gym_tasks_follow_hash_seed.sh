#!/usr/bin/env bash
# Package: reasoning-gym 0.1.25
# Behaviour: some data sets draw from sets of strings, whose order follows Python's hash seed, so the
#   same name, seed and index is another question in another process.
# Seen: with PYTHONHASHSEED 1 and 2, isomorphic_strings, polynomial_multiplication and ransom_note
#   differ among their first ten questions; leg_counting does not. Twice with 1 nothing differs.
# What to do: set PYTHONHASHSEED to one number in all workers, or share questions instead of seeds.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "reasoning-gym==0.1.25"
cd "$work"
cat >questions.py <<'PYTHON'
import hashlib
import json
from importlib.metadata import version

import reasoning_gym

NAMES = ("isomorphic_strings", "polynomial_multiplication", "ransom_note", "leg_counting")
digests = {"version": version("reasoning-gym")}
for name in NAMES:
    data = reasoning_gym.create_dataset(name, seed=0, size=10)
    text = json.dumps([data[index]["question"] for index in range(10)])
    digests[name] = hashlib.sha256(text.encode()).hexdigest()[:12]
print(json.dumps(digests))
PYTHON
for seed in 1 1 2; do
  PYTHONHASHSEED=$seed "$work/venv/bin/python" questions.py | tail -1 >>digests.jsonl
done
"$work/venv/bin/python" - <<'PYTHON'
import json

first, again, other = map(json.loads, open("digests.jsonl"))
print("reasoning-gym", first["version"])
changed = sorted(name for name in first if first[name] != other[name])
print("other questions with another hash seed:", *changed)
assert first == again, "one hash seed gives one set of questions"
assert changed == ["isomorphic_strings", "polynomial_multiplication", "ransom_note"]
PYTHON
