"""The banks of the one-token tasks: complete, small, and right about what is known to be wrong."""

from __future__ import annotations

import pytest

from agentgym.envs.swe.bundled import BANKS, BUNDLED, bundled_instances
from agentgym.envs.swe.grading import FULL, NO, Grader
from agentgym.envs.swe.held_out.bank import read_bank
from agentgym.envs.swe.instance import FolderSource, Instance
from agentgym.envs.swe.instance_boxes import Boxes
from agentgym.envs.swe.stored_instances import HELD_OUT, bank_file
from agentgym.envs.swe.trees import contents
from tests.envs.swe.boxed import needs_box

TOKENS = "bundled-tokens"
LIBRARIES = sorted(bundled_instances(TOKENS).repositories())
LARGEST = 6 << 20
"""Bytes of all banks together."""
FEW = 8
"""Most tasks whose questions are too few."""
OTHER_FIXES = (
    ("durationtext-012", "return rounded if milliseconds >= 0 else rounded",
     "sign = (milliseconds > 0) - (milliseconds < 0)\n    return sign * rounded"),
    ("packedbits-019", 'return bin(self._bits & ((1 << max(number, 0)) - 2)).count("1")',
     "return sum(1 for one in self if one < number)"),
    ("argtree-016", "word.lower() == text.upper()", "word.casefold() == text.casefold()"),
    ("huekit-012", "if places != sorted(places) or places[0] < 0:",
     "if places != sorted(places) or any(not 0 <= one <= 1 for one in places):"),
    ("undotrail-001", "while position > 1:", "while position >= 1:"),
    ("plainmark-020", "if block.level < deepest:", "if not block.level > deepest:"),
    ("workcal-016", "century, rest = divmod(100, year)",
     "century, rest = year // 100, year % 100"),
    ("arithtree-012", "return exponent**base", "return pow(base, exponent)"),
    ("verrange-012", "if any(version in allowed for _, allowed in demands[name]):",
     "if not all(version in allowed for _, allowed in demands[name]):"),
    ("cronslots-004", "step_text.isalnum()", "step_text.isdecimal()"),
    ("stencilpage-009", "text[: limit + 3].rstrip()",
     "text[: len(text) - (len(text) - limit + 3)].rstrip()"),
)  # fmt: skip
WRONG_FIXES = (
    ("triewords-009", "if here is None:", "if here is 0:"),
    ("huekit-013", "max(part) - min(part)", "min(part) - max(part)"),
)


def task(name: str) -> Instance:
    stored = bundled_instances(TOKENS)
    return stored.instance(*stored.find(name))


def sound(instance: Instance) -> dict[str, bytes | None]:
    assert isinstance(instance.source, FolderSource)
    paths = sorted({edit.path for edit in instance.source.edits})
    return {path: (instance.source.folder / path).read_bytes() for path in paths}


def edited(name: str, old: str, new: str) -> dict[str, bytes | None]:
    """Return the file with the fault, with one piece of it replaced."""
    instance = task(name)
    assert isinstance(instance.source, FolderSource)
    [path] = sound(instance)
    sources = contents(instance.source)[path]
    assert sources.count(old.encode()) == 1
    return {path: sources.replace(old.encode(), new.encode())}


def test_every_bundled_task_has_questions_that_tell_its_fault() -> None:
    stored, scarce = bundled_instances(TOKENS), list[str]()
    for name in LIBRARIES:
        bank = read_bank(bank_file(BUNDLED, name))
        assert bank.digest == stored.repositories()[name].digest
        ids = [record.id for record in stored.records().values() if record.repo == name]
        assert sorted(bank.tasks) == ids
        scarce += [instance_id for instance_id in ids if not bank.tasks[instance_id].enough]
    assert len(scarce) <= FEW, scarce
    assert all(instance.held_out for instance in map(task, stored.records()))


def test_all_banks_together_are_small() -> None:
    sizes = [file.stat().st_size for file in (BUNDLED / HELD_OUT).glob("*.gz")]
    assert len(sizes) == len(LIBRARIES) and sum(sizes) <= LARGEST


@needs_box
@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARIES)
def test_the_solution_is_full(name: str) -> None:
    instance = task(f"{name}-001")
    grade = Grader(Boxes()).grade(instance, sound(instance))
    assert grade.verdict == FULL and grade.held_out is not None and grade.held_out.questions > 20


@needs_box
@pytest.mark.slow
@pytest.mark.parametrize(("name", "old", "new"), OTHER_FIXES, ids=[fix[0] for fix in OTHER_FIXES])
def test_other_right_fixes_are_full(name: str, old: str, new: str) -> None:
    assert Grader(Boxes()).grade(task(name), edited(name, old, new)).verdict == FULL


def counted() -> dict[str, str]:
    """Return what the page says of the search for wrong repairs, reckoned from the banks."""
    banks = [
        [read_bank(file) for file in sorted((BUNDLED / name).glob("*.json.gz"))]
        for name in (BANKS["bundled"], BANKS[TOKENS])
    ]
    tasks_by_set = [
        [questions for bank in some for questions in bank.tasks.values()] for some in banks
    ]
    searched = [
        sum(questions.wrong_repairs is not None for questions in some) for some in tasks_by_set
    ]
    all_questions = [questions for some in tasks_by_set for questions in some]
    detected = sum(len(questions.wrong_repairs or ()) for questions in all_questions)
    # Other states of a library borrow what guards it, and so do its one-token tasks.
    names = bundled_instances().repositories()
    own_banks = [read_bank(bank_file(BUNDLED, name, BANKS["bundled"])) for name in names]
    guarded = [bank for bank in own_banks if bank.guards is not None]
    guards = sum(len(bank.guards or ()) for bank in guarded)
    share = (
        f"{len(guarded)} of {len(own_banks)}"
        if len(guarded) < len(own_banks)
        else f"all {len(own_banks)}"
    )
    near, anywhere = (
        detected + sum(o.untold for o in all_questions),
        guards + sum(b.unguarded for b in guarded),
    )
    return {
        "searched": f"({searched[0]} of {len(tasks_by_set[0])} bundled and {searched[1]} of "
        f"{len(tasks_by_set[1])} one-token tasks) and anywhere in {share} libraries and releases",
        "detected": f"detect {detected} of {near} and {guards} of {anywhere} of them",
    }


def test_the_page_says_how_many_wrong_repairs_are_told() -> None:
    page = " ".join((BUNDLED.parent / "grading" / "README.md").read_text("utf-8").split())
    for words in counted().values():
        assert words in page, words


@needs_box
@pytest.mark.slow
def test_a_repair_that_breaks_something_far_away_is_no() -> None:
    """``crossings`` of a series that touches the level: no test of the library asks for it."""
    instance, path = task("rollwindow-001"), "rollwindow/series.py"
    assert Grader(Boxes()).grade(instance, {}).verdict == NO
    assert isinstance(instance.source, FolderSource)
    text = (instance.source.folder / path).read_bytes()
    broken = text.replace(b"elif value < level - slack", b"elif value <= level - slack")
    grade = Grader(Boxes()).grade(instance, {**sound(instance), path: broken})
    assert broken != text and grade.verdict == NO and grade.cheated and not grade.unfixed


@needs_box
@pytest.mark.slow
def test_wrong_repairs_that_the_tests_accept_are_no() -> None:
    for name, old, new in WRONG_FIXES:
        grade = Grader(Boxes()).grade(task(name), edited(name, old, new))
        assert grade.verdict == NO and grade.cheated and not grade.unfixed, name
