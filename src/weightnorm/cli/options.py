"""Options that several commands have in common: what they do with a table."""

from __future__ import annotations

from typing import Annotated

import typer

Drop = Annotated[
    list[str] | None, typer.Option(help="A column to leave out, or several: a,b; may be repeated.")
]
Standardize = Annotated[
    bool, typer.Option(help="Bring every feature to mean 0 and variance 1 first.")
]
