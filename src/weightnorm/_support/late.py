"""Names that one room offers and a room above it makes: `weightnorm/__init__.py` fills them in.

So a room can offer what it must not import: `theory.plan` makes methods that run, and theory knows
neither.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OFFERED: dict[str, Callable[[], Any]] = {}
