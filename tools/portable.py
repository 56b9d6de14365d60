"""Run the suite as other machines would: other CPUs, locales, terminals, interpreters and
dependency versions.

    python tools/portable.py [--jobs N] [--only NAME ...] [-- PYTEST ARGUMENTS]

Each configuration is one pytest process with its own kernel cache; its output is kept in
build/portable/NAME.log. What this machine cannot do (a BLAS kernel the CPU does not support, an
interpreter that is not installed) is named as skipped. The exit code is 0 only if everything that
ran was green.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "build" / "portable"


class CannotRunError(Exception):
    """What a configuration needs is not on this machine."""


@dataclass(frozen=True)
class Place:
    """Where and with what a suite runs."""

    python: str = sys.executable
    root: Path = ROOT
    prefix: tuple[str, ...] = ()


@dataclass(frozen=True)
class Configuration:
    """One way to run the suite: environment variables, and a function that prepares interpreter
    and folder.
    """

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[Path], Place] = lambda scratch: Place()


def cpu(
    name: str, kernel: str, generator: str | None, environment: Mapping[str, str]
) -> Configuration:
    """OpenBLAS with the kernels of another CPU, if this one can run them, numba for another CPU,
    and a setting more.
    """

    def prepare(scratch: Path) -> Place:
        code = (
            "import numpy, threadpoolctl as t; print([i['architecture'] for i in "
            "t.threadpool_info() if 'blas' in i['prefix']])"
        )
        asked = os.environ | {"OPENBLAS_CORETYPE": kernel}
        told = subprocess.run(
            [sys.executable, "-c", code], env=asked, capture_output=True, text=True, check=True
        )
        if kernel.lower() not in told.stdout.lower():
            raise CannotRunError(
                f"OpenBLAS did not take the kernels of {kernel} but {told.stdout.strip()}"
            )
        return Place()

    variables = {"OPENBLAS_CORETYPE": kernel, **environment}
    if generator is not None:
        variables |= {"NUMBA_CPU_NAME": generator, "NUMBA_CPU_FEATURES": ""}
    return Configuration(name, variables, prepare)


def interpreter(version: str) -> Configuration:
    """Another Python with the pinned dependencies, where it is installed."""

    def prepare(scratch: Path) -> Place:
        pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
        found = [
            shutil.which(f"python{version}"),
            *map(str, sorted(pyenv.glob(f"{version}.*/bin/python"))),
        ]
        working = (name for name in found if name and _answers(name))
        python = next(working, None)
        if python is None:
            raise CannotRunError(f"python{version} is not installed")
        return Place(
            _environment(python, scratch / "venv", ["-r", str(ROOT / "requirements.lock")])
        )

    return Configuration(f"python {version}", {}, prepare)


def lowest(scratch: Path) -> Place:
    """The lowest versions of everything pyproject.toml allows."""
    subprocess.run([sys.executable, "-m", "venv", str(scratch / "venv")], check=True)
    python = scratch / "venv" / "bin" / "python"
    uv = [
        str(Path(sys.executable).with_name("uv")),
        "pip",
        "install",
        "--quiet",
        "--python",
        str(python),
    ]
    _run([*uv, "--resolution", "lowest-direct", "-e", f"{ROOT}[all,dask,dev]"])
    return Place(str(python))


def strange_path(scratch: Path) -> Place:
    """A folder with spaces and accents in its name."""
    return Place(root=_copy(scratch / "a päth with spaces"))


def one_core(place: Place) -> Place:
    """The same on one core."""
    if shutil.which("taskset") is None:
        raise CannotRunError("there is no taskset to keep to one core")
    return replace(place, prefix=("taskset", "-c", "0", *place.prefix))


def unwritable(scratch: Path) -> Place:
    """A package, a home and a cache that cannot be written; root must give up its privilege for
    that.
    """
    root = _copy(scratch / "read-only")
    (scratch / "home").mkdir(mode=0o555)
    prefix: tuple[str, ...] = ()
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            raise CannotRunError(
                "root can write everywhere, and there is no setpriv to give that up"
            )
        prefix = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    for path in (root, *root.rglob("*")):
        path.chmod(path.stat().st_mode & 0o555)
    return Place(
        root=root, prefix=("env", "-u", "NUMBA_CACHE_DIR", f"HOME={scratch / 'home'}", *prefix)
    )


LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
DUMB = {"TERM": "dumb", "COLUMNS": "40"}
LOUD = {"FORCE_COLOR": "1", "PYTHONOPTIMIZE": "1"}

# Settings that have nothing to do with each other share a run, so that all of them take about half
# an hour.
CONFIGURATIONS = (
    cpu("nehalem, numba generic, locale C", "Nehalem", "generic", LOCALE),
    cpu("haswell, numba haswell, dumb terminal", "Haswell", "haswell", DUMB),
    cpu("skylakex, forced colours, optimised", "SkylakeX", None, LOUD),
    cpu("zen", "Zen", None, {}),
    Configuration("one core, strange path", {}, lambda scratch: one_core(strange_path(scratch))),
    Configuration("unwritable", {"PYTHONDONTWRITEBYTECODE": "1"}, unwritable),
    interpreter("3.12"),
    interpreter("3.13"),
    Configuration("lowest versions", {}, lowest),
)


def _environment(python: str, folder: Path, requirements: list[str]) -> str:
    _run([python, "-m", "venv", str(folder)])
    pip = [
        str(folder / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    _run([*pip, *requirements])
    _run([*pip, "--no-deps", "--no-build-isolation", "-e", str(ROOT)])
    return str(folder / "bin" / "python")


def _answers(python: str) -> bool:
    return subprocess.run([python, "--version"], capture_output=True, check=False).returncode == 0


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"{' '.join(command[:4])} … failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )


def _copy(folder: Path) -> Path:
    """The files git knows, as they are in the working tree."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def run(configuration: Configuration, arguments: list[str]) -> tuple[str, str, float]:
    """Run the suite; the configuration's name, its outcome in a word and its reason, and the
    seconds it took.
    """
    begun = time.monotonic()
    log = LOGS / f"{re.sub('[^a-z0-9.]+', '-', configuration.name)}.log"
    with tempfile.TemporaryDirectory(prefix="weightnorm-", ignore_cleanup_errors=True) as folder:
        scratch = Path(folder)
        try:
            place = configuration.prepare(scratch)
        except CannotRunError as reason:
            return configuration.name, f"skipped: {reason}", 0.0
        except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
            log.write_text(str(error), encoding="utf-8")
            return (
                configuration.name,
                f"FAILED to prepare, see {log.relative_to(ROOT)}",
                time.monotonic() - begun,
            )
        (scratch / "tmp").mkdir()
        own = {"NUMBA_CACHE_DIR": str(scratch / "kernels"), "TMPDIR": str(scratch / "tmp")}
        own |= {
            "PYTHONPATH": str(place.root / "src"),
            "HYPOTHESIS_STORAGE_DIRECTORY": str(scratch / "hypothesis"),
        }
        command = [*place.prefix, place.python, "-m", "pytest", "-m", "not slow", *arguments]
        with log.open("w", encoding="utf-8") as file:
            environment = os.environ | own | dict(configuration.environment)
            code = subprocess.run(
                command, cwd=place.root, env=environment, stdout=file, stderr=file, check=False
            ).returncode
    text = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(encoding="utf-8", errors="replace"))
    tail = re.findall(r"^=*\s*(\d+ (?:passed|failed).*?)=*$", text, flags=re.M)
    outcome = "green" if code == 0 else f"RED, see {log.relative_to(ROOT)}"
    return (
        configuration.name,
        f"{outcome}: {tail[-1].strip() if tail else f'exit code {code}'}",
        time.monotonic() - begun,
    )


def main() -> int:
    """Run the chosen configurations, a few at a time, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="configurations at a time")
    parser.add_argument(
        "--only", nargs="+", choices=[c.name for c in CONFIGURATIONS], metavar="NAME"
    )
    known, arguments = parser.parse_known_args()
    arguments = [argument for argument in arguments if argument != "--"]
    LOGS.mkdir(parents=True, exist_ok=True)
    chosen = [c for c in CONFIGURATIONS if not known.only or c.name in known.only]
    red = skipped = 0
    with ThreadPoolExecutor(known.jobs) as pool:
        for name, outcome, seconds in pool.map(lambda c: run(c, arguments), chosen):
            skipped += outcome.startswith("skipped")
            red += not outcome.startswith(("green", "skipped"))
            print(f"{name:38} {seconds:5.0f} s  {outcome}", flush=True)
    print(f"{len(chosen) - red - skipped} passed, {red} failed, {skipped} skipped")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main())
