"""The loop over folds, and the pieces of the data that it passes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed

from tacit.data.arrays import Float, Index


@dataclass(frozen=True, eq=False)
class Subset:
    """Some of the samples: features, targets or class indices, and sample weights (None if all are equal)."""

    X: Float
    y: Any
    weights: Float | None

    def part(self, indices: Index) -> Subset:
        """The samples with these indices."""
        return Subset(
            self.X[indices], self.y[indices], None if self.weights is None else self.weights[indices]
        )

    def score(self, scorer: Any, estimator: Any, y: Any) -> float:
        """The score of an estimator on these samples, with the targets or labels y."""
        weights = {} if self.weights is None else {"sample_weight": self.weights}
        return float(scorer(estimator, self.X, y, **weights))


def scores_of_folds(
    estimator: Any,
    data: Subset,
    labels: Any,
    groups: Any,
    placeholder: Any,
    score: Callable[[Subset, Subset, Any], Float],
) -> Float:
    """The scores of all folds, computed in parallel; sets the estimator's `scorer_`.

    labels: y in the form that splitters expect. placeholder: an estimator of the type that is passed to
    scorers. score: from training samples, test samples and scorer (None for the default) to the scores.
    """
    estimator.scorer_ = None if estimator.scoring is None else check_scoring(placeholder, estimator.scoring)
    splitter = check_cv(estimator.cv, data.y, classifier=is_classifier(placeholder))
    work = (
        delayed(score)(data.part(train), data.part(test), estimator.scorer_)
        for train, test in splitter.split(data.X, labels, groups)
    )
    return np.array(Parallel(n_jobs=estimator.n_jobs)(work))
