"""Potentials: the convex functions Q that gradient flow minimizes among all solutions, one class per theorem.

Each has `value(w)`, `gradient(w)`, `mirror(z)` (the inverse of the gradient) and `hessian(w)` (a vector, the
diagonal, for separable potentials; a matrix for others). All accept NumPy and JAX arrays. `Spectral` and
`Nuclear` are functions of matrices. To define your own potential, subclass `Potential`.
"""

from tacit.potentials.base import Potential
from tacit.potentials.bregman import Bregman
from tacit.potentials.norms import L1, Quadratic
from tacit.potentials.radial import NeuronPotential, Power
from tacit.potentials.separable import DeepHypentropy, DiagonalPotential, Entropy, Hypentropy, WeightDistance
from tacit.potentials.spectral import Nuclear, Spectral

__all__ = [
    "L1",
    "Bregman",
    "DeepHypentropy",
    "DiagonalPotential",
    "Entropy",
    "Hypentropy",
    "NeuronPotential",
    "Nuclear",
    "Potential",
    "Power",
    "Quadratic",
    "Spectral",
    "WeightDistance",
]
