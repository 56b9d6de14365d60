"""What machine this is, for the record: date, processor and versions."""

from __future__ import annotations

import os
import platform
import sys
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def machine() -> dict[str, str]:
    """Date, hardware and versions, for the record."""
    processor = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        names = [
            line.split(":", 1)[1].strip()
            for line in information.read_text().splitlines()
            if "model name" in line
        ]
        processor = names[0] if names else processor
    versions = {}
    for name in ("weightnorm", "numpy", "scipy", "numba", "jax", "torch", "geoopt"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "date": date.today().isoformat(),
        "processor": processor,
        "cores": str(os.cpu_count()),
        "python": sys.version.split()[0],
        **versions,
    }
