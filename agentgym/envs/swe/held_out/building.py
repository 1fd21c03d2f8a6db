"""Make the bank of a repository: ask the sound copy, and keep what is steady and telling.

The sound copy answers every program three times: in another order, in other groups and with other
hash seeds. What differs is dropped, and so is what is no specification but an accident (see
:func:`~agentgym.envs.swe.held_out.answers.binding`). A program is *telling* if the faulty copy
answers it otherwise. Where few are, more are made.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from agentgym.envs.swe.held_out.answers import binding, equal, known_names
from agentgym.envs.swe.held_out.asking import (
    LARGEST_OUTPUT,
    Pace,
    driver_files,
    read_answers,
    run_driver,
)
from agentgym.envs.swe.held_out.bank import FEW, FORMAT, Bank, Question, Questions, read_bank
from agentgym.envs.swe.held_out.programs import read_programs
from agentgym.envs.swe.held_out.variation import Variation
from agentgym.envs.swe.instance import FolderSource, Instance
from agentgym.envs.swe.instance_boxes import Boxes, write_files
from agentgym.errors import DataError
from agentgym.sandbox import SandboxDied
from agentgym.support.random_stream import Stream

if TYPE_CHECKING:
    from typing_extensions import Self

GENERAL, NEAR = 240, 120
"""Changed programs that are made of all tests, and of those that fail with a fault."""
MORE, ROUNDS = 600, 2
"""Further ones that are made, so many times, where a fault or a wrong repair is not told."""
MOST_TELLERS = 6
"""Programs that are kept for each wrong repair."""
FAR = 100
"""Programs of a further round that are kept for a fault, of those that tell it."""
BUILD_SECONDS = 0.2
"""Processor time of a program at build time: a fifth of what it gets at grading."""
BATCH = 400
"""Programs of one run of the driver."""
_PACES = ((0, Pace(BUILD_SECONDS, 40)), (1, Pace(BUILD_SECONDS, 40)),
          (777, Pace(BUILD_SECONDS, 40, 7)))  # fmt: skip
_PLACE = "/tmp/judge"

Files = Mapping[str, "bytes | None"]


@dataclass(frozen=True)
class Fault:
    """A task whose questions are made."""

    id: str
    """Its id."""
    files: Files
    """Files that differ from the sound repository."""
    tests: tuple[str, ...]
    """The tests that fail, as pytest names them."""
    wrong_repairs: tuple[Files, ...] = ()
    """Repairs that the visible tests accept although they differ from the right one."""


class BankBuilder:
    """Makes the bank of a repository, task by task; the file is written after each.

    Args:
        folder: The repository; never written to.
        digest: Its hash, which binds the bank to it.
        file: Where the bank is written; what it holds of this repository already is kept.
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
        self._plain = {program.text for program in self._programs}
        bank = read_bank(file) if file.exists() else Bank(digest, _packages(folder, self._sound))
        if bank.digest != digest:
            bank = Bank(digest, _packages(folder, self._sound))
        self._bank = replace(bank, programs=(), general=(), tasks={})
        self._answers: dict[str, Any] = dict(bank.programs)
        self._general = [bank.programs[n].program for n in bank.general]
        self._tasks: dict[str, _Texts] = {
            name: _Texts.of(asked, bank) for name, asked in bank.tasks.items()
        }
        self._opened: Any = None

    def __enter__(self) -> Self:
        """Open the boxes in which programs run."""
        self._opened = self._boxes.judging(self._stub, {}, (), LARGEST_OUTPUT)
        self._box, _ = self._opened.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close them."""
        self._opened.__exit__(kind, error, trace)

    def add(self, fault: Fault) -> Questions:
        """Make the questions of a task, unless the file has them, and write it.

        Args:
            fault: The task.

        Returns:
            What it asks, as numbers into the programs of the bank as it is now.
        """
        if fault.id not in self._tasks:
            if not self._general:
                self._general = self._fresh("general", "", GENERAL, None)
            self._tasks[fault.id] = self._questions(fault)
            self.bank().save(self.file)
        return self.bank().tasks[fault.id]

    def bank(self) -> Bank:
        """Return the bank as it is now."""
        used = set(self._general).union(*(texts.all() for texts in self._tasks.values()))
        programs = tuple(Question(text, self._answers[text]) for text in sorted(used))
        numbers = {one.program: number for number, one in enumerate(programs)}
        return replace(
            self._bank,
            programs=programs,
            general=tuple(numbers[text] for text in self._general),
            tasks={name: texts.numbered(numbers) for name, texts in self._tasks.items()},
        )

    # -- parts ----------------------------------------------------------------------------------

    def _questions(self, fault: Fault) -> _Texts:
        """Make the questions of a task."""
        functions = {test.partition("[")[0] for test in fault.tests}
        own = dict.fromkeys(p.text for p in self._programs if p.test in functions)
        plain = self._answered([*own])
        near = self._fresh("near", fault.id, NEAR, functions)
        telling = self._telling(fault.files, [*plain, *near])
        for number in range(ROUNDS):
            if len(set(telling) & set(near)) >= FEW:
                break
            more = self._fresh(f"more {number}", fault.id, MORE, functions)
            found = self._telling(fault.files, [text for text in more if text not in near])
            near += found[:FAR]
            telling += found[:FAR]
        known = [*plain, *near, *self._general]
        told, untold = [], 0
        for number, files in enumerate(fault.wrong_repairs):
            tellers = self._tell(files, known, f"{fault.id}/{number}", functions)
            untold += not tellers
            told += [tellers[:MOST_TELLERS]] if tellers else []
        return _Texts(near, plain, telling, told, untold)

    def _tell(
        self, files: Files, known: Sequence[str], name: str, functions: Collection[str]
    ) -> list[str]:
        """Return programs that a wrong repair answers otherwise, new ones where none does."""
        found = self._telling(files, known)
        for number in range(ROUNDS):
            if found:
                break
            tests = functions if number == 0 else None
            more = self._fresh(f"wrong {number}", name, MORE, tests)
            found = self._telling(files, more)
        return found

    def _fresh(
        self, what: str, name: str, most: int, functions: Collection[str] | None
    ) -> list[str]:
        """Make changed programs, and return those with a binding answer."""
        stream = Stream("held out", FORMAT, self._stub.repo, what, name)
        return self._answered([text for _, text in self._variation.draw(stream, most, functions)])

    def _answered(self, texts: Sequence[str]) -> list[str]:
        """Ask the sound copy; return the programs whose answers bind, which are remembered."""
        new = [text for text in texts if text not in self._answers]
        runs = []
        for number, (seed, pace) in enumerate(_PACES):
            order = new[::-1] if number == 1 else new
            runs.append(dict(zip(order, self._ask(self._sound, order, pace, seed), strict=True)))
        for text in new:
            first = runs[0][text]
            answer = binding(first, self._names, plain=text in self._plain)
            if answer is not None and all(run[text] == first for run in runs):
                self._answers[text] = answer
        return [text for text in texts if text in self._answers]

    def _telling(self, files: Files, texts: Sequence[str]) -> list[str]:
        """Return the programs that a changed repository answers otherwise."""
        changed = {**self._sound, **files}
        answers = self._ask(changed, texts, Pace(5 * BUILD_SECONDS, 5), 0)
        pairs = zip(texts, answers, strict=True)
        return [text for text, answer in pairs if not equal(self._answers[text], answer)]

    def _ask(self, files: Files, texts: Sequence[str], pace: Pace, seed: int) -> list[Any]:
        """Return the answers of a repository; None for programs that give none."""
        answers: list[Any] = []
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            answers += self._ask_batch(files, batch, pace, seed)
        return answers

    def _ask_batch(self, files: Files, texts: Sequence[str], pace: Pace, seed: int) -> list[Any]:
        box = self._box
        try:
            box.reset()
            write_files(box, files)
            for name, content in driver_files(self._bank.packages, texts, pace).items():
                box.write(f"{_PLACE}/{name}", content)
            found = read_answers(run_driver(box, _PLACE, 600.0, seed), len(texts))
        except SandboxDied:  # of a faulty copy
            found = "the sandbox died"
        return [None] * len(texts) if isinstance(found, str) else found


@dataclass
class _Texts:
    """Questions as texts, while the bank grows."""

    near: list[str]
    plain: list[str]
    telling: list[str]
    wrong_repairs: list[list[str]]
    untold: int

    @classmethod
    def of(cls, asked: Questions, bank: Bank) -> _Texts:
        """Read questions of a bank."""

        def texts(numbers: Sequence[int]) -> list[str]:
            return [bank.programs[number].program for number in numbers]

        wrong = [texts(tellers) for tellers in asked.wrong_repairs]
        told = texts(asked.near), texts(asked.plain), texts(asked.telling)
        return cls(*told, wrong, asked.untold)

    def all(self) -> set[str]:
        """Return every program that is asked."""
        return set(self.near).union(self.plain, self.telling, *self.wrong_repairs)

    def numbered(self, numbers: Mapping[str, int]) -> Questions:
        """Return the questions as numbers."""
        near, plain, telling, *wrong = (
            tuple(numbers[text] for text in texts)
            for texts in (self.near, self.plain, self.telling, *self.wrong_repairs)
        )
        return Questions(near, plain, telling, tuple(wrong), self.untold)


def _packages(folder: Path, sound: Files) -> tuple[str, ...]:
    """Return the modules and packages of a repository that programs may import.

    Raises:
        DataError: There are none.
    """
    found = set()
    for root in (folder, folder / "src"):
        for path in sorted(root.glob("*")):
            package = path.is_dir() and any(path.glob("*.py"))
            module = path.suffix == ".py" and path.is_file()
            if (package or module) and path.stem.isidentifier():
                found.add(path.stem)
    for name, content in sound.items():
        top = name.removeprefix("src/").split("/")[0].removesuffix(".py")
        if content is not None and name.endswith(".py") and top.isidentifier():
            found.add(top)
    names = tuple(sorted(found - _NO_PACKAGES))
    if not names:
        raise DataError(f"expected a package or a module in {folder}, got none")
    return names


_NO_PACKAGES = frozenset(
    ("test", "tests", "setup", "conftest", "noxfile", "docs", "doc", "examples", "src")
)
