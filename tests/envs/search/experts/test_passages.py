"""What is read in a block is what the universe holds, and nothing else."""

from __future__ import annotations

import pytest

from agentgym.envs.search.engine.information import information
from agentgym.envs.search.experts.passage_reader import read_block
from agentgym.envs.search.generator.relations import RELATIONS
from agentgym.envs.search.generator.universe import Universe
from agentgym.retrieval import Passage


def stated(universe, entity):
    """Return the facts about a thing, as the generator knows them."""
    facts = universe.facts
    kind = facts.kind(entity)
    return {
        name: facts.text(name, facts.value(name, entity))
        for name in facts.values
        if RELATIONS[name].subject == kind
    }


@pytest.mark.parametrize("difficulty", ["easy", "medium", "hard"])
def test_blocks_are_read_back(difficulty):
    universe = Universe(difficulty, 600, 5)
    for entity in range(0, 600, 3):
        entities = [entity, (entity + 7) % 600]
        block = information([universe.passage(member) for member in entities], 3, 6000)
        parsed = read_block(block)
        assert [article.title for article in parsed] == [universe.facts.names[t] for t in entities]
        for subject, article in zip(entities, parsed, strict=True):
            assert {f.relation: f.value for f in article.facts} == stated(universe, subject)
            assert all(f.sentence in universe.passage(subject).text for f in article.facts)


def test_what_is_cut_off_is_not_read():
    universe = Universe("easy", 200, 0)
    passage = next(p for p in universe.passages() if len(p.text) > 60)
    first = passage.text.split(". ", 1)[0]
    for cut in range(len(first) + 3, len(passage.text)):
        passage_start = Passage("0", passage.title, passage.text[:cut] + "...")
        (article,) = read_block(information([passage_start], 1, 6000))
        assert [fact.sentence for fact in article.facts] == [first + "."]


def test_other_texts_hold_no_facts():
    assert read_block("") == []
    assert read_block("<information>No results.</information>") == []
    assert read_block("invalid: write <search>words</search>") == []
    (article,) = read_block('<information>\nDoc 1 (Title: "A") It rained. Why?\n</information>')
    assert article == ("A", ())
