"""Estimators on real tables with more features than samples, compared with standard methods.

    python benchmarks/estimators.py gasoline.csv:octane golub.csv:aml:classify --splits 8 --out results
    python benchmarks/estimators.py --out results --write docs/howto/estimators-compared.md

Every method is tuned by five-fold cross-validation inside the training samples of each split (three quarters
of all, stratified by class); ridge by its leave-one-out error. Features are standardized for all. Results
are stored one by one in OUT/results.jsonl, so that an interrupted run can be resumed; without data arguments,
tables and figure are made from the stored results. Times are CPU seconds on one core.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from estimators_table import draw, summary, write
from scipy.optimize import linprog
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
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
SIZES = np.logspace(-4, 4, 17)  # grid for ridge penalties and for C


class BasisPursuit(RegressorMixin, BaseEstimator):
    """argmin ‖w‖₁ subject to Xw = y on centred data, as a linear program; least squares if infeasible."""

    def fit(self, X: Any, y: Any) -> BasisPursuit:
        self.center_, self.intercept_ = X.mean(axis=0), y.mean()
        A, b = X - self.center_, y - self.intercept_
        basis, sizes, _ = np.linalg.svd(A, full_matrices=False)
        axes = basis[:, sizes > 1e-10 * sizes[0]].T  # project onto the row space
        A, b = axes @ A, axes @ b
        found = linprog(np.ones(2 * A.shape[1]), A_eq=np.hstack([A, -A]), b_eq=b, method="highs")
        if found.x is None:
            raise ValueError(found.message)
        self.coef_ = found.x[: A.shape[1]] - found.x[A.shape[1] :]
        return self

    def predict(self, X: Any) -> Any:
        return (X - self.center_) @ self.coef_ + self.intercept_


class PLSClassifier(ClassifierMixin, BaseEstimator):
    """Partial least squares regression on class indicators; predicts the largest (PLS-DA)."""

    def __init__(self, n_components: int = 2):
        self.n_components = n_components

    def fit(self, X: Any, y: Any) -> PLSClassifier:
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.inner_ = PLSRegression(self.n_components, scale=False).fit(X, np.eye(len(self.classes_))[codes])
        self.coef_ = self.inner_.coef_
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[np.argmax(self.inner_.predict(X), axis=1)]


class MinimumNorm(BasisPursuit):
    """The minimum-norm least-squares solution."""

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
            scaled(PLSRegression(scale=False)),
            {"plsregression__n_components": range(1, most + 1)},
            cv=5,
            scoring="neg_mean_squared_error",
        ),
        "minimum norm": lambda: scaled(MinimumNorm()),
        "basis pursuit": lambda: scaled(BasisPursuit()),
        "Tacit at 1e-3": lambda: scaled(FlowRegressor()),
    }


def classifiers(samples: int) -> dict[str, Callable[[], Any]]:
    most = max(min(20, int(samples * 0.8) - 1), 1)

    def searched(estimator: Any, C: Any) -> Any:
        one = OneVsRestClassifier(estimator)
        grid = {"onevsrestclassifier__estimator__C": C}
        return GridSearchCV(scaled(one), grid, cv=5, scoring="balanced_accuracy")

    return {
        "Tacit": lambda: scaled(FlowClassifierCV(cv=5)),
        "linear SVM": lambda: searched(SVC(kernel="linear"), SIZES[::2]),
        "l1 logistic": lambda: searched(
            LogisticRegression(l1_ratio=1.0, solver="liblinear", max_iter=2000), np.logspace(-2, 3, 8)
        ),
        "l2 logistic": lambda: searched(LogisticRegression(max_iter=5000), np.logspace(-4, 2, 8)),
        "ridge": lambda: scaled(RidgeClassifierCV(alphas=SIZES)),
        "PLS": lambda: GridSearchCV(
            scaled(PLSClassifier()),
            {"plsclassifier__n_components": range(1, most + 1)},
            cv=5,
            scoring="balanced_accuracy",
        ),
    }


def coefficients(estimator: Any) -> np.ndarray | None:
    """The coefficients of the last step of a pipeline or search, one number for each feature."""
    best = getattr(estimator, "best_estimator_", estimator)
    last = best[-1] if hasattr(best, "steps") else best
    parts = getattr(last, "estimators_", [last])  # one-versus-rest classifiers
    if not hasattr(parts[0], "coef_"):
        return None
    return np.max([np.abs(np.atleast_2d(part.coef_)).max(axis=0) for part in parts], axis=0)


def selected(sizes: np.ndarray | None) -> list[int]:
    """The features that carry 99% of ‖w‖₁."""
    if sizes is None or not sizes.any():
        return []
    order = np.argsort(-sizes, kind="stable")
    share = np.cumsum(sizes[order]) / sizes.sum()
    return sorted(int(i) for i in order[: int(np.searchsorted(share, 0.99)) + 1])


def measured(
    make: Callable[[], Any], X: Any, y: Any, train: Any, test: Any, classify: bool
) -> dict[str, Any]:
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of competitors that do not converge at the ends of their grids
        fitted = make().fit(X[train], y[train])
    seconds = time.process_time() - begun
    guess = np.ravel(fitted.predict(X[test]))
    if classify:
        error = 1 - float(balanced_accuracy_score(y[test], guess))
    else:
        error = float(np.sqrt(np.mean((guess - y[test]) ** 2)))
    return {"error": error, "seconds": seconds, "selected": selected(coefficients(fitted))}


def run(
    name: str, X: Any, y: Any, classify: bool, splits: int, seed: int, methods: list[str], store: Path
) -> None:
    done = {(r["data"], r["split"], r["method"]) for r in stored(store)}
    kind = StratifiedShuffleSplit if classify else ShuffleSplit
    splitter = kind(splits, test_size=0.25, random_state=seed)
    for split, (train, test) in enumerate(splitter.split(X, y)):
        candidates = classifiers(len(train)) if classify else regressors(len(train))
        for method, make in candidates.items():
            if (name, split, method) in done or (methods and method not in methods):
                continue
            try:
                found = measured(make, X, y, train, test, classify)
            except Exception as failure:  # reported in the table
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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", metavar="FILE:TARGET[:classify]")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the splits (default: %(default)s)")
    parser.add_argument("--methods", default="", help="names with commas between them (default: all)")
    parser.add_argument("--out", type=Path, default=Path("estimators"))
    parser.add_argument(
        "--write", type=Path, metavar="PAGE.md", help="the page for the tables (default: OUT)"
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    store = options.out / "results.jsonl"
    for entry in options.tables:
        file, target, *rest = entry.split(":")
        classify = rest == ["classify"]
        data = read_table(file, None if file.endswith(".npz") else target, many=classify)
        methods = [name for name in options.methods.split(",") if name]
        run(Path(file).stem, data.X, data.y, classify, options.splits, options.seed, methods, store)
    lines = summary(stored(store))
    page = options.write or options.out / "table.md"
    write(lines, page)
    draw(lines, page.with_suffix(".png"))
    print(page.read_text())


if __name__ == "__main__":
    main()
