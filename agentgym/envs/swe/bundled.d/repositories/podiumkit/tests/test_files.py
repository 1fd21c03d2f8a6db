"""The text of tournaments, tables and the command."""

import pytest

from podiumkit import (
    FormatError,
    Knockout,
    bracket_text,
    crosstable_text,
    read_tournament,
    standings_text,
    write_tournament,
)
from podiumkit.cli import run

OPEN = """\
tournament Spring Open
points 3 1 0
tiebreaks difference scored
player Ann Lee; rating 1900; club North
player Bob; rating 1800
player Cy; withdrawn 2

round
Ann Lee 2-1 Bob
Cy bye

round
Bob 1-1 Ann Lee
"""


def test_read():
    """A tournament is read from a text."""
    event = read_tournament(OPEN)
    assert (event.name, event.tiebreaks, len(event.rounds)) == (
        "Spring Open",
        ("difference", "scored"),
        2,
    )
    assert [(one.name, one.rating, one.club, one.withdrawn) for one in event.roster] == [
        ("Ann Lee", 1900, "North", 0),
        ("Bob", 1800, "", 0),
        ("Cy", 0, "", 2),
    ]


def test_read_matches():
    """Names may have spaces, and a match may be open."""
    text = "tournament T\nplayer A 1\nplayer B 2\nround\nA 1 vs B 2"
    [match] = read_tournament(text).matches()
    assert (match.home, match.away, match.score) == ("A 1", "B 2", None)


def test_comments():
    """What follows a hash is passed over, unless it is part of a word."""
    event = read_tournament("# x\ntournament T#1 # spring\n\nplayer A # the first")
    assert (event.name, event.roster.names()) == ("T#1", ["A"])


def test_defaults():
    """Without rules a win is one point, and ties are broken by the opponents."""
    event = read_tournament("tournament T")
    assert (event.rules.win, event.rules.draw, event.tiebreaks) == (1, 0.5, ("buchholz", "wins"))


def test_no_tiebreaks():
    """A tournament may have no tie-breaks at all."""
    assert read_tournament("tournament T\ntiebreaks").tiebreaks == ()


def test_write():
    """A tournament is written as it was read."""
    assert write_tournament(read_tournament(OPEN)) == OPEN


@pytest.mark.parametrize("score", ["+:-", "-:-", "1/2-1/2", "10-0", "vs"])
def test_write_scores(score):
    """All kinds of scores can be read again."""
    text = f"tournament T\nplayer A\nplayer B\nround\nA {score} B"
    written = write_tournament(read_tournament(text))
    assert (written.splitlines()[-1], write_tournament(read_tournament(written))) == (
        f"A {score} B",
        written,
    )


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "the tournament has no name"),
        ("tournament T\ntournament U", 2, "given twice"),
        (
            "tournament T\nfoo",
            2,
            "expected tournament, points, tiebreaks, player or round, got 'foo'",
        ),
        ("points 1 2", 1, "expected points of win, draw and loss, got '1 2'"),
        ("points 0 1 2", 1, "a win has to be worth more"),
        ("tiebreaks goals", 1, "as tie-break, got 'goals'"),
        ("player", 1, "expected a name"),
        ("player A\nplayer A", 2, "two players A"),
        ("player A; rating x", 1, "expected a number for rating, got 'x'"),
        ("player A; size 3", 1, "expected rating, club or withdrawn with a value, got 'size 3'"),
        ("player A; club", 1, "with a value, got 'club'"),
        ("player A; rating 1; rating 2", 1, "rating is given twice"),
        ("player A\nround\nA", 3, "expected a match such as A 2-1 B, got 'A'"),
        ("player A\nround\nA 1-0 B", 3, "no player B"),
        ("player A\nround\nA 1-0 A", 3, "A cannot play against A"),
        ("player A\nplayer B\nround\nA 1-0 B\nB bye", 5, "B plays twice in round 1"),
        ("player A; withdrawn 1\nround\nA bye", 3, "A has withdrawn before round 1"),
        ("player A\nround\nround", 3, "round 1 has no matches"),
        ("player A\nplayer B\nround\nA +:+ B", 4, "won by both"),
    ],
)
def test_malformed(text, line, message):
    """A malformed line is refused with its number."""
    with pytest.raises(FormatError, match=message) as caught:
        read_tournament(text)
    assert caught.value.line == line


def test_standings_table():
    """The standings are a table with the tie-breaks at the right."""
    assert standings_text(read_tournament(OPEN)).splitlines() == [
        "   Name     P  W  D  L  Pts  Diff  For",
        "1  Ann Lee  2  1  1  0    4    +1    3",
        "2  Cy       0  0  0  0    3     0    0",
        "3  Bob      2  0  1  1    1    -1    2",
    ]


def test_shared_place_is_shown_once():
    """A place that is shared is shown once, halves of points have a sign."""
    text = "tournament T\ntiebreaks\nplayer A\nplayer B\nplayer C\nround\nA 1-1 B"
    assert standings_text(read_tournament(text)).splitlines() == [
        "   Name  P  W  D  L  Pts",
        "1  A     1  0  1  0    ½",
        "   B     1  0  1  0    ½",
        "3  C     0  0  0  0    0",
    ]


def test_crosstable():
    """A crosstable shows all results from the side of the player at the left."""
    assert crosstable_text(read_tournament(OPEN)).splitlines() == [
        "   Name           1  2        3",
        "1  Ann Lee        x  .  2-1 1-1",
        "2  Cy             .  x        .",
        "3  Bob      1-2 1-1  .        x",
    ]


def test_bracket():
    """A bracket shows every round, indented more than the one before."""
    cup = Knockout("ABC")
    cup.record("B", "C", "0-1")
    assert bracket_text(cup).splitlines() == [
        "semifinals",
        "  A (bye)",
        "  B 0-1 C -> C",
        "  final",
        "    A - C",
    ]


def test_bracket_with_third_place():
    """The match for the third place stands at the end."""
    cup = Knockout("ABCD", third_place=True)
    cup.record("A", "D", "1-0")
    cup.record("B", "C", "1-0")
    assert bracket_text(cup).splitlines()[-2:] == ["third place", "  D - C"]


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("standings", "1  Ann Lee  2  1  1  0    4    +1    3"),
        ("cross", "1  Ann Lee        x  .  2-1 1-1"),
        ("tidy", "points 3 1 0"),
        ("league", "Bob vs Ann Lee"),
    ],
)
def test_command(tmp_path, command, line):
    """The command shows what is asked for."""
    path = tmp_path / "open.txt"
    path.write_text(OPEN)
    answer = run([command, str(path)])
    assert (answer.code, answer.output.splitlines()[1]) == (0, line)


def test_command_pair(tmp_path):
    """The command pairs the next Swiss round, ready to be pasted."""
    path = tmp_path / "open.txt"
    path.write_text("tournament T\nplayer A\nplayer B\nplayer C\n")
    assert run(["pair", str(path)]) == (0, "round\nA vs B\nC bye\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("foo", "error: line 1: expected tournament, points"),
        ("tournament T\nplayer A", "error: a round needs two players, got 1"),
    ],
)
def test_command_with_errors(tmp_path, text, message):
    """What is wrong with a file is said in one line."""
    path = tmp_path / "open.txt"
    path.write_text(text)
    answer = run(["pair", str(path)])
    assert (answer.code, answer.output.startswith(message)) == (2, True)


@pytest.mark.parametrize("arguments", [[], ["pair"], ["eat", "x"], ["pair", "x", "y"]])
def test_usage(arguments):
    """An incomplete command shows how it is used."""
    assert run(arguments) == (2, "usage: podiumkit standings|cross|pair|league|tidy FILE\n")


def test_missing_file(tmp_path):
    """A file that is not there is named."""
    answer = run(["pair", str(tmp_path / "gone.txt")])
    assert (answer.code, "gone.txt cannot be read" in answer.output) == (2, True)
