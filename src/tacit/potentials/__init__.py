"""Convex functions Q: what gradient flow minimizes among all solutions, one class per theorem.

Each has `value(w)`, `gradient(w)`, `mirror(z)` (the inverse of the gradient) and `hessian(w)` (separable
ones: the diagonal as a vector, others a matrix), on NumPy and JAX arrays alike. Those of matrices
(`Spectral`, `Nuclear`) take and give matrices. `Potential` is the contract for those of your own.
"""

from tacit.potentials.base import Potential
from tacit.potentials.bregman import Bregman
from tacit.potentials.entropy import Entropy
from tacit.potentials.norms import L1
from tacit.potentials.quadratic import Quadratic
from tacit.potentials.radial import NeuronPotential, Power
from tacit.potentials.separable import DeepHypentropy, DiagonalPotential, Hypentropy, WeightDistance
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
