"""Grades of bundled tasks are remembered, where a test is about something else.

A submission is graded in boxes of its own, for one or two CPU seconds, and hundreds of tests submit
what the expert makes of the same few tasks. What is graded is in the name of what is remembered, so
another change of the source, another task or other questions are graded anew. Tests of grading and
of determinism remember nothing: they override the fixture ``grades``.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest

from agentgym.envs.swe.grading import Grade, Grader
from agentgym.envs.swe.grading.protection import Edits
from agentgym.envs.swe.instance import FolderSource, Instance

PLACE = "AGENTGYM_TEST_GRADES"
"""Environment variable that names the folder in which the workers of a run share grades."""

Grading = Callable[..., Grade]
"""A step of grading, which is given a grader, an instance, edits, and perhaps a grade."""


@contextmanager
def remembered() -> Iterator[None]:
    """Remember grades for a while, and those that were remembered before."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("grade_tests", "ask"):
            patch.setattr(Grader, name, _once(getattr(Grader, name)))
        yield


def _once(grading: Grading) -> Grading:
    """Carry out a step of grading once for everything that it depends on."""

    def grade_once(self: Grader, instance: Instance, edits: Edits, *more: Grade) -> Grade:
        if self.boxes.sandbox != "auto" or not isinstance(instance.source, FolderSource):
            return grading(self, instance, edits, *more)
        key = repr((grading.__name__, self, instance, edits.digest, edits.ignored, more))
        file = Path(os.environ[PLACE], hashlib.sha256(key.encode()).hexdigest())
        if file.exists():
            stored: Grade = pickle.loads(file.read_bytes())
            return stored
        grade = grading(self, instance, edits, *more)
        if not grade.reason:  # Time that ran out on a busy machine is no property of the edits.
            with NamedTemporaryFile(dir=file.parent, delete=False) as temporary:
                temporary.write(pickle.dumps(grade))
            Path(temporary.name).replace(file)  # Another worker reads it whole or not at all.
        return grade

    return grade_once
