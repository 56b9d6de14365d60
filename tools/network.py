"""Put what `weightnorm reproduce network` found into the documentation: `make network`.

python tools/network.py reproduced    the data file, the figures and the page, from that folder
python tools/network.py --write       the figures and the page again, from benchmarks/network.nc
"""

from __future__ import annotations

import sys
from pathlib import Path

from weightnorm._support.files import write_bytes, write_text
from weightnorm_paper.figures.network import KINDS
from weightnorm_paper.figures.render import render
from weightnorm_paper.report.network.page import page
from weightnorm_paper.report.network.reproduce import DATA, load

ROOT = Path(__file__).parents[1]
STORED = ROOT / "benchmarks" / "network.nc"
IMAGES = ROOT / "docs" / "images"
PAGE = ROOT / "docs" / "explanation" / "network.md"


def written() -> str:
    """The page, from the stored data."""
    return page(load(STORED.read_bytes()), "../images")


def write() -> None:
    """The figures and the page, from the stored data."""
    data = load(STORED.read_bytes())
    for kind in KINDS:
        write_bytes(IMAGES / f"{kind}.png", render(kind, data)["png"])
    write_text(PAGE, written())


if __name__ == "__main__":
    if sys.argv[1] != "--write":
        write_bytes(STORED, (Path(sys.argv[1]) / DATA).read_bytes())
    write()
