"""Files that are written whole or not at all, and paths that are tried before the work starts."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PART = ".part"  # how unfinished files end; they are hidden files beside the target


class UnwritableError(OSError):
    """A path that cannot be written, found out before any work; the message says why."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary file beside `path` to write to; it takes the place of `path` at the end.

    A crash, an error or a full disk leaves the old file, or none. The content is on the disk, not
    only on its way there, before the name is. Where `path` is a symbolic link the link itself is
    replaced and what it points to stays as it was: nothing is ever written outside the folder.

    Parameters
    ----------
    path : Path
        The file to write. Its folder must exist.

    Yields
    ------
    Path
        An empty file in the same folder, to be written by name.
    """
    part = path.parent / f".{path.name[:40]}-{secrets.token_hex(8)}{PART}"
    kept = _mode(path)
    # Of a new file the system itself takes off what the umask forbids: it can be read only by
    # setting it, for every thread.
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if kept is None else 0o600))
    try:
        yield part
        with open(part, "rb") as file:
            os.fsync(file.fileno())
        if kept is not None:
            os.chmod(part, kept)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_bytes(path: Path, content: bytes | memoryview) -> None:
    """Write a file as `replacing` does: whole or not at all.

    Parameters
    ----------
    path : Path
    content : bytes
    """
    with replacing(path) as part:
        part.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8 as `replacing` does: whole or not at all.

    Parameters
    ----------
    path : Path
    text : str
        Line ends are written as they are. What UTF-8 cannot hold, such as the rest of a file name
        in another encoding, becomes a question mark.
    """
    write_bytes(path, text.encode("utf-8", errors="replace"))


def require_writable(path: Path) -> None:
    """Raise `UnwritableError` unless a file could be written at `path` now.

    It really tries: a temporary file is made beside `path` and removed again.

    Parameters
    ----------
    path : Path
        The file to be written later. Its folder must exist.
    """
    try:
        if not path.parent.is_dir():
            raise UnwritableError(f"the folder {path.parent} does not exist")
        if path.is_dir():
            raise UnwritableError(f"{path} is a folder; name a file")
        # Replacing /dev/null or /dev/stdout would break the machine for everyone else.
        if (path.exists() and not path.is_file()) or path.parent.resolve() == Path("/dev"):
            raise UnwritableError(f"{path} is not a regular file")
    except (OSError, ValueError) as error:
        _refuse(path, error)
    require_writable_folder(path.parent)


def require_writable_folder(folder: Path, *, own: bool = False) -> None:
    """Make a folder if it is not there; raise `UnwritableError` unless files can be made in it.

    Parameters
    ----------
    folder : Path
    own : bool
        The folder must not be a symbolic link: what is written to it must not end up elsewhere.
    """
    try:
        if own and folder.is_symlink():
            raise UnwritableError(
                f"{folder} is a symbolic link; remove it or choose another folder"
            )
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".try-", suffix=PART):
            pass
    except FileExistsError:
        raise UnwritableError(f"{folder} is a file, not a folder") from None
    except (OSError, ValueError) as error:
        _refuse(folder, error)


def reason(error: BaseException) -> str:
    """Why a file could not be written, in words."""
    text = error.strerror if isinstance(error, OSError) else None
    return text or str(error) or type(error).__name__


def is_regular(path: Path) -> bool:
    """Whether there is a file, or a link to one: no folder, pipe or device, and no name that the
    system refuses.
    """
    try:
        return path.is_file()
    except OSError:
        return False


def _refuse(path: Path, error: Exception) -> None:
    if isinstance(error, UnwritableError):
        raise error
    shown = str(path).replace("\0", "\\0")
    raise UnwritableError(f"nothing can be written to {shown}: {reason(error)}") from None


def _mode(path: Path) -> int | None:
    """The permissions of the file that is replaced; None if there is none, or a link."""
    try:
        found = path.lstat().st_mode
    except OSError:
        return None
    return stat.S_IMODE(found) if stat.S_ISREG(found) else None
