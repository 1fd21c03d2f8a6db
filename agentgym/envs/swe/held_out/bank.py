"""Banks: the held-out questions of a repository and of its tasks, with the sound answers.

A bank is a compressed file of JSON beside the tasks, bound to the digest of the repository. It is
the host's alone: boxes never see it.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from agentgym.envs.swe.instance import HeldOut
from agentgym.errors import DataError
from agentgym.support.caching import BoundedCache, write_atomically
from agentgym.support.random_stream import Stream

FORMAT = 1
"""Raised when programs or answers would mean something else."""
FEW = 5
"""Changed programs that have to tell the fault, unless a plain one does."""
MOST_PLAIN, MOST_TELLING, MOST_NEAR, MOST_GENERAL = 20, 40, 60, 60
"""Questions of each kind in one grading."""
LARGEST_BANK = 128 << 20
"""Bytes of a bank's JSON; a larger one is refused."""


class HeldOutQuestion(NamedTuple):
    """A program, and what the sound repository says."""

    program: str
    """Its source."""
    answer: Any
    """The part of the answer that binds."""


@dataclass(frozen=True)
class Questions:
    """What a task asks, as numbers into the programs of its bank."""

    near: tuple[int, ...]
    """Changed programs of the tests that fail."""
    plain: tuple[int, ...]
    """These tests as they are."""
    telling: tuple[int, ...]
    """Those of both that the fault answers otherwise."""
    wrong_repairs: tuple[tuple[int, ...], ...] | None = None
    """For each repair known to be wrong that the visible tests accept: programs that tell it. None
    while nobody has looked for such repairs."""
    untold: int = 0
    """Further such repairs that no program tells: equivalent, or beyond what could be made."""

    @property
    def enough(self) -> bool:
        """Whether they tell the fault well enough to decide."""
        telling = set(self.telling)
        return len(telling & set(self.near)) >= FEW or bool(telling & set(self.plain))


@dataclass(frozen=True)
class Bank:
    """The questions of a repository."""

    digest: str
    """Of the repository, see :func:`~agentgym.envs.swe.stored_instances.digest`."""
    packages: tuple[str, ...]
    """What the driver imports."""
    programs: tuple[HeldOutQuestion, ...] = ()
    """Programs and answers, in the order of their texts."""
    general: tuple[int, ...] = ()
    """Changed programs of all tests."""
    tasks: Mapping[str, Questions] = field(default_factory=dict)
    """What each task asks, by its id."""
    guards: tuple[tuple[int, ...], ...] | None = None
    """For each edit anywhere in the library that is known to be wrong and that the visible tests
    accept: programs that tell it. None while nobody has looked for such edits."""
    unguarded: int = 0
    """Further such edits that no program tells: equivalent, or beyond what could be made."""

    def draw(self, task: str, seed: str | int) -> list[HeldOutQuestion]:
        """Return the questions of one grading: other ones for another seed.

        Args:
            task: Id of the task.
            seed: What the draw depends on, besides the task.
        """
        questions, stream = self.tasks[task], Stream("held out", FORMAT, task, seed)
        telling_numbers = set(questions.telling)
        telling = [n for n in questions.near if n in telling_numbers]
        quiet = [n for n in questions.near if n not in telling_numbers]
        drawn = [
            *_some(stream, [n for n in questions.plain if n in telling_numbers], MOST_PLAIN),
            *_some(stream, [n for n in questions.plain if n not in telling_numbers], MOST_PLAIN),
            *_some(stream, telling, MOST_TELLING),
            *_some(stream, quiet, MOST_NEAR),
            *(
                number
                for tellers in questions.wrong_repairs or ()
                for number in _some(stream, tellers, 2)
            ),
            *_some(stream, self.general, MOST_GENERAL),
        ]
        for tellers in self.guards or ():
            if not set(tellers) & set(drawn):
                drawn += _some(stream, tellers, 1)
        return [self.programs[number] for number in stream.shuffled(sorted(set(drawn)))]

    def without(self, dropped: Collection[int]) -> Bank:
        """Return the bank without some programs.

        Args:
            dropped: Their numbers.
        """
        left = [number for number in range(len(self.programs)) if number not in set(dropped)]
        new = {number: place for place, number in enumerate(left)}

        def renumber(numbers: Sequence[int]) -> tuple[int, ...]:
            return tuple(new[number] for number in numbers if number in new)

        def rest(questions: Questions) -> Questions:
            near, plain, telling = map(
                renumber, (questions.near, questions.plain, questions.telling)
            )
            if questions.wrong_repairs is None:
                return Questions(near, plain, telling)
            wrong_repairs = tuple(filter(None, map(renumber, questions.wrong_repairs)))
            dropped_count = len(questions.wrong_repairs) - len(wrong_repairs)
            return Questions(near, plain, telling, wrong_repairs, questions.untold + dropped_count)

        tasks = {name: rest(questions) for name, questions in self.tasks.items()}
        programs = tuple(self.programs[number] for number in left)
        bank = replace(self, programs=programs, general=renumber(self.general), tasks=tasks)
        if self.guards is None:
            return bank
        guards = tuple(filter(None, map(renumber, self.guards)))
        dropped_guards = len(self.guards) - len(guards)
        return replace(bank, guards=guards, unguarded=self.unguarded + dropped_guards)

    def save(self, file: Path) -> None:
        """Write the bank.

        Raises:
            OSError: It cannot be written.
        """
        fields = {
            "format": FORMAT,
            "digest": self.digest,
            "packages": [*self.packages],
            "programs": [question.program for question in self.programs],
            "answers": [question.answer for question in self.programs],
            "general": [*self.general],
            "tasks": {
                name: [
                    questions.near,
                    questions.plain,
                    questions.telling,
                    questions.wrong_repairs,
                    questions.untold,
                ]
                for name, questions in self.tasks.items()
            },
            "guards": self.guards,
            "unguarded": self.unguarded,
        }
        text = json.dumps(fields, ensure_ascii=True, separators=(",", ":"))
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, gzip.compress(text.encode(), mtime=0))


def read_bank(file: Path) -> Bank:
    """Read a bank.

    Raises:
        DataError: There is none, or it is damaged or of another format.
    """
    try:
        with gzip.open(file) as opened:
            content = opened.read(LARGEST_BANK + 1)
        if len(content) > LARGEST_BANK:
            raise ValueError(f"more than {LARGEST_BANK:,} bytes")
        fields = json.loads(content)
        if fields["format"] != FORMAT:
            raise ValueError(f"format {fields['format']!r:.20} where {FORMAT} is read")
        pairs = zip(fields["programs"], fields["answers"], strict=True)
        bank = Bank(
            digest=str(fields["digest"]),
            packages=tuple(map(str, fields["packages"])),
            programs=tuple(HeldOutQuestion(str(program), answer) for program, answer in pairs),
            general=_numbers(fields["general"]),
            tasks={name: _questions(*entry) for name, entry in fields["tasks"].items()},
            guards=_lists(fields.get("guards")),  # banks of before there were any lack the field
            unguarded=int(fields.get("unguarded", 0)),
        )
        _check(bank)
    except _DAMAGED as error:
        raise DataError(
            f"expected held-out questions in {file}, as agentgym swe build makes them, got "
            f"{type(error).__name__}: {error!s:.200}"
        ) from error
    return bank


def load_bank(held_out: HeldOut) -> Bank:
    """Return the bank of a task, read once for a process.

    Raises:
        DataError: It is missing, damaged, or made for another state of the repository.
    """
    bank = _banks.get(held_out)
    if bank is None:
        bank = read_bank(held_out.file)
        if bank.digest != held_out.digest:
            raise DataError(
                f"expected the held-out questions {held_out.file} of the repository as it is, but "
                "they were made for another state of it; make the tasks anew"
            )
        _banks.put(held_out, bank)
    return bank


_DAMAGED = (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, RecursionError)
_banks: BoundedCache[HeldOut, Bank] = BoundedCache(8)


def _some(stream: Stream, numbers: Sequence[int], most: int) -> list[int]:
    return stream.sample(numbers, min(most, len(numbers)))


def _questions(near: Any, plain: Any, telling: Any, wrong: Any, untold: Any) -> Questions:
    numbers = _numbers(near), _numbers(plain), _numbers(telling)
    return Questions(*numbers, _lists(wrong), int(untold))


def _lists(values: Any) -> tuple[tuple[int, ...], ...] | None:
    return None if values is None else tuple(map(_numbers, values))


def _numbers(values: Any) -> tuple[int, ...]:
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise ValueError(f"{values!r:.40} where numbers belong")
    return tuple(values)


def _check(bank: Bank) -> None:
    """Refuse numbers of programs that there are not."""
    used = set(bank.general).union(*(bank.guards or ()))
    for questions in bank.tasks.values():
        used.update(
            questions.near, questions.plain, questions.telling, *(questions.wrong_repairs or ())
        )
    if used and not 0 <= min(used) <= max(used) < len(bank.programs):
        raise ValueError(f"numbers of programs beyond {len(bank.programs)}")
