#!/usr/bin/env bash
# Package: datasets 5.2.0
# Behaviour: `load_dataset` guesses types anew in every file. In JSON lines a column of texts that all
#   look like dates becomes timestamps; in CSV files "007" becomes 7, and "None", "NA" and "null" are
#   missing values. A reward function that compares texts gets a datetime, a number or None.
# Seen: the answer "2024-11-29" is datetime(2024, 11, 29), and with `features` that say
#   Value("string") it is "2024-11-29 00:00:00"; "None" and "NA" are None; "007" is 7.
# What to do: store parquet, which has its types, or read the lines with json.loads; for CSV pass
#   `features` and keep_default_na=False.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q "datasets==5.2.0"
cd "$work"
HF_HUB_OFFLINE=1 "$work/venv/bin/python" - <<'PYTHON'
import datetime
import json
from pathlib import Path

import datasets

datasets.disable_progress_bars()
print("datasets", datasets.__version__)


def read(kind, name, text, **options):
    Path(name).write_text(text)
    data = datasets.load_dataset(kind, data_files=name, split="train", cache_dir="cache", **options)
    answers = list(data["answer"])
    print(name, options and "with options", answers)
    return answers


texts = datasets.Features({"answer": datasets.Value("string")})
dates = ["2024-11-29", "1999-01-01"]
lines = "".join(json.dumps({"answer": date}) + "\n" for date in dates)
first = read("json", "dates.jsonl", lines)[0]
assert first == datetime.datetime(2024, 11, 29), "texts that look like dates stay texts now"
assert read("json", "dates.jsonl", lines, features=texts)[0] == "2024-11-29 00:00:00"
datasets.Dataset.from_dict({"answer": dates}).to_parquet("dates.parquet")
stored = datasets.load_dataset("parquet", data_files="dates.parquet", cache_dir="cache")
assert list(stored["train"]["answer"]) == dates
assert read("csv", "numbers.csv", "answer\n007\n012\n") == [7, 12], "texts stay texts now"
words = ["None", "NA", "null", "Paris"]
column = "\n".join(["answer", *words])
assert read("csv", "words.csv", column) == [None, None, None, "Paris"], "all words are kept now"
assert read("csv", "words.csv", column, features=texts, keep_default_na=False) == words
PYTHON
