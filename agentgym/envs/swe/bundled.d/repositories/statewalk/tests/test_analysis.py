"""Questions about definitions."""

from statewalk.analysis import dead_ends, is_deterministic, reachable, shortest, unreachable
from statewalk.text import loads

ORDER = """
start: cart
final: delivered
cart --pay--> paid
paid --pack--> packed
packed --ship--> delivered
cart --express--> packed
limbo --wake--> cart
"""


def test_reachable_nearest_first():
    """Reachable states come nearest first and include the start."""
    assert reachable(loads(ORDER)) == ["cart", "paid", "packed", "delivered"]


def test_reachable_from_another_state():
    """Reachable states can be asked for from any state."""
    assert reachable(loads(ORDER), "paid") == ["paid", "packed", "delivered"]


def test_unreachable():
    """States to which no way leads from the initial state are reported."""
    assert unreachable(loads(ORDER)) == ["limbo"]


def test_dead_ends():
    """A state that nothing leaves and that is not final is a dead end."""
    assert dead_ends(loads("start: a\nfinal: c\na --x--> b\na --y--> c")) == ["b"]


def test_loop_is_a_dead_end():
    """A state whose transitions all lead to itself is a dead end."""
    assert dead_ends(loads("start: a\na --x--> a")) == ["a"]


def test_shortest_takes_the_shortcut():
    """The shortest series of events uses a shortcut where there is one."""
    assert shortest(loads(ORDER), "cart", "packed") == ["express"]


def test_shortest_over_several_states():
    """The shortest series of events lists all events in their order."""
    assert shortest(loads(ORDER), "limbo", "paid") == ["wake", "pay"]


def test_shortest_to_itself():
    """No event is needed from a state to itself."""
    assert shortest(loads(ORDER), "paid", "paid") == []


def test_no_way():
    """There is no series of events where no way leads."""
    assert shortest(loads(ORDER), "delivered", "cart") is None


def test_deterministic():
    """A definition with at most one transition per event and state is deterministic."""
    assert is_deterministic(loads(ORDER)) is True


def test_not_deterministic():
    """A star transition beside a named one for the same event is not deterministic."""
    assert is_deterministic(loads("start: a\na --x--> b\n* --x--> c")) is False
