"""The folder that a reproduction is written to, and what happens when it cannot be written."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from weightnorm._support.files import reason, require_writable, require_writable_folder, write_bytes

FOLDERS = ("figures", "data")


class Output:
    """A folder with `figures` and `data` in it; every file is written whole or not at all.

    Nothing is written through a symbolic link: a link in the place of a file is replaced, and one
    in the place of `figures` or `data` is refused. `root` itself may be a link.

    If a file cannot be written after all, on a disk that has filled up for instance, it and all
    that follow go to a folder in the temporary directory; `problem` then says so.

    Parameters
    ----------
    root : Path
        Made if it is not there.
    names : iterable of str
        The files to be written, as paths below the root, such as "data/figure-1.csv".

    Attributes
    ----------
    problem : str
        Empty, or what could not be written, why, and where it is instead.

    Raises
    ------
    UnwritableError
        If nothing can be written there to begin with.
    """

    def __init__(self, root: Path, names: Iterable[str]) -> None:
        self.root = root
        self.problem = ""
        self._spare: Path | None = None
        self._lost = False
        require_writable_folder(root)
        for folder in FOLDERS:
            require_writable_folder(root / folder, own=True)
        for name in names:
            require_writable(root / name)

    def write(self, name: str, content: bytes) -> Path:
        """Write a file.

        Parameters
        ----------
        name : str
            Its path below the root.
        content : bytes

        Returns
        -------
        Path
            Where it is, or should have been if it could not be written anywhere.
        """
        if self._spare is None:
            try:
                write_bytes(self.root / name, content)
            except OSError as error:
                self.problem = f"{self.root / name} could not be written: {reason(error)}"
            else:
                return self.root / name
        return self._write_spare(name, content)

    def _write_spare(self, name: str, content: bytes) -> Path:
        """The same in the temporary directory; if that fails too, the problem says so."""
        try:
            if self._spare is None:
                self._spare = Path(tempfile.mkdtemp(prefix="weightnorm-"))
                self.problem += f"; it and all that follows are in {self._spare} instead"
                for folder in FOLDERS:
                    (self._spare / folder).mkdir()
            write_bytes(self._spare / name, content)
        except OSError as error:
            if not self._lost:
                self.problem += f"; what does not fit there either is lost: {reason(error)}"
            self._lost = True
            return self.root / name
        return self._spare / name
