"""ReLU networks on ten points of a circle: Figures 6(a) and 6(b) of Woodworth et al. 2020."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data.arrays import Float
from tacit.networks.architectures import dense, dense_shapes, he_uniform
from tacit.networks.exponential_flow import settle
from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.measures import variables
from tacit.papers.reproduction import presets
from tacit.show.figures import MUTED

SAMPLES, TEACHERS, WIDTH = 10, 3, 30  # training points, units of the teacher, units per layer
_FIT = 1e-9  # training loss at which flows stop, as in the paper
_STEPS = 2000  # one flow in 300 would need more; the other flows that do not reach the loss converge above it
_MODELS = ("unbiased", "plain")
_COLOURS = ("#0072B2", "#009E73", "#D55E00")
_SIZES = presets(depths=([2, 3, 5], [2, 3, 5]), scales=(5, 11), seeds=(16, 16))


class _OnTheCircle:
    """The data of both panels."""

    def data(
        self, depths: Sequence[int], scales: int, seeds: int, *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """A flow of doubled networks, whose outputs start at 0, and of plain ones, for every parameter."""
        parts = [_of_depth(depth, scales, seeds, seed) for depth in progress(depths, "depths")]
        return xr.concat(parts, xr.DataArray(np.array(depths), dims="depth", name="depth"))


@figure("woodworth2020/fig6a", **_SIZES, figsize=(4.4, 3.0), seconds=26)
class ErrorOnTheCircle(_OnTheCircle):
    """Test error of ReLU networks of depth 2, 3 and 5 with 30 units per layer, trained on 10 points of the
    unit circle labelled by a teacher with 3 units, against the scale α^D of their initial outputs (Figure
    6a). Filled: doubled networks, whose outputs start at 0. Open: plain networks, which keep the noise of
    their initial outputs at large scales. Means over seeds that reach a training loss of 1e-9, relative to
    the size of the teacher; gradient flow.
    """

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """The test error against the scale."""
        _draw(data, "error", ax)
        ax.set(ylabel="test error (relative)")

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """The rich regime generalizes better than the kernel regime."""
        yield from _fitted_claims(data)
        error = np.log(data.error.sel(model="unbiased"))
        yield at_most(0.8, "a fifth less; single draws vary by factors of ten in both directions").claim(
            "ratio of test errors at the smallest and largest scale (geometric mean over depths and draws)",
            np.exp((error[..., 0] - error[..., -1]).mean()),
        )
        plain = np.log(data.error.sel(model="plain")[..., -2:].values)
        powers = np.diff(plain) / np.diff(np.log(data.scale.values[-2:]))
        yield within(1.5, 2.5, "distinguishes the power 2 from 1 and 3").claim(
            "plain networks keep the noise of their initial outputs: error is a power of α^D (median power)",
            np.nanmedian(powers),
        )


@figure("woodworth2020/fig6b", **_SIZES, figsize=(4.4, 3.0))
class FeaturesOnTheCircle(_OnTheCircle):
    """Change of the tangent features ∂f/∂w of these networks during training, 1 − cos of the angle, against
    the scale α^D (Figure 6b). If outputs start at 0 (filled), features change at small scales and hardly
    change at large ones (kernel regime). In plain networks (open), which must unlearn their initial outputs,
    the change tends to a constant.
    """

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """The change of features against the scale."""
        _draw(data, "distance", ax)
        ax.set(ylabel="grad distance")

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Features change in the rich regime and hardly change in the kernel regime."""
        yield from _fitted_claims(data)
        distance = data.distance.sel(model="unbiased").mean("seed")
        text = "at the largest scale features hardly change (largest distance over depths, mean of draws)"
        yield at_most(0.03, "an angle of 14 degrees").claim(text, distance[:, -1].max(skipna=False))
        text = "at the smallest scale they change (smallest distance over depths, mean of draws)"
        yield at_least(0.1, "an angle of 26 degrees").claim(text, distance[:, 0].min(skipna=False))
        yield at_most(0.0, "a smaller mean; single flows may differ").claim(
            "the kernel changes less than the features (difference of distances, mean of all flows)",
            (data.kernel_distance - data.distance).mean(),
        )
        plain = data.distance.sel(model="plain").mean("seed")
        text = "in plain networks the change tends to a constant (ratio to doubled networks, largest scale)"
        yield at_least(2.0, "at least twice").claim(text, (plain[:, -1] / distance[:, -1]).min(skipna=False))


@dataclass(frozen=True, eq=False)
class _Circle:
    """Training and test points on the unit circle, with the outputs of the teacher."""

    X: Float
    y: Float
    X_test: Float
    y_test: Float

    @classmethod
    def drawn(cls, rng: np.random.Generator, test: int = 400) -> _Circle:
        angles = rng.uniform(0, 2 * np.pi, SAMPLES), np.linspace(0, 2 * np.pi, test, endpoint=False)
        X, X_test = (np.stack([np.cos(each), np.sin(each)], 1) for each in angles)
        inner, outer = rng.standard_normal((2, TEACHERS)), rng.standard_normal(TEACHERS)
        y, y_test = (np.maximum(each @ inner, 0) @ outer for each in (X, X_test))
        return cls(X, y, X_test, y_test)


def _shapes(depth: int) -> Any:
    return dense_shapes(2, *[WIDTH] * (depth - 1), 1)


@cache
def _networks(depth: int) -> tuple[tacit.Network, tacit.Network]:
    """A doubled and a plain network with arbitrary weights; all draws share their compiled functions."""
    plain = tacit.Network(dense, he_uniform(_shapes(depth), np.random.default_rng(0)))
    return plain.doubled(), plain


@lru_cache(maxsize=256)
def _of_depth(depth: int, scales: int, seeds: int, seed: int) -> xr.Dataset:
    """All runs of one depth, used by both panels."""
    scale, shapes = np.logspace(-3, 2, scales), _shapes(depth)
    double, plain = _networks(depth)
    found = np.full((4, len(_MODELS), seeds, scales), np.nan)
    for k in range(seeds):
        rng = np.random.default_rng([seed, k])
        problem, start = _Circle.drawn(rng), he_uniform(shapes, rng)
        weights = np.concatenate([layer.ravel() for layer in start])
        for i in range(scales):
            scaled = weights * scale[i] ** (1 / depth)
            starts = double.with_weights(np.tile(scaled, 2)), plain.with_weights(scaled)
            for m, network in enumerate(starts):
                found[:, m, k, i] = _outcome(network, problem)
    names = ("error", "distance", "kernel_distance", "fitted")
    measured = variables("model seed scale", **dict(zip(names, found, strict=True)))
    return xr.Dataset(measured, coords={"model": list(_MODELS), "scale": scale})


def _outcome(network: tacit.Network, problem: _Circle) -> tuple[float, float, float, float]:
    """Test error, changes of features and kernel (NaN without convergence), and whether it converged."""
    end = settle(network, problem.X, problem.y, loss=_FIT, most=_STEPS)
    if not end.converged:
        return np.nan, np.nan, np.nan, 0.0
    wrong = end.network.outputs(problem.X_test)[:, 0] - problem.y_test
    first, last = (_features(each, problem.X) for each in (network, end.network))
    cosine = np.sum(first * last) / (np.linalg.norm(first) * np.linalg.norm(last))
    return (
        float(np.mean(wrong**2) / np.mean(problem.y_test**2)),
        float(1 - cosine),
        network.kernel_distance(end.network, problem.X),
        1.0,
    )


def _features(network: tacit.Network, X: Float) -> Float:
    """∂f/∂w at every sample, (N, P)."""
    return np.stack([network.vjp(X, row) for row in np.eye(len(X))])


def _fitted_claims(data: xr.Dataset) -> Iterator[Claim]:
    """Enough flows converge; the other claims are about these.

    The others converge to a larger loss: three samples share their active units, which are linear there.
    """
    text = "flows that reach a training loss of 1e-9 (fraction)"
    yield at_least(0.5, "the majority").claim(text, data.fitted.mean())


def _draw(data: xr.Dataset, name: str, ax: Any) -> None:
    for colour, depth in zip(_COLOURS, data.depth.values, strict=False):
        for model, mark in zip(_MODELS, ("o-", "o:"), strict=True):
            mean = data[name].sel(depth=depth, model=model).mean("seed")
            filled = colour if model == "unbiased" else "w"
            label = f"depth {depth}" if model == "unbiased" else None
            ax.plot(data.scale, mean, mark, color=colour, mfc=filled, ms=4, lw=1.2, label=label)
    ax.plot([], [], "o-", color=MUTED, ms=4, label="outputs start at 0")
    ax.plot([], [], "o:", color=MUTED, mfc="w", ms=4, label="plain")
    ax.set(xscale="log", yscale="log", xlabel=r"$\alpha^D$")
    ax.legend()
