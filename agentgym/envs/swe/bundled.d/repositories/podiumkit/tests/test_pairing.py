"""Leagues, Swiss rounds, groups and knockouts."""

import pytest

from podiumkit import (
    Knockout,
    Match,
    PairingError,
    Player,
    ResultError,
    Roster,
    Tournament,
    divide,
    league,
    read_tournament,
    seed_order,
    swiss_round,
)


def text_of(pairings):
    """Return pairings as one text: AB for A at home against B, A- for a bye."""
    return " ".join(home + (away or "-") for home, away in pairings)


@pytest.mark.parametrize(
    ("names", "rounds"),
    [
        ("AB", ["AB"]),
        ("ABC", ["BA", "AC", "CB"]),
        ("ABCD", ["AD CB", "CA BD", "AB DC"]),
    ],
)
def test_league(names, rounds):
    """In a league everybody meets everybody once."""
    assert [text_of(pairings) for pairings in league(names)] == rounds


def test_league_twice():
    """In the second half of a double league home and away are exchanged."""
    assert [text_of(pairings) for pairings in league("ABC", twice=True)] == [
        "BA",
        "AC",
        "CB",
        "AB",
        "CA",
        "BC",
    ]


def test_league_with_byes():
    """Byes can be listed if the number of players is odd."""
    assert [text_of(pairings) for pairings in league("ABC", byes=True)] == [
        "BA C-",
        "AC B-",
        "CB A-",
    ]


@pytest.mark.parametrize("count", [5, 6, 9, 12])
def test_league_is_complete(count):
    """Every pair occurs once, and nobody twice in a round."""
    rounds = league([str(n) for n in range(count)])
    pairs = {frozenset(pairing) for pairings in rounds for pairing in pairings}
    busy = [len({name for pairing in pairings for name in pairing}) for pairings in rounds]
    assert (len(pairs), busy) == (count * (count - 1) // 2, [count // 2 * 2] * len(rounds))


@pytest.mark.parametrize("count", [4, 5, 8, 11])
def test_league_is_fair(count):
    """Nobody is at home more than once more often than away, or the other way round."""
    matches = [
        pairing for pairings in league([str(n) for n in range(count)]) for pairing in pairings
    ]
    balances = {
        name: sum(home == name for home, _ in matches) - sum(away == name for _, away in matches)
        for name in map(str, range(count))
    }
    assert max(map(abs, balances.values())) <= 1


@pytest.mark.parametrize("names", ["", "A", "AA", "ABA"])
def test_impossible_league(names):
    """A league needs two players, each once."""
    with pytest.raises(PairingError):
        league(names)


def event_of(results="", players="ABCDEF"):
    """Return a tournament from texts: rounds with bars between them, matches with commas."""
    lines = ["tournament T", *(f"player {name}" for name in players)]
    for matches in results.split("|") if results else ():
        lines += ["round", *matches.split(",")]
    return read_tournament("\n".join(lines))


@pytest.mark.parametrize(
    ("results", "players", "pairings"),
    [
        ("", "ABCDEF", "AD BE CF"),
        ("", "ABCDE", "AC BD E-"),
        ("A 1-0 D, B 1-0 E, C 1-0 F", "ABCDEF", "BA DC FE"),
        ("A 1-0 C, B 1-0 D, E bye", "ABCDE", "BA CE D-"),
        ("A 1-0 B, C 1-1 D", "ABCD", "CA DB"),
    ],
)
def test_swiss(results, players, pairings):
    """Players of equal points meet, upper half against lower half, nobody twice."""
    assert text_of(swiss_round(event_of(results, players))) == pairings


def test_swiss_home_and_away():
    """Who was at home less often is at home; in the first round it is the better seed."""
    event = event_of("A 1-0 B, D 1-0 C | D 1-0 A, B 1-0 C", "ABCD")
    assert text_of(swiss_round(event)) == "BD CA"


def test_swiss_avoids_a_second_bye():
    """Nobody has a second bye as long as another one had none."""
    event = event_of("A 1-0 B, C bye | A 1-0 C, B bye", "ABC")
    assert text_of(swiss_round(event)).split()[-1] == "A-"


def test_swiss_takes_pairs_back():
    """Pairs are taken back if the last players would have met already."""
    event = event_of("A 1-0 B, C 1-0 D | A 1-0 C, B 1-0 D", "ABCD")
    assert {frozenset(pair) for pair in swiss_round(event)} == {frozenset("AD"), frozenset("BC")}


def test_swiss_without_withdrawn_players():
    """Who has withdrawn is not paired."""
    event = event_of("A 1-0 C, B 1-0 D", "ABCD")
    event.roster.withdraw("A", 2)
    assert {name for pair in swiss_round(event) for name in pair} == {"B", "C", "D", None}


@pytest.mark.parametrize(
    ("results", "players", "message"),
    [
        ("A 1-0 B", "AB", "all that could be paired"),
        ("", "A", "needs two players, got 1"),
        ("A vs B", "AB", "last round is not complete"),
    ],
)
def test_no_swiss_round(results, players, message):
    """A round that cannot be paired is refused with the reason."""
    with pytest.raises(PairingError, match=message):
        swiss_round(event_of(results, players))


def test_swiss_tournament():
    """Five rounds of eight players can be paired without anybody meeting twice."""
    event = Tournament("T", Roster(Player(name) for name in "ABCDEFGH"))
    for _ in range(5):
        pairings = swiss_round(event)
        event.add_round([Match(*pairing) for pairing in pairings])
        for home, away in pairings:
            event.record(home, away, "1-0" if home < away else "0-1")
    pairs = [frozenset((match.home, match.away)) for match in event.matches()]
    assert (len(pairs), len(set(pairs))) == (20, 20)


def roster_of(text):
    """Return players from a text such as "A9x B7y": name, rating and club."""
    return Roster(Player(word[0], int(word[1]), word[2:]) for word in text.split())


@pytest.mark.parametrize(
    ("players", "count", "groups"),
    [
        ("A9 B8 C7 D6", 2, ["AD", "BC"]),
        ("A9 B8 C7 D6 E5 F4", 2, ["ADE", "BCF"]),
        ("A9 B8 C7 D6 E5", 2, ["ADE", "BC"]),
        ("D1 C2 B3 A4", 1, ["ABCD"]),
        ("A9x B8y C7y D6x", 2, ["AC", "BD"]),
        ("A9x B8x C7x D6x", 2, ["AD", "BC"]),
        ("A9x B8y C7z D6x", 2, ["AD", "BC"]),
    ],
)
def test_groups(players, count, groups):
    """The strong players are spread, those of one club kept apart where that is possible."""
    assert ["".join(group) for group in divide(roster_of(players), count)] == groups


@pytest.mark.parametrize("count", [0, 3])
def test_impossible_groups(count):
    """Every group needs two players."""
    with pytest.raises(PairingError, match="cannot make"):
        divide(roster_of("A9 B8 C7 D6 E5"), count)


@pytest.mark.parametrize(
    ("size", "order"), [(1, [1]), (2, [1, 2]), (4, [1, 4, 2, 3]), (8, [1, 8, 4, 5, 2, 7, 3, 6])]
)
def test_seed_order(size, order):
    """The best players of a bracket meet as late as possible."""
    assert seed_order(size) == order


@pytest.mark.parametrize("size", [0, 3, -2, 6])
def test_wrong_size(size):
    """The size of a bracket is a power of two."""
    with pytest.raises(PairingError, match="power of two"):
        seed_order(size)


def test_knockout():
    """Winners go on until one is left."""
    cup = Knockout("ABCD")
    first = text_of(cup.open_matches())
    cup.record("A", "D", "2-0")
    cup.record("C", "B", "3-1")
    second = text_of(cup.open_matches())
    cup.record("C", "A", "1-0")
    assert (first, second, cup.champion, cup.podium()) == ("AD BC", "AC", "C", ["C", "A", "D", "B"])


def test_knockout_with_byes():
    """If the number of players is no power of two, the strongest have a bye."""
    cup = Knockout("ABCDE")
    first = text_of(cup.open_matches())
    cup.record("D", "E", "0-1")
    assert (first, text_of(cup.open_matches())) == ("DE", "AE BC")


def test_knockout_of_two():
    """Two players play the final at once."""
    cup = Knockout("AB")
    cup.record("A", "B", "1-2")
    assert (cup.champion, cup.podium(), cup.open_matches()) == ("B", ["B", "A"], [])


def test_third_place():
    """The losers of the semifinals can play for the third place."""
    cup = Knockout("ABCD", third_place=True)
    cup.record("A", "D", "1-0")
    cup.record("B", "C", "1-0")
    open_matches = text_of(cup.open_matches())
    cup.record("A", "B", "1-0")
    before = cup.podium()
    cup.record("C", "D", "2-0")
    assert (open_matches, before, cup.podium()) == ("AB DC", ["A", "B"], ["A", "B", "C"])


def test_podium_is_not_known_yet():
    """Before the final there is no champion and no podium."""
    cup = Knockout("ABCD")
    assert (cup.champion, cup.podium(), cup.third_place_match) == (None, [], None)


@pytest.mark.parametrize(
    ("home", "away", "score", "message"),
    [
        ("A", "B", "1-0", "A does not play against B now"),
        ("A", "D", "1-1", "needs a winner, got 1-1"),
        ("A", "D", "-:-", "needs a winner"),
        ("A", "D", "x", "expected a score"),
    ],
)
def test_wrong_knockout_score(home, away, score, message):
    """A score needs a match that can be played now, and a winner."""
    with pytest.raises(ResultError, match=message):
        Knockout("ABCD").record(home, away, score)


@pytest.mark.parametrize(
    ("names", "third"), [("", False), ("A", False), ("AA", False), ("ABC", True)]
)
def test_impossible_knockout(names, third):
    """A knockout needs two players, each once, and four for a third place."""
    with pytest.raises(PairingError):
        Knockout(names, third)


@pytest.mark.parametrize(
    ("number", "name"), [(1, "round of 16"), (2, "quarterfinals"), (3, "semifinals"), (4, "final")]
)
def test_names_of_rounds(number, name):
    """The last rounds have names."""
    assert Knockout("ABCDEFGHIJKLMNOP").round_name(number) == name


@pytest.mark.parametrize("number", [0, -1, 3])
def test_no_such_round(number):
    """Rounds that will never be played have no name."""
    with pytest.raises(PairingError, match="no round"):
        Knockout("ABCD").round_name(number)
