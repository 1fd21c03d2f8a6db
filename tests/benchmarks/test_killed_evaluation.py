from __future__ import annotations

import json
from collections import Counter

import pytest

from benchmarks.killed_evaluation import FAULTS, Script


def test_a_tenth_of_the_requests_fail_and_three_kinds_pass_when_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    bodies = [
        json.dumps({"messages": [{"role": "user", "content": i}]}).encode() for i in range(999)
    ]
    script = Script(latency=0.1)
    first = [script(body) for body in bodies]
    failures = Counter(script.faults)
    again = [script(body) for body in bodies]
    third = [script(body) for body in bodies]
    assert again == third  # whoever is killed gets what an undisturbed evaluation gets
    kinds = {kind: failures[kind] for kind in FAULTS}
    assert min(kinds.values()) > 5 and 80 < sum(kinds.values()) < 120
    differing = sum(answer != later for answer, later in zip(first, again, strict=True))
    assert differing == (  # a hang is an answer that comes too late
        kinds["error"] + kinds["half"]
    )
