"""Gradient flow itself, integrated to any accuracy."""

from tacit.flows.flow import flow
from tacit.flows.stability import Breach, Stability, support_stability
from tacit.flows.sweeping import SweepingPath, sweeping_path
from tacit.flows.trajectory import Trajectory

__all__ = [
    "Breach",
    "Stability",
    "SweepingPath",
    "Trajectory",
    "flow",
    "support_stability",
    "sweeping_path",
]
