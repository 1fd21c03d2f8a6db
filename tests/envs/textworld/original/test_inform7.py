from __future__ import annotations

import itertools
import json
import pickle
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentgym.envs.textworld.engine.session import NativeSession
from agentgym.envs.textworld.generator.config import DEFAULT
from agentgym.envs.textworld.original.inform7 import NO_EFFECT, InformSession, clean
from agentgym.envs.textworld.sanitise import read_command
from agentgym.envs.textworld.session import ONE_THING
from agentgym.envs.textworld.tasks import GameTasks
from agentgym.errors import EnvFailure
from tests.envs.textworld.conftest import Story

VOCABULARY = (
    "take get drop open close unlock lock put insert eat go enter look examine push pull wear give "
    "throw sit stand climb say ask all everything it and with on in from to through then . , \" ' "
    "north south east west door chest key the quit undo again restart save tw-trace-actions yes no"
)
WORDS = VOCABULARY.split()
NASTY = "\\\0\n\r\x1b\x08\x7f\u2028\uff3c\ud800é北🙂.,;>[]<#$%"
Open = Callable[..., InformSession]


@pytest.fixture
def opened(story: Story) -> Iterator[Open]:
    """Open sessions that are closed after the test."""
    sessions: list[InformSession] = []

    def open_one(name: str = DEFAULT, index: int = 0, **parameters: object) -> InformSession:
        sessions.append(InformSession(story(name, index, **parameters)))
        return sessions[-1]

    yield open_one
    for session in sessions:
        session.close()


def names(path: Path) -> list[str]:
    """Return the names of everything in a game."""
    infos = json.loads(path.with_suffix(".json").read_text())["infos"]
    return [info["name"] for _, info in infos if info.get("name")]


GAMES = [
    (DEFAULT, {}),
    ("treasure_hunter", {"level": 12}),
    ("cooking", {"recipe": 2, "take": 1, "go": 9, "open": True, "cook": True, "cut": True}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parameters"), GAMES, ids=lambda value: str(value)[:15])
def test_the_policy_wins_with_every_command_admissible(
    opened: Open, name: str, parameters: dict[str, object]
) -> None:
    session = opened(name, **parameters)
    intro = session.start()
    assert "$$" not in intro and ">" not in intro and "-= " in intro and "\n\n\n" not in intro
    plan = session.policy()
    assert plan
    while session.policy() != ():
        command = (session.policy() or ("",))[0]
        assert command in session.admissible() and read_command(command) == (command, "", "")
        turn = session.act(command)
        assert turn.valid and turn.text and ">" not in turn.text and "RESTART" not in turn.text
    assert turn.won and not turn.lost and turn.score == session.max_score
    assert "*** The End ***" in turn.text and len(session.snapshot()) == len(plan)


def test_asides_change_nothing(opened: Open) -> None:
    plain_house, curious = opened(), opened()
    assert plain_house.start() == curious.start()
    rng = random.Random(0)
    for _ in range(20):
        description, inventory = curious.description(), curious.inventory()
        assert description.startswith("-= ") and inventory.startswith("You are carrying")
        assert not set("<>[]") & set(description + inventory)
        command = rng.choice(plain_house.admissible())
        assert plain_house.act(command) == curious.act(command)
        assert plain_house.state_text() == curious.state_text()
        assert plain_house.admissible() == curious.admissible()
        if curious.policy() == ():
            break
    assert curious.act("look").text == curious.description() or curious.policy() == ()


def test_equal_states_reached_by_other_ways_have_equal_texts(opened: Open) -> None:
    session = opened()
    session.start()
    state = session.state_text()
    way = next(command for command in session.admissible() if command.startswith("go "))
    back = {"north": "south", "south": "north", "east": "west", "west": "east"}
    session.act(way)
    assert session.state_text() != state
    session.act("go " + back[way.removeprefix("go ")])
    assert session.state_text() == state
    session.act("no such verb")
    assert session.state_text() == state


def test_a_snapshot_leads_back_exactly(opened: Open) -> None:
    session, other_session = opened(), opened()
    session.start()
    for command in ("look", "dance", "take nothing", *(session.policy() or ())[:4]):
        session.act(command)
    state = pickle.loads(pickle.dumps(session.snapshot()))
    assert len(pickle.dumps(state)) < 1000
    other_session.restore(state)
    for _ in range(3):
        assert (
            other_session.state_text() == session.state_text()
            and other_session.policy() == session.policy()
        )
        assert other_session.description() == session.description()
        command = (session.policy() or ("look",))[0]
        assert other_session.act(command) == session.act(command)


def test_a_closed_session_says_so(opened: Open) -> None:
    session = opened()
    session.start()
    session.close()
    session.close()
    with pytest.raises(EnvFailure, match="closed"):
        session.act("look")


@pytest.mark.parametrize("command", ["look\\x", "look\0", "look\ngo east", "look\x1b", "é"])
def test_dangerous_text_does_not_reach_the_interpreter(opened: Open, command: str) -> None:
    session = opened()
    session.start()
    with pytest.raises(EnvFailure, match="read_command"):
        session.act(command)
    assert session.act("look").text.startswith("-= ")


# -- what TextWorld's tracker would lose -----------------------------------------------------------


def reach(
    opened: Open, folder: Path, kind: str, times: int = 1, name: str = DEFAULT
) -> tuple[InformSession, list[str]]:
    """Play games of a setting at random until commands of a kind are on offer.

    The way there is looked for in the native engine, which needs no compiler.

    Returns:
        A session in that state, and the commands.
    """
    rng, tasks = random.Random(3), GameTasks(name, folder=folder)
    for index in range(200):
        scout = NativeSession(tasks.problem(tasks.task("test", index)))
        scout.start()
        way: list[str] = []
        for _ in range(50):
            matches = [command for command in scout.admissible() if re.fullmatch(kind, command)]
            if len(matches) >= times:
                session = opened(name, index)
                session.start()
                for command in way:
                    session.act(command)
                return session, matches
            way.append(rng.choice(scout.admissible()))
            if scout.act(way[-1]).won:
                break
    raise AssertionError("no such command came up")


def test_taking_from_a_supporter_in_other_words_is_followed(opened: Open, game_cache: Path) -> None:
    session, (put, *_) = reach(opened, game_cache, "put .* on .*")
    name = put.removeprefix("put ").split(" on ")[0]
    state_text_before = session.state_text()
    for words in ("get", "pick up"):
        assert session.act(put).valid and session.state_text() != state_text_before
        turn = session.act(f"{words} {name}")
        assert turn.valid and turn.text.startswith(f"You take the {name} from the ")
        assert session.state_text() == state_text_before


@pytest.mark.slow
def test_walking_through_a_door_by_name_is_followed(opened: Open, game_cache: Path) -> None:
    kind = "close .*(door|portal|gate|passageway|gateway|hatch)"
    session, (close, *_) = reach(opened, game_cache, kind, name="w4-o6-q8")
    door = close.removeprefix("close ")
    room, state = session.description(), session.state_text()
    for words in ("go", "enter"):
        assert session.act(f"{words} {door}").valid and session.description() != room
        assert session.state_text() != state
        assert session.act(f"walk through {door}").valid or session.act(f"go {door}").valid
        assert session.description() == room and session.state_text() == state


def test_a_turn_is_one_action(opened: Open, game_cache: Path) -> None:
    session, _ = reach(opened, game_cache, "drop .*", times=2)
    state, plan, commands = session.state_text(), session.policy(), session.snapshot()
    turn = session.act("drop everything")
    assert (turn.text, turn.valid) == (ONE_THING, False)
    assert session.state_text() == state and session.policy() == plan
    assert session.snapshot() == commands


# -- fuzzing the interpreter -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def fuzzed(story: Story) -> Iterator[InformSession]:
    """One session for all examples: what one of them left behind would show in the next."""
    session = InformSession(story(DEFAULT))
    session.start()
    yield session
    session.close()


@pytest.mark.slow
@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    text=st.one_of(
        st.text(st.one_of(st.characters(), st.sampled_from(NASTY)), max_size=300),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join),
        st.builds(
            lambda words, nasty: nasty.join(words),
            st.lists(st.sampled_from(WORDS), min_size=2, max_size=5),
            st.sampled_from(NASTY),
        ),
    )
)
def test_no_text_hangs_or_desynchronises_the_interpreter(fuzzed: InformSession, text: str) -> None:
    command = read_command(text)
    if command.refusal:
        return
    turn = fuzzed.act(command.text)
    if turn.won or turn.lost:
        fuzzed.start()
    described = fuzzed.description()
    look = fuzzed.act("look")
    assert look.valid and look.text == described and look.text.startswith("-= ")


def test_the_plan_still_wins_after_any_nonsense(opened: Open, story: Story) -> None:
    session = opened()
    nouns = names(story(DEFAULT))
    rng = random.Random(1)
    wins = 0
    for _ in range(4):
        session.start()
        for _ in range(25):
            words = [rng.choice(WORDS), rng.choice(nouns), rng.choice(WORDS), rng.choice(nouns)]
            command = read_command(" ".join(words[: rng.choice((1, 2, 2, 4))]))
            if rng.random() < 0.3:
                command = read_command(rng.choice(session.admissible()))
            if not command.refusal and session.act(command.text).won:
                session.start()
        turn = None
        for _ in itertools.repeat(None, 60):
            plan = session.policy()
            if not plan:
                break
            turn = session.act(plan[0])
            assert turn.valid, plan
        wins += turn is not None and turn.won
    assert wins >= 3  # food of the plan may have been eaten


# -- cleaning --------------------------------------------------------------------------------------


@given(st.text(st.sampled_from("ab \n-=>.")))
def test_cleaning_is_idempotent_where_there_is_no_prompt(text: str) -> None:
    cleaned = clean(text.replace(">", ""))
    assert clean(cleaned) == cleaned and "\n\n\n" not in cleaned and cleaned == cleaned.strip()


def test_an_unanswered_command_is_a_failure(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened()
    session.start()
    monkeypatch.setattr(type(session._machine), "step", lambda *_: ("", 0, False, {}))
    with pytest.raises(EnvFailure, match="without a prompt"):
        session.act("look")
    assert NO_EFFECT and session.snapshot()
