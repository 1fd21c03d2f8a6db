"""A deterministic discrete-event simulator of lifts in a building."""

from liftsim.building import Building, Ride
from liftsim.report import Report
from liftsim.scheduler import Scheduler
from liftsim.simulation import simulate

__all__ = ["Building", "Report", "Ride", "Scheduler", "simulate"]
