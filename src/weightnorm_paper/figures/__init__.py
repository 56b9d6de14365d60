"""The paper's figures, drawn by `wn.plot` from the data of the experiments."""

from .render import render

__all__ = ["render"]
