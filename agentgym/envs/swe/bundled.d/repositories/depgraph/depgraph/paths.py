"""Shortest paths (Dijkstra, 1959)."""

from __future__ import annotations

from depgraph.graph import Graph
from depgraph.queue import UpdatableQueue


def distances(graph: Graph, start: str) -> dict[str, int]:
    """Return how far each node is that can be reached, the nearest first."""
    return _search(graph, start)[0]


def shortest_path(graph: Graph, start: str, end: str) -> tuple[int, list[str]] | None:
    """Return the length of the shortest path and its nodes, or None if there is no path."""
    lengths, sources = _search(graph, start)
    if end not in lengths:
        return None
    path = [end]
    while path[-1] != start:
        path.append(sources[path[-1]])
    return lengths[end], path[::-1]


def _search(graph: Graph, start: str) -> tuple[dict[str, int], dict[str, str]]:
    """Return the distances and from where each node was reached."""
    if start not in graph:
        raise KeyError(start)
    done: dict[str, int] = {}
    sources: dict[str, str] = {}
    queue = UpdatableQueue()
    queue.push(start, 0)
    while len(queue):
        name, length = queue.pop()
        done[name] = length
        for target in graph.successors(name):
            if target in done:
                continue
            reached = length + graph.weight(name, target)
            if target not in queue:
                queue.push(target, reached)
                sources[target] = name
            elif reached < queue.priority(target):
                queue.update(target, reached)
                sources[target] = name
    return done, sources
