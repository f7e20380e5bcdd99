"""Estimators on real tables with more features than samples, against what people use now.

    python benchmarks/estimators.py gasoline.csv:octane golub.csv:aml:classify --splits 20 --out results
    python benchmarks/estimators.py --out results       # only the table and the picture of what is there

Every method is tuned by five-fold cross-validation inside the training samples of each split (three quarters
of all, stratified by class); standardized features for all. Results are kept one by one in OUT/results.jsonl,
so that a run that was stopped goes on where it was. `within` tells whether the mean error is at most one
standard error (of the best rival's mean, over splits) above that of the best of ridge, Lasso, elastic net and
partial least squares, or for classes of linear SVM, logistic regressions and ridge.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import (
    ElasticNetCV,
    LassoCV,
    LogisticRegression,
    RidgeClassifierCV,
    RidgeCV,
)
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, ShuffleSplit, StratifiedShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from tacit.data.tables import read_table
from tacit.estimators import FlowClassifierCV, FlowRegressor, FlowRegressorCV

RATIOS = [0.1, 0.5, 0.7, 0.9, 0.95, 0.99, 1.0]
SIZES = np.logspace(-4, 4, 17)  # of ridge penalties and of C
RIVALS = {
    "ridge",
    "Lasso",
    "elastic net",
    "PLS",
    "linear SVM",
    "l1 logistic",
    "l2 logistic",
    "ridge classifier",
}


class BasisPursuit(RegressorMixin, BaseEstimator):
    """argmin ‖w‖₁ subject to Xw = y of centred data, as a linear program; least squares if there is none."""

    def fit(self, X: Any, y: Any) -> BasisPursuit:
        self.center_, self.intercept_ = X.mean(axis=0), y.mean()
        A, b = X - self.center_, y - self.intercept_
        basis, sizes, _ = np.linalg.svd(A, full_matrices=False)
        axes = basis[:, sizes > 1e-10 * sizes[0]].T  # least squares on the range
        A, b = axes @ A, axes @ b
        found = linprog(np.ones(2 * A.shape[1]), A_eq=np.hstack([A, -A]), b_eq=b, method="highs")
        if found.x is None:
            raise ValueError(found.message)
        self.coef_ = found.x[: A.shape[1]] - found.x[A.shape[1] :]
        return self

    def predict(self, X: Any) -> Any:
        return (X - self.center_) @ self.coef_ + self.intercept_


class MinimumNorm(BasisPursuit):
    """Least squares of least ℓ2 norm."""

    def fit(self, X: Any, y: Any) -> MinimumNorm:
        self.center_, self.intercept_ = X.mean(axis=0), y.mean()
        self.coef_ = np.linalg.lstsq(X - self.center_, y - self.intercept_, rcond=1e-10)[0]
        return self


def scaled(estimator: Any) -> Any:
    return make_pipeline(StandardScaler(), estimator)


def regressors(samples: int) -> dict[str, Callable[[], Any]]:
    most = max(min(20, int(samples * 0.8) - 1), 1)
    return {
        "Tacit": lambda: scaled(FlowRegressorCV(cv=5)),
        "Tacit, no stop": lambda: scaled(FlowRegressorCV(cv=5, stops=None)),
        "ridge": lambda: scaled(RidgeCV(alphas=SIZES)),
        "Lasso": lambda: scaled(LassoCV(cv=5, max_iter=20_000)),
        "elastic net": lambda: scaled(ElasticNetCV(l1_ratio=RATIOS, alphas=30, cv=5, max_iter=20_000)),
        "PLS": lambda: GridSearchCV(
            PLSRegression(scale=True),
            {"n_components": range(1, most + 1)},
            cv=5,
            scoring="neg_mean_squared_error",
        ),
        "minimum norm": lambda: scaled(MinimumNorm()),
        "basis pursuit": lambda: scaled(BasisPursuit()),
        "Tacit at 1e-3": lambda: scaled(FlowRegressor()),
    }


def classifiers() -> dict[str, Callable[[], Any]]:
    def searched(estimator: Any, C: Any) -> Any:
        one = OneVsRestClassifier(estimator)
        grid = {"onevsrestclassifier__estimator__C": C}
        return GridSearchCV(scaled(one), grid, cv=5, scoring="balanced_accuracy")

    return {
        "Tacit": lambda: scaled(FlowClassifierCV(cv=5)),
        "linear SVM": lambda: searched(SVC(kernel="linear"), SIZES),
        "l1 logistic": lambda: searched(
            LogisticRegression(l1_ratio=1.0, solver="liblinear", max_iter=2000), np.logspace(-2, 3, 8)
        ),
        "l2 logistic": lambda: searched(LogisticRegression(max_iter=5000), np.logspace(-4, 2, 8)),
        "ridge classifier": lambda: scaled(RidgeClassifierCV(alphas=SIZES)),
    }


def coefficients(estimator: Any) -> np.ndarray | None:
    """Of the last step of a pipeline or search, one number for each feature."""
    best = getattr(estimator, "best_estimator_", estimator)
    last = best[-1] if hasattr(best, "steps") else best
    parts = getattr(last, "estimators_", [last])  # of one class against all others
    if not hasattr(parts[0], "coef_"):
        return None
    return np.max([np.abs(np.atleast_2d(part.coef_)).max(axis=0) for part in parts], axis=0)


def selected(sizes: np.ndarray | None) -> list[int]:
    """Features that carry 99% of ‖w‖₁."""
    if sizes is None or not sizes.any():
        return []
    order = np.argsort(-sizes, kind="stable")
    share = np.cumsum(sizes[order]) / sizes.sum()
    return sorted(int(i) for i in order[: int(np.searchsorted(share, 0.99)) + 1])


def measured(
    make: Callable[[], Any], X: Any, y: Any, train: Any, test: Any, classify: bool
) -> dict[str, Any]:
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rivals that have not converged at the ends of their grids
        fitted = make().fit(X[train], y[train])
    seconds = time.perf_counter() - begun
    guess = np.ravel(fitted.predict(X[test]))
    if classify:
        error = 1 - float(balanced_accuracy_score(y[test], guess))
    else:
        error = float(np.sqrt(np.mean((guess - y[test]) ** 2)))
    return {"error": error, "seconds": seconds, "selected": selected(coefficients(fitted))}


def run(name: str, X: Any, y: Any, classify: bool, splits: int, methods: list[str], store: Path) -> None:
    done = {(r["data"], r["split"], r["method"]) for r in stored(store)}
    splitter = (StratifiedShuffleSplit if classify else ShuffleSplit)(splits, test_size=0.25, random_state=0)
    for split, (train, test) in enumerate(splitter.split(X, y)):
        candidates = classifiers() if classify else regressors(len(train))
        for method, make in candidates.items():
            if (name, split, method) in done or (methods and method not in methods):
                continue
            try:
                found = measured(make, X, y, train, test, classify)
            except Exception as failure:  # said in the table
                found = {"error": None, "seconds": None, "selected": [], "failed": str(failure)[:200]}
            row = {
                "data": name,
                "shape": X.shape,
                "classify": classify,
                "split": split,
                "method": method,
                **found,
            }
            with store.open("a") as file:
                file.write(json.dumps(row) + "\n")
            told = "failed" if found["error"] is None else f"{found['error']:.4g} in {found['seconds']:.2f} s"
            print(f"{name} split {split}: {method} {told}", flush=True)


def stored(store: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []


def stability(choices: list[list[int]]) -> float:
    """The mean Jaccard index of the selected features of two splits."""
    pairs = [(set(a), set(b)) for a, b in combinations(choices, 2)]
    return float(np.mean([len(a & b) / max(len(a | b), 1) for a, b in pairs])) if pairs else float("nan")


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of every table and method: mean error and its standard error, features, stability, seconds."""
    lines = []
    for data in dict.fromkeys(row["data"] for row in rows):
        own = [row for row in rows if row["data"] == data]
        found = {}
        for method in dict.fromkeys(row["method"] for row in own):
            good = [row for row in own if row["method"] == method and row["error"] is not None]
            if not good:
                continue
            errors = np.array([row["error"] for row in good])
            found[method] = {
                "data": data,
                "shape": own[0]["shape"],
                "classify": own[0]["classify"],
                "method": method,
                "splits": len(good),
                "error": float(errors.mean()),
                "deviation": float(errors.std(ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else 0.0,
                "features": float(np.mean([len(row["selected"]) for row in good])),
                "stability": stability([row["selected"] for row in good]),
                "seconds": float(np.median([row["seconds"] for row in good])),
            }
        rivals = [each for name, each in found.items() if name in RIVALS]
        best = min(rivals, key=lambda each: each["error"], default=None)
        for each in found.values():
            each["within"] = best is not None and each["error"] <= best["error"] + best["deviation"]
            lines.append(each)
    return lines


def table(lines: list[dict[str, Any]]) -> str:
    text = [
        "| data | method | error | ± | within | features | stability | seconds |",
        "|---|---|---:|---:|:---:|---:|---:|---:|",
    ]
    last = None
    for line in sorted(lines, key=lambda each: (each["classify"], each["data"], each["error"])):
        samples, features = line["shape"]
        data = f"{line['data']} {samples}×{features:,}" if line["data"] != last else ""
        last = line["data"]
        name = f"**{line['method']}**" if line["method"].startswith("Tacit") else line["method"]
        text.append(
            f"| {data} | {name} | {line['error']:.4g} | {line['deviation']:.2g} | "
            f"{'yes' if line['within'] else 'no'} | {line['features']:.0f} | {line['stability']:.2f} | "
            f"{line['seconds']:.2f} |"
        )
    return "\n".join(text)


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    """Errors relative to the best rival of each table, with their standard errors."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    tables = list(dict.fromkeys(line["data"] for line in sorted(lines, key=lambda each: each["classify"])))
    figure, axes = plt.subplots(
        2, (len(tables) + 1) // 2, figsize=(11, 6), layout="constrained", squeeze=False
    )
    for ax in axes.ravel()[len(tables) :]:
        ax.set_axis_off()
    for ax, data in zip(axes.ravel(), tables, strict=False):
        own = sorted((line for line in lines if line["data"] == data), key=lambda each: -each["error"])
        best = min(line["error"] for line in own if line["method"] in RIVALS)
        unit = 1.0 if own[0]["classify"] else best
        colors = ["#c1432e" if line["method"].startswith("Tacit") else "#5b6770" for line in own]
        values, bars = ([line[key] / unit for line in own] for key in ("error", "deviation"))
        for place, (value, bar, color) in enumerate(zip(values, bars, colors, strict=True)):
            ax.errorbar(value, place, xerr=bar, fmt="o", color=color, ms=5, capsize=2)
        ax.set_yticks(range(len(own)), [line["method"] for line in own], fontsize=8)
        for label, color in zip(ax.get_yticklabels(), colors, strict=True):
            label.set_color(color)
        kind = "1 − balanced accuracy" if own[0]["classify"] else "test RMSE / best rival's"
        ax.set_xlabel(kind, fontsize=8)
        ax.set_title(f"{data} ({own[0]['shape'][0]}×{own[0]['shape'][1]:,})", fontsize=9)
        if not own[0]["classify"]:
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter("{x:.2g}")
            ax.xaxis.set_minor_formatter("{x:.2g}")
            ax.tick_params(axis="x", which="both", labelsize=7)
        ax.axvline(best / unit, color="#b8bec4", lw=0.8, zorder=0)
    figure.savefig(path, dpi=160)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", metavar="FILE:TARGET[:classify]")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--methods", default="", help="names with commas between them (default: all)")
    parser.add_argument("--out", type=Path, default=Path("estimators"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    store = options.out / "results.jsonl"
    for entry in options.tables:
        file, target, *rest = entry.split(":")
        classify = rest == ["classify"]
        data = read_table(file, None if file.endswith(".npz") else target, many=classify)
        methods = [name for name in options.methods.split(",") if name]
        run(Path(file).stem, data.X, data.y, classify, options.splits, methods, store)
    lines = summary(stored(store))
    (options.out / "table.md").write_text(table(lines) + "\n")
    print(table(lines))
    draw(lines, options.out / "errors.png")


if __name__ == "__main__":
    main()
