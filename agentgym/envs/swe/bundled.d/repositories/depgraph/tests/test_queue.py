"""The queue by priority."""

import pytest
from depgraph import UpdatableQueue


def filled(**priorities):
    """Return a queue with items and priorities."""
    queue = UpdatableQueue()
    for item, priority in priorities.items():
        queue.push(item, priority)
    return queue


def drained(queue):
    """Take all items out and return them as one text."""
    return "".join(queue.pop()[0] for _ in range(len(queue)))


def test_smallest_first():
    """The item with the smallest priority comes out first."""
    assert drained(filled(a=5, b=3, c=9, d=1, e=7, f=2)) == "dfbaec"


def test_equal_priorities():
    """Items with equal priorities come out in the order in which they were added."""
    assert drained(filled(c=1, a=1, d=1, b=1)) == "cadb"


def test_pop():
    """Pop gives the item and its priority."""
    assert filled(a=5, b=3).pop() == ("b", 3)


def test_peek():
    """Peek gives the first item and leaves it where it is."""
    queue = filled(a=5, b=3)
    assert (queue.peek(), len(queue)) == (("b", 3), 2)


def test_empty():
    """Taking from an empty queue raises IndexError."""
    with pytest.raises(IndexError):
        UpdatableQueue().pop()


def test_push_twice():
    """An item that is waiting already cannot be added."""
    with pytest.raises(ValueError, match="'a' is waiting"):
        filled(a=1).push("a", 2)


def test_push_after_pop():
    """An item that came out can be added again."""
    queue = filled(a=1)
    queue.pop()
    queue.push("a", 2)
    assert queue.priority("a") == 2


def test_update_to_front():
    """An item whose priority becomes smaller moves to the front."""
    queue = filled(a=1, b=2, c=3, d=4, e=5)
    queue.update("e", 0)
    assert drained(queue) == "eabcd"


def test_update_to_back():
    """An item whose priority becomes larger moves to the back."""
    queue = filled(a=1, b=2, c=3, d=4, e=5)
    queue.update("a", 9)
    assert drained(queue) == "bcdea"


def test_update_keeps_arrival():
    """An item whose priority changes keeps its place among equal ones."""
    queue = filled(a=5, b=2, c=2)
    queue.update("a", 2)
    assert drained(queue) == "abc"


def test_update_unknown():
    """The priority of an unknown item cannot change."""
    with pytest.raises(KeyError):
        filled(a=1).update("b", 1)


@pytest.mark.parametrize(("item", "rest"), [("a", "bcdefg"), ("d", "abcefg"), ("g", "abcdef")])
def test_remove(item, rest):
    """Any item can be taken out, and the others keep their order."""
    queue = filled(a=1, c=3, b=2, d=4, g=7, e=5, f=6)
    queue.remove(item)
    assert drained(queue) == rest


def test_remove_moves_up():
    """The order is kept when the last entry replaces a larger one."""
    queue = filled(a=1, b=10, c=2, d=11, e=12, f=3, g=4)
    queue.remove("d")
    assert drained(queue) == "acfgbe"


def test_contains():
    """The in operator finds items that are waiting."""
    queue = filled(a=1, b=2)
    queue.pop()
    assert ("a" in queue, "b" in queue) == (False, True)
