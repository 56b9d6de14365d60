"""explore: write the page and show it."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from .._support.files import require_writable, write_text
from .build import page
from .describe import describe

FILE = "explorer.html"


def explore(
    problem: Any = None,
    path: Any = None,
    *,
    scale: Any = None,
    direction: Any = None,
    start_values: Any = None,
    ratio: Any = None,
    show: bool | None = None,
) -> Path:
    """Write an HTML page in which one drags the start of training and sees where it ends.

    The page is one file that needs neither a server nor a network: it can be kept, sent and opened
    anywhere. A problem is reduced to what training sees of it, so the page is small whatever the
    number of features.

    Parameters
    ----------
    problem : LeastSquares, optional
        What is trained on, with a rank of up to 500; without one the page has the problems that
        come with it.
    path : str or path, optional
        The file to write; its folder must exist. By default a new file in a temporary folder.
    scale : float, optional
        g0 of the start that the page opens with, zero or more; half of ‖x*‖ by default.
    direction : (d,) array, optional
        The direction of that start; `random_direction(d, seed=0)` by default.
    start_values : (n,) array, optional
        For `KernelLeastSquares`, in place of the direction: f0 = A w0, as in `run`; without them
        the start is orthogonal to the data.
    ratio : float, optional
        c, the scale's rate over the direction's, that it opens with; (‖x*‖/3)² by default, 1 in
        the paper's units.
    show : bool, optional
        Whether to open the page in the browser, where there is one; by default only if no `path`
        is given.

    Returns
    -------
    Path
        The absolute path of the page.

    Raises
    ------
    TypeError
        If the problem is not least squares.
    ValueError
        If the solution is x* = 0, if the rank is too large for a browser, or if a start or ratio
        makes no sense or is given without a problem.
    OSError
        If the file cannot be written, which is found out before the work.

    Examples
    --------
    >>> import tempfile, weightnorm as wn
    >>> problem = wn.datasets.make_regression(num_samples=20, num_features=50, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = wn.explore(problem, f"{folder}/page.html", scale=1.0)
    ...     written.name, written.is_absolute(), written.is_file()
    ('page.html', True, True)
    """
    given = {
        "scale": scale, "direction": direction, "start_values": start_values, "ratio": ratio
    }  # fmt: skip
    options = [name for name, value in given.items() if value is not None]
    if problem is None and options:
        raise ValueError(
            f"{' and '.join(options)} must come with a problem, got none; give one, as in "
            f"wn.explore(wn.LeastSquares(A, y), {options[0]}=…)"
        )
    if show is not None and not isinstance(show, bool):
        raise TypeError(f"show must be True, False or None, got {type(show).__name__}: {show!r}")
    chosen = None if path is None else _file(path)
    if chosen is not None:
        require_writable(chosen)
    text = page(None if problem is None else describe(problem, **given))
    target = new_file() if chosen is None else chosen
    write_text(target, text)
    if chosen is None if show is None else show:
        open_in_browser(target)
    return target


def new_file() -> Path:
    """A name for the page in a fresh temporary folder."""
    return Path(tempfile.mkdtemp(prefix="weightnorm-")).absolute() / FILE


def open_in_browser(path: Path) -> bool:
    """Open a file in the browser, and say whether there was one; a terminal's own is none."""
    import webbrowser

    screens = ("DISPLAY", "WAYLAND_DISPLAY")
    if sys.platform.startswith("linux") and not any(os.environ.get(name) for name in screens):
        return False
    try:
        return webbrowser.open(path.absolute().as_uri())
    except (webbrowser.Error, OSError):
        return False


def _file(path: Any) -> Path:
    try:
        file = Path(path)
        if "\0" in str(file):
            raise ValueError(f"path must be the name of a file, got one with a zero byte: {path!r}")
        return file.absolute()
    except TypeError:
        raise TypeError(
            f"path must be the name of a file, got {type(path).__name__}: {path!r}"
        ) from None
