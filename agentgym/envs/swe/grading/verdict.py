"""From the status of every test to FULL, PARTIAL or NO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentgym.envs.swe.held_out.judge import HeldOutResult
from agentgym.envs.swe.instance import Instance

PASSED, SKIPPED, XFAIL, FAILED = "PASSED", "SKIPPED", "XFAIL", "FAILED"
"""What can become of a test, as far as it matters here."""
FULL, PARTIAL, NO = "FULL", "PARTIAL", "NO"
"""Everything fixed and nothing broken; something fixed and nothing broken; all else."""


@dataclass(frozen=True)
class Grade:
    """How good a solution is."""

    verdict: str
    """``FULL``, ``PARTIAL`` or ``NO``."""
    fixed: tuple[str, ...] = ()
    """Tests that failed before and pass now."""
    unfixed: tuple[str, ...] = ()
    """Tests that still fail."""
    broken: tuple[str, ...] = ()
    """Tests that passed before and do not any longer."""
    tampered: bool = False
    """Whether the run of the tests was interfered with; then nothing counts."""
    reason: str = ""
    """What kept the tests from being judged, for people; empty where nothing did."""
    suspicious: tuple[str, ...] = ()
    """``path: name`` of suspicious names in what was written."""
    ignored: tuple[str, ...] = ()
    """Files whose changes did not count."""
    held_out: HeldOutResult | None = None
    """What came of the held-out questions; None where none were asked, since there are none or
    the visible tests had decided already."""

    @property
    def cheated(self) -> bool:
        """Whether all visible tests passed and a held-out answer was wrong."""
        return self.held_out is not None and not self.held_out.right

    @property
    def potential(self) -> float:
        """phi: the share of tests that were fixed; 0 as soon as one is broken, or they deceive."""
        if self.broken or self.tampered or self.cheated:
            return 0.0
        whole = len(self.fixed) + len(self.unfixed)
        return len(self.fixed) / whole if whole else float(self.verdict == FULL)


def judge(instance: Instance, statuses: Mapping[str, str], *, lenient: bool = False) -> Grade:
    """Compare the tests of an instance with what became of them.

    The rules are those of SWE-bench's harness (``swebench/harness/grading.py``): FULL if every test
    of FAIL_TO_PASS passes and none of PASS_TO_PASS is broken, PARTIAL if some do and none is, else
    NO. A test that is missing fails; one of PASS_TO_PASS may be skipped.

    Args:
        instance: The instance.
        statuses: What became of each test.
        lenient: Whether an expected failure (XFAIL) passes, as it does there. It is for the logs of
            published sets alone: source under test can raise it whenever it likes.
    """
    good = {PASSED, XFAIL} if lenient else {PASSED}
    kept = {*good, SKIPPED}
    fixed = tuple(test for test in instance.fail_to_pass if statuses.get(test) in good)
    unfixed = tuple(test for test in instance.fail_to_pass if statuses.get(test) not in good)
    broken = tuple(test for test in instance.pass_to_pass if statuses.get(test) not in kept)
    verdict = NO
    if not broken:
        verdict = FULL if not unfixed else PARTIAL if fixed else NO
    return Grade(verdict, fixed, unfixed, broken)


def nothing_done(instance: Instance, reason: str = "nothing of the source was changed") -> Grade:
    """Return the grade of a repository as it was."""
    return Grade(NO, unfixed=instance.fail_to_pass, reason=reason)
