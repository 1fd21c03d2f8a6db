"""Questions about events, and logs as text."""

import zlib

import pytest
from undotrail import CodecError, Event, Query, dump, load

EVENTS = [
    Event(1, "user.add", {"name": "ann", "age": 3}),
    Event(2, "user.drop", {"name": "ann"}),
    Event(3, "save", {"size": None}),
    Event(4, "user.add", {"name": "bob", "age": 5}, 2, "import"),
]


def numbers(query):
    """The numbers of the chosen events."""
    return [event.number for event in query]


def test_kind():
    """Events are chosen by one or more kinds."""
    assert numbers(Query(EVENTS).kind("save", "user.drop")) == [2, 3]


def test_kind_with_star():
    """A kind that ends with a point and star stands for all that begin alike."""
    assert numbers(Query([*EVENTS, Event(5, "userx")]).kind("user.*")) == [1, 2, 4]


def test_where():
    """Events are chosen by all of the given values."""
    assert numbers(Query(EVENTS).where(name="ann", age=3)) == [1]


def test_where_none():
    """An event that lacks a value is not chosen by the value None."""
    assert numbers(Query(EVENTS).where(size=None)) == [3]


@pytest.mark.parametrize(
    ("first", "last", "found"), [(2, 3, [2, 3]), (3, None, [3, 4]), (1, 1, [1])]
)
def test_between(first, last, found):
    """Events are chosen by numbers, of which the first and the last are included."""
    assert numbers(Query(EVENTS).between(first, last)) == found


@pytest.mark.parametrize(("count", "found"), [(1, [4]), (2, [3, 4]), (9, [1, 2, 3, 4]), (0, [])])
def test_last(count, found):
    """The last events are chosen, all if there are fewer."""
    assert numbers(Query(EVENTS).last(count)) == found


def test_count():
    """The chosen events are counted."""
    assert Query(EVENTS).kind("user.add").count() == 2


def test_counts():
    """Events are counted by kind, the most frequent first and then by name."""
    assert list(Query(EVENTS).counts().items()) == [("user.add", 2), ("save", 1), ("user.drop", 1)]


def test_values():
    """A value is listed for the events that have it."""
    assert Query(EVENTS).values("age") == [3, 5]


def test_fold():
    """All events are combined one after the other."""
    assert Query(EVENTS).fold(lambda text, event: text + str(event.number), ">") == ">1234"


def test_load_what_was_dumped():
    """Events that were written are read again with all their parts."""
    assert load(dump(EVENTS)) == EVENTS


def test_dump_is_short():
    """What is empty is left out of the text of an event."""
    assert dump([Event(1, "save")]).partition(" ")[2] == '{"kind":"save","n":1}\n'


def test_nothing():
    """No events are an empty text."""
    assert (dump([]), load("")) == ("", [])


def test_changed_line():
    """A line that was changed is noticed with its number."""
    with pytest.raises(CodecError, match=r"line 2 is damaged"):
        load(dump(EVENTS).replace("user.drop", "user.keep"))


def test_removed_line():
    """A line behind one that was removed does not fit."""
    lines = dump(EVENTS).splitlines(keepends=True)
    with pytest.raises(CodecError, match=r"line 2 is damaged"):
        load(lines[0] + lines[2])


def test_repair():
    """On request reading stops quietly at the first damaged line."""
    assert load(dump(EVENTS)[:-5], repair=True) == EVENTS[:3]


def test_wrong_number():
    """An event whose number is not that of its line is refused."""
    with pytest.raises(CodecError, match=r"line 1 has event 3"):
        load(dump([Event(3, "save")]))


@pytest.mark.parametrize("body", ["[]", "{}", "hello", "5"])
def test_no_event(body):
    """A line with a right checksum that is no event is refused."""
    with pytest.raises(CodecError, match=r"line 1 is no event"):
        load(f"{zlib.crc32(body.encode()):08x} {body}")
