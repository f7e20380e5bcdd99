"""Networks of your own: a function of weights and inputs, in JAX or PyTorch, and what can be measured of it.

`backend` is the one protocol between the frameworks; all measures are written once above it.
"""

from tacit.networks.backend import Layer
from tacit.networks.network import Network

__all__ = ["Layer", "Network"]
