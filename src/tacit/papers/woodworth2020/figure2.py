"""The implicit and explicit regularizers: Figure 2 of Woodworth et al. 2020."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.measures import slope
from tacit.papers.woodworth2020.shared import values
from tacit.potentials import Hypentropy, WeightDistance


@figure(
    "woodworth2020/fig2",
    quick={"points": 121},
    paper={"points": 601},
    about=("Theorem 1", "Explicit regularization"),
    short="implicit and explicit",
)
class ImplicitAndExplicit:
    """The implicit regularizer q and the explicit regularizer r, the squared distance that weights must
    move (Figure 2).
    """

    def data(self, points: int, *, seed: int, progress: Progress) -> xr.Dataset:
        """q, r, and the smallest real root of the quartic in the paper."""
        z = np.linspace(-12, 12, points)
        far = np.logspace(3, 12, 10)
        q, r = Hypentropy(0.0), WeightDistance(0.0)
        return xr.Dataset(
            {
                "q": ("z", values(q, z)),
                "r": ("z", values(r, z)),
                "root": ("z", np.array([_smallest_root(x) for x in z])),
                "q_far": ("far", values(q, far)),
                "r_far": ("far", values(r, far)),
            },
            coords={"z": z, "far": far},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Both curves, with the root of the quartic as markers on r."""
        ax.plot(data.z, data.q, label="$q(z)$, implicit")
        ax.plot(data.z, data.r, label="$r(z)$, explicit")
        every = max(1, data.z.size // 24)
        ax.plot(data.z[::every], data.root[::every], "o", ms=3, color="k", label="root of $p_z(u)$")
        ax.set(xlabel="$z$", ylabel="coordinate potential")
        ax.legend()

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """r is the root of the quartic, similar to q but algebraic."""
        gap = float(np.abs(data.r - data.root).max())
        yield at_most(1e-6).claim("r is the smallest real root of the quartic (largest difference)", gap)
        far = data.far.values
        yield within(0.999, 1.0).claim("r grows like |z| (r/|z| at 1e12)", data.r_far.values[-1] / far[-1])
        yield within(0.999, 1.001).claim(
            "q grows like |z| log|z| (slope of q/|z| against log|z|)",
            slope(np.log(far), data.q_far.values / far),
        )
        ratio = (data.q / data.r.where(data.z != 0)).values
        spread = np.nanmax(ratio) / np.nanmin(ratio)
        yield at_least(1.05).claim("q and r are not proportional (largest over smallest q/r)", spread)


def _smallest_root(z: float) -> float:
    """Smallest real root of p_z(u) = u⁴ − 6u³ + (12−2z²)u² − (8+10z²)u + z² + z⁴."""
    roots = np.roots([1, -6, 12 - 2 * z**2, -(8 + 10 * z**2), z**2 + z**4])
    return float(np.sort(roots[np.abs(roots.imag) < 1e-6 * (1 + np.abs(roots.real))].real)[0])
