"""Ctrl-C where work can stop whole: between two steps, and never inside what keeps them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held(*, escape: bool = True) -> Iterator[Callable[[], bool]]:
    """Hear Ctrl-C only at the end of the block, or inside the block where it is asked for.

    Threads other than the main one never hear it, so nothing changes there.

    Parameters
    ----------
    escape : bool
        Whether a second Ctrl-C is heard at once: the block may run code of the user's that hangs.

    Yields
    ------
    callable
        Whether Ctrl-C was pressed, so that a long block can end early.
    """
    heard: list[tuple[int, FrameType | None]] = []
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield lambda: False
        return

    def note(number: int, frame: FrameType | None) -> None:
        heard.append((number, frame))
        if escape and len(heard) > 1:
            usual(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(heard)
    except KeyboardInterrupt:  # it is on its way already
        heard.clear()
        raise
    finally:
        signal.signal(signal.SIGINT, usual)
        if heard:
            usual(*heard[0])
