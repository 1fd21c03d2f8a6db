"""Universes: fixed bytes, names of their own, facts that agree, articles that can be read."""

from __future__ import annotations

import hashlib
import pickle
import re
import string
from dataclasses import replace
from itertools import combinations

import pytest

from agentgym.envs.search.generator import DIFFICULTIES, GeneratorConfig, Universe
from agentgym.envs.search.generator import names as naming
from agentgym.envs.search.generator.config import EASY, MEDIUM
from agentgym.envs.search.generator.facts import TODAY, UniverseFacts
from agentgym.envs.search.generator.kinds import KINDS
from agentgym.envs.search.generator.names import SPACES, acceptable
from agentgym.envs.search.generator.prose import read_facts, sentences
from agentgym.envs.search.generator.relations import MOST, RELATIONS, YEAR
from agentgym.envs.search.generator.templates import QuestionTemplate
from agentgym.errors import ConfigurationError
from tests.envs.search.generator.indexed import indexed

# The same on every machine and every Python; raise GENERATOR_VERSION when they change.
GOLDEN = {
    "easy": "33ff3ec360a32ac15853f9cadcce286d95951d7401371ace5029a6fbb56c64fd",
    "medium": "49289392de680147cc5f0f61999405351f0213779625f983c06e1de5f59d6251",
    "hard": "7f083824b632b101c393ebf68cd608b7a0e340228c5bbf51d73a832955654ee6",
    "local": "f8ee05ac8f2b7fc19ad83764bcebbf8cd653db0c09fdb904f654783c88e4b07e",
}
SIZE = 3000
DIFFICULTY = pytest.mark.parametrize("difficulty", DIFFICULTIES)


def normalised(title: str) -> str:
    """Return a title as answers are compared."""
    text = "".join(c for c in title.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


@DIFFICULTY
def test_the_bytes_are_fixed(difficulty: str):
    digest = hashlib.sha256()
    for passage in Universe(difficulty, 1500, 7).passages():
        digest.update(repr((passage.id, passage.title, passage.text)).encode())
    assert digest.hexdigest() == GOLDEN[difficulty]


@DIFFICULTY
def test_every_fact_of_every_passage_is_read_back(difficulty: str):
    universe, index = indexed(difficulty, SIZE, 1)
    facts = universe.facts
    for entity, passage in enumerate(index.passages):
        kind = facts.kind(entity)
        expected = {
            name: facts.text(name, facts.value(name, entity))
            for name in facts.values
            if RELATIONS[name].subject == kind
        }
        assert expected
        assert read_facts(passage.title, passage.text) == expected


@DIFFICULTY
def test_no_sentence_states_anything_in_an_article_of_another_title(difficulty: str):
    _, index = indexed(difficulty, SIZE, 1)
    for passage in index.passages[::10]:
        first = sentences(passage.text)[0]
        assert read_facts(passage.title, first)
        assert read_facts("Someone Else", first) == {}


@pytest.mark.slow
@DIFFICULTY
def test_titles_are_unique_as_answers_and_differ_between_name_spaces(difficulty: str):
    spaces = []
    for seed in range(SPACES):
        titles = Universe(difficulty, 20_000, seed).facts.names
        spaces.append({normalised(title) for title in titles})
        assert len(spaces[-1]) == len(titles) == 20_000
    for first, second in combinations(spaces, 2):
        assert first.isdisjoint(second)


@pytest.mark.slow
@DIFFICULTY
def test_names_hold_nothing_offensive(difficulty: str):
    real = {
        *naming.ADJECTIVES,
        *naming.NOUNS,
        *(w for ws in naming.SECOND_WORDS.values() for w in ws),
    }
    for seed in range(SPACES):
        for title in Universe(difficulty, 20_000, seed).facts.names:
            assert all(acceptable(word) for word in title.split() if word not in real), title


def test_what_is_offensive():
    assert acceptable("Torvane")
    assert not acceptable("Fuckford")


@pytest.mark.parametrize("seed", range(SPACES))
def test_endings_of_a_space_end_in_no_ending_of_another(seed: int):
    tables = (naming._GIVEN, naming._FAMILY, naming._PLACE)
    endings = [e for table in tables for e in table[seed].split()]
    foreign = [e for table in tables for i, es in enumerate(table) if i != seed for e in es.split()]
    assert not [
        (ending, other_foreign)
        for ending in endings
        for other_foreign in foreign
        if ending.endswith(other_foreign)
    ]


def test_plain_names_come_from_a_closed_vocabulary():
    words: list[set[str]] = []
    for seed in range(SPACES):
        titles = Universe("easy", 1000, seed).facts.names
        assert all(len(title.split()) == 2 for title in titles)
        words.append({word for title in titles for word in title.split()})
    together = set.union(*words)
    assert len(together) < 300
    assert all(len(vocabulary) >= len(together) - 2 for vocabulary in words)


def test_facts_agree():
    facts = Universe("hard", SIZE, 2).facts
    years, value = facts.years, facts.value
    for town in facts.entities["town"]:
        assert value("twin", town) != town
        assert value("twin", value("twin", town)) == town
    for region in facts.entities["region"]:
        assert value("town_region", value("capital", region)) == region
    for river in facts.entities["river"]:
        assert value("town_region", value("mouth", river)) == value("river_region", river)
    for kind, relation, least in (
        ("book", "author", 20), ("company", "founder", 22), ("building", "architect", 26),
        ("ship", "captain", 28), ("book", "publisher", 1), ("ship", "builder", 1),
    ):  # fmt: skip
        for entity in facts.entities[kind]:
            assert years[entity] - years[value(relation, entity)] >= least
    for relation in ("mayor", "governor", "rector", "leader", "editor"):
        for entity in facts.entities[RELATIONS[relation].subject]:
            assert 30 <= TODAY - years[value(relation, entity)] <= 75
    mentors = [(value("mentor", pupil), pupil) for pupil in facts.entities["person"]]
    assert all(mentor < pupil for mentor, pupil in mentors[1:])
    for kind in facts.entities:
        assert [years[entity] for entity in facts.entities[kind]] == sorted(
            years[entity] for entity in facts.entities[kind]
        )


@DIFFICULTY
def test_what_can_be_counted_is_at_most_a_page(difficulty: str):
    facts = Universe(difficulty, SIZE, 0).facts
    for relation in (
        relation
        for relation in RELATIONS.values()
        if relation.count and relation.name in facts.values
    ):
        numbers = [len(having) for having in facts.inverse(relation.name).values()]
        assert max(numbers) <= MOST
        assert {1, 2, MOST} <= set(numbers)


@DIFFICULTY
def test_articles_and_pronouns_are_right(difficulty: str):
    universe, index = indexed(difficulty, SIZE, 1)
    facts = universe.facts
    for entity, passage in enumerate(index.passages):
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou]", passage.text), passage.text
        assert not re.search(r"[a-z]  |\{|\}|%s|\.\.", passage.text)
        assert all(sentence[0].isupper() for sentence in sentences(passage.text))
        kind = facts.kind(entity)
        he = re.search(r"\b[Hh](e|is|im)\b", passage.text)
        she = re.search(r"\b([Ss]he|[Hh]er)\b", passage.text)
        neuter = re.search(r"\bIts?\b (?!was at)", passage.text)
        if kind == "person":
            assert not (he if facts.women[entity] else she)
            assert not neuter
        else:
            assert not he and not she


@pytest.mark.parametrize(
    ("difficulty", "least", "limit"), [("easy", 10, 20), ("medium", 42, 55), ("hard", 45, 65)]
)
def test_lengths(difficulty: str, least: int, limit: int):
    _, index = indexed(difficulty, SIZE, 1)
    words = [len(passage.text.split()) for passage in index.passages]
    assert least <= sum(words) / len(words) <= limit
    if difficulty == "easy":
        assert max(words) <= 20
        assert all(len(sentences(passage.text)) <= 2 for passage in index.passages)


def test_prose_is_varied():
    def wordings(difficulty: str) -> int:
        _, index = indexed(difficulty, SIZE, 1)
        leads = [QuestionTemplate(text) for text in KINDS["book"].sentences[0]]
        first = [sentences(passage.text)[0] for passage in index.passages]
        return sum(any(lead.read(sentence) for sentence in first) for lead in leads)

    assert wordings("medium") == 3
    assert wordings("hard") == 4


def _share(config: GeneratorConfig, pattern: str) -> float:
    passages = list(Universe(config, 2000, 0).passages())
    return sum(bool(re.search(pattern, passage.text)) for passage in passages) / len(passages)


def test_noise_is_a_setting():
    loud, quiet = replace(MEDIUM, name="loud", noise=30), replace(MEDIUM, name="quiet", noise=0)
    assert len(Universe(loud, 2000, 0).facts.entities["event"]) == 600
    assert "event" not in Universe(quiet, 2000, 0).facts.entities
    assert _share(loud, "took place") > 0.25 > _share(quiet, "took place") == 0
    for passage in Universe(loud, 2000, 0).passages():
        if "took place" in passage.text:
            assert len(read_facts(passage.title, passage.text)) == 2


def test_outdated_facts_are_a_setting():
    outdated = r"Until \d{4} the mayor was|gave up the office of mayor"
    always = replace(MEDIUM, name="always", former=100)
    never = replace(MEDIUM, name="never", former=0)
    assert _share(always, outdated) > 0.02 > _share(never, outdated) == 0


def test_mentions_and_namesakes_are_settings():
    bare = replace(MEDIUM, name="bare", mentions=0, namesakes=0)
    assert _share(bare, "twinned|twin town") > 0 == _share(bare, "A road built in")
    family = {name.split()[-1] for name in Universe(bare, 2000, 0).facts.names[:1000]}
    facts = Universe(bare, 2000, 0).facts
    companies = [facts.names[entity] for entity in facts.entities["company"]]
    assert not family & {name.split()[0] for name in companies}
    facts = Universe(replace(MEDIUM, name="kin", namesakes=100), 2000, 0).facts
    family = {facts.names[entity].split()[-1] for entity in facts.entities["person"]}
    companies = [facts.names[entity] for entity in facts.entities["company"]]
    assert sum(name.split()[0] in family for name in companies) > len(companies) / 2


def test_seeds_sizes_and_presets_differ():
    first = Universe("medium", 400, 0).passage(5)
    assert first == Universe("medium", 400, 0).passage(5)
    assert first != Universe("medium", 400, 3).passage(5)
    assert first != Universe("hard", 400, 0).passage(5)


def test_passages_do_not_depend_on_the_order_in_which_they_are_made():
    universe = Universe("hard", 400, 0)
    backwards = [universe.passage(entity) for entity in reversed(range(400))]
    assert backwards[::-1] == list(universe.passages()) == list(Universe("hard", 400, 0).passages())


def test_a_pickle_holds_the_arguments_only():
    universe = Universe("medium", 20_000, 4)
    assert universe.facts.names
    data = pickle.dumps(universe)
    assert len(data) < 4000
    assert pickle.loads(data).passage(17) == universe.passage(17)


def test_nothing_is_made_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    def unexpected(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(UniverseFacts, "__init__", unexpected)
    Universe("medium", 2_000_000, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("average", 500, 0), "easy, medium, hard"),
        (("medium", 10, 0), "size"),
        (("medium", 500, -1), "seed"),
        (("medium", 500.0, 0), "size"),
    ],
)
def test_wrong_arguments_are_told(arguments: tuple[object, ...], message: str):
    with pytest.raises(ConfigurationError, match=message):
        Universe(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"style": "baroque"}, "style"),
        ({"paraphrases": 0}, "paraphrases"),
        ({"noise": 101}, "noise"),
        ({"relations": ("birthplace", "nonsense")}, "nonsense"),
        ({"relations": ("birthplace",)}, "town"),
        ({"relations": (*EASY.relations, "birth_year")}, "birth_year"),
        ({"style": "full"}, "one sentence"),
        ({"mix": ()}, "mix"),
        ({"mix": (("riddle", 1, 1),)}, "kind of question"),
        ({"mix": (("chain", 6, 1),)}, "hops of chain"),
        ({"mix": (("comparison", 1, 1),)}, "hops of comparison"),
        ({"mix": (("chain", 1, 0),)}, "number of chain"),
        ({"mix": (("chain", 1),)}, "list of .kind, hops, count."),
        ({"mix": 5}, "list of .kind, hops, count."),
        ({"mix": (("comparison", 4, 1),)}, "relations that comparison questions"),
        ({"mix": (("count", 2, 1),), "relations": ("twin",)}, "relations that count questions"),
        ({"mix": (("intersection", 2, 1),), "relations": ("twin",)}, "relations that intersection"),
        ({"relations": ()}, "list of names"),
        ({"relations": "twin"}, "list of names"),
        ({"name": None}, "name of a difficulty"),
    ],
)
def test_wrong_settings_are_told(changes: dict[str, object], message: str):
    with pytest.raises(ConfigurationError, match=message):
        replace(EASY, **changes)  # type: ignore[arg-type]


def test_lists_are_settings_like_tuples():
    listed = replace(EASY, relations=[*EASY.relations], mix=[[*row] for row in EASY.mix])  # type: ignore[arg-type,misc]
    assert listed == EASY and hash(listed) == hash(EASY)


def test_years_are_no_kind():
    assert YEAR not in KINDS
