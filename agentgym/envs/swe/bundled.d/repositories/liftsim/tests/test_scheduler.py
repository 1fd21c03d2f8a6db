"""The queue of events."""

import pytest
from liftsim import Scheduler


def test_events_in_order_of_time():
    """Events happen in the order of their ticks, whatever the order of entry."""
    scheduler, seen = Scheduler(), []
    scheduler.at(5, lambda: seen.append("late"))
    scheduler.at(2, lambda: seen.append("early"))
    scheduler.run()
    assert seen == ["early", "late"]


def test_same_tick_in_order_of_entry():
    """Events of the same tick happen in the order in which they were entered."""
    scheduler, seen = Scheduler(), []
    for name in "cab":
        scheduler.at(1, lambda name=name: seen.append(name))
    scheduler.run()
    assert seen == ["c", "a", "b"]


def test_now_is_the_tick_of_the_event():
    """While an event happens, now is its tick."""
    scheduler, seen = Scheduler(), []
    scheduler.at(7, lambda: seen.append(scheduler.now))
    scheduler.run()
    assert seen == [7]


def test_after_counts_from_now():
    """A delay counts from the tick of the event that asks for it."""
    scheduler, seen = Scheduler(), []
    scheduler.at(3, lambda: scheduler.after(4, lambda: seen.append(scheduler.now)))
    scheduler.run()
    assert seen == [7]


def test_past_tick_is_refused():
    """Nothing can be scheduled at a tick that is over."""
    scheduler = Scheduler()
    scheduler.run(until=5)
    with pytest.raises(ValueError, match=r"tick 4 is over, it is 5"):
        scheduler.at(4, lambda: None)


def test_present_tick_is_allowed():
    """Something can be scheduled at the present tick."""
    scheduler = Scheduler()
    scheduler.run(until=5)
    assert scheduler.at(5, lambda: None).time == 5


def test_cancelled_event_does_not_happen():
    """An event that was cancelled does not happen."""
    scheduler, seen = Scheduler(), []
    scheduler.at(1, lambda: seen.append("a")).cancel()
    scheduler.at(2, lambda: seen.append("b"))
    scheduler.run()
    assert seen == ["b"]


def test_cancelled_events_are_not_pending():
    """Events that were cancelled do not count as pending."""
    scheduler = Scheduler()
    scheduler.at(1, lambda: None).cancel()
    scheduler.at(2, lambda: None)
    assert scheduler.pending == 1


def test_run_counts_events():
    """A run returns how many events happened, cancelled ones not among them."""
    scheduler = Scheduler()
    scheduler.at(1, lambda: None)
    scheduler.at(2, lambda: None).cancel()
    scheduler.at(3, lambda: None)
    assert scheduler.run() == 2


def test_run_until_includes_the_tick():
    """A run until a tick includes the events of that tick and no later ones."""
    scheduler = Scheduler()
    scheduler.at(4, lambda: None)
    scheduler.at(5, lambda: None)
    scheduler.at(6, lambda: None)
    assert (scheduler.run(until=5), scheduler.pending) == (2, 1)


def test_run_until_moves_the_clock():
    """After a run until a tick it is that tick even if the last event was earlier."""
    scheduler = Scheduler()
    scheduler.at(1, lambda: None)
    scheduler.run(until=9)
    assert scheduler.now == 9


def test_step_on_an_empty_queue():
    """A step without any event left returns False."""
    assert Scheduler().step() is False


def test_step_skips_cancelled_events():
    """A step passes over cancelled events to the next one that counts."""
    scheduler, seen = Scheduler(), []
    scheduler.at(1, lambda: None).cancel()
    scheduler.at(2, lambda: seen.append(scheduler.now))
    assert (scheduler.step(), seen) == (True, [2])


def test_every_repeats_until_false():
    """A repeated call happens once per period until it returns False."""
    scheduler, seen = Scheduler(), []

    def call():
        seen.append(scheduler.now)
        return len(seen) < 3

    scheduler.every(10, call)
    scheduler.run()
    assert seen == [10, 20, 30]


def test_every_needs_a_positive_period():
    """A period of less than one tick is refused."""
    with pytest.raises(ValueError, match=r"at least one tick, got 0"):
        Scheduler().every(0, lambda: False)
