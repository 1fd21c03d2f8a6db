"""Serve a scripted judge that accepts every episode.

    python benchmarks/scripted_judge.py

Serves chat completions on the loopback interface until it is interrupted, and answers each question
of the hook ``judge_mask``. So a method with a judge can run completely on a toy environment, in
which a judge has nothing to reject.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.endpoints import Endpoint, Reply, completion

PORT = 8765
URL = f"http://127.0.0.1:{PORT}/v1"
"""The hook's URL."""
_MARK = re.compile(r"VERDICT (\w+) DECISION")


def answer(question: str) -> str:
    """Return the verdict on the episode of a question."""
    marks = _MARK.findall(question)  # the last one, because the episode's text may contain others
    return f"Nothing went wrong.\nVERDICT {marks[-1]} SOUND" if marks else "This is no question."


def _judge(body: bytes) -> Reply:
    """Answer one request."""
    return completion(answer(json.loads(body)["messages"][-1]["content"]))


def main() -> None:
    """Serve."""
    with Endpoint(_judge, PORT) as server:
        print(f"judging at {URL}; end with Ctrl-C")
        server.serve_forever()


if __name__ == "__main__":
    main()
