"""Gradient flow itself, integrated to any accuracy."""

from tacit.flows import losses
from tacit.flows.flow import flow
from tacit.flows.sweeping import SweepingPath, sweeping_path
from tacit.flows.trajectory import Trajectory

__all__ = ["SweepingPath", "Trajectory", "flow", "losses", "sweeping_path"]
