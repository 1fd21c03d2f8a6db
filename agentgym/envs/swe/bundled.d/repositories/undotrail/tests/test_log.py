"""Logs and events."""

import pytest
from undotrail import Event, Log


def log_of(*kinds):
    """A log with events of some kinds."""
    log = Log()
    for kind in kinds:
        log.append(kind)
    return log


def test_numbers():
    """Events are numbered from one."""
    assert [event.number for event in log_of("a", "b")] == [1, 2]


def test_kind_is_needed():
    """An event without a kind is refused."""
    with pytest.raises(ValueError, match=r"an event has a kind"):
        Log().append("")


def test_data_are_copied():
    """Changing the dictionary that was given does not change the event."""
    data = {"x": 1}
    event = Log().append("a", data)
    data["x"] = 2
    assert event.data == {"x": 1}


def test_event_as_text():
    """An event is written with its number, kind and sorted data."""
    assert str(Event(3, "move", {"y": 1, "x": "a"})) == "#3 move(x='a', y=1)"


def test_event_by_number():
    """Events are found by their number."""
    assert (log_of("a", "b")[1].kind, log_of("a", "b")[2].kind) == ("a", "b")


@pytest.mark.parametrize("number", [0, 3, -1])
def test_unknown_number(number):
    """A number that no event has is an IndexError."""
    with pytest.raises(IndexError, match=f"there is no event {number} among 2"):
        log_of("a", "b")[number]


def test_since():
    """The events behind a number are listed, all of them behind zero."""
    log = log_of("a", "b", "c")
    assert [event.kind for event in log.since(1)] == ["b", "c"]
    assert len(log.since(0)) == 3
    assert len(log.since(-2)) == 3


def test_subscribe():
    """A listener is told about new events of its kind only."""
    log, seen = log_of("a"), []
    log.subscribe("a", lambda event: seen.append(event.number))
    log.append("a")
    log.append("b")
    assert seen == [2]


def test_subscribe_to_everything():
    """A listener of the star is told about events of any kind."""
    log, seen = Log(), []
    log.subscribe("*", lambda event: seen.append(event.kind))
    log.append("a")
    log.append("b")
    assert seen == ["a", "b"]


def test_end_of_a_subscription():
    """After its subscription has ended a listener is not told any more."""
    log, seen = Log(), []
    cancel = log.subscribe("a", lambda event: seen.append(event.number))
    cancel()
    cancel()
    log.append("a")
    assert seen == []


def test_listener_that_ends_its_subscription():
    """A listener may end its subscription while it is called, others are told all the same."""
    log, seen = Log(), []

    def once(event):
        cancel()

    cancel = log.subscribe("a", once)
    log.subscribe("a", lambda event: seen.append(event.number))
    log.append("a")
    assert seen == [1]


def test_truncate():
    """Cutting a log returns the events that are dropped."""
    log = log_of("a", "b", "c")
    assert [event.kind for event in log.truncate(1)] == ["b", "c"]
    assert [event.kind for event in log] == ["a"]


@pytest.mark.parametrize("length", [-1, 3])
def test_truncate_beyond(length):
    """A log cannot be cut to fewer than no events or to more than it has."""
    with pytest.raises(ValueError, match=f"cannot cut 2 events to {length}"):
        log_of("a", "b").truncate(length)


def typed(*texts, groups=(0, 0, 0, 0)):
    """A log of typing."""
    log = Log()
    for text, group in zip(texts, groups, strict=False):
        log.append("type", {"text": text}, group)
    return log


def join(first, second):
    """Merge typing up to a blank."""
    if first.data["text"].endswith(" "):
        return None
    return {"text": first.data["text"] + second.data["text"]}


def test_compact():
    """Neighbours that can be merged become one event, and all are numbered anew."""
    log = typed("a", "b ", "c")
    assert log.compact(join) == 1
    assert [(event.number, event.data["text"]) for event in log] == [(1, "ab "), (2, "c")]


def test_compact_other_kinds():
    """Events of different kinds are not merged."""
    log = typed("a")
    log.append("save")
    assert log.compact(lambda first, second: {}) == 0


def test_compact_other_groups():
    """Events of different groups are not merged."""
    assert typed("a", "b", "c", groups=(1, 1, 2)).compact(join) == 1


def test_compact_to_empty_data():
    """A merged event may have no data."""
    log = typed("a", "b")
    assert (log.compact(lambda first, second: {}), log[1].data) == (1, {})
