"""Banks: the held-out questions of a repository and its tasks, with the right answers.

A bank is a gzip-compressed JSON file beside the tasks, with the digest of the repository that it
belongs to. Only the host reads it: boxes never see it.
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
"""Version of the file format: increase it when programs or answers change their meaning."""
FEW = 5
"""Minimum number of varied programs that reveal the fault, unless an unchanged test does."""
MOST_PLAIN, MOST_TELLING, MOST_NEAR, MOST_GENERAL = 20, 40, 60, 60
"""Maximum number of questions of each kind in one grading, as limits its time."""
LARGEST_BANK = 128 << 20
"""Bytes of a bank's JSON; a larger one is refused."""


class HeldOutQuestion(NamedTuple):
    """A program, and the answer of the repository without the fault."""

    program: str
    """Source of the program."""
    answer: Any
    """The part of the answer that a repair has to reproduce."""


@dataclass(frozen=True)
class Questions:
    """The questions of a task, as indices into the programs of its bank."""

    near: tuple[int, ...]
    """Variations of the failing tests."""
    plain: tuple[int, ...]
    """The failing tests with their original inputs."""
    telling: tuple[int, ...]
    """Those of both that the faulty repository answers differently."""
    wrong_repairs: tuple[tuple[int, ...], ...] | None = None
    """For each known wrong repair that passes the visible tests: the programs that reveal it. None
    if no such repairs were searched for."""
    untold: int = 0
    """Number of further such repairs that no program reveals; some may be right."""

    @property
    def enough(self) -> bool:
        """Whether they reveal the fault reliably enough to decide."""
        telling = set(self.telling)
        return len(telling & set(self.near)) >= FEW or bool(telling & set(self.plain))


@dataclass(frozen=True)
class Bank:
    """The questions of a repository."""

    digest: str
    """Digest of the repository (:func:`~agentgym.envs.swe.stored_instances.digest`)."""
    packages: tuple[str, ...]
    """Packages that the driver imports."""
    programs: tuple[HeldOutQuestion, ...] = ()
    """Programs and answers, sorted by source."""
    general: tuple[int, ...] = ()
    """Indices of variations of all tests."""
    tasks: Mapping[str, Questions] = field(default_factory=dict)
    """Id of a task -> its questions."""
    guards: tuple[tuple[int, ...], ...] | None = None
    """For each known wrong edit anywhere in the library that passes the visible tests: the programs
    that reveal it. None if no such edits were searched for."""
    unguarded: int = 0
    """Number of further such edits that no program reveals; some may be harmless."""

    def draw(self, task: str, seed: str | int) -> list[HeldOutQuestion]:
        """Draw the questions of one grading, in random order.

        Args:
            task: Id of the task.
            seed: Seed of the draw.
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
        """Return the bank without some programs, with all indices adapted.

        A wrong repair or edit that no remaining program reveals is counted as such.

        Args:
            dropped: Indices of the programs.
        """
        kept_numbers = [
            number for number in range(len(self.programs)) if number not in set(dropped)
        ]
        new = {number: place for place, number in enumerate(kept_numbers)}

        def renumber(numbers: Sequence[int]) -> tuple[int, ...]:
            return tuple(new[number] for number in numbers if number in new)

        def rest(questions: Questions) -> Questions:
            near, plain_numbers, telling = map(
                renumber, (questions.near, questions.plain, questions.telling)
            )
            if questions.wrong_repairs is None:
                return Questions(near, plain_numbers, telling)
            wrong_repairs = tuple(filter(None, map(renumber, questions.wrong_repairs)))
            dropped_count = len(questions.wrong_repairs) - len(wrong_repairs)
            return Questions(
                near, plain_numbers, telling, wrong_repairs, questions.untold + dropped_count
            )

        tasks = {name: rest(questions) for name, questions in self.tasks.items()}
        programs = tuple(self.programs[number] for number in kept_numbers)
        bank = replace(self, programs=programs, general=renumber(self.general), tasks=tasks)
        if self.guards is None:
            return bank
        guards = tuple(filter(None, map(renumber, self.guards)))
        dropped_guards = len(self.guards) - len(guards)
        return replace(bank, guards=guards, unguarded=self.unguarded + dropped_guards)

    def save(self, file: Path) -> None:
        """Write the bank to a file.

        Raises:
            OSError: The file cannot be written.
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
    """Read a bank from a file.

    Raises:
        DataError: The file is missing or damaged, or has another format.
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
            guards=_lists(fields.get("guards")),  # older banks lack the field
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
    """Return the bank of a task; it is cached in the process.

    Raises:
        DataError: The bank is missing or damaged, or was made for another state of the repository.
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


def _some(stream: Stream, numbers: Sequence[int], limit: int) -> list[int]:
    return stream.sample(numbers, min(limit, len(numbers)))


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
    """Raise ValueError if an index of a program is out of range."""
    used = set(bank.general).union(*(bank.guards or ()))
    for questions in bank.tasks.values():
        used.update(
            questions.near, questions.plain, questions.telling, *(questions.wrong_repairs or ())
        )
    if used and not 0 <= min(used) <= max(used) < len(bank.programs):
        raise ValueError(f"numbers of programs beyond {len(bank.programs)}")
