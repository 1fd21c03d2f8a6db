"""Directed graphs with weighted edges."""

from __future__ import annotations

from collections.abc import Iterator


class Graph:
    """Nodes with names and edges between them, in the order in which they were added."""

    def __init__(self) -> None:
        self._next: dict[str, dict[str, int]] = {}
        self._previous: dict[str, dict[str, int]] = {}

    def add_node(self, name: str) -> None:
        """Add a node; one that is there already stays as it is."""
        self._next.setdefault(name, {})
        self._previous.setdefault(name, {})

    def add_edge(self, source: str, target: str, weight: int = 1) -> None:
        """Add an edge and its nodes, or change its weight.

        Raises:
            ValueError: The weight is negative.
        """
        if weight < 0:
            raise ValueError(f"weight must not be negative, got {weight}")
        self.add_node(source)
        self.add_node(target)
        self._next[source][target] = weight
        self._previous[target][source] = weight

    def remove_edge(self, source: str, target: str) -> None:
        """Remove an edge; KeyError if there is none."""
        del self._next[source][target]
        del self._previous[target][source]

    def remove_node(self, name: str) -> None:
        """Remove a node and its edges; KeyError if there is none."""
        for target in list(self._next[name]):
            self.remove_edge(name, target)
        for source in list(self._previous[name]):
            self.remove_edge(source, name)
        del self._next[name], self._previous[name]

    def __contains__(self, name: object) -> bool:
        """Say whether there is a node of this name."""
        return name in self._next

    def __iter__(self) -> Iterator[str]:
        """Yield the nodes."""
        return iter(self._next)

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self._next)

    def successors(self, name: str) -> list[str]:
        """Return the nodes to which edges lead from a node."""
        return list(self._next[name])

    def predecessors(self, name: str) -> list[str]:
        """Return the nodes from which edges lead to a node."""
        return list(self._previous[name])

    def weight(self, source: str, target: str) -> int:
        """Return the weight of an edge; KeyError if there is none."""
        return self._next[source][target]

    def edges(self) -> Iterator[tuple[str, str, int]]:
        """Yield source, target and weight of all edges."""
        for source, targets in self._next.items():
            for target, weight in targets.items():
                yield source, target, weight

    def reversed(self) -> Graph:
        """Return the graph with all edges turned round."""
        turned = Graph()
        for name in self:
            turned.add_node(name)
        for source, target, weight in self.edges():
            turned.add_edge(target, source, weight)
        return turned

    def reachable(self, *starts: str) -> set[str]:
        """Return the nodes to which edges lead from some nodes, and these nodes."""
        found = set(starts)
        waiting = list(starts)
        while waiting:
            for target in self._next[waiting.pop()]:
                if target not in found:
                    found.add(target)
                    waiting.append(target)
        return found
