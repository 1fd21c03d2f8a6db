"""Shortest paths and schedules."""

import pytest
from depgraph import CycleError, Graph, Slot, critical_path, distances, schedule, shortest_path


def weighted(**edges):
    """Return a graph from edges such as ab=3."""
    made = Graph()
    for (source, target), weight in edges.items():
        made.add_edge(source, target, weight)
    return made


ROADS = weighted(ab=4, ac=1, cb=2, bd=1, cd=5, xa=1)


def test_shortest_path():
    """The shortest path may have more nodes than another one."""
    assert shortest_path(ROADS, "a", "d") == (4, ["a", "c", "b", "d"])


def test_path_to_itself():
    """The path from a node to itself has length 0."""
    assert shortest_path(ROADS, "a", "a") == (0, ["a"])


def test_no_path():
    """Edges cannot be used backwards."""
    assert shortest_path(ROADS, "a", "x") is None


def test_unknown_start():
    """A start that is not in the graph raises KeyError."""
    with pytest.raises(KeyError):
        shortest_path(ROADS, "z", "a")


def test_equal_paths():
    """Of equally short paths the one that was found first is taken."""
    assert shortest_path(weighted(ab=1, ac=1, bd=1, cd=1), "a", "d") == (2, ["a", "b", "d"])


def test_distances():
    """Distances are listed from the nearest to the farthest node."""
    assert list(distances(ROADS, "a").items()) == [("a", 0), ("c", 1), ("b", 3), ("d", 4)]


TASKS = weighted(ac=1, bc=1, cd=1, ed=1)
TIMES = {"a": 2, "b": 5, "c": 1, "d": 3, "e": 4}


def test_schedule_start():
    """A task begins when the last one that it needs is done."""
    assert schedule(TASKS, TIMES)["c"] == Slot(5, 6, 0)


def test_schedule_slack():
    """A task that may begin later has slack."""
    assert schedule(TASKS, TIMES)["a"] == Slot(0, 2, 3)


def test_slack_of_last_task():
    """A task that nothing needs may wait for the end of the whole."""
    slots = schedule(weighted(ab=1, ac=1), {"a": 1, "b": 2, "c": 5})
    assert slots["b"] == Slot(1, 3, 3)


def test_missing_duration():
    """A task without duration takes no time."""
    assert schedule(weighted(ab=1), {"a": 3})["b"] == Slot(3, 3, 0)


def test_empty_schedule():
    """Without tasks there is nothing to do."""
    assert schedule(Graph(), {}) == {}


def test_schedule_with_cycle():
    """Tasks that need each other cannot be scheduled."""
    with pytest.raises(CycleError):
        schedule(weighted(ab=1, ba=1), {})


def test_critical_path():
    """The critical path has the tasks without slack in the order of their start."""
    assert critical_path(TASKS, TIMES) == ["b", "c", "d"]
