"""The paper's figures as data: one file an experiment, each from seeds to numbers and findings."""

from .figures import EXPERIMENTS, Experiment

__all__ = ["EXPERIMENTS", "Experiment"]
