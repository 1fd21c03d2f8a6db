#!/usr/bin/env bash
# Package: datasets 5.2.0
# Behaviour: `Dataset.from_list` gives the arguments of all tool calls of a data set one type, a
#   struct of all their keys. A row that is read back has every key of every other call in its
#   arguments, as None, and a template that writes arguments as JSON writes nulls that nobody wrote.
# Seen: {"query": "red shoe"} and {"page": 2} come back as {"query": "red shoe", "page": None} and
#   {"query": None, "page": 2}; written as one JSON string each they come back unchanged.
# What to do: keep arguments as JSON text in a data set, and decode them before the template.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "datasets==5.2.0"
HF_HUB_OFFLINE=1 "$work/venv/bin/python" - <<'PYTHON'
import json

import datasets

print("datasets", datasets.__version__)
calls = [{"query": "red shoe"}, {"page": 2}]


def stored(arguments):
    rows = [{"calls": [{"name": "act", "arguments": value}]} for value in arguments]
    return [row["calls"][0]["arguments"] for row in datasets.Dataset.from_list(rows)]


merged = stored(calls)
print("as objects:", merged)
assert [set(value) for value in merged] == [{"query", "page"}] * 2, "they are kept apart now"
assert merged[0]["page"] is None and merged[1]["query"] is None
texts = [json.loads(text) for text in stored([json.dumps(call) for call in calls])]
print("as text:", texts)
assert texts == calls
PYTHON
