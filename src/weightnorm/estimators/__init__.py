"""scikit-learn estimators: fits in scale × direction coordinates."""

from .classifier import WeightNormClassifier
from .regressor import WeightNormRegressor

__all__ = ["WeightNormClassifier", "WeightNormRegressor"]
