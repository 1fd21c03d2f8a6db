"""The judge of an exported task: runs where Harbor runs ``tests/test.sh``, and writes the reward.

It grades as :class:`~agentgym.envs.swe.grading.Grader` does and with its parts, copies of which go
along: edits of the source alone are taken over into the pristine repository, hidden tests and
canaries come read-only, and a repair that the tests accept answers the held-out questions. It runs
on the standard library of Python 3.10 and later. What it knows it reads and removes before anything
of the repository runs, and that runs confined (:mod:`.confinement`): it can read neither the
answers nor the memory of the judge, and cannot write the reward.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentgym.envs.swe.grading.protection import LARGEST_EDIT, source_edits
from agentgym.envs.swe.grading.test_run import run_tests
from agentgym.envs.swe.grading.twins import Twin, TwinCanaries
from agentgym.envs.swe.grading.verdict import (
    FULL,
    NO,
    Grade,
    judge,
    nothing_done,
    status_of,
    unsound,
)
from agentgym.envs.swe.held_out.answers import equal
from agentgym.envs.swe.held_out.asking import Pace, driver_files, read_answers, run_driver
from agentgym.envs.swe.instance import FolderSource, Instance
from agentgym.envs.swe.making.harbor.confinement import Confinement

KNOWLEDGE = "task.json.gz"
"""File of ``tests/`` with everything that decides."""
TESTS, LOGS, REPOSITORY = Path("/tests"), Path("/logs/verifier"), Path("/testbed")
OLDEST_PYTEST = 8
"""Older ones name tests otherwise, so that a right repair would seem to break some."""
MOST_FILES = 50_000
"""Files of a repository that are looked at."""
MOST_SHOWN = 20_000
"""Characters of what the tests print that go into the log of the verifier."""
_BLIND = ("tests", "logs", "solution")
"""Folders of the root that the source under test cannot read."""


def main() -> int:
    """Grade what lies in the repository; return 0 if there is a verdict."""
    if problem := unfit():
        sys.exit(problem)  # Harbor is told no reward, which is an error and no zero.
    base = Path(sys.argv[0]).resolve().parent
    knowledge = json.loads(gzip.decompress((TESTS / KNOWLEDGE).read_bytes()))
    for path in TESTS.iterdir():  # nothing of it is needed any more
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    task = ExportedTask(knowledge, base)
    start = time.monotonic()
    grade = task.grade(changes_of(REPOSITORY, task.sources))
    verdict = {
        "verdict": grade.verdict,
        "fixed": len(grade.fixed),
        "unfixed": len(grade.unfixed),
        "broken": len(grade.broken),
        "tampered": grade.tampered,
        "ignored": grade.ignored[:50],
        "reason": grade.reason,
        "seconds": round(time.monotonic() - start, 3),
    }
    (LOGS / "verdict.json").write_text(json.dumps(verdict, indent=2) + "\n")
    reward = LOGS / "reward.txt"
    reward.write_text("1\n" if grade.verdict == FULL else "0\n")
    return 0


def unfit() -> str:
    """Say why tests cannot be judged in this image; empty if they can."""
    paths = os.environ.get("PYTHONPATH", "").split(":")
    # Nothing of the repository may run here, which is not confined.
    roots = [root for root in paths if root and not Path(root).is_relative_to(REPOSITORY)]
    process = subprocess.run(
        ["python3", "-c", "from _pytest._version import version_tuple; print(version_tuple[0])"],
        cwd="/",
        env={"PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": ":".join(roots)},
        capture_output=True,
        text=True,
    )
    if process.returncode == 0 and int(process.stdout) >= OLDEST_PYTEST:
        return ""
    output = process.stdout.strip() or process.stderr.strip()[-200:]
    return (
        f"expected an image with pytest {OLDEST_PYTEST} or later, got {output}: export the tasks "
        "with another --image"
    )


class ExportedTask:
    """What an exported task is graded by.

    Args:
        knowledge: What its file holds.
        base: Folder of the judge, which the source under test can read.
    """

    def __init__(self, knowledge: Mapping[str, Any], base: Path) -> None:
        self._knowledge, self._base = knowledge, base
        self.sources = {path: base64.b64decode(text) for path, text in knowledge["before"].items()}
        self._fixed = {path: base64.b64decode(text) for path, text in knowledge["fixed"].items()}
        twins = tuple(Twin(*fields) for fields in knowledge["twins"])
        self._canaries = TwinCanaries({}, twins, tuple(knowledge["along"]))
        self._instance = Instance(
            id="",
            repo="",
            statement="",
            source=FolderSource(REPOSITORY),
            patch="",
            fail_to_pass=tuple(knowledge["fail_to_pass"]),
            pass_to_pass=tuple(knowledge["pass_to_pass"]),
        )

    def grade(self, changes: Mapping[str, bytes | None]) -> Grade:
        """Grade changes of the repository."""
        knowledge = self._knowledge
        edits = source_edits(changes, self.sources, knowledge["allowed"], knowledge["protected"])
        if not edits.counted:
            return replace(nothing_done(self._instance), ignored=edits.ignored)
        files = {**self.sources, **edits.counted}
        grade = self._test({**files, **self._fixed})
        if grade.verdict == FULL and knowledge["questions"]:
            grade = self._ask(files, grade)
        return replace(grade, ignored=edits.ignored)

    def _test(self, files: Mapping[str, bytes | None]) -> Grade:
        """Run the tests with canaries, and judge by the report."""
        knowledge = self._knowledge
        box = self._box(files)
        run = run_tests(
            box,  # type: ignore[arg-type]  # what runs here is confined otherwise
            knowledge["chosen"],
            along=self._canaries.along,
            timeout=knowledge["timeout"],
        )
        sys.stdout.write(run.output[-MOST_SHOWN:])
        if run.timed_out:
            return nothing_done(
                self._instance, f"the tests took longer than {knowledge['timeout']} s"
            )
        results = self._canaries.without(run.results)
        grade = judge(
            self._instance, {test: status_of(test, case) for test, case in results.items()}
        )
        if self._canaries.sing(run.parts, run.results):
            return grade
        reason = f"the tests did not run to their end (exit code {run.exit_code})"
        return unsound(self._instance, grade, reason)

    def _ask(self, files: Mapping[str, bytes | None], grade: Grade) -> Grade:
        """Ask the held-out questions, of the repository without the hidden tests."""
        questions = self._knowledge["questions"]
        place = self._base / "driver"
        place.mkdir(exist_ok=True)
        programs = [program for program, _ in questions]
        for name, content in driver_files(self._knowledge["packages"], programs, Pace()).items():
            (place / name).write_bytes(content)
        box = self._box(files)
        result = run_driver(box, str(place), self._knowledge["timeout"])  # type: ignore[arg-type]
        answers = read_answers(result, len(questions))
        if isinstance(answers, str):
            return replace(grade, verdict=NO, reason=f"held-out questions: {answers}")
        pairs = zip(questions, answers, strict=True)
        if all(equal(expected, answer) for (_, expected), answer in pairs):
            return grade
        reason = "held-out questions: other answers than the sound source"
        return replace(grade, verdict=NO, reason=reason)

    def _box(self, files: Mapping[str, bytes | None]) -> Confinement:
        """Lay files where the repository was, and return what runs commands there."""
        clear(REPOSITORY)
        for path, content in files.items():
            if content is not None:
                target = REPOSITORY / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        scratch = self._base / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        roots = (os.environ.get("PYTHONPATH", ""), str(REPOSITORY), f"{REPOSITORY}/src")
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            **self._knowledge["environment"],
            "PYTHONPATH": ":".join(filter(None, roots)),
        }
        return Confinement(REPOSITORY, scratch, _BLIND, environment)


def changes_of(folder: Path, sources: Mapping[str, bytes]) -> dict[str, bytes | None]:
    """Return the regular files of a folder that differ, and None for those that are gone.

    Of a file that is larger than an edit may be only so much is read that it does not count.

    Args:
        folder: The repository as it was left; it may hold anything.
        sources: Its files as they were given.
    """
    files: dict[str, bytes] = {}
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in (".git", "__pycache__"))
        for name in sorted(names):
            path = Path(place) / name
            if path.is_symlink() or not path.is_file() or len(files) >= MOST_FILES:
                continue
            with path.open("rb") as file:
                files[path.relative_to(folder).as_posix()] = file.read(LARGEST_EDIT + 1)
    changed: dict[str, bytes | None] = {
        path: content for path, content in files.items() if sources.get(path) != content
    }
    return changed | {path: None for path in sources if path not in files}


def clear(folder: Path) -> None:
    """Remove what a folder holds."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


if __name__ == "__main__":
    sys.exit(main())
