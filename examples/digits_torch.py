"""A PyTorch classifier of digits at five scales: which of them learn features?

The same network, 64 pixels to 100 hidden units to 10 classes, starts with all weights multiplied by 0.01 to
100. Before training, `tacit.probe` determines the regime of each; `tacit.Monitor` then records an ordinary
loop of stochastic gradient descent at each scale, with the final error on 797 held-out digits (differences of
half a percent are not significant).

    pip install '.[torch]' scikit-learn
    python examples/digits_torch.py digits.png        # 4,000 steps for each scale
    python examples/digits_torch.py digits.png 100    # fewer steps
"""

from __future__ import annotations

import sys

import numpy as np
import torch
from matplotlib import colormaps
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

import tacit

COLORS = {"kernel": "#0072B2", "rich": "#D55E00", "intermediate": "#CC79A7", "unknown": "#999999"}
SCALES = [0.01, 0.1, 1.0, 10.0, 100.0]
BATCH = 64


def data(seed: int = 0) -> tuple[np.ndarray, ...]:
    """Pixels between 0 and 1, shuffled: 1,000 digits to train on, 797 to test on."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    X, y = X[order] / 16, y[order]
    return X[:1000], y[:1000], X[1000:], y[1000:]


def classifier() -> tacit.Network:
    """The network minus a copy of itself, so that the initial outputs are 0 at every scale."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(64, 100), torch.nn.ReLU(), torch.nn.Linear(100, 10))
    return tacit.Network.from_torch(module.double()).doubled()


def train(
    network: tacit.Network, step: float, steps: int, X: np.ndarray, y: np.ndarray
) -> tuple[tacit.Monitor, torch.nn.Module]:
    """An ordinary training loop with a monitor."""
    module = network.module
    inputs, classes = torch.as_tensor(X), torch.as_tensor(y)
    optimizer = torch.optim.SGD(module.parameters(), lr=step, momentum=0.9)
    generator = torch.Generator().manual_seed(0)
    with tacit.Monitor(tacit.Network.from_torch(module), X, share=None) as monitor:
        for i in range(steps + 1):
            batch = torch.randint(len(X), (BATCH,), generator=generator)
            loss = torch.nn.functional.cross_entropy(module(inputs[batch]), classes[batch])
            monitor.record(i, loss=loss.detach())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return monitor, module


def error(module: torch.nn.Module, X: np.ndarray, y: np.ndarray) -> float:
    """The share of misclassified digits."""
    with torch.no_grad():
        return float((module(torch.as_tensor(X)).argmax(dim=1).numpy() != y).mean())


def draw(
    axes: np.ndarray, sweep: tacit.ProbeSweep, monitors: list[tacit.Monitor], errors: list[float]
) -> None:
    """Draw the probe, the training loops and the test errors."""
    sweep.picture().draw(axes[0])
    axes[0].set_title("probed before training", pad=18)
    shades = np.linspace(0.85, 0.05, len(SCALES))
    for scale, monitor, shade in zip(SCALES, monitors, shades, strict=True):
        steps, turned = np.array(monitor.steps)[1:], monitor.kernel_distance[1:]
        axes[1].loglog(steps, turned, color=colormaps["plasma"](shade), label=f"× {scale:g}")
    axes[1].legend(title="scale", fontsize=7.5, title_fontsize=7.5)
    axes[1].set(xlabel="step", ylabel=r"kernel distance $1 - \cos\angle(K_0, K_t)$")
    axes[1].set_title("monitored in training", pad=18)
    axes[2].semilogx(SCALES, [100 * e for e in errors], "-", color="0.6", lw=1)
    for scale, e, regime in zip(SCALES, errors, sweep.regimes, strict=True):
        axes[2].plot(scale, 100 * e, "o", color=COLORS[regime], ms=6)
    axes[2].set(xlabel="scale of all weights", ylabel="test error (%)")
    axes[2].set_ylim(0, 120 * max(errors))
    axes[2].set_title("held-out digits", pad=18)


def main(file: str = "digits.png", steps: str = "4000") -> None:
    """Probe, train and draw."""
    torch.set_num_threads(1)
    X, y, X_test, y_test = data()
    network = classifier()
    probe = tacit.probe(network, X, y, loss="cross-entropy", X_test=X_test)
    print(probe.summary())
    sweep = probe.sweep(SCALES)
    print(sweep.summary())
    monitors, errors = [], []
    for scale, point in zip(SCALES, sweep.points, strict=True):
        # stable for the initial kernel and for that of scale 1, to which small initializations grow
        largest = max(point.linear.eigenvalues[0], probe.eigenvalues[0]) / len(point.linear.X)
        monitor, module = train(network.rescaled(scale), 1 / largest, int(steps), X, y)
        monitors.append(monitor)
        errors.append(error(module, X_test, y_test))
        words = f"× {scale:<4g} {point.regime:<12} test error {100 * errors[-1]:.1f}%"
        print(f"{words}, last loss {monitor.loss[-1]:.2g}")
    print(monitors[0].summary())
    figure = Figure(figsize=(11.5, 3.6), dpi=220, layout="constrained")
    draw(figure.subplots(1, 3), sweep, monitors, errors)
    figure.savefig(file)
    print(f"picture: {file}")


if __name__ == "__main__":
    main(*sys.argv[1:])
