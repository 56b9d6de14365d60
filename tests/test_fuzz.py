"""A hundred of the random calls of `make fuzz`."""

import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).with_name("fuzz.py")


def run(*arguments):
    return subprocess.run(
        [sys.executable, str(FUZZ), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_hundred_random_calls():
    done = run("--calls", 100, "--seed", 10, "--processes", 1)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "100 calls" in done.stdout
    assert " 0 failed" in done.stdout
