"""Search for a repair with the tests and the examples of an issue.

Typed by ``IssueSearch`` into a box and run there, beside the other files of the search; nothing on
the host imports it.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any


def main(seconds: float, method: str) -> bool:
    """Search for some seconds of the processor; return whether all tests pass, and all examples."""
    tokens, examples, repairs = map(
        import_module, ("token_search", "issue_examples", "issue_repairs")
    )
    with open(os.path.join(os.path.dirname(__file__), "issue.md"), encoding="utf-8") as file:
        issue = file.read()
    paths = [*tokens.sources()]

    def passing() -> set[str]:
        return set(tokens.run([], profile=True)[1])

    def first(hot: list[list[Any]]) -> Any:
        return repairs.repairs(issue, hot, paths) if method == "repairs" else ()

    if not os.path.exists(tokens.STATE):
        if method == "repairs":
            repairs.rename(issue, paths, passing)
        examples.write_tests(issue)
    return bool(tokens.search(seconds, first))


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.getcwd())
    print("all tests pass" if main(float(sys.argv[1]), sys.argv[2]) else "searched on")
