"""Near-infrared spectra: octane, fat or density from hundreds of strongly correlated wavelengths.

Ridge regression uses all wavelengths, the Lasso selects a few. The flow of a diagonal network interpolates
between the two as its initialization scale changes, and early stopping suppresses noise. Here scale and
stopping time are chosen by cross-validation, and compared with RidgeCV and LassoCV on held-out samples.

    pip install '.[estimators]'
    python examples/spectra.py spectra.png                        # simulated spectra
    python examples/spectra.py spectra.png gasoline.csv octane    # your table and its target
"""

from __future__ import annotations

import re
import sys

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from sklearn.linear_model import LassoCV, RidgeCV
from sklearn.model_selection import train_test_split

from tacit.estimators import FlowRegressor, FlowRegressorCV

Spectra = tuple[np.ndarray, np.ndarray, np.ndarray]  # wavelengths, absorbances (samples, wavelengths), target


def made_up(samples: int = 60, wavelengths: int = 300, seed: int = 0) -> Spectra:
    """Simulated spectra of six substances with overlapping bands, baseline drift and noise."""
    rng = np.random.default_rng(seed)
    nm = np.linspace(900, 1700, wavelengths)
    centers, widths = rng.uniform(950, 1650, (6, 3)), rng.uniform(15, 60, (6, 3))
    bands = np.exp(-(((nm - centers[..., None]) / widths[..., None]) ** 2) / 2).sum(axis=1)
    amounts = rng.dirichlet(np.ones(6), samples)
    drift = rng.normal(0, 0.05, (samples, 1)) + rng.normal(0, 0.05, (samples, 1)) * (nm - 1300) / 400
    X = amounts @ bands + drift + 2e-3 * rng.standard_normal((samples, wavelengths))
    return nm, X, 100 * amounts[:, 0] + 0.3 * rng.standard_normal(samples)


def from_file(path: str, target: str) -> Spectra:
    """Read a table; wavelengths are the names of the columns if these are numbers."""
    table = pd.read_csv(path)
    y = table.pop(target)
    numbers = [re.search(r"\d+(\.\d+)?", name) for name in table.columns]
    places = [float(found[0]) if found else float(i) for i, found in enumerate(numbers)]
    return np.array(places), table.to_numpy(dtype=float), y.to_numpy(dtype=float)


def rmse(model: object, X: np.ndarray, y: np.ndarray) -> float:
    return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))  # type: ignore[attr-defined]


def main(picture: str, *source: str) -> None:
    nm, X, y = from_file(*source) if source else made_up()
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    flow = FlowRegressorCV(cv=5).fit(X, y)
    rivals = {
        "ridge": RidgeCV(alphas=np.logspace(-8, 4, 25)).fit(X, y),
        "Lasso": LassoCV(cv=5, max_iter=100_000, tol=1e-3).fit(X, y),
        "flow": flow,
    }
    stop = "not stopped" if flow.stop_ is None else f"stopped at {flow.stop_:.2g} of the training loss"
    print(f"{len(y)} spectra of {len(nm)} wavelengths, {len(y_test)} held out, spread {y_test.std():.3g}")
    print(f"selected: scale = {flow.scale_:.3g} (relative to the data), {stop}")
    for name, model in rivals.items():
        print(f"  {name:6} test RMSE {rmse(model, X_test, y_test):.3g}")
    ends = {
        "large start": FlowRegressor(scale=1e3 * flow.scale_, stop=flow.stop_).fit(X, y),
        "chosen": flow,
        "small start": FlowRegressor(scale=1e-3 * flow.scale_, stop=flow.stop_).fit(X, y),
    }
    figure = Figure(figsize=(12, 3.6), dpi=220, layout="constrained")
    draw(figure.subplots(1, 3), nm, X, y, flow, ends)
    figure.savefig(picture)
    print(f"picture: {picture}")


def draw(axes, nm, X, y, flow, ends) -> None:
    """Draw spectra, coefficients, and the cross-validated error by scale and stopping time."""
    places = (y - y.min()) / np.ptp(y)
    for row, place in zip(X, places, strict=True):
        axes[0].plot(nm, row, color=colormaps["viridis"](place), lw=0.6)
    axes[0].set(title="spectra, coloured by the target", xlabel="wavelength", ylabel="absorbance")
    for (name, model), color in zip(ends.items(), ("#4c72b0", "#c1432e", "#55803e"), strict=True):
        axes[1].plot(nm, model.coef_, label=name, color=color, lw=1.2 if name == "chosen" else 0.8)
    axes[1].axhline(0, color="0.7", lw=0.6, zorder=0)
    axes[1].set(title="coefficients, same stop", xlabel="wavelength")
    axes[1].legend(frameon=False)
    table = flow.cv_results_
    scales, stops = (np.array(table[f"param_{name}"], dtype=float) for name in ("scale", "stop"))
    error = np.sqrt(-table["mean_test_score"])
    end = np.nanmin(stops) / 2  # position of flows that are not stopped
    stops = np.where(np.isnan(stops), end, stops)
    shape = (len(np.unique(scales)), len(np.unique(stops)))
    grid = [values.reshape(shape) for values in (stops, scales, error)]
    norm = LogNorm(error.min(), 3 * error.min())
    mesh = axes[2].pcolormesh(*grid, norm=norm, cmap="cividis_r", shading="nearest")
    axes[2].plot(flow.stop_ or end, flow.scale_, "o", mfc="none", mec="#c1432e", mew=2, ms=9)
    axes[2].set(xscale="log", yscale="log", xlabel="share of the training loss at the stop; last: none")
    axes[2].set_ylabel("scale of the start")
    axes[2].invert_xaxis()
    axes[2].set_title("cross-validated RMSE")
    axes[2].figure.colorbar(mesh, ax=axes[2], extend="max")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
