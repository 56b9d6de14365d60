"""The figures as data: one file per experiment, each from seeds to numbers and findings."""

from .beyond import BEYOND
from .figures import PAPER
from .runs import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (*PAPER, *BEYOND)

__all__ = ["EXPERIMENTS", "Experiment"]
