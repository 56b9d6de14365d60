"""The paper's figures as data: one file per experiment, each from seeds to numbers and findings."""

from .figures import EXPERIMENTS, Experiment

__all__ = ["EXPERIMENTS", "Experiment"]
