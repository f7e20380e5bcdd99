"""Predictors of one flow at many stopping points, computed fast to moderate accuracy."""

from tacit.flows.stopping.path import StoppedPath, stopped_path, stopped_paths

__all__ = ["StoppedPath", "stopped_path", "stopped_paths"]
