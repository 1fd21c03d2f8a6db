"""What a full cache forgets."""

import pytest
from agecache import AgeCache


def filled(*keys, capacity=3):
    """Return a cache in which every key is its own value."""
    cache = AgeCache(capacity=capacity)
    for key in keys:
        cache.put(key, key)
    return cache


def test_get():
    """A value that was stored is returned."""
    assert filled("a", "b").get("a") == "a"


def test_default():
    """A key that is not there gives the default."""
    assert (filled().get("a"), filled().get("a", 5)) == (None, 5)


def test_full_cache():
    """A cache holds as many entries as its capacity says."""
    assert list(filled("a", "b", "c")) == ["a", "b", "c"]


def test_oldest_gives_way():
    """The entry that was stored first gives way if none was read."""
    assert list(filled("a", "b", "c", "d")) == ["b", "c", "d"]


def test_reading_saves():
    """An entry that was read does not give way."""
    cache = filled("a", "b", "c")
    cache.get("a")
    cache.put("d", 1)
    assert list(cache) == ["c", "a", "d"]


def test_peek_does_not_save():
    """Peek returns a value without counting it as used."""
    cache = filled("a", "b", "c")
    assert cache.peek("a") == "a"
    cache.put("d", 1)
    assert "a" not in cache


def test_peek_default():
    """Peek gives the default for a key that is not there."""
    assert filled("a").peek("b", 7) == 7


def test_replacing():
    """A key that is stored again has the new value and counts once."""
    cache = filled("a", "b")
    cache.put("a", 5)
    assert (cache.get("a"), len(cache), cache.weight) == (5, 2, 2)


def test_heavy_entry():
    """A heavy entry makes several others give way."""
    cache = filled("a", "b", "c")
    cache.put("d", 1, weight=2)
    assert list(cache) == ["c", "d"]


def test_weight_of_exactly_the_capacity():
    """An entry may take the whole capacity."""
    cache = filled("a")
    assert cache.put("b", 1, weight=3) is True
    assert (list(cache), cache.weight) == (["b"], 3)


def test_too_heavy():
    """An entry that is heavier than the capacity is not stored, and the others stay."""
    cache = filled("a")
    assert cache.put("b", 1, weight=4) is False
    assert list(cache) == ["a"]


def test_remove():
    """Remove says whether there was an entry."""
    cache = filled("a")
    assert (cache.remove("a"), cache.remove("a"), cache.weight) == (True, False, 0)


def test_clear():
    """A cleared cache is empty and weighs nothing."""
    cache = filled("a", "b")
    cache.clear()
    assert (len(cache), cache.weight) == (0, 0)


def test_bad_capacity():
    """A capacity of zero is refused, one of one is not."""
    with pytest.raises(ValueError, match="capacity must be at least 1"):
        AgeCache(capacity=0)
    assert list(filled("a", "b", capacity=1)) == ["b"]


def test_bad_weight():
    """A weight of zero is refused."""
    with pytest.raises(ValueError, match="weight must be at least 1"):
        filled().put("a", 1, weight=0)
