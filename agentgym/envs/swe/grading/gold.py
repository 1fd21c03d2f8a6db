"""Gold values: the values that blinded tests see with the reference solution of a published row.

They are made once per row, before grading, in the row's own image, and kept in the host's cache
under a digest of the row. A test is used if three runs of the reference solution gave equal values,
of which one is more than a truth value; a row is used if a test of FAIL_TO_PASS sees other values
in the faulty repository. Everything else is graded without gold values.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from agentgym.envs.swe.grading.blinded_run import Looks
from agentgym.envs.swe.held_out.answers import binding, equal
from agentgym.envs.swe.instance import ImageSource, Instance
from agentgym.envs.swe.official.logs import PYTEST_NAMES, statuses_of
from agentgym.support.caching import entry_path, load_json, save_json

FORMAT = 1
"""Part of the digest: increase it when the same row gives other values."""
RUNS = 3
"""Number of runs of the reference solution whose values have to be equal."""

Bound = Sequence[Any]
"""A list with the value to compare; empty if a repair may give any value."""


@dataclass(frozen=True)
class BlindedTest:
    """The values of the reference solution in one test."""

    asked: str
    """Id of the blinded test."""
    answers: tuple[Bound, ...]
    """The values that it saw, in order."""


@dataclass(frozen=True)
class Gold:
    """The stored results of a row's reference solution."""

    files: Mapping[str, str] = field(default_factory=dict)
    """The blinded test files: text by path."""
    tests: Mapping[str, BlindedTest] = field(default_factory=dict)
    """pytest's id of an original test -> its blinded version."""
    expected_failures: tuple[str, ...] = ()
    """Tests of the row that are expected failures (xfail) with the reference solution."""
    reported: bool = True
    """Whether the row's own command can give a report with canaries."""
    reason: str = ""
    """Why there are no blinded tests, for people; empty if there are some."""

    def wrong_tests(self, looks: Looks) -> tuple[str, ...]:
        """Return the ids of the original tests whose blinded versions saw other values.

        Args:
            looks: Values that the blinded tests saw on the graded source.
        """
        return tuple(
            name
            for name, test in self.tests.items()
            if not _is_right(test.answers, looks.answers.get(test.asked, ()))
        )

    def share(self, instance: Instance) -> float:
        """Return the share of the tests of FAIL_TO_PASS that are blinded."""
        named = PYTEST_NAMES.get(instance.log_format, str)
        statuses_by_name = {named(test): "PASSED" for test in self.tests}
        statuses = statuses_of(instance.fail_to_pass, statuses_by_name)
        return sum(status is not None for status in statuses.values()) / len(statuses)


def load_gold(instance: Instance) -> Gold | None:
    """Return the stored values of a row; None if there are none for its current state."""
    digest = row_digest(instance)
    stored = load_json(_place(instance), digest)
    if stored is None:
        return None
    tests = {
        name: BlindedTest(test["asked"], tuple(map(tuple, test["answers"])))
        for name, test in stored["tests"].items()
    }
    return Gold(
        **{**stored, "tests": tests, "expected_failures": tuple(stored["expected_failures"])}
    )


def save_gold(instance: Instance, gold: Gold) -> Path | None:
    """Store the values of a row; return the path, or None if the cache cannot be written."""
    place = _place(instance)
    return place if save_json(place, row_digest(instance), asdict(gold)) else None


def row_digest(instance: Instance) -> str:
    """Return a hash of all fields of a row that its values depend on."""
    assert isinstance(instance.source, ImageSource)
    fields = asdict(instance)
    for name in ("statement", "details", "protected"):
        fields.pop(name)
    text = json.dumps([FORMAT, fields], sort_keys=True, default=list)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def steady(
    originals: Sequence[str], runs: Sequence[Looks], names: frozenset[str]
) -> dict[str, BlindedTest]:
    """Return the blinded tests whose values are equal in all runs and can reveal a wrong repair.

    Args:
        originals: Ids of the original tests, in pytest's order.
        runs: Runs of the blinded tests with the reference solution.
        names: Attributes of objects to compare
            (:func:`~agentgym.envs.swe.held_out.answers.known_names`).
    """
    tests = {}
    for name, blinded_name in _pairs(originals, runs[0].collected):
        answers_by_run = [run.answers.get(blinded_name, ()) for run in runs]
        if len({len(run_answers) for run_answers in answers_by_run}) != 1 or any(
            run.collected != runs[0].collected for run in runs
        ):
            continue
        answers = tuple(_bound(values, names) for values in zip(*answers_by_run, strict=True))
        if any(_tells(answer) for answer in answers):
            tests[name] = BlindedTest(blinded_name, answers)
    return tests


def _pairs(originals: Sequence[str], blinded: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of original and blinded ids: a function's cases are in the same order in both."""
    original_tests, blinded_tests = (_by_function(names) for names in (originals, blinded))
    for function, tests in original_tests.items():
        if len(tests) == len(blinded_tests.get(function, ())):
            yield from zip(tests, blinded_tests[function], strict=True)


def _by_function(tests: Sequence[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for test in tests:
        groups.setdefault(test.partition("[")[0], []).append(test)
    return groups


def _bound(answers: Sequence[Any], names: frozenset[str]) -> Bound:
    """Return the part of a value that a repair has to reproduce; empty if the runs differ."""
    bindings = [binding([answer], names, as_plain=True) for answer in answers]
    if None in bindings or not all(equal(bindings[0][0], answer) for answer in answers):
        return []
    return [_without_messages(bindings[0][0])]


def _without_messages(value: Any) -> Any:
    """Reduce exceptions to their classes: a repair may word its messages differently."""
    if isinstance(value, dict):
        return {key: _without_messages(part) for key, part in value.items()}
    if isinstance(value, list):
        faulty = value[:1] in (["!"], ["end"])
        return value[:2] if faulty else [_without_messages(part) for part in value]
    return value


def _tells(answer: Bound) -> bool:
    """Return whether a value can reveal a wrong repair.

    Truth values can be guessed, and "end" only says that the test raised.
    """
    if not answer or answer[0] is None or isinstance(answer[0], bool):
        return False
    return not (isinstance(answer[0], list) and answer[0][:1] == ["end"])


def _is_right(expected: Sequence[Bound], actual: Sequence[Any]) -> bool:
    return len(expected) == len(actual) and all(
        not want or equal(want[0], answer) for want, answer in zip(expected, actual, strict=True)
    )


def _place(instance: Instance) -> Path:
    return entry_path("swe", "gold", row_digest(instance))
