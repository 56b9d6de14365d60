"""The state of compiled runs on least squares as 0.3 pickled it; kept for one release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._support.numeric import Array
from ...methods.state import State

# where the fields of a run were
SCALE, INVERSE_NORM, PERP, SCALE_BUFFER, PERP_BUFFER = range(5)
PERP_EXPONENT, PERP_BITS = 9, 500


@dataclass(frozen=True, eq=False)
class RawState:
    """Vectors and buffers (n, rank), and fields (n, 14)."""

    vectors: Array
    buffers: Array
    fields: Array

    @property
    def state(self) -> State:
        """The same by names."""
        exponent = self.fields[:, PERP_EXPONENT]
        perp = np.ldexp(self.fields[:, PERP], (PERP_BITS * exponent).astype(np.int64))
        state = State(np.column_stack([self.vectors, perp]), self.fields[:, SCALE]).also(
            inverse_norm=self.fields[:, INVERSE_NORM],
            perp_mantissa=self.fields[:, PERP],
            perp_exponent=exponent,
        )
        if not self.buffers.size:
            return state
        return state.also(
            vector_buffer=np.column_stack([self.buffers, self.fields[:, PERP_BUFFER]]),
            scale_buffer=self.fields[:, SCALE_BUFFER],
        )


def by_names(state: Any) -> State:
    """A state as it is now, whichever version made it."""
    return state.state if isinstance(state, RawState) else state
