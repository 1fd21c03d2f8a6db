"""Make the bank of a repository: ask the sound copy, keep stable and discriminating programs.

The sound copy answers every program twice: the second time in another order, in other groups and
with another hash seed. Answers that differ are dropped, and so are accidental ones that specify
nothing (see :func:`~agentgym.envs.swe.held_out.answers.binding`). A program is *telling* if the
faulty copy gives another answer. If few are, more are made.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.envs.swe.held_out.answers import binding, equal, known_names, read_answer
from agentgym.envs.swe.held_out.asking import (
    REQUESTS,
    Pace,
    driver_files,
    read_answers,
    run_driver,
)
from agentgym.envs.swe.held_out.bank import FEW, FORMAT, Bank, HeldOutQuestion, Questions, read_bank
from agentgym.envs.swe.held_out.programs import read_programs
from agentgym.envs.swe.instance import FolderSource, Instance
from agentgym.envs.swe.instance_boxes import Boxes, write_files
from agentgym.envs.swe.making.held_out.variation import Variation, boundaries_of
from agentgym.errors import DataError
from agentgym.support.random_stream import Stream
from agentgym.support.text_lines import split_lines

if TYPE_CHECKING:
    from typing_extensions import Self

GENERAL, NEAR = 240, 110
"""Number of varied programs made from all tests, and from those that fail with a fault."""
MORE, ROUNDS = 500, 2
"""Further ones, and rounds of them, where no program detects a fault or a wrong repair."""
MOST_FURTHER, MOST_TELLERS = 60, 6
"""Number of programs kept that detect a fault in a further round, or a wrong repair."""
BESIDE = 200
"""Programs that are made, at boundaries, of tests that reach a function with unnoticed edits."""
BUILD_SECONDS = 0.2
"""Processor time of a program at build time: a fifth of what it gets at grading."""
BATCH = 3000
"""Programs of one run of the driver."""
_PACES = ((Pace(BUILD_SECONDS, 40, 100), 0), (Pace(BUILD_SECONDS, 40, 7), 777))
_PLACE, _VARIANTS, _TIMEOUT = "/tmp/judge", "variants.py", 1800.0

Files = Mapping[str, "bytes | None"]


@dataclass(frozen=True)
class QuestionedTask:
    """A task that needs questions."""

    id: str
    """Its id."""
    files: Files
    """Files that differ from the sound repository."""
    tests: tuple[str, ...]
    """The tests that fail, as pytest names them."""


@dataclass(frozen=True)
class Mutant:
    """An edit of one function of the sound library, anywhere in it."""

    place: str
    """File and qualified name of the function."""
    files: Files
    """Files that differ from the sound repository."""
    wrecked: Files
    """The same files with a function that only raises: tests that notice reach it."""


class BankBuilder:
    """Makes the bank of a repository, task by task; the file is written after each.

    Args:
        folder: The repository; never written to.
        digest: Its hash, which binds the bank to it.
        file: Where the bank is written; existing questions of this repository are kept.
        sound: Files that make the repository sound, if the folder itself is not.
        tests: Files of tests and their texts, also of those that agents do not see.
        boxes: How boxes are opened.
    """

    def __init__(
        self,
        folder: Path,
        digest: str,
        file: Path,
        *,
        tests: Mapping[str, str],
        sound: Files | None = None,
        boxes: Boxes | None = None,
    ) -> None:
        self.file, self._sound, self._boxes = file, sound or {}, boxes or Boxes()
        self._stub = Instance(folder.name, folder.name, "", FolderSource(folder), "", (), ())
        self._programs = [p for name in sorted(tests) for p in read_programs(name, tests[name])]
        self._names = known_names(tests.values())
        self._variation = Variation(self._programs)
        self._plain_tests = {program.text: program.test for program in self._programs}
        bank = read_bank(file) if file.exists() else Bank(digest, _packages(folder, self._sound))
        if bank.digest != digest:
            bank = Bank(digest, _packages(folder, self._sound))
        self._bank = replace(bank, programs=(), general=(), tasks={}, guards=None)
        self._folder = folder
        self._answers: dict[str, Any] = dict(bank.programs)
        self._asked_texts: set[str] = set(self._answers)
        self._general = [bank.programs[n].program for n in bank.general]
        self._guards: list[list[str]] | None = None
        if bank.guards is not None:
            self._guards = [[bank.programs[n].program for n in numbers] for numbers in bank.guards]
        self._unguarded = bank.unguarded
        self._tasks: dict[str, _Texts] = {
            name: _Texts.of(questions, bank) for name, questions in bank.tasks.items()
        }
        self._opened: Any = None
        self._dirty = False

    def __enter__(self) -> Self:
        """Open the boxes in which programs run."""
        self._opened = self._boxes.judging(self._stub, {})
        self._box, _ = self._opened.__enter__()
        write_files(self._box, self._sound)
        return self

    def __exit__(self, *error: object) -> None:
        """Close them."""
        self._opened.__exit__(*error)

    def add(self, faults: Sequence[QuestionedTask]) -> None:
        """Make the questions of those tasks that the file lacks, and write it.

        Args:
            faults: The tasks.
        """
        new = [fault for fault in faults if fault.id not in self._tasks]
        drawn = {fault.id: self._drawn(fault) for fault in new}
        general = [] if self._general else self._fresh("general", "", GENERAL, None)
        texts = [text for plain_texts, near in drawn.values() for text in (*plain_texts, *near)]
        self._answer([*general, *texts])
        self._general = self._general or self._select_answered(general)
        task_texts = [
            _Texts(self._select_answered(near), self._select_answered(plain_texts))
            for plain_texts, near in drawn.values()
        ]
        teller_lists = self._telling(
            [(f.files, t.list_failing()) for f, t in zip(new, task_texts, strict=True)]
        )
        for texts_, telling in zip(task_texts, teller_lists, strict=True):
            texts_.telling = telling
        self._search(new, task_texts)
        self._tasks.update(zip((fault.id for fault in new), task_texts, strict=True))
        if new:
            self.bank().save(self.file)

    def tell_apart(self, fault: QuestionedTask, repairs: Sequence[Files]) -> None:
        """Find programs that detect wrong repairs accepted by the tests, and write the file.

        Args:
            fault: The task, which was added.
            repairs: Repairs that may be wrong; those that a test as it stands tells are left out,
                since the visible suite refuses them.
        """
        texts = self._tasks[fault.id]
        if texts.wrong_repairs is not None:
            return
        texts.wrong_repairs, texts.untold = [], 0
        survived = zip(repairs, self._survivors(repairs), strict=True)
        for number, files in enumerate(files for files, has_survived in survived if has_survived):
            programs = [*texts.list_failing(), *self._general]
            tellers = self._telling([(files, programs)])[0]
            for attempt in range(ROUNDS if not tellers else 0):
                tests = _functions(fault) if attempt == 0 else None
                more = self._fresh(f"wrong {attempt}", f"{fault.id}/{number}", MORE, tests)
                self._answer(more)
                tellers = self._telling([(files, self._select_answered(more))])[0]
                if tellers:
                    break
            if tellers:
                texts.wrong_repairs.append(tellers[:MOST_TELLERS])
            texts.untold += not tellers
        self.bank().save(self.file)

    def guard(self, mutants: Sequence[Mutant]) -> None:
        """Find programs that detect edits, far from any fault, accepted by the tests; write them.

        A repair may break code that it need not touch. Programs of the tests that reach the edited
        function are changed for it, with literals at the boundaries of comparisons.

        Args:
            mutants: Edits of the library; those that a test as it stands tells are left out.
        """
        if self._guards is not None:
            return
        survivals = self._survivors([mutant.files for mutant in mutants])
        surviving = [
            mutant for mutant, survived in zip(mutants, survivals, strict=True) if survived
        ]
        sources = _sources(self._folder, self._sound, self._bank.packages)
        variation = Variation(self._programs, boundaries_of(sources))
        teller_lists: list[list[str]] = []
        for place in dict.fromkeys(mutant.place for mutant in surviving):
            place_mutants = [mutant for mutant in surviving if mutant.place == place]
            teller_lists += filter(None, self._told_at(place, place_mutants, variation))
        self._guards = [tellers[:MOST_TELLERS] for tellers in teller_lists]
        self._unguarded = len(surviving) - len(teller_lists)
        self.bank().save(self.file)

    def borrow(self, bank: Bank) -> None:
        """Add the guards of another state of the library, as this copy answers them.

        Args:
            bank: The bank of that state.
        """
        if self._guards is not None or bank.guards is None:
            return
        lent = [[bank.programs[n].program for n in tellers] for tellers in bank.guards]
        self._answer([text for tellers in lent for text in tellers])
        self._guards = [*filter(None, map(self._select_answered, lent))]
        self._unguarded = bank.unguarded + len(lent) - len(self._guards)
        self.bank().save(self.file)

    def bank(self) -> Bank:
        """Return the bank as it is now."""
        guarding = [text for tellers in self._guards or () for text in tellers]
        used = {*self._general, *guarding}.union(*(texts.all() for texts in self._tasks.values()))
        programs = tuple(HeldOutQuestion(text, self._answers[text]) for text in sorted(used))
        numbers = {question.program: number for number, question in enumerate(programs)}
        return replace(
            self._bank,
            programs=programs,
            general=tuple(numbers[text] for text in self._general),
            tasks={name: texts.numbered(numbers) for name, texts in self._tasks.items()},
            guards=None if self._guards is None else _numbered(self._guards, numbers),
            unguarded=self._unguarded,
        )

    # -- parts ----------------------------------------------------------------------------------

    def _told_at(
        self, place: str, mutants: Sequence[Mutant], variation: Variation
    ) -> list[list[str]]:
        """Return the programs that tell each of some edits of a function."""
        plain_texts = self._select_answered(sorted(self._plain_tests))
        [reaching] = self._telling([(mutants[0].wrecked, plain_texts)])
        tests = {self._plain_tests[text] for text in reaching}
        stream = Stream("held out", FORMAT, self._stub.repo, "guard", place)
        more = [text for _, text in variation.draw(stream, BESIDE, tests)]
        self._answer(more)
        teller_lists = self._telling(
            [(mutant.files, self._select_answered(more)) for mutant in mutants]
        )
        for number, mutant in enumerate(mutants):
            teller_lists[number] = (
                teller_lists[number] or self._telling([(mutant.files, self._general)])[0]
            )
        return teller_lists

    def _drawn(self, fault: QuestionedTask) -> tuple[list[str], list[str]]:
        """Return the tests that fail as programs, and changed ones of them."""
        functions = _functions(fault)
        plain_texts = dict.fromkeys(p.text for p in self._programs if p.test in functions)
        return [*plain_texts], self._fresh("near", fault.id, NEAR, functions)

    def _search(self, faults: Sequence[QuestionedTask], task_texts: Sequence[_Texts]) -> None:
        """Make more programs for the faults that too few tell."""
        for fault, texts in zip(faults, task_texts, strict=True):
            for number in range(ROUNDS):
                if len(set(texts.telling) & set(texts.near)) >= FEW:
                    break
                near_texts = set(texts.near)
                more = self._fresh(f"more {number}", fault.id, MORE, _functions(fault))
                self._answer(more)
                fresh = [text for text in self._select_answered(more) if text not in near_texts]
                further = self._telling([(fault.files, fresh)])[0][:MOST_FURTHER]
                texts.near += further
                texts.telling += further

    def _fresh(
        self, purpose: str, name: str, limit: int, functions: Collection[str] | None
    ) -> list[str]:
        """Make changed programs."""
        stream = Stream("held out", FORMAT, self._stub.repo, purpose, name)
        return [text for _, text in self._variation.draw(stream, limit, functions)]

    def _select_answered(self, texts: Sequence[str]) -> list[str]:
        """Return the programs with a binding answer."""
        return [text for text in texts if text in self._answers]

    def _answer(self, texts: Sequence[str]) -> None:
        """Ask the sound copy, and remember the answers that bind."""
        new = [text for text in dict.fromkeys(texts) if text not in self._asked_texts]
        self._asked_texts.update(new)
        for start in range(0, len(new), BATCH):
            batch = new[start : start + BATCH]
            first, second = (
                dict(zip(order, self._ask(order, pace, seed), strict=True))
                for order, pace, seed in ((batch, *_PACES[0]), (batch[::-1], *_PACES[1]))
            )
            for text in batch:
                answer = binding(first[text], self._names, as_plain=text in self._plain_tests)
                if answer is not None and first[text] == second[text]:
                    self._answers[text] = answer

    def _ask(self, texts: Sequence[str], pace: Pace, seed: int) -> list[Any]:
        """Return the sound copy's answers; None for programs without one."""
        self._clean()
        for name, content in driver_files(self._bank.packages, texts, pace).items():
            self._box.write(f"{_PLACE}/{name}", content)
        answers = read_answers(run_driver(self._box, _PLACE, _TIMEOUT, seed), len(texts))
        if isinstance(answers, str):
            raise DataError(f"expected answers of the sound copy of {self._stub.repo}: {answers}")
        return answers

    def _telling(self, variants: Sequence[tuple[Files, Sequence[str]]]) -> list[list[str]]:
        """Return the programs that changed sources answer otherwise, for each source."""
        lines = self._vary(variants, survives=False)
        teller_lists = []
        for (_, texts), line in zip(variants, lines, strict=True):
            answers = [None if text is None else read_answer(text) for text in line]
            pairs = zip(texts, answers, strict=True)
            teller_lists.append(
                [text for text, answer in pairs if not equal(self._answers[text], answer)]
            )
        return teller_lists

    def _survivors(self, repairs: Sequence[Files]) -> list[bool]:
        """Return which changed sources answer all tests as they stand as the sound copy does."""
        self._answer(sorted(self._plain_tests))
        plain_texts = self._select_answered(sorted(self._plain_tests))
        return self._vary(
            [({}, plain_texts), *((files, plain_texts) for files in repairs)], survives=True
        )[1:]

    def _vary(
        self, variants: Sequence[tuple[Files, Sequence[str]]], *, survives: bool
    ) -> list[Any]:
        """Run ``variants.py`` on changed sources in a box that is thrown away."""
        if not variants:
            return []
        texts = list(dict.fromkeys(text for _, programs in variants for text in programs))
        numbers = {text: number for number, text in enumerate(texts)}
        lines: list[Any] = [texts]
        for place, (files, programs) in enumerate(variants):
            content = {p: None if c is None else c.decode() for p, c in files.items()}
            program_numbers = [numbers[text] for text in programs]
            lines.append(
                {"files": content, "asked": program_numbers, "survives": survives and place > 0}
            )
        brought = driver_files(self._bank.packages, (), Pace(5 * BUILD_SECONDS, 5))
        brought[REQUESTS] += "".join(json.dumps(line) + "\n" for line in lines).encode("ascii")
        brought[_VARIANTS] = Path(__file__).with_name(_VARIANTS).read_bytes()
        self._clean()
        self._dirty = True
        for name, data in brought.items():
            self._box.write(f"{_PLACE}/{name}", data)
        result = run_driver(self._box, _PLACE, _TIMEOUT, script=_VARIANTS)
        output_lines = split_lines(result.text)
        if result.exit_code or len(output_lines) != len(variants):
            raise DataError(
                f"expected answers of {len(variants)} variants of {self._stub.repo}, got "
                f"{len(output_lines)} (exit code {result.exit_code}): {result.text[-300:]!r}"
            )
        return [json.loads(line) for line in output_lines]

    def _clean(self) -> None:
        """Return the box to the sound repository, unless nothing else has run in it."""
        if self._dirty:
            self._box.reset()
            write_files(self._box, self._sound)
            self._dirty = False


def _functions(fault: QuestionedTask) -> set[str]:
    """Return the functions of the tests that fail, whatever their parameters."""
    return {test.partition("[")[0] for test in fault.tests}


@dataclass
class _Texts:
    """Questions as texts, while the bank grows."""

    near: list[str]
    plain: list[str]
    telling: list[str] = field(default_factory=list)
    wrong_repairs: list[list[str]] | None = None
    untold: int = 0

    def list_failing(self) -> list[str]:
        """Return the programs of the tests that fail."""
        return [*self.plain, *self.near]

    @classmethod
    def of(cls, questions: Questions, bank: Bank) -> _Texts:
        """Read questions of a bank."""

        def texts(numbers: Sequence[int]) -> list[str]:
            return [bank.programs[number].program for number in numbers]

        wrong_repairs = (
            None if questions.wrong_repairs is None else [*map(texts, questions.wrong_repairs)]
        )
        program_lists = texts(questions.near), texts(questions.plain), texts(questions.telling)
        return cls(*program_lists, wrong_repairs, questions.untold)

    def all(self) -> set[str]:
        """Return every program that is asked."""
        return set(self.near).union(self.plain, self.telling, *(self.wrong_repairs or ()))

    def numbered(self, numbers: Mapping[str, int]) -> Questions:
        """Return the questions as numbers."""
        near, plain_numbers, telling = _numbered((self.near, self.plain, self.telling), numbers)
        wrong_repairs = (
            None if self.wrong_repairs is None else _numbered(self.wrong_repairs, numbers)
        )
        return Questions(near, plain_numbers, telling, wrong_repairs, self.untold)


def _numbered(
    lists: Sequence[Sequence[str]], numbers: Mapping[str, int]
) -> tuple[tuple[int, ...], ...]:
    """Return lists of programs as numbers."""
    return tuple(tuple(numbers[text] for text in texts) for texts in lists)


def _sources(folder: Path, sound: Files, packages: Sequence[str]) -> list[str]:
    """Return the texts of the sound files of modules and packages."""
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*.py")}
    texts = {path: file.read_bytes() for path, file in files.items()} | dict(sound)
    inside = [
        path for path in sorted(texts)
        if path.removeprefix("src/").split("/")[0].removesuffix(".py") in packages
    ]  # fmt: skip
    return [(texts[path] or b"").decode("utf-8", "replace") for path in inside]


def _packages(folder: Path, sound: Files) -> tuple[str, ...]:
    """Return the modules and packages of a repository that programs may import.

    Raises:
        DataError: There are none.
    """
    package_names = set()
    for root in (folder, folder / "src"):
        for path in sorted(root.glob("*")):
            package = path.is_dir() and any(path.glob("*.py"))
            module = path.suffix == ".py" and path.is_file()
            if (package or module) and path.stem.isidentifier():
                package_names.add(path.stem)
    for name, content in sound.items():
        top = name.removeprefix("src/").split("/")[0].removesuffix(".py")
        if content is not None and name.endswith(".py") and top.isidentifier():
            package_names.add(top)
    names = tuple(sorted(package_names - _NO_PACKAGES))
    if not names:
        raise DataError(f"expected a package or a module in {folder}, got none")
    return names


_NO_PACKAGES = frozenset(
    ("test", "tests", "setup", "conftest", "noxfile", "docs", "doc", "examples", "src")
)
