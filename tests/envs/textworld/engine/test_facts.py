from __future__ import annotations

import itertools
import threading

from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.textworld.engine.facts import FactTable
from agentgym.envs.textworld.engine.rule_parser import parse

LOGIC = parse("""
type a { } type b : a { } type c { }
type rules_of_all { rules { r :: p(a, c) & p(b, b') & q(a, a') & q(c, b) -> p(a, c); } }
""")
KINDS = {f"{kind}_{number}": kind for kind in "abc" for number in range(3)}
FACTS = st.tuples(st.sampled_from(["p", "q"]), *[st.sampled_from(sorted(KINDS))] * 2)


@given(st.lists(FACTS, max_size=30))
def test_a_mask_is_its_facts(facts: list[tuple[str, ...]]) -> None:
    table = FactTable(LOGIC, KINDS)
    mask = table.mask(facts)
    assert set(table.facts(mask)) == set(facts)
    assert mask.bit_count() == len(set(facts))
    for fact in facts:
        assert list(table.facts(table.bit(fact))) == [fact]


@given(st.lists(FACTS, max_size=30, unique=True), st.lists(FACTS, max_size=30))
def test_facts_are_found_by_the_patterns_they_fit_and_by_what_they_are_about(
    first: list[tuple[str, ...]], more: list[tuple[str, ...]]
) -> None:
    table = FactTable(LOGIC, KINDS, first)
    assert [table.bit(fact) for fact in first] == [1 << place for place in range(len(first))]
    table.mask(more)
    facts = {*first, *more}
    assert len(LOGIC.patterns) == 4
    for (name, types), bits in zip(LOGIC.patterns, table.fitting, strict=True):
        fits = set()
        for fact in facts:
            pairs = zip(fact[1:], types, strict=True)
            if fact[0] == name and all(KINDS[entity] in fit for entity, fit in pairs):
                fits.add(fact)
        assert set(table.facts(bits)) == fits
    for place, entity in itertools.product(range(2), KINDS):
        about = table.about[place] if table.about else {}
        about_entity = set(table.facts(about.get(entity, 0)))
        assert about_entity == {fact for fact in facts if fact[1 + place] == entity}


def test_threads_share_a_table() -> None:
    table = FactTable(LOGIC, KINDS)
    facts = [("p", first, second) for first in KINDS for second in KINDS]

    def meet(seed: int) -> None:
        for place in range(len(facts)):
            table.bit(facts[(place * 7 + seed) % len(facts)])

    threads = [threading.Thread(target=meet, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({table.bit(fact) for fact in facts}) == len(facts)
    assert all(list(table.facts(table.bit(fact))) == [fact] for fact in facts)
