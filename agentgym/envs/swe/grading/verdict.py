"""`Grade`, and the rules that turn the statuses of tests into FULL, PARTIAL or NO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agentgym.envs.swe.grading.junit import CaseResult
from agentgym.envs.swe.grading.protection import is_protected
from agentgym.envs.swe.instance import Instance
from agentgym.envs.swe.runtime import WORKDIR

if TYPE_CHECKING:  # the judge of exported tasks contains this module, but no boxes
    from agentgym.envs.swe.held_out.judge import HeldOutResult

PASSED, SKIPPED, XFAIL, FAILED = "PASSED", "SKIPPED", "XFAIL", "FAILED"
"""Statuses of a test."""
FULL, PARTIAL, NO = "FULL", "PARTIAL", "NO"
"""Verdicts: FULL if all tests are fixed and none is broken; PARTIAL if some are fixed and none is
broken; otherwise NO."""

LOG, LOG_CANARIES, REPORT, BLINDED, HELD_OUT = (
    "log alone", "log with canaries", "report with canaries", "blinded values", "held-out answers",
)  # fmt: skip
"""Evidence of a verdict: the log of the test command; a log with two canaries,
tests whose outcomes are known; a report of every test with canaries; in addition, values of blinded
tests, whose expected values only the host has; or, in addition to a report, answers to held-out
questions."""


@dataclass(frozen=True)
class Grade:
    """The grade of a submission."""

    verdict: str
    """``FULL``, ``PARTIAL`` or ``NO``."""
    fixed: tuple[str, ...] = ()
    """Tests of FAIL_TO_PASS that pass."""
    unfixed: tuple[str, ...] = ()
    """Tests of FAIL_TO_PASS that still fail."""
    broken: tuple[str, ...] = ()
    """Tests of PASS_TO_PASS that no longer pass."""
    tampered: bool = False
    """Whether the run of the tests was tampered with; then nothing counts."""
    reason: str = ""
    """Why the tests could not decide, for people; empty if they could."""
    suspicious: tuple[str, ...] = ()
    """Suspicious names in new lines, as ``path: name``."""
    ignored: tuple[str, ...] = ()
    """Paths of the files whose changes did not count."""
    evidence: str = ""
    """Evidence of the verdict, such as :data:`BLINDED`; empty if no test was run."""
    blinded: float = 0.0
    """Share of FAIL_TO_PASS whose values were compared on the host, from 0 to 1."""
    belied: bool = False
    """Whether the report says FULL, but blinded tests saw wrong values."""
    held_out: HeldOutResult | None = None
    """Result of the held-out questions; None if none were asked, because there are none or the
    tests already failed."""

    @property
    def cheated(self) -> bool:
        """Whether all tests passed, but a held-out answer or a blinded value was wrong."""
        return self.belied or (self.held_out is not None and not self.held_out.right)

    @property
    def potential(self) -> float:
        """The potential phi: the share of FAIL_TO_PASS that is fixed, from 0 to 1.

        It is 0 if a test is broken, the run was tampered with, or the tests passed by cheating.
        """
        if self.broken or self.tampered or self.cheated:
            return 0.0
        total = len(self.fixed) + len(self.unfixed)
        return len(self.fixed) / total if total else float(self.verdict == FULL)


def judge(instance: Instance, statuses: Mapping[str, str], *, lenient: bool = False) -> Grade:
    """Return the grade that the statuses of an instance's tests give.

    The rules are those of SWE-bench's harness (``swebench/harness/grading.py``): FULL if every test
    of FAIL_TO_PASS passes and none of PASS_TO_PASS is broken, PARTIAL if some do and none is, else
    NO. A missing test counts as failed; tests of PASS_TO_PASS may be skipped.

    Args:
        instance: The instance.
        statuses: Status of each test, by id.
        lenient: Whether XFAIL counts as passed, as in SWE-bench. Source under test can cause an
            XFAIL, so the caller has to check that the reference solution has it, too.
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
    """Return the grade of an unchanged repository, or of a run that proves nothing."""
    return Grade(NO, unfixed=instance.fail_to_pass, reason=reason)


def unsound(instance: Instance, claimed: Grade, reason: str) -> Grade:
    """Return the grade of a run whose canaries are wrong.

    Args:
        instance: The instance.
        claimed: The grade that the run would have with right canaries.
        reason: The reason if the run broke off rather than was tampered with, for people.
    """
    if claimed.fixed:  # A run that merely broke off would not report fixed tests.
        return replace(
            nothing_done(instance, "the run of the tests was tampered with"), tampered=True
        )
    return replace(nothing_done(instance, reason), broken=claimed.broken)


def status_of(test: str, case: CaseResult) -> str:
    """Return the status of a test; a skip that the source under test raises is a failure.

    A test may skip itself where it does not apply, but the source must not do so in its place.
    """
    place = case.text.partition(":")[0].removeprefix(f"{WORKDIR}/")
    is_own = place == test.partition("::")[0] or is_protected(place) or not place.endswith(".py")
    return FAILED if case.outcome == "skipped" and not is_own else case.outcome.upper()
