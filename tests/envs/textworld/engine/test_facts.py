from __future__ import annotations

import itertools
import threading

from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.textworld.engine.facts import FactTable

KINDS = {f"{kind}_{number}": kind for kind in "abc" for number in range(3)}
FACTS = st.tuples(st.sampled_from(["p", "q"]), *[st.sampled_from(sorted(KINDS))] * 2)


@given(st.lists(FACTS, max_size=30))
def test_a_mask_is_its_facts(facts: list[tuple[str, ...]]) -> None:
    table = FactTable(KINDS)
    mask = table.mask(facts)
    assert set(table.facts(mask)) == set(facts)
    assert mask.bit_count() == len(set(facts))
    for fact in facts:
        assert list(table.facts(table.bit(fact))) == [fact]


@given(st.lists(FACTS, max_size=30))
def test_facts_are_found_by_their_kind_and_by_what_they_are_about(
    facts: list[tuple[str, ...]],
) -> None:
    table = FactTable(KINDS)
    table.mask(facts)
    for name, first, second in itertools.product("pq", "abc", "abc"):
        fits = {
            fact for fact in facts if (fact[0], fact[1][0], fact[2][0]) == (name, first, second)
        }
        assert set(table.facts(table.alike.get((name, (first, second)), 0))) == fits
    for place, entity in itertools.product(range(2), KINDS):
        found = set(table.facts(table.about.get((place, entity), 0)))
        assert found == {fact for fact in facts if fact[1 + place] == entity}


def test_threads_share_a_table() -> None:
    table = FactTable(KINDS)
    facts = [("p", one, other) for one in KINDS for other in KINDS]

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
