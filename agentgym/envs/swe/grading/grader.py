"""`Grader`: runs the tests on an agent's edits, in a fresh box that the agent never touched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agentgym.envs.swe.diffs import apply_diff, read_diff
from agentgym.envs.swe.grading.image import DIED, grade_in_image
from agentgym.envs.swe.grading.protection import (
    Changes,
    Edits,
    fixed_files,
    source_edits,
)
from agentgym.envs.swe.grading.suspicion import suspicious_edits
from agentgym.envs.swe.grading.test_run import run_tests
from agentgym.envs.swe.grading.twins import TwinCanaries, canaries_for_suite
from agentgym.envs.swe.grading.verdict import (
    FULL,
    HELD_OUT,
    NO,
    REPORT,
    Grade,
    judge,
    status_of,
    unsound,
)
from agentgym.envs.swe.held_out.bank import load_bank
from agentgym.envs.swe.held_out.judge import judge_behaviour
from agentgym.envs.swe.instance import FolderSource, Instance
from agentgym.envs.swe.instance_boxes import Boxes, write_files
from agentgym.envs.swe.runtime import WORKDIR
from agentgym.envs.swe.trees import contents
from agentgym.sandbox import Sandbox, SandboxDied, SandboxLost
from agentgym.support.random_stream import Stream


@dataclass(frozen=True)
class GuardedRun:
    """The result of a run of tests with canaries."""

    statuses: Mapping[str, str]
    """Status of each test, by id."""
    sound: bool
    """Whether the canaries passed and failed as they should."""
    reason: str = ""
    """What went wrong, for people; empty if nothing did."""


@dataclass(frozen=True)
class Grader:
    """Grades changes of a repository.

    Only edits of source files (:mod:`agentgym.envs.swe.grading.protection`) are copied into a fresh
    box with the original tests, configuration and history. pytest ignores the repository's
    configuration and precedes it on the import path. Canaries among the tests
    (:mod:`agentgym.envs.swe.grading.twins`) have to fail or to pass, and the exit code has to
    report a failure; otherwise the run was tampered with or broke off, and nothing counts.
    """

    boxes: Boxes
    """Opens boxes."""
    timeout: float = 120.0
    """Time limit of a run of the tests, and of the held-out questions, in seconds."""
    apart: bool = False
    """Whether every test file runs in its own process. This takes about 80 ms per file, and guards
    against nothing that the held-out questions do not detect."""

    def edits(self, instance: Instance, changes: Changes) -> Edits:
        """Sort an agent's changes into those that count and those that are ignored.

        Raises:
            EnvFailure: The files of an image cannot be listed.
        """
        source = instance.source
        original_files = (
            contents(source) if isinstance(source, FolderSource) else self.boxes.files(instance)
        )
        return source_edits(changes, original_files, solution_paths(instance), instance.protected)

    def grade(self, instance: Instance, changes: Changes) -> Grade:
        """Grade an agent's changes by the tests and the held-out questions of the instance.

        Args:
            instance: The instance.
            changes: Files that differ from the start of the episode, by path relative to the
                repository; None: deleted.

        Raises:
            DataError: The bank of held-out questions is missing or damaged.
            EnvFailure: The box cannot be opened or reached. If the source under test kills the
                box, the grade is NO instead.
        """
        edits = self.edits(instance, changes)
        return self.ask(instance, edits, self.grade_tests(instance, edits))

    def grade_tests(self, instance: Instance, edits: Edits) -> Grade:
        """Grade edits by the tests alone.

        Args:
            instance: The instance.
            edits: Return value of :meth:`edits`.

        Raises:
            EnvFailure: The box cannot be opened or reached.
        """
        if isinstance(instance.source, FolderSource):
            sources = contents(instance.source)
            run = self.run(instance, edits.counted)
            grade = judge(instance, run.statuses)
            if not run.sound:
                grade = unsound(instance, grade, run.reason)
            grade = replace(grade, evidence=REPORT)
        else:
            sources = {}
            grade = grade_in_image(self.boxes, instance, edits.counted, self.timeout)
        flags = suspicious_edits(edits.counted, sources)
        return replace(grade, suspicious=flags, ignored=edits.ignored)

    def ask(self, instance: Instance, edits: Edits, grade: Grade) -> Grade:
        """Check a FULL grade with held-out questions; a wrong answer turns it into NO.

        The questions are drawn with the digest of the edits as seed, so a replay asks the same.

        Args:
            instance: The instance.
            edits: Return value of :meth:`edits`.
            grade: Return value of :meth:`grade_tests`.

        Returns:
            The grade, with ``held_out`` if questions were asked; otherwise unchanged.

        Raises:
            DataError: The bank is missing or damaged, or belongs to another repository.
            EnvFailure: The box cannot be opened or reached.
        """
        if instance.held_out is None or grade.verdict != FULL:
            return grade
        bank = load_bank(instance.held_out)
        if instance.id not in bank.tasks:
            return grade
        result = judge_behaviour(
            self.boxes, instance, edits.counted, bank, seed=edits.digest, timeout=self.timeout
        )
        grade = replace(grade, held_out=result, evidence=HELD_OUT)
        if result.right:
            return grade
        reason = f"held-out questions: {result.reason or 'other answers than the sound source'}"
        return replace(grade, verdict=NO, reason=reason)

    def run(self, instance: Instance, edits: Changes, tests: Iterable[str] = ()) -> GuardedRun:
        """Run the tests of an instance with edits, all of which are applied.

        Tests, canaries and configuration are mounted read-only if the back end supports it.

        Args:
            instance: The instance; its source must be a folder.
            edits: Files that differ from the repository with its fault; None: deleted.
            tests: Files or ids of tests; empty: the files with the tests of the instance.

        Raises:
            EnvFailure: The box cannot be opened or reached.
        """
        assert isinstance(instance.source, FolderSource)
        sources = contents(instance.source)
        hidden = apply_diff(instance.test_patch, sources.get) if instance.test_patch else {}
        selection = tuple(tests) or test_files(instance)
        files = {**sources, **edits, **hidden}
        fixed, folders = fixed_files(files, instance.protected)
        canaries = self._canaries(instance, edits, fixed, selection)
        fixed |= canaries.files
        brought = {f"{WORKDIR}/{path}": content for path, content in fixed.items()}
        places = [f"{WORKDIR}/{folder}" for folder in folders]
        own_edits = {path: c for path, c in {**edits, **hidden}.items() if path not in fixed}
        with self.boxes.judging(instance, brought, places) as (box, _):
            try:
                write_files(box, own_edits)
                return self._run(box, selection, canaries)
            except OSError as error:
                return GuardedRun({}, False, f"the edits cannot be written: {error}"[:300])
            except SandboxLost:
                raise
            except SandboxDied:
                return GuardedRun({}, False, DIED)

    def _canaries(
        self,
        instance: Instance,
        edits: Changes,
        suite: Mapping[str, bytes],
        selection: Sequence[str],
    ) -> TwinCanaries:
        """Make the canaries of a run; the seed includes the solution, unknown to agents."""
        stream = Stream("canaries", instance.id, instance.patch, Edits(dict(edits), ()).digest)
        failing, passing = instance.fail_to_pass, instance.pass_to_pass
        return canaries_for_suite(suite, selection, failing, passing, stream, apart=self.apart)

    def _run(self, box: Sandbox, selection: Sequence[str], canaries: TwinCanaries) -> GuardedRun:
        """Run tests together with canaries, and check the canaries."""
        run = run_tests(
            box, selection, along=canaries.along, apart=self.apart, timeout=self.timeout
        )
        if run.timed_out:
            return GuardedRun({}, False, f"the tests took longer than {self.timeout:g} s")
        results = canaries.without(run.results)
        statuses = {test: status_of(test, case) for test, case in results.items()}
        if canaries.sing(run.parts, run.results):
            return GuardedRun(statuses, True)
        return GuardedRun(
            statuses, False, f"the tests did not run to their end (exit code {run.exit_code})"
        )


def test_files(instance: Instance) -> tuple[str, ...]:
    """Return the paths of the files that contain the tests of an instance, sorted."""
    tests = (*instance.fail_to_pass, *instance.pass_to_pass)
    return tuple(sorted({test.partition("::")[0] for test in tests}))


test_files.__test__ = False  # type: ignore[attr-defined]


def solution_paths(instance: Instance) -> frozenset[str]:
    """Return the paths that the reference solution changes; edits of them always count."""
    paths = [path for diff in read_diff(instance.patch) for path in (diff.old_path, diff.new_path)]
    return frozenset(path for path in paths if path)
