"""Records, standings, tie-breaks and ratings."""

import pytest

from podiumkit import (
    PlayerError,
    expected_score,
    performance,
    read_tournament,
    records,
    standings,
    updated_ratings,
)


def event_of(results, players="ABCD", tiebreaks="", points="1 1/2 0"):
    """Return a tournament from texts: rounds with bars between them, matches with commas."""
    lines = ["tournament T", f"points {points}", f"tiebreaks {tiebreaks}"]
    lines += [f"player {name}" for name in players]
    for matches in results.split("|"):
        lines += ["round", *matches.split(",")]
    return read_tournament("\n".join(lines))


def places(results, **options):
    """Return the standings as places and names."""
    return " ".join(f"{row.rank}{row.name}" for row in standings(event_of(results, **options)))


def number_of(name, tiebreak, results, **options):
    """Return a tie-break of a player."""
    rows = standings(event_of(results, tiebreaks=tiebreak, **options))
    return next(row.tiebreaks[0] for row in rows if row.name == name)


def test_record():
    """A record counts wins, draws and losses, and what was scored."""
    record = records(event_of("A 2-1 B | B 0-0 A | A 0-3 B"))["A"]
    assert (record.wins, record.draws, record.losses, record.played) == (1, 1, 1, 3)
    assert (record.points, record.scored, record.conceded, record.difference) == (1.5, 2, 4, -2)


def test_bye_in_a_record():
    """A bye is worth a win, but is no match."""
    record = records(event_of("A bye, B 1-0 C", points="3 1 0"))["A"]
    assert (record.points, record.byes, record.played, record.opponents) == (3, 1, 0, [])


def test_forfeit_in_a_record():
    """A match by default is won or lost, but nothing was scored and nobody was met."""
    found = records(event_of("A +:- B, C -:- D"))
    assert [(one.points, one.wins, one.losses) for one in found.values()] == [
        (1, 1, 0),
        (0, 0, 1),
        (0, 0, 1),
        (0, 0, 1),
    ]
    assert (found["A"].scored, found["A"].opponents, found["C"].draws) == (0, [], 0)


def test_match_without_score():
    """A match that was not played yet counts nothing."""
    record = records(event_of("A vs B"))["A"]
    assert (record.points, record.played, record.homes) == (0, 0, 0)


@pytest.mark.parametrize(
    ("results", "found"),
    [
        ("A 1-0 B, C 1-0 D", "1A 1C 3B 3D"),
        ("D 1-0 A, C 1-0 B", "1C 1D 3A 3B"),
        ("A 1-1 B, C 1-0 D", "1C 2A 2B 4D"),
        ("A vs B", "1A 1B 1C 1D"),
    ],
)
def test_places(results, found):
    """Players of equal points share a place and stand by their seed."""
    assert places(results) == found


def test_first_tiebreak_decides():
    """Tie-breaks are used in their order, the next one only among players who are still equal."""
    results = "A 1-0 B, C 3-2 D"
    assert places(results, tiebreaks="difference scored") == "1C 2A 3D 4B"
    assert places(results, tiebreaks="difference") == "1A 1C 3B 3D"


@pytest.mark.parametrize(
    ("tiebreak", "name", "number"),
    [
        ("wins", "A", 2),
        ("scored", "A", 5),
        ("difference", "A", 3),
        ("difference", "D", -5),
        ("buchholz", "A", 3.5),
        ("buchholz", "B", 5),
        ("median-buchholz", "A", 1),
        ("median-buchholz", "B", 2.5),
        ("sonneborn-berger", "A", 2.25),
        ("sonneborn-berger", "B", 0),
    ],
)
def test_tiebreaks(tiebreak, name, number):
    """Each tie-break is a number, and the larger one is better."""
    results = "A 1-0 B, C 2-0 D | A 1-1 C, B 1-0 D | A 3-1 D, B 0-1 C"
    assert number_of(name, tiebreak, results) == number


def test_sonneborn_berger_of_two_matches():
    """If two players met twice, each match counts by itself."""
    assert number_of("A", "sonneborn-berger", "A 1-0 B | B 1-0 A") == 1


def test_rating_as_tiebreak():
    """The rating can be a tie-break."""
    text = "tournament T\ntiebreaks rating\nplayer A; rating 5\nplayer B; rating 9\nround\nA 1-1 B"
    assert [row.name for row in standings(read_tournament(text))] == ["B", "A"]


@pytest.mark.parametrize(
    ("results", "found"),
    [
        ("B 1-0 A, C 1-0 D | C 0-1 A, D 0-1 B | A 1-0 D, B 0-1 C", "1A 1B 1C 4D"),
        ("B 1-0 A, C vs D | A 1-0 C, B 0-1 D", "1A 1B 1D 4C"),
        ("A 1-0 C, B 1-0 D", "1A 1B 3C 3D"),
    ],
)
def test_head_to_head(results, found):
    """Only matches among equal players count, and only if all of them have met."""
    assert places(results, tiebreaks="head-to-head") == found


def test_head_to_head_of_two():
    """Of two equal players the one who beat the other is better."""
    results = "B 1-0 A, C 1-0 D | A 1-0 C, D 1-0 B | A 1-0 D, B 1-0 C"
    assert places(results, tiebreaks="head-to-head") == "1B 2A 3C 4D"


@pytest.mark.parametrize(
    ("rating", "other", "share"),
    [
        (1500, 1500, 0.5),
        (1700, 1500, 0.76),
        (1500, 1700, 0.24),
        (2900, 1500, 0.91),
        (1, 2900, 0.09),
    ],
)
def test_expected_score(rating, other, share):
    """A stronger player can expect more; very large differences count as 400."""
    assert round(expected_score(rating, other), 2) == share


RATED = """
tournament T
player A; rating 1600
player B; rating 1400
player C; rating 1400
player N
round
A 1-0 B
C 1-0 N
round
B 1-0 C
A +:- N
round
C 1-1 A
B bye
"""


def test_updated_ratings():
    """Ratings move by what was not expected; unrated players, byes and defaults do not count."""
    assert updated_ratings(read_tournament(RATED)) == {"A": 1600, "B": 1405, "C": 1395, "N": 0}


def test_speed_of_ratings():
    """A larger speed moves ratings further."""
    found = updated_ratings(read_tournament(RATED), speed=40)
    assert (found["B"], found["C"]) == (1410, 1390)


@pytest.mark.parametrize("speed", [0, -1])
def test_wrong_speed(speed):
    """The speed has to be positive."""
    with pytest.raises(PlayerError, match="positive speed"):
        updated_ratings(read_tournament(RATED), speed)


@pytest.mark.parametrize(("name", "rating"), [("A", 1600), ("B", 1500), ("C", 1300), ("N", 1000)])
def test_performance(name, rating):
    """The performance is the mean rating of opponents and 400 for each win more than losses."""
    assert performance(read_tournament(RATED), name) == rating


def test_performance_of_nothing():
    """Without a match against a rated player there is no performance."""
    assert performance(event_of("A 1-0 B"), "A") is None


def test_performance_of_nobody():
    """The performance of an unknown player is refused."""
    with pytest.raises(PlayerError, match="no player X"):
        performance(event_of("A 1-0 B"), "X")
