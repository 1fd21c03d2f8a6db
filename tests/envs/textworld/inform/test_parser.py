"""Reading commands."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.envs.textworld.inform.grammar import prepositions, verbs
from agentgym.envs.textworld.inform.parser import ParsedRequest, Parser
from agentgym.envs.textworld.inform.story import Story
from agentgym.envs.textworld.inform.world_view import WorldView
from tests.envs.textworld.inform.house import BY_NAME, House, game

STORY = Story.of(game())
PIECES = st.sampled_from(
    [*verbs(False), *prepositions(False), *BY_NAME, "the", "a", "my", "all", "two", "it", "and",
     "but", "of", "me", "old", "north", "w", "foo", "with"]
)  # fmt: skip


def read(line: str) -> ParsedRequest | str:
    """Read one line at the start of the game."""
    return Parser().read(line, WorldView(STORY))


@pytest.mark.parametrize(
    ("line", "action", "nouns", "second"),
    [
        ("take apple", "Remove", ("f_0",), ""),
        ("TAKE THE APPLE", "Remove", ("f_0",), ""),
        ("take apple from table", "Remove", ("f_0",), "s_0"),
        ("get apple", "Take", ("f_0",), ""),
        ("pick the apple up", "Take", ("f_0",), ""),
        ("take apple and coin", "Take", ("f_0", "o_0"), ""),
        ("put brass key in chest", "Insert", ("k_0",), "c_0"),
        ("drop key", "Drop", ("k_0",), ""),
        ("open chest with key", "Unlock", ("c_0",), "k_0"),
        ("n", "Go", ("north",), ""),
        ("walk w", "Go", ("west",), ""),
        ("look at me", "Examine", ("P",), ""),
        ("l", "Look", (), ""),
        ("throw key at door", "ThrowAt", ("k_0",), "d_0"),
        ("give me key", "Give", ("k_0",), "P"),
    ],
)
def test_actions(line: str, action: str, nouns: tuple[str, ...], second: str) -> None:
    """Abbreviations, articles, other verbs and word orders mean the same as for Inform."""
    request = read(line)
    assert isinstance(request, ParsedRequest)
    assert (request.action, request.nouns, request.second) == (action, nouns, second)


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("", "I beg your pardon?"),
        ("frotz", "That's not a verb I recognise."),
        ("take frotz", "You can't see any such thing."),
        ("take umbrella", "You can't see any such thing."),
        ("inventory now", "I only understood you as far as wanting to take inventory."),
        ("x apple quickly", "I only understood you as far as wanting to examine the apple."),
        ("go north quickly", "I only understood you as far as wanting to go north."),
        ("give key to chest", "You can only do that to something animate."),
        ("eat apple and key", "You can't use multiple objects with that verb."),
        ("take her", "I'm not sure what 'her' refers to."),
        ("take them", "I'm not sure what 'them' refers to."),
        ("take all from door", "That can't contain things."),
        ("take all from chest", "The chest isn't open."),
        ("take", "What do you want to take?"),
        ("take it", "That's fixed in place."),
        ("n", "You can't go that way."),
        ("enter door", "You have to open the oak door first."),
        ("lock", "(the brass key with the brass key)\nThat doesn't seem to be something you can "
         "lock."),
        ("unlock chest", "(with the brass key)\nYou unlock the chest."),
        ("put apple", "(in the apple)\nYou need to take the apple first."),
        ("eat", "(the brass key)\nThat's plainly inedible."),
        ("put key on", "You can't wear that!"),
    ],
)  # fmt: skip
def test_answers(line: str, answer: str) -> None:
    """First lines and their answers, read off the compiled game."""
    assert House()(line) == answer


def test_a_question_and_its_answer() -> None:
    """An answer may name a thing more closely, or be another command."""
    house = House()
    assert house("unlock chest") == "(with the brass key)\nYou unlock the chest."
    assert house("open chest") == "You open the chest, revealing an old umbrella."
    assert house("x old") == "Which do you mean, the old umbrella or the old coin?"
    assert house("coin") == "A coin."
    assert house("x old") == "Which do you mean, the old umbrella or the old coin?"
    assert house("i") == "You are carrying: a brass key."
    assert house("coin") == "That's not a verb I recognise."


def test_all_is_no_answer_where_one_thing_is_wanted() -> None:
    """The question is repeated; where several may be meant, all are."""
    house = House()
    house("unlock chest")
    house("open chest")
    assert house("x old") == "Which do you mean, the old umbrella or the old coin?"
    assert house("all") == "Sorry, you can only have one item here. Which exactly?"
    assert house("") == "I beg your pardon?"
    assert house("the coin") == "A coin."
    assert house("get old") == "Which do you mean, the old umbrella or the old coin?"
    assert house("both") == (
        "old umbrella: You take the old umbrella from the chest.\n"
        "old coin: You take the old coin from the table."
    )


def test_it_may_be_a_direction() -> None:
    """Then the bare word goes there."""
    house = House()
    assert house("x north") == "You see nothing unexpected in that direction."
    assert house("it") == "You can't go that way."


def test_what_is_missing() -> None:
    """The game asks for a missing noun; what it assumed is part of the command from then on."""
    house = House()
    house("drop key")
    assert house("give") == "What do you want to give yourself?"
    assert house("me") == "What do you want to give yourself?"
    assert house("key") == "You need to take the brass key first."
    assert house("lock") == "What do you want to lock?"
    assert house("chest") == "(with the chest)\nThe chest is fixed in place."


@settings(deadline=None)
@given(st.lists(PIECES, max_size=8).map(" ".join), st.lists(PIECES, max_size=4).map(" ".join))
def test_whatever_is_typed_is_answered(first: str, second: str) -> None:
    """Any line, and any line after it, leads to a text; no fact changes without its command."""
    house = House()
    for line in (first, second):
        facts_before, n_commands = house.narrator.view.facts, len(house.commands)
        assert isinstance(house(line), str)
        assert house.narrator.view.facts == facts_before or len(house.commands) > n_commands


@settings(deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_answered(text: str) -> None:
    """No text raises."""
    assert isinstance(House()(text), str)
