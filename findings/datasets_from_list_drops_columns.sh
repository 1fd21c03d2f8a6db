#!/usr/bin/env bash
# Package: datasets 5.2.0
# Behaviour: `Dataset.from_list` has the columns of the first row. What only later rows have, such as
#   the tools or the reward of some episodes, is left out without a warning.
# Seen: [{"text": "a"}, {"text": "b", "tools": "t"}] has the column "text" alone; the same rows as
#   JSON lines, read by load_dataset, have both.
# What to do: give the first row every key (None will do), or pass `features`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "datasets==5.2.0"
cd "$work"
HF_HUB_OFFLINE=1 "$work/venv/bin/python" - <<'PYTHON'
import json
from pathlib import Path

import datasets

datasets.disable_progress_bars()
print("datasets", datasets.__version__)
rows = [{"text": "a"}, {"text": "b", "tools": "t"}]
columns = datasets.Dataset.from_list(rows).column_names
print("from_list:", columns)
Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
read = datasets.load_dataset("json", data_files="rows.jsonl", split="train", cache_dir="cache")
print("load_dataset:", read.column_names)
filled = datasets.Dataset.from_list([{"text": "a", "tools": None}, rows[1]])
print("with None in the first row:", filled.column_names)
assert columns == ["text"], "later columns are kept now"
assert set(read.column_names) == set(filled.column_names) == {"text", "tools"}
PYTHON
