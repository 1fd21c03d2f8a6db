"""Players, results, points and rounds."""

from fractions import Fraction

import pytest

from podiumkit import (
    Match,
    Player,
    PlayerError,
    PointRules,
    ResultError,
    Roster,
    Tournament,
    TournamentError,
    read_score,
)


def event_of(*names, **options):
    """Return a tournament with players."""
    return Tournament("T", Roster(Player(name) for name in names), **options)


@pytest.mark.parametrize(
    ("name", "rating", "club"),
    [("", 0, ""), (" A", 0, ""), ("A;B", 0, ""), ("A|B", 0, ""), ("A #1", 0, ""), ("A", -1, ""), ("A", 0, "x;y")],
)
def test_no_player(name, rating, club):
    """A player needs a clean name, and no number is negative."""
    with pytest.raises(PlayerError):
        Player(name, rating, club)


def test_order_by_seed():
    """Players are seeded by rating; equal ones in the order of their entry."""
    roster = Roster([Player("A"), Player("B", 1500), Player("C", 1800), Player("D", 1500)])
    assert (roster.by_seed(), roster.seeds()["D"]) == (["C", "B", "D", "A"], 3)


def test_withdrawn_player():
    """A player who has withdrawn does not play from that round on."""
    roster = Roster([Player("A"), Player("B")])
    roster.withdraw("A", 3)
    assert (roster.by_seed(2), roster.by_seed(3), roster.by_seed()) == (
        ["A", "B"],
        ["B"],
        ["A", "B"],
    )


def test_players_are_found():
    """Players can be counted, listed and found."""
    roster = Roster([Player("B"), Player("A")])
    assert (len(roster), roster.names(), "A" in roster, "C" in roster) == (
        2,
        ["B", "A"],
        True,
        False,
    )


def test_same_name_twice():
    """Two players cannot have one name."""
    with pytest.raises(PlayerError, match="two players A"):
        Roster([Player("A"), Player("A")])


@pytest.mark.parametrize(("name", "number"), [("B", 1), ("A", 0)])
def test_wrong_withdrawal(name, number):
    """Only a player who is there can withdraw, from the first round on."""
    with pytest.raises(PlayerError):
        Roster([Player("A")]).withdraw(name, number)


@pytest.mark.parametrize(
    ("text", "home", "away"),
    [
        ("2-1", 2, 1),
        ("10:0", 10, 0),
        (" 3 - 2 ", 3, 2),
        ("1/2-1/2", Fraction(1, 2), Fraction(1, 2)),
        ("½-½", Fraction(1, 2), Fraction(1, 2)),
        ("2.5-1.5", Fraction(5, 2), Fraction(3, 2)),
        ("+:-", 1, 0),
        ("-:-", 0, 0),
    ],
)
def test_score(text, home, away):
    """A score has two numbers, halves included, or signs for a match that was not played."""
    score = read_score(text)
    assert (score.home, score.away, score.forfeit) == (home, away, ":" in text and "0" not in text)


@pytest.mark.parametrize("text", ["", "2", "2-", "a-b", "1-2-3", "2.3-1", "+-", "-1-2", "12345-0"])
def test_no_score(text):
    """What is no score is refused."""
    with pytest.raises(ResultError, match="expected a score"):
        read_score(text)


def test_won_by_both():
    """A match cannot be won by both by default."""
    with pytest.raises(ResultError, match="won by both"):
        read_score("+:+")


@pytest.mark.parametrize("text", ["2-1", "1/2-1/2", "+:-", "-:+", "-:-", "5/2-0"])
def test_score_is_written(text):
    """A score is written as it is read."""
    assert str(read_score(text.replace("5/2", "2.5"))) == text


@pytest.mark.parametrize(
    ("score", "winner", "loser"),
    [
        ("2-1", "A", "B"),
        ("0-1", "B", "A"),
        ("1-1", None, None),
        ("-:+", "B", "A"),
        ("-:-", None, None),
    ],
)
def test_winner(score, winner, loser):
    """The larger score wins; nobody wins a draw."""
    match = Match("A", "B", read_score(score))
    assert (match.winner, match.loser) == (winner, loser)


def test_bye_is_won():
    """A bye is won and has no loser."""
    match = Match("A", None)
    assert (match.is_bye, match.is_played, match.winner, match.loser) == (True, False, "A", None)


@pytest.mark.parametrize(("home", "away", "score"), [("A", "A", None), ("A", None, "1-0")])
def test_impossible_match(home, away, score):
    """Nobody plays against himself, and a bye has no score."""
    with pytest.raises(ResultError):
        Match(home, away, None if score is None else read_score(score))


@pytest.mark.parametrize(
    ("score", "points"),
    [("2-1", (3, 0)), ("0-4", (0, 3)), ("1-1", (1, 1)), ("+:-", (3, 0)), ("-:-", (0, 0))],
)
def test_points(score, points):
    """Points depend on the rules; a match to which neither comes is lost by both."""
    assert PointRules.of("3", "1", "0").points(read_score(score)) == points


@pytest.mark.parametrize(
    ("win", "draw", "loss"),
    [("1", "2", "0"), ("1", "0", "1"), ("0", "0", "0"), ("x", "1", "0"), ("1/0", "0", "0")],
)
def test_wrong_points(win, draw, loss):
    """A win has to be worth more than a loss, a draw something between."""
    with pytest.raises(ResultError):
        PointRules.of(win, draw, loss)


@pytest.mark.parametrize("tiebreaks", [["goals"], ["wins", "wins"]])
def test_wrong_tiebreaks(tiebreaks):
    """Tie-breaks have to be known and named once."""
    with pytest.raises(TournamentError):
        event_of("A", "B", tiebreaks=tiebreaks)


@pytest.mark.parametrize(
    ("matches", "error", "message"),
    [
        ([Match("A", "B"), Match("A", "C")], ResultError, "A plays twice in round 1"),
        ([Match("A", "B"), Match("B", None)], ResultError, "B plays twice in round 1"),
        ([Match("A", "X")], PlayerError, "no player X"),
    ],
)
def test_impossible_round(matches, error, message):
    """In a round every player plays once, and has to be known."""
    with pytest.raises(error, match=message):
        event_of("A", "B", "C").add_round(matches)


def test_round_after_withdrawal():
    """Who has withdrawn cannot play."""
    event = event_of("A", "B")
    event.roster.withdraw("B", 1)
    with pytest.raises(ResultError, match="B has withdrawn before round 1"):
        event.add_round([Match("A", "B")])


@pytest.mark.parametrize(("home", "away", "score"), [("A", "B", "2-1"), ("B", "A", "1-2")])
def test_enter_a_score(home, away, score):
    """A score can be entered from both sides."""
    event = event_of("A", "B")
    event.add_round([Match("A", "B")])
    before = event.is_complete
    event.record(home, away, score)
    [match] = event.matches()
    assert (before, event.is_complete, match.home, str(match.score)) == (False, True, "A", "2-1")


@pytest.mark.parametrize(("home", "away"), [("A", "C"), ("A", "X")])
def test_enter_a_score_of_no_match(home, away):
    """A score can be entered only for a match of the last round."""
    event = event_of("A", "B", "C")
    event.add_round([Match("A", "C")])
    event.add_round([Match("A", "B")])
    with pytest.raises(ResultError, match=f"{home} does not play against {away} in round 2"):
        event.record(home, away, "1-0")
