"""The initialization as a knob between ridgeless and sparse: linear models for scikit-learn.

One scale moves a linear model from the solution of least ℓ2 norm to the sparsest, depth makes the transition
sharper, and stopping early regularizes. These estimators go into pipelines, searches and cross-validations as
any other of scikit-learn; what they compute are `tacit.limit`, `tacit.flow` and `tacit.margin_path`.
"""

from __future__ import annotations

from tacit.packages import needed

with needed("sklearn", "tacit.estimators"):
    import sklearn as sklearn

from tacit.estimators.classifier import FlowClassifier as FlowClassifier
from tacit.estimators.classifier_cv import FlowClassifierCV as FlowClassifierCV
from tacit.estimators.regressor import FlowRegressor as FlowRegressor
from tacit.estimators.regressor_cv import FlowRegressorCV as FlowRegressorCV
from tacit.estimators.scale_range import ScaleRange as ScaleRange
from tacit.estimators.scale_range import scale_range as scale_range

__all__ = [
    "FlowClassifier",
    "FlowClassifierCV",
    "FlowRegressor",
    "FlowRegressorCV",
    "ScaleRange",
    "scale_range",
]
