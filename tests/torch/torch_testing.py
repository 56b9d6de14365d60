"""torch.testing._internal, which imports expecttest: `make torch-others` fetches that."""

import importlib
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def internal(name):
    """A module of it, or a skip."""
    wheel = runpy.run_path(str(ROOT / "tools" / "others.py"))["wheel"]()
    if not wheel.is_file():
        pytest.skip(f"{wheel.name} is not there: make torch-others fetches it")
    sys.path.append(str(wheel))
    try:
        return importlib.import_module(f"torch.testing._internal.{name}")
    finally:
        sys.path.remove(str(wheel))
