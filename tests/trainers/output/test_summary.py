from __future__ import annotations

import json

import pytest

from agentgym.errors import DataError
from trainers.output.phase import Phase
from trainers.output.summary import Summary

ARM = {
    "n": 10, "score_mean": 0.5, "score_ci95": [0.4, 0.6], "success": 0.3,
    "success_ci95": [0.1, 0.5], "turns_mean": 4.0, "scaled": 50.0,
}  # fmt: skip
PAIRED = {
    "n": 10, "score_mean": 0.2, "score_ci95": [0.1, 0.3],
    "success_mean": -0.1, "success_ci95": [-0.2, 0.0],
}  # fmt: skip
FIRST_VERSION = {
    "env": "agentgym/WebShop-v0",
    "preset": "turn-loo",
    "steps": 2,
    "horizon": {"rounds": [5, 8], "every": 1, "fit": True},
    "seed": 4,
    "wall_s": 90.0,
    "eval": {"random": ARM, "sft": ARM, "rl": ARM},
    "paired": {"rl_minus_sft": PAIRED},
    "evaluation": {"split": "test", "panel_sha256": "feed", "decoding": "sampled", "horizon": 8},
}
"""What the first version that was published wrote."""


def test_the_file_of_a_run_is_read_whole(finished):
    content = json.loads((finished / "summary.json").read_text())
    read = Summary.from_dict(content)
    assert read.to_dict() == content
    assert read.greedy is not None
    assert read.warm_start is not None
    assert read.eval["rl"].score_ci95 == tuple(content["eval"]["rl"]["score_ci95"])


def test_older_and_newer_files_are_read():
    read = Summary.from_dict({**FIRST_VERSION, "of a later version": 1})
    assert (read.greedy, read.warm_start, read.remarks) == (None, None, ())
    assert read.names["rl"] == "rl"
    written = read.to_dict()
    assert FIRST_VERSION.items() <= written.items()
    assert "greedy" not in written


@pytest.mark.parametrize("key", ["env", "eval", "paired", "evaluation"])
def test_a_file_of_something_else_is_refused(key):
    with pytest.raises(DataError, match=key):
        Summary.from_dict({name: part for name, part in FIRST_VERSION.items() if name != key})


def test_a_phase_is_written_as_a_word():
    assert f"{Phase.VALIDATION}.jsonl" == "valid.jsonl"
    assert json.dumps({"phase": Phase.WARM_START}) == '{"phase": "sft"}'
