"""Runs in a box: what blinded tests call instead of comparing.

A line of JSON is appended for each look: the id of the test, and the value as
:func:`~agentgym.envs.swe.held_out.driver.encode` writes it. The host appends where the file lies.
Nothing here knows what is right, so nothing has to be trusted.
"""

from __future__ import annotations

import json
import os

from agentgym.envs.swe.held_out.driver import LONGEST_ANSWER, encode, fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LOOKS = ""
MOST_LOOKS = 500
"""Looks of one test; the last one says that there are more."""
NOTHING = ["s", "nothing was raised"]
_counts = {}  # type: dict[str, int]


def look(value: Any) -> None:
    """Tell a value."""
    try:
        answer = encode(value)
    except Exception:
        answer = ["none"]
    _tell(answer)


def ended(error: BaseException) -> None:
    """Tell what a test ends with."""
    _tell(fault("end", error))


class Caught:
    """Stands for ``pytest.raises``: tells what is raised, whatever was expected."""

    value = exception = type = tb = None

    def __enter__(self) -> Any:
        """Return what stands for the information about the exception."""
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        """Tell the exception, and swallow it."""
        if isinstance(error, (KeyboardInterrupt, GeneratorExit)):
            return False
        self.value = self.exception = error
        self.type, self.tb = kind, trace
        _tell(NOTHING if error is None else fault("!", error))
        return True

    @property
    def typename(self) -> str:
        """The name of the class of the exception."""
        return getattr(self.type, "__name__", "")

    def match(self, pattern: str) -> bool:
        """Expect nothing of the message."""
        return True


def _tell(answer: Any) -> None:
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    count = _counts[test] = _counts.get(test, 0) + 1
    if count > MOST_LOOKS:
        return
    try:
        line = json.dumps([test, ["long"] if count == MOST_LOOKS else answer])
    except (ValueError, TypeError, RecursionError):
        line = json.dumps([test, ["none"]])
    if len(line) > LONGEST_ANSWER:
        line = json.dumps([test, ["long"]])
    with open(LOOKS, "ab", 0) as file:
        file.write(line.encode("ascii") + b"\n")
