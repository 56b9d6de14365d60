"""scikit-learn estimators: fits in scale × direction coordinates."""

from .classifier import WeightNormClassifier
from .kernel_regressor import WeightNormKernelRegressor
from .regressor import WeightNormRegressor
from .regressor_cv import WeightNormRegressorCV

__all__ = [
    "WeightNormClassifier",
    "WeightNormKernelRegressor",
    "WeightNormRegressor",
    "WeightNormRegressorCV",
]
