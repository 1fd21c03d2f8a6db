"""Windows of time."""

import pytest
from rollwindow import TimeWindow


def window(*events, span=10, late=0):
    """A window with events as pairs of time and value."""
    result = TimeWindow(span, late)
    for time, value in events:
        result.push(time, value)
    return result


def test_old_events_are_dropped():
    """Events older than the span no longer count."""
    assert window((0, 5), (8, 6), (11, 7)).values() == [6, 7]


def test_exactly_as_old_as_the_span():
    """An event exactly as old as the span no longer counts."""
    assert window((0, 5), (10, 6)).values() == [6]


def test_just_within_the_span():
    """An event a little younger than the span counts."""
    assert window((0.5, 5), (10, 6)).values() == [5, 6]


def test_count_total_and_rate():
    """Number, sum and sum per second of the events are given."""
    events = window((1, 20), (2, 30))
    assert (events.count, events.total, events.rate) == (2, 50, 5.0)


def test_value_is_one_by_default():
    """Events without a value count as one."""
    events = TimeWindow(5)
    events.push(1)
    events.push(2)
    assert events.total == 2.0


def test_late_event_is_refused():
    """An event before the newest one is refused by default."""
    events = window((5, 1))
    assert (events.push(4), events.count) == (False, 1)


def test_event_of_the_same_time():
    """An event of the same time as the newest one is taken in behind it."""
    events = window((5, 1))
    assert (events.push(5, 2), events.values()) == (True, [1, 2])


def test_smaller_event_of_the_same_time():
    """Of events of the same time the one that came first stays first, whatever their values."""
    assert window((5, 2), (5, 1), (5, 3)).values() == [2, 1, 3]


def test_late_event_is_sorted_in():
    """An event that is late within the limit is put in its place."""
    assert window((5, 1), (7, 3), (6, 2), late=1).values() == [1, 2, 3]


def test_too_late():
    """An event that is later than the limit is refused."""
    assert window((5, 1), late=1).push(3.5) is False


def test_newest_does_not_go_back():
    """A late event does not turn the clock back."""
    assert window((5, 1), (4, 1), late=2).newest == 5


def test_advance():
    """Events are dropped when time passes without new ones."""
    events = window((0, 1), (5, 1))
    events.advance(12)
    assert (events.count, events.newest) == (1, 12)


def test_advance_does_not_go_back():
    """Advancing to an earlier time changes nothing."""
    events = window((5, 1))
    events.advance(3)
    assert events.newest == 5


def test_gaps():
    """The gaps are the times between events that follow each other."""
    assert window((1, 1), (2, 1), (5, 1)).gaps() == [1, 3]


@pytest.mark.parametrize(("span", "late"), [(0, 0), (-1, 0), (1, -1)])
def test_impossible_window(span, late):
    """A span that is not positive and a negative lateness are refused."""
    with pytest.raises(ValueError, match=r"span is positive and late not negative"):
        TimeWindow(span, late)
