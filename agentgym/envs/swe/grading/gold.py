"""What the right solution of a published row gives: the values that its blinded tests look at.

They are made once for each row, ahead of grading, in the row's own image, and kept in the cache of
the host under a digest of the row. A test counts as blinded if three runs of the right solution
looked at equal values, one of them more than a truth value, and a row only if the faulty repository
answers otherwise in a test of FAIL_TO_PASS. The rest is graded without.
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
"""Raised when values would be others."""
RUNS = 3
"""Runs of the right solution whose values have to be equal."""

Bound = Sequence[Any]
"""One value that is compared, or none where what was looked at binds nobody."""


@dataclass(frozen=True)
class BlindedTest:
    """What the right solution gives in one test."""

    asked: str
    """The id of the blinded test."""
    answers: tuple[Bound, ...]
    """What it looked at, one after the other."""


@dataclass(frozen=True)
class Gold:
    """What is known of the right solution of a row."""

    files: Mapping[str, str] = field(default_factory=dict)
    """The tests, blinded, by path."""
    tests: Mapping[str, BlindedTest] = field(default_factory=dict)
    """Blinded tests by the ids that pytest gives the original ones."""
    expected_failures: tuple[str, ...] = ()
    """Tests of the row that fail as expected with the right solution too."""
    reported: bool = True
    """Whether a report with canaries can be had of the row's own command."""
    reason: str = ""
    """Why nothing is blinded, for people; empty where something is."""

    def wrong(self, looks: Looks) -> tuple[str, ...]:
        """Return the blinded tests in which other values came back.

        Args:
            looks: What the tests looked at on the source that is graded.
        """
        return tuple(
            name
            for name, test in self.tests.items()
            if not _right(test.answers, looks.answers.get(test.asked, ()))
        )

    def share(self, instance: Instance) -> float:
        """Return the share of the tests of FAIL_TO_PASS that are blinded."""
        named = PYTEST_NAMES.get(instance.log_format, str)
        statuses_by_name = {named(test): "PASSED" for test in self.tests}
        statuses = statuses_of(instance.fail_to_pass, statuses_by_name)
        return sum(status is not None for status in statuses.values()) / len(statuses)


def load_gold(instance: Instance) -> Gold | None:
    """Return what was stored of a row; None if nothing was, or of another state of the row."""
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
    """Store what is known of a row; return where, or None if the cache cannot be written."""
    place = _place(instance)
    return place if save_json(place, row_digest(instance), asdict(gold)) else None


def row_digest(instance: Instance) -> str:
    """Return a hash of everything of a row that its values depend on."""
    assert isinstance(instance.source, ImageSource)
    fields = asdict(instance)
    for name in ("statement", "details", "protected"):
        fields.pop(name)
    text = json.dumps([FORMAT, fields], sort_keys=True, default=list)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def steady(
    originals: Sequence[str], runs: Sequence[Looks], names: frozenset[str]
) -> dict[str, BlindedTest]:
    """Return the blinded tests whose values hold a repair to something.

    Args:
        originals: The original tests, in pytest's order.
        runs: What the blinded ones looked at, with the right solution.
        names: Attributes of objects that are compared
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
    """Yield original and blinded tests: those of a function stand in the same order."""
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
    """Return what of a value, as several runs gave it, binds a repair."""
    bindings = [binding([answer], names, plain=True) for answer in answers]
    if None in bindings or not all(equal(bindings[0][0], answer) for answer in answers):
        return []
    return [_without_messages(bindings[0][0])]


def _without_messages(value: Any) -> Any:
    """Leave the classes of exceptions: a repair may word its messages otherwise."""
    if isinstance(value, dict):
        return {key: _without_messages(part) for key, part in value.items()}
    if isinstance(value, list):
        faulty = value[:1] in (["!"], ["end"])
        return value[:2] if faulty else [_without_messages(part) for part in value]
    return value


def _tells(answer: Bound) -> bool:
    """Return whether a value is more than a truth value, which can be guessed, or the end."""
    if not answer or answer[0] is None or isinstance(answer[0], bool):
        return False
    return not (isinstance(answer[0], list) and answer[0][:1] == ["end"])


def _right(expected: Sequence[Bound], actual: Sequence[Any]) -> bool:
    return len(expected) == len(actual) and all(
        not want or equal(want[0], answer) for want, answer in zip(expected, actual, strict=True)
    )


def _place(instance: Instance) -> Path:
    return entry_path("swe", "gold", row_digest(instance))
