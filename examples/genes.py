"""Gene expression: two types of tumour, thousands of genes, a few dozen patients.

Many classifiers separate the patients of the training set. Gradient descent from a large initialization scale
picks the one of maximal ℓ2 margin, which uses all genes; from a small scale it picks the one of maximal ℓ1
margin, which uses few. Here cross-validation chooses the scale.

    pip install '.[estimators]'
    python examples/genes.py genes.png                    # simulated expression data
    python examples/genes.py genes.png golub.csv aml      # your table, and its column with the two types
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import tacit
from tacit.estimators import FlowClassifierCV

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # of Okabe and Ito
NAMED = len(COLORS)  # genes in the figure
BLUE, RED = "#4c72b0", "#c1432e"


def made_up(patients: int = 60, genes: int = 2000, seed: int = 0) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Simulated expression of genes in 40 correlated modules; four other genes differ between the types."""
    rng = np.random.default_rng(seed)
    kind = np.repeat([-1, 1], patients // 2)
    module = rng.standard_normal((patients, 40))
    member = rng.integers(40, size=genes)
    X = 0.7 * module[:, member] + rng.standard_normal((patients, genes))
    X[:, :4] += 1.1 * kind[:, None]
    return X, kind, [f"gene {i}" for i in range(genes)]


def from_file(path: str, target: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    table = pd.read_csv(path)
    kind = table.pop(target)
    return table.to_numpy(dtype=float), kind.to_numpy(), list(table.columns)


def main(picture: str, *source: str) -> None:
    X, y, names = from_file(*source) if source else made_up()
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    found = FlowClassifierCV(cv=5).fit(X, y)
    rival = SVC(kernel="linear").fit(X, y)
    print(f"{len(y)} patients, {X.shape[1]:,} genes, {len(y_test)} patients held out")
    print(f"selected: scale = {found.scale_:.3g} (relative to the data), {found.loss_}")
    for name, model in (("flow", found), ("linear SVM", rival)):
        used = np.sort(np.abs(model.coef_[0]))[::-1]
        carry = int(np.searchsorted(np.cumsum(used), 0.99 * used.sum())) + 1
        right = model.score(X_test, y_test)
        print(f"  {name:10} held-out accuracy {right:.1%}, {carry:,} genes carry 99%")
    mu = np.geomspace(1, 1e-9, 46)
    path = tacit.margin_path(X, y, mu, intercept=True)
    figure = Figure(figsize=(12, 3.6), dpi=220, layout="constrained")
    draw(figure.subplots(1, 3), path, found, X_test, y_test, names)
    figure.savefig(picture)
    print(f"picture: {picture}")


def draw(axes: Any, path: Any, found: Any, X_test: Any, y_test: Any, names: list[str]) -> None:
    """Draw coefficients by scale, the cross-validated accuracy, and margins of held-out patients."""
    last = np.abs(path.predictors[-1])
    for rank, gene in enumerate(np.argsort(-last)[: 4 * NAMED]):
        line = axes[0].semilogx(path.mu, path.predictors[:, gene], lw=1.2 if rank < NAMED else 0.5)[0]
        line.set(color=COLORS[rank] if rank < NAMED else "0.75", zorder=2 if rank < NAMED else 1)
        if rank < NAMED:
            line.set_label(names[gene])
    axes[0].invert_xaxis()
    axes[0].legend(fontsize=7, frameon=False)
    axes[0].set(
        title="from the ℓ2 margin to the ℓ1 margin", xlabel="μ, the predictor's scale", ylabel="coefficient"
    )
    table = found.cv_results_
    scales, ends = np.array(table["param_scale"], dtype=float), [stop is None for stop in table["param_stop"]]
    for which, color, label in ((np.array(ends), RED, "margin"), (~np.array(ends), BLUE, "best stop")):
        if which.any():
            order = np.unique(scales[which])
            best = [table["mean_test_score"][which & (scales == each)].max() for each in order]
            axes[1].semilogx(order, best, "o-", color=color, label=label, ms=4)
    axes[1].axvline(found.scale_, color="0.6", lw=0.8, zorder=0)
    axes[1].invert_xaxis()
    axes[1].set(title="cross-validation", xlabel="scale of the start", ylabel="share that is right")
    axes[1].legend(frameon=False)
    scores = found.decision_function(X_test)
    for kind, color in zip(found.classes_, (BLUE, RED), strict=True):
        own = np.sort(scores[y_test == kind])
        axes[2].plot(own, np.linspace(0, 1, len(own)), "o", color=color, label=f"kind {kind}", ms=5)
    axes[2].axvline(0, color="0.6", lw=0.8, zorder=0)
    axes[2].set(title="patients held out", xlabel="f(x)", ylabel="share of the kind")
    axes[2].legend(frameon=False)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
