"""Counters, listeners and functions that remember."""

from agecache import AgeCache, ManualClock, Reason, Stats, memoize


def listened(**options):
    """Return a cache and the list of what it removes."""
    removed = []
    cache = AgeCache(on_remove=lambda *call: removed.append(call), **options)
    return cache, removed


def test_hits_and_misses():
    """Hits and misses are counted, by get only."""
    cache = AgeCache(capacity=1)
    cache.put("a", 1)
    cache.get("a"), cache.get("a"), cache.get("b"), cache.peek("a"), "a" in cache
    assert (cache.stats.hits, cache.stats.misses) == (2, 1)


def test_hit_rate():
    """The hit rate is the share of the questions that were answered."""
    assert Stats(hits=3, misses=1).hit_rate == 0.75


def test_hit_rate_of_nothing():
    """Without questions the hit rate is 0."""
    assert Stats().hit_rate == 0.0


def test_evictions():
    """Entries that give way are counted."""
    cache = AgeCache(capacity=2)
    for key in "abcd":
        cache.put(key, key)
    assert cache.stats == Stats(evictions=2)


def test_expirations():
    """Entries that became too old are counted, however this is noticed."""
    clock = ManualClock()
    cache = AgeCache(capacity=2, max_age=1, clock=clock)
    cache.put("a", 1), cache.put("b", 1)
    clock.advance(1)
    assert (cache.peek("a"), len(cache)) == (None, 0)
    assert cache.stats.expirations == 2


def test_reset():
    """Counters can be set back to 0."""
    stats = Stats(1, 2, 3, 4)
    stats.reset()
    assert stats == Stats(0, 0, 0, 0)


def test_listener_capacity():
    """A listener hears of entries that give way."""
    cache, removed = listened(capacity=1)
    cache.put("a", 1), cache.put("b", 2)
    assert removed == [("a", 1, Reason.CAPACITY)]


def test_listener_replaced():
    """A listener hears of values that are replaced."""
    cache, removed = listened(capacity=1)
    cache.put("a", 1), cache.put("a", 2)
    assert removed == [("a", 1, Reason.REPLACED)]


def test_listener_removed():
    """A listener hears of entries that are removed or cleared."""
    cache, removed = listened(capacity=2)
    cache.put("a", 1), cache.put("b", 2)
    cache.remove("b"), cache.clear()
    assert removed == [("b", 2, Reason.REMOVED), ("a", 1, Reason.REMOVED)]


def test_listener_expired():
    """A listener hears of entries that become too old."""
    clock = ManualClock()
    cache, removed = listened(capacity=2, max_age=1, clock=clock)
    cache.put("a", 1)
    clock.advance(1)
    cache.get("a")
    assert removed == [("a", 1, Reason.EXPIRED)]


def test_memoize():
    """A function that remembers computes once for the same arguments."""
    calls = []
    add = memoize(AgeCache(capacity=9))(lambda x, y=0: calls.append(x) or x + y)
    assert (add(1, y=2), add(1, y=2), add(2), calls) == (3, 3, 2, [1, 2])


def test_memoize_keyword_order():
    """The order of keyword arguments does not matter to a function that remembers."""
    calls = []
    both = memoize(AgeCache(capacity=9))(lambda **names: calls.append(1))
    both(a=1, b=2), both(b=2, a=1)
    assert len(calls) == 1


def test_memoize_none():
    """None is remembered like any other result."""
    calls = []
    nothing = memoize(AgeCache(capacity=9))(lambda: calls.append(1))
    nothing(), nothing()
    assert len(calls) == 1


def test_memoize_types():
    """Arguments of different types are different only if this is asked for."""
    plain, typed = (
        memoize(AgeCache(capacity=9), typed=t)(lambda x: type(x)) for t in (False, True)
    )
    assert (plain(1), plain(1.0), typed(1), typed(1.0)) == (int, int, int, float)


def test_memoize_keyword_types():
    """The types of keyword arguments count as well, if this is asked for."""
    typed = memoize(AgeCache(capacity=9), typed=True)(lambda x: type(x))
    assert (typed(x=1), typed(x=True)) == (int, bool)


def test_memoize_keeps_the_name():
    """A function that remembers keeps its name."""

    @memoize(AgeCache(capacity=1))
    def area(): ...

    assert area.__name__ == "area"
