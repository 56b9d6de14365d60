"""Settings that several tests of the network experiment use."""

from dataclasses import replace
from pathlib import Path

from weightnorm_paper.network.protocol import QUICK, Setting

NOWHERE = Path("no/such/folder")
MLP = Setting("digits", 500, 0.2, "mlp")
CNN = Setting("digits", 500, 0.0, "cnn")
TINY = replace(
    QUICK,
    settings=(MLP, replace(CNN, loss="squares")),
    rates=(0.03, 0.1),
    seeds=2,
    steps=(("digits", 500, 8),),
)
