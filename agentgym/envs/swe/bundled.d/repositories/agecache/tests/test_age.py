"""What an old cache forgets."""

import pytest
from agecache import AgeCache, ManualClock


def aged(**options):
    """Return a cache with one entry that lives for 10 seconds, and its clock."""
    clock = ManualClock(100)
    cache = AgeCache(capacity=2, max_age=10, clock=clock, **options)
    cache.put("a", 1)
    return cache, clock


@pytest.mark.parametrize(("seconds", "value"), [(9.5, 1), (10, None), (11, None)])
def test_expiry(seconds, value):
    """An entry is gone as soon as it has reached its age."""
    cache, clock = aged()
    clock.advance(seconds)
    assert cache.get("a") == value


def test_contains_and_length():
    """An old entry is neither contained nor counted."""
    cache, clock = aged()
    clock.advance(10)
    assert ("a" in cache, len(cache)) == (False, 0)


def test_iteration_skips_old_entries():
    """Iterating yields no old entries."""
    cache, clock = aged()
    clock.advance(5)
    cache.put("b", 2)
    clock.advance(5)
    assert list(cache) == ["b"]


def test_own_age():
    """An entry may have its own age."""
    cache, clock = aged()
    cache.put("b", 2, max_age=20)
    clock.advance(15)
    assert (cache.get("a"), cache.get("b")) == (None, 2)


def test_no_age():
    """Without an age entries live for ever."""
    clock = ManualClock()
    cache = AgeCache(capacity=1, clock=clock)
    cache.put("a", 1)
    clock.advance(1e9)
    assert (cache.get("a"), cache.remaining("a")) == (1, None)


def test_reading_does_not_make_young():
    """Reading an entry does not let it live longer."""
    cache, clock = aged()
    clock.advance(6)
    cache.get("a")
    clock.advance(6)
    assert cache.get("a") is None


def test_sliding():
    """In a sliding cache reading an entry makes it young again."""
    cache, clock = aged(sliding=True)
    clock.advance(6)
    cache.get("a")
    clock.advance(6)
    assert cache.get("a") == 1


def test_sliding_with_own_age():
    """In a sliding cache an entry keeps its own age when it is read."""
    cache, clock = aged(sliding=True)
    cache.put("b", 2, max_age=3)
    clock.advance(2)
    cache.get("b")
    assert cache.remaining("b") == 3


def test_sliding_without_age():
    """In a sliding cache without an age entries live for ever."""
    cache = AgeCache(capacity=1, sliding=True)
    cache.put("a", 1)
    cache.get("a")
    assert cache.remaining("a") is None


def test_storing_again_makes_young():
    """An entry that is stored again begins a new life."""
    cache, clock = aged()
    clock.advance(6)
    cache.put("a", 2)
    assert cache.remaining("a") == 10


def test_remaining():
    """The remaining life of an entry shrinks with time."""
    cache, clock = aged()
    clock.advance(4)
    assert cache.remaining("a") == 6


def test_remaining_of_unknown_key():
    """A key that is not there has no remaining life."""
    with pytest.raises(KeyError):
        aged()[0].remaining("b")


def test_old_entries_give_way_first():
    """A full cache forgets old entries before young ones that are used less."""
    cache, clock = aged()
    cache.put("b", 2, max_age=2)
    clock.advance(3)
    cache.put("c", 3)
    assert list(cache) == ["a", "c"]


def test_expire_counts():
    """Expire says how many entries it forgot."""
    cache, clock = aged()
    cache.put("b", 2, max_age=20)
    clock.advance(10)
    assert (cache.expire(), cache.expire(), cache.weight) == (1, 0, 1)


def test_remove_old_entry():
    """Removing an entry that has expired finds nothing."""
    cache, clock = aged()
    clock.advance(10)
    assert cache.remove("a") is False


@pytest.mark.parametrize("age", [0, -1])
def test_bad_age(age):
    """An age has to be positive, for the cache and for an entry."""
    with pytest.raises(ValueError, match="max_age must be positive"):
        AgeCache(capacity=1, max_age=age)
    with pytest.raises(ValueError, match="max_age must be positive"):
        AgeCache(capacity=1).put("a", 1, max_age=age)


def test_clock_does_not_go_back():
    """A manual clock can stand still but not go back."""
    clock = ManualClock(5)
    clock.advance(0)
    with pytest.raises(ValueError, match="cannot go back"):
        clock.advance(-1)
    assert clock() == 5
