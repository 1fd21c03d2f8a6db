"""Which tests the plain ``pytest`` runs: the fast selection. ``pytest --full`` runs all.

Left out are tests that are marked ``slow``, and of a function with more than `CASES` cases all but
that many. Which cases stay depends on names alone, so it is the same on every machine: those whose
arguments no test of the same module has had yet, then those that need no sandbox, then those whose
names have the smallest hash. So the functions of a module share out their arguments. A family,
grammar, back end or preset that no chosen case is called with gets one more, of few fixtures, and
``tests/test_selection.py`` checks that none is left out.

Tests that are named one by one (``FILE::TEST``) or chosen by a mark (``-m``) are all run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import pytest

from agentgym.actions import GRAMMARS
from agentgym.registration import FAMILIES
from agentgym.vector.backends import BACKENDS

CASES = 3
"""Most cases of one function in the fast selection."""
BOXED = {name for family in FAMILIES if family.boxed for name in (family.id, family.name)}
"""Families that run commands in a sandbox, at some seconds a case."""
Argument = tuple[str, int]
"""Name of a parameter, and the position of its value among those that it is given."""


def add_option(parser: pytest.Parser) -> None:
    """Add ``--full``."""
    parser.addoption("--full", action="store_true", help="run all tests, not the fast selection")


def is_wanted(config: pytest.Config) -> bool:
    """Return whether the fast selection is to be run, rather than all tests or those named."""
    named = any("::" in argument for argument in config.args)
    return not (config.option.full or config.option.markexpr or named)


def select_fast(items: Sequence[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Divide tests into those of the fast selection and the others, both in their order."""
    functions: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if not is_slow(item):
            functions[item.nodeid.partition("[")[0]].append(item)
    arguments: dict[Path, set[Argument]] = defaultdict(set)
    selected: set[pytest.Item] = set()
    for _, cases in sorted(functions.items()):
        selected.update(choose_cases(cases, arguments[cases[0].path]))
    for word in vocabulary() - {word for item in selected for word in words_of(item)}:
        cases = [item for item in items if word in words_of(item)]
        selected.update(sorted(cases, key=expected_cost)[:1])
    return [item for item in items if item in selected], [
        item for item in items if item not in selected
    ]


def choose_cases(cases: Iterable[pytest.Item], used: set[Argument]) -> Iterator[pytest.Item]:
    """Choose at most `CASES` cases of one function.

    Args:
        cases: All of them.
        used: Arguments that other functions of the module are called with; those of the chosen
            cases are added.
    """
    ranked = sorted(cases, key=lambda case: (not BOXED.isdisjoint(words_of(case)), name_hash(case)))
    for _ in range(min(CASES, len(ranked))):
        case = max(ranked, key=lambda case: len(arguments_of(case) - used))
        ranked.remove(case)
        used |= arguments_of(case)
        yield case


def expected_cost(item: pytest.Item) -> tuple[bool, int, bytes]:
    """Return what ranks tests: slow ones last, then those of many fixtures, then by name."""
    return is_slow(item), len(getattr(item, "fixturenames", ())), name_hash(item)


def is_slow(item: pytest.Item) -> bool:
    """Return whether a test is marked ``slow``."""
    return item.get_closest_marker("slow") is not None


def name_hash(item: pytest.Item) -> bytes:
    """Return what orders tests alike on every machine, and by nothing that they have in common."""
    return sha256(item.nodeid.encode()).digest()


def arguments_of(item: pytest.Item) -> set[Argument]:
    """Return what a case is called with."""
    callspec = getattr(item, "callspec", None)
    return set(callspec.indices.items()) if callspec else set()


def words_of(item: pytest.Item) -> set[str]:
    """Return the names that a case is called with, or that its arguments have."""
    callspec = getattr(item, "callspec", None)
    values = callspec.params.values() if callspec else ()
    return {name for value in values if isinstance(name := getattr(value, "name", value), str)}


def vocabulary() -> set[str]:
    """Return the families, grammars, back ends and presets that the selection has to meet."""
    from trainers.algorithms.presets import PRESETS

    return {*(family.id for family in FAMILIES), *GRAMMARS, *BACKENDS, *PRESETS}
