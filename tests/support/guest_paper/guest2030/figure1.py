"""Figure 1 of Guest 2030."""

import numpy as np
import xarray as xr

import tacit
from tacit.papers import at_least, at_most, figure


@figure("guest2030/fig1", quick={"features": 8}, paper={"features": 40}, about=("Theorem 1",), seconds=1.0)
class NormAgainstSamples:
    """Norm of the minimum-norm solution against the sample size (Figure 1)."""

    def data(self, features, *, seed, progress):
        """One solution for each number of samples."""
        X = np.random.default_rng(seed).standard_normal((features - 1, features))
        truth = np.ones(features)
        kernel = tacit.potentials.Quadratic()
        counts = range(1, features)
        norms = [
            np.linalg.norm(tacit.limit(kernel, X[:n], X[:n] @ truth).predictor) for n in progress(counts)
        ]
        return xr.Dataset(
            {"norm": ("samples", norms)}, coords={"samples": list(counts)}, attrs={"d": features}
        )

    def draw(self, data, ax):
        """Points."""
        ax.plot(data.samples, data.norm, "o")

    def claims(self, data):
        """With all samples but one the norm is close to that of the true predictor, and no norm exceeds
        it."""
        size = np.sqrt(data.attrs["d"])
        yield at_most(1.0).claim("norm over that of the truth (largest)", float(data.norm.max()) / size)
        least = float(np.diff(data.norm).min())
        yield at_least(1e-6, "more than rounding").claim("and it grows with the samples (least step)", least)
