"""The reader answers from texts: from nothing else, and nearly always."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import gymnasium
import pytest

from agentgym.envs.search.engine.commands import ANSWER, SEARCH, SearchCommand
from agentgym.envs.search.engine.session import Rules, SearchSession
from agentgym.envs.search.experts import EXPERTS
from agentgym.envs.search.experts.reader import UNKNOWN, KnownSearch, choose_command
from agentgym.envs.search.question import Question
from agentgym.policies import play as playing
from agentgym.retrieval import Hit, Passage

DIFFICULTIES = ["easy", "medium", "hard"]
QUESTION = "Who is the mayor of the place where Bo Lane was born?"


def make(difficulty, **changes):
    changes = {"size": 2000, **changes}
    return gymnasium.make("agentgym/Search-v0", difficulty=difficulty, **changes).unwrapped


@pytest.mark.slow
@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_it_answers_nearly_every_question_of_every_kind(difficulty):
    env = make(difficulty)
    right_count, total = Counter(), Counter()
    for index in range(200):
        *_, last = playing.play(env.demonstrator(), env, options={"split": "test", "index": index})
        shape = env.session.question.kind, env.session.question.hops
        right_count[shape] += last.info["success"]
        total[shape] += 1
    assert right_count.total() >= 0.95 * total.total()
    assert len(total) == (5 if difficulty == "easy" else 11)
    assert all(right_count[shape] >= 0.75 * total[shape] for shape in total), (right_count, total)


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_it_plays_from_the_texts_of_the_environment_alone(difficulty):
    """Whoever has only what ``reset`` and ``step`` return plays as the expert does."""
    env = make(difficulty)
    for index in range(40):
        observation, _ = env.reset(options={"split": "test", "index": index})
        question = observation.removeprefix("Question: ").splitlines()[0]
        searches, over, turns_left = [], False, env.horizon
        while not over:
            turns_left -= 1
            command = choose_command(question, searches, turns_left)
            assert command.write() == env.demonstrator_action()
            observation, _, terminated, truncated, _ = env.step(command.write())
            searches.append(KnownSearch(command.argument, observation))
            over = terminated or truncated


@pytest.mark.parametrize("year", ["antiquity", "9" * 5000])
def test_a_year_that_is_none_is_passed_over(year):
    title = 'Doc 1 (Title: "Belden") Belden is a town in Orland, founded in'
    question = "Which town is older, Belden or Harrow?"
    command = choose_command(question, [KnownSearch("Belden", f"{title} {year}.")], 3)
    assert command == SearchCommand(ANSWER, "Belden"), "a guess"


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_answers_evidence_and_plan_could_be_anything(difficulty):
    env = make(difficulty)
    reader = EXPERTS["reader"]()
    nonsense = {"answers": ("nonsense",), "gold": ("-1",), "plan": ("x",), "hops": 0, "kind": ""}
    for index in range(20):
        env.reset(options={"split": "test", "index": index})
        actual, retriever = env.session.question, env.session.retriever
        runs = []
        for question in (actual, replace(actual, **nonsense)):
            session, turns_left = SearchSession(question, retriever, env.rules), 8
            runs.append([])
            while turns_left and not session.state.over:
                turns_left -= 1
                runs[-1].append(reader.step(session, turns_left))
                session.act(runs[-1][-1], turns_left)
        assert runs[0] == runs[1]


def block(*passages):
    lines = [f'Doc {n} (Title: "{p[0]}") {p[1]}' for n, p in enumerate(passages, 1)]
    return "\n".join(["<information>", *lines, "</information>"])


BO = ("Bo Lane", "Bo Lane, a poet, was born in Tor in 1901.")
TOR = ("Tor", "Tor is a town in Oria, founded in 1400. The mayor is Cy Dale.")
LEFT = 5


def test_a_fact_leads_to_the_next_search():
    first = choose_command(QUESTION, [], LEFT)
    assert first == SearchCommand(SEARCH, "Bo Lane born")
    searches = [KnownSearch(first.argument, block(BO))]
    second = choose_command(QUESTION, searches, LEFT)
    assert second == SearchCommand(SEARCH, "Tor mayor council")
    searches.append(KnownSearch(second.argument, block(TOR)))
    assert choose_command(QUESTION, searches, LEFT) == SearchCommand(ANSWER, "Cy Dale")


def test_facts_count_wherever_they_were_shown():
    assert choose_command(QUESTION, [KnownSearch("Tor", block(TOR, BO))], LEFT) == SearchCommand(
        ANSWER, "Cy Dale"
    )


def test_a_search_that_shows_nothing_is_worded_in_other_ways():
    searches, queries = [], set()
    for _ in range(4):
        command = choose_command(QUESTION, searches, LEFT)
        assert command.name == SEARCH and command.argument not in queries
        assert "Bo Lane" in command.argument
        queries.add(command.argument)
        searches.append(KnownSearch(command.argument, "<information>No results.</information>"))
    searches.append(KnownSearch("Bo Lane, at last", block(BO)))
    assert choose_command(QUESTION, searches, LEFT) == SearchCommand(SEARCH, "Tor mayor council")


def test_in_the_last_turn_it_gives_its_best_guess():
    assert choose_command(QUESTION, [], 0) == SearchCommand(ANSWER, UNKNOWN)
    other_passage = ("Mor", "The mayor is Di Hill.")
    assert choose_command(QUESTION, [KnownSearch("Mor", block(other_passage))], 0) == SearchCommand(
        ANSWER, "Di Hill"
    )


def test_it_gives_up_when_it_has_no_other_words():
    searches = []
    for _ in range(20):
        command = choose_command(QUESTION, searches, LEFT)
        if command.name == ANSWER:
            break
        searches.append(KnownSearch(command.argument, "<information>No results.</information>"))
    assert command == SearchCommand(ANSWER, UNKNOWN)


def test_what_is_shown_twice_counts_once():
    question = "How many books did Bo Lane write?"
    books = [("Salt", "Salt is a novel by Bo Lane, first published in 1930."),
             ("Iron", "Iron is a novel by Bo Lane, first published in 1931.")]  # fmt: skip
    assert choose_command(question, [KnownSearch("Salt", block(*books))], LEFT).name == SEARCH
    command = choose_command(question, [], LEFT)
    searches = [KnownSearch("Salt", block(*books)), KnownSearch(command.argument, block(*books))]
    assert choose_command(question, searches, LEFT) == SearchCommand(ANSWER, "2")


def test_another_ones_question_is_searched_for_as_it_is():
    question = "Why is the sky blue?"
    first = choose_command(question, [], LEFT)
    assert first == SearchCommand(SEARCH, question)
    searches = [KnownSearch(question, block(("Sky", "It is blue by day.")))]
    assert choose_command(question, searches, LEFT) == SearchCommand(ANSWER, "Sky")


class Hostile:
    """Finds passages whose text plays tricks."""

    def search(self, queries, k):
        text = 'Doc 1 (Title: "X") </information> The mayor is \\1(.*. ' + "a. " * 2000
        return [[Hit(Passage("0", 'A" (Title: "B")', text), 1.0)] for _ in queries]

    def close(self):
        """Nothing to release."""


def test_no_text_makes_it_fail():
    session, turns_left = SearchSession(Question(QUESTION, ("x",)), Hostile(), Rules()), 8
    while not session.state.over:
        turns_left -= 1
        session.act(EXPERTS["reader"]().step(session, turns_left), turns_left)
    assert session.state.answers
