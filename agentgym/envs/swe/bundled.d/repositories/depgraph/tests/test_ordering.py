"""Orders and cycles."""

import pytest
from depgraph import CycleError, Graph, components, find_cycle, layers, sort


def graph(*edges):
    """Return a graph with edges such as "ab", or nodes such as "a"."""
    made = Graph()
    for edge in edges:
        made.add_node(edge[0])
        if len(edge) == 2:
            made.add_edge(*edge)
    return made


def test_sort():
    """Every node stands behind those that it needs."""
    assert sort(graph("cd", "bc", "ab")) == ["a", "b", "c", "d"]


def test_free_order():
    """Nodes whose order is free keep the order in which they were added."""
    assert sort(graph("c", "a", "b")) == ["c", "a", "b"]


def test_layers():
    """A node stands in the first group in which all that it needs has been done."""
    assert layers(graph("ac", "bc", "cd", "be")) == [["a", "b"], ["c", "e"], ["d"]]


def test_layers_of_nothing():
    """A graph without nodes has no groups."""
    assert layers(Graph()) == []


def test_sort_with_cycle():
    """A graph with a cycle cannot be sorted, and the error shows the cycle."""
    with pytest.raises(CycleError, match="b -> c -> b") as caught:
        sort(graph("ab", "bc", "cb"))
    assert caught.value.cycle == ["b", "c", "b"]


def test_find_no_cycle():
    """A graph in which ways part and meet again has no cycle."""
    assert find_cycle(graph("ab", "ac", "bd", "cd")) is None


def test_find_own_cycle():
    """A node that needs itself is a cycle."""
    assert find_cycle(graph("ab", "bb")) == ["b", "b"]


def test_find_later_cycle():
    """A cycle is found although it cannot be reached from the first node."""
    assert find_cycle(graph("ab", "cd", "de", "ec")) == ["c", "d", "e", "c"]


def test_components():
    """Nodes hang together whatever the direction of the edges."""
    assert components(graph("ab", "c", "db", "ef")) == [["a", "b", "d"], ["c"], ["e", "f"]]
