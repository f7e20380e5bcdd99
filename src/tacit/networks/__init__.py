"""User-defined networks: functions of weights and inputs in JAX or PyTorch, and measurements on them.

`backend` is the protocol that the frameworks implement; all measurements are written once on top of it.
"""

from tacit.networks.backend import Layer
from tacit.networks.network import Network

__all__ = ["Layer", "Network"]
