"""From the status of every test to FULL, PARTIAL or NO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agentgym.envs.swe.grading.junit import CaseResult
from agentgym.envs.swe.grading.protection import is_protected
from agentgym.envs.swe.instance import Instance
from agentgym.envs.swe.runtime import WORKDIR

if TYPE_CHECKING:  # the judge of exported tasks asks without boxes
    from agentgym.envs.swe.held_out.judge import HeldOutResult

PASSED, SKIPPED, XFAIL, FAILED = "PASSED", "SKIPPED", "XFAIL", "FAILED"
"""What can become of a test, as far as it matters here."""
FULL, PARTIAL, NO = "FULL", "PARTIAL", "NO"
"""Everything fixed and nothing broken; something fixed and nothing broken; all else."""

LOG, LOG_CANARIES, REPORT, BLINDED, HELD_OUT = (
    "log alone", "log with canaries", "report with canaries", "blinded values", "held-out answers",
)  # fmt: skip
"""What a verdict may rest on: what the tests' command printed; the same with two tests in it that
must come out as known; a report of every test with those two; besides that values of the hidden
tests, whose expectations lie on the host alone; besides a report, answers to held-out questions."""


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
    evidence: str = ""
    """What the verdict rests on, such as :data:`BLINDED`; empty where no test was run."""
    blinded: float = 0.0
    """Share of the tests of FAIL_TO_PASS whose values were compared on the host."""
    belied: bool = False
    """Whether a report says FULL, and values of blinded tests are others."""
    held_out: HeldOutResult | None = None
    """What came of the held-out questions; None where none were asked, since there are none or
    the visible tests had decided already."""

    @property
    def cheated(self) -> bool:
        """Whether all tests passed, and a held-out answer or a blinded value was wrong."""
        return self.belied or (self.held_out is not None and not self.held_out.right)

    @property
    def potential(self) -> float:
        """phi: the share of tests that were fixed; 0 as soon as one is broken, or they deceive."""
        if self.broken or self.tampered or self.cheated:
            return 0.0
        total = len(self.fixed) + len(self.unfixed)
        return len(self.fixed) / total if total else float(self.verdict == FULL)


def judge(instance: Instance, statuses: Mapping[str, str], *, lenient: bool = False) -> Grade:
    """Compare the tests of an instance with what became of them.

    The rules are those of SWE-bench's harness (``swebench/harness/grading.py``): FULL if every test
    of FAIL_TO_PASS passes and none of PASS_TO_PASS is broken, PARTIAL if some do and none is, else
    NO. A test that is missing fails; one of PASS_TO_PASS may be skipped.

    Args:
        instance: The instance.
        statuses: What became of each test.
        lenient: Whether an expected failure (XFAIL) passes, as it does there: only where it is
            known that the right solution has it, since source under test can raise it too.
    """
    good = {PASSED, XFAIL} if lenient else {PASSED}
    accepted = {*good, SKIPPED}
    fixed = tuple(test for test in instance.fail_to_pass if statuses.get(test) in good)
    unfixed = tuple(test for test in instance.fail_to_pass if statuses.get(test) not in good)
    broken = tuple(test for test in instance.pass_to_pass if statuses.get(test) not in accepted)
    verdict = NO
    if not broken:
        verdict = FULL if not unfixed else PARTIAL if fixed else NO
    return Grade(verdict, fixed, unfixed, broken)


def nothing_done(instance: Instance, reason: str = "nothing of the source was changed") -> Grade:
    """Return the grade of a repository as it was."""
    return Grade(NO, unfixed=instance.fail_to_pass, reason=reason)


def unsound(instance: Instance, claimed: Grade, reason: str) -> Grade:
    """Return the grade of a run whose canaries are wrong.

    Args:
        instance: The instance.
        claimed: What the run would be worth.
        reason: What is known of it, for people.
    """
    if claimed.fixed:  # A run that merely broke off has nothing good to report.
        return replace(
            nothing_done(instance, "the run of the tests was tampered with"), tampered=True
        )
    return replace(nothing_done(instance, reason), broken=claimed.broken)


def status_of(test: str, case: CaseResult) -> str:
    """Return what became of a test; what the source under test skips has failed.

    A test may say that it does not apply here; the source may not say so for it.
    """
    place = case.text.partition(":")[0].removeprefix(f"{WORKDIR}/")
    is_own = place == test.partition("::")[0] or is_protected(place) or not place.endswith(".py")
    return FAILED if case.outcome == "skipped" and not is_own else case.outcome.upper()
