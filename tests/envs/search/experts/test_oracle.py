"""The oracle answers every question, with the help of what nobody is shown."""

from __future__ import annotations

from dataclasses import replace

import gymnasium
import pytest

from agentgym.envs.search.engine.commands import ANSWER, SEARCH, SearchCommand
from agentgym.envs.search.engine.session import Rules, SearchSession
from agentgym.envs.search.experts import EXPERTS
from agentgym.policies import play as playing
from tests.envs.search.library import QUESTIONS, CountingRetriever

LONG = 8


@pytest.mark.parametrize("difficulty", ["easy", "medium", "hard"])
@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_it_answers_every_question_of_every_split(difficulty, split):
    env = gymnasium.make(
        "agentgym/Search-v0", difficulty=difficulty, size=2000, expert="oracle"
    ).unwrapped
    for index in range(100):
        *_, last = playing.play(env.demonstrator(), env, options={"split": split, "index": index})
        assert last.info["success"], env.task.goal
        assert last.info["turn"] <= env.tasks.oracle_turns(env.task)


def commands(question, turns=LONG, **rules):
    """Play a question to its end; return what the oracle did, and the session."""
    expert = EXPERTS["oracle"]()
    session = SearchSession(question, CountingRetriever(), Rules(**rules))
    session.start(turns)
    done_commands = []
    while not session.state.over:
        turns -= 1
        done_commands.append(expert.step(session, turns))
        session.act(done_commands[-1], turns)
    return done_commands, session


def test_it_follows_the_plan():
    question = QUESTIONS[2]
    done_commands, session = commands(question)
    assert done_commands == [
        *(SearchCommand(SEARCH, q) for q in question.plan),
        SearchCommand(ANSWER, "1934"),
    ]
    assert session.gold_recall == 1.0


def test_it_stops_searching_when_all_evidence_was_shown():
    question = replace(QUESTIONS[1], plan=("Belden mayor Kit Sorrel", "Kit Sorrel born"))
    done_commands, _ = commands(question)
    assert done_commands == [
        SearchCommand(SEARCH, question.plan[0]),
        SearchCommand(ANSWER, "Harrow"),
    ]


def test_questions_without_a_plan_are_searched_for_as_they_are():
    for question in (replace(QUESTIONS[1], plan=()), replace(QUESTIONS[1], plan=(), gold=())):
        done_commands, session = commands(question)
        assert done_commands == [
            SearchCommand(SEARCH, question.text),
            SearchCommand(ANSWER, "Harrow"),
        ]
        assert session.scores().em == 1.0


def test_the_last_turn_is_for_the_answer():
    done_commands, session = commands(QUESTIONS[1], turns=1)
    assert done_commands == [SearchCommand(ANSWER, "Harrow")]
    assert session.scores().em == 1.0
