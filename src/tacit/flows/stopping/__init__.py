"""Predictors along one flow at many stopping points, fast and to a modest accuracy."""

from tacit.flows.stopping.path import StoppedPath, stopped_path, stopped_paths

__all__ = ["StoppedPath", "stopped_path", "stopped_paths"]
