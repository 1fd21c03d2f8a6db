"""Orders that respect the edges, and what prevents them."""

from __future__ import annotations

from depgraph.graph import Graph


class CycleError(ValueError):
    """A graph has a cycle.

    Attributes:
        cycle: The nodes of the cycle; the first one is repeated at the end.
    """

    def __init__(self, cycle: list[str]) -> None:
        super().__init__("there is a cycle: " + " -> ".join(cycle))
        self.cycle = cycle


def layers(graph: Graph) -> list[list[str]]:
    """Return the nodes in groups, each of which needs only nodes of earlier groups.

    A node stands in the first group in which it can. (Kahn, 1962.)

    Raises:
        CycleError: The graph has a cycle.
    """
    missing = {name: len(graph.predecessors(name)) for name in graph}
    found: list[list[str]] = []
    ready = [name for name in graph if missing[name] == 0]
    count = 0
    while ready:
        found.append(ready)
        count += len(ready)
        freed = set()
        for name in ready:
            for target in graph.successors(name):
                missing[target] -= 1
                if missing[target] == 0:
                    freed.add(target)
        ready = [name for name in graph if name in freed]
    if count < len(graph):
        cycle = find_cycle(graph)
        assert cycle is not None
        raise CycleError(cycle)
    return found


def sort(graph: Graph) -> list[str]:
    """Return the nodes so that every edge leads forward; CycleError if there is a cycle."""
    return [name for layer in layers(graph) for name in layer]


def find_cycle(graph: Graph) -> list[str] | None:
    """Return a cycle, its first node repeated at the end, or None if there is none."""
    finished: set[str] = set()
    for start in graph:
        if start in finished:
            continue
        path = [start]
        steps = [iter(graph.successors(start))]
        while path:
            target = next(steps[-1], None)
            if target is None:
                finished.add(path.pop())
                steps.pop()
            elif target in path:
                return [*path[path.index(target) :], target]
            elif target not in finished:
                path.append(target)
                steps.append(iter(graph.successors(target)))
    return None


def components(graph: Graph) -> list[list[str]]:
    """Return the groups of nodes that hang together, whatever the direction of the edges."""
    groups: list[list[str]] = []
    seen: set[str] = set()
    for start in graph:
        if start in seen:
            continue
        group = {start}
        waiting = [start]
        while waiting:
            name = waiting.pop()
            for other in graph.successors(name) + graph.predecessors(name):
                if other not in group:
                    group.add(other)
                    waiting.append(other)
        seen |= group
        groups.append([name for name in graph if name in group])
    return groups
