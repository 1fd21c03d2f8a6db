"""Graphs of dependencies: order, cycles, shortest paths, schedules."""

from depgraph.graph import Graph
from depgraph.ordering import CycleError, components, find_cycle, layers, sort
from depgraph.paths import distances, shortest_path
from depgraph.planning import Slot, critical_path, schedule
from depgraph.queue import UpdatableQueue

__all__ = [
    "CycleError",
    "Graph",
    "Slot",
    "UpdatableQueue",
    "components",
    "critical_path",
    "distances",
    "find_cycle",
    "layers",
    "schedule",
    "shortest_path",
    "sort",
]
