from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.textworld.engine.facts import FactTable, Relevance

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


@given(early=st.lists(FACTS, max_size=20), late=st.lists(FACTS, max_size=20))
def test_a_pattern_knows_the_facts_that_fit(
    early: list[tuple[str, ...]], late: list[tuple[str, ...]]
) -> None:
    table = FactTable(KINDS)
    table.mask(early)
    pattern = table.pattern("p", (frozenset("ab"), frozenset("c")))
    relevance = Relevance([pattern])
    table.mask(late)
    fits = {f for f in (*early, *late) if f[0] == "p" and f[1][0] in "ab" and f[2][0] == "c"}
    assert set(table.facts(pattern.total)) == fits
    assert relevance.mask == pattern.total
    for entity in KINDS:
        second = set(table.facts(pattern.where[1].get(entity, 0)))
        assert second == {fact for fact in fits if fact[2] == entity}
    assert table.pattern("p", (frozenset("ab"), frozenset("c"))) is pattern


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
