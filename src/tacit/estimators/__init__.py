"""Linear models for scikit-learn whose implicit regularization is set by the scale of the initialization.

The scale leads from the minimum ℓ2-norm solution to the sparsest solution, depth makes the transition
sharper, and early stopping regularizes in addition. The estimators work in pipelines, searches and
cross-validation like those of scikit-learn. They compute `tacit.limit`, `tacit.flow` and `tacit.margin_path`.
`FlowImputer` fills missing values.
"""

from __future__ import annotations

from tacit.packages import needed

with needed("sklearn", "tacit.estimators"):
    import sklearn as sklearn

from tacit.estimators.classifier import FlowClassifier as FlowClassifier
from tacit.estimators.classifier_cv import FlowClassifierCV as FlowClassifierCV
from tacit.estimators.imputer import FlowImputer as FlowImputer
from tacit.estimators.regressor import FlowRegressor as FlowRegressor
from tacit.estimators.regressor_cv import FlowRegressorCV as FlowRegressorCV
from tacit.estimators.scale_range import ScaleRange as ScaleRange
from tacit.estimators.scale_range import scale_range as scale_range

__all__ = [
    "FlowClassifier",
    "FlowClassifierCV",
    "FlowImputer",
    "FlowRegressor",
    "FlowRegressorCV",
    "ScaleRange",
    "scale_range",
]
