"""Nodes and edges."""

import pytest
from depgraph import Graph


def graph(*edges):
    """Return a graph with edges such as "ab"."""
    made = Graph()
    for source, target in edges:
        made.add_edge(source, target)
    return made


def test_nodes_in_order():
    """Nodes are listed in the order in which they were added, each once."""
    assert list(graph("bc", "ab", "bd")) == ["b", "c", "a", "d"]


def test_add_node_again():
    """Adding a node again keeps its edges."""
    made = graph("ab")
    made.add_node("a")
    assert made.successors("a") == ["b"]


def test_length_and_contains():
    """The length is the number of nodes, and the in operator finds them."""
    made = graph("ab")
    assert (len(made), "a" in made, "c" in made) == (2, True, False)


def test_successors_and_predecessors():
    """An edge leads from its source to its target."""
    made = graph("ab", "ac", "bc")
    assert (made.successors("a"), made.predecessors("c")) == (["b", "c"], ["a", "b"])


def test_weight():
    """An edge has the weight that it was given last, 1 by default."""
    made = graph("ab", "bc")
    made.add_edge("a", "b", 5)
    assert list(made.edges()) == [("a", "b", 5), ("b", "c", 1)]


def test_negative_weight():
    """A negative weight is refused, zero is not."""
    made = Graph()
    made.add_edge("a", "b", 0)
    with pytest.raises(ValueError, match="negative"):
        made.add_edge("a", "b", -1)
    assert made.weight("a", "b") == 0


def test_remove_edge():
    """A removed edge is gone in both directions, its nodes stay."""
    made = graph("ab", "ac")
    made.remove_edge("a", "b")
    assert (made.successors("a"), made.predecessors("b"), len(made)) == (["c"], [], 3)


def test_remove_unknown_edge():
    """Removing an edge that is not there raises KeyError."""
    with pytest.raises(KeyError):
        graph("ab").remove_edge("b", "a")


def test_remove_node():
    """A removed node takes the edges from it and to it along."""
    made = graph("ab", "bc", "ac")
    made.remove_node("b")
    assert list(made.edges()) == [("a", "c", 1)]
    assert (made.predecessors("c"), "b" in made) == (["a"], False)


def test_reversed():
    """A reversed graph has the same nodes and weights, and its edges turned round."""
    made = Graph()
    made.add_node("x")
    made.add_edge("a", "b", 4)
    turned = made.reversed()
    assert (list(turned), list(turned.edges())) == (["x", "a", "b"], [("b", "a", 4)])


def test_reachable():
    """Reachable are the nodes themselves and those behind them, also in cycles."""
    assert graph("ab", "bc", "cb", "da").reachable("a") == {"a", "b", "c"}


def test_reachable_from_several():
    """One may start at several nodes."""
    assert graph("ab", "cd", "ef").reachable("a", "c") == {"a", "b", "c", "d"}
