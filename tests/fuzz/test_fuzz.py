"""A hundred of the random calls of `make fuzz`, and failures planted to see that it finds them."""

import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

from tests.fuzz import calls as fuzz_calls
from tests.fuzz import run as fuzz
from tests.fuzz.judge import judge_error
from tests.fuzz.values import NAMES, Values


def test_a_hundred_random_calls():
    arguments = ["--calls", "100", "--seed", "0", "--processes", "1"]
    done = subprocess.run(
        [sys.executable, "-m", fuzz.__name__, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 failed" in done.stdout


def change(array):
    array[0] = 7.0


def spin():
    end = time.process_time() + 5.0
    while time.process_time() < end:
        pass


def divide():
    return 1 / 0


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("warn()", "UserWarning: planted"),
        ("write(1)", "text on the terminal: 'planted'"),
        ("write(2)", "text on the terminal: 'planted'"),
        ("change(v0)", "an input was changed"),
        ("spin()", "over 0.2 s of processor time"),
        ("divide()", "ZeroDivisionError: division by zero"),
        ("np.array([1.0, np.nan])", "NaN in array"),
        ("np.ones(2).reshape(3)", "ValueError that names no parameter"),
    ],
)
def test_planted_failures_are_found(text, found, monkeypatch):
    planted = {
        "warn": lambda: warnings.warn("planted", stacklevel=1),
        "write": lambda descriptor: os.write(descriptor, b"planted"),
        "change": change,
        "spin": spin,
        "divide": divide,
    }
    for name, function in planted.items():
        monkeypatch.setitem(NAMES, name, function)
    drawn = Values(np.random.default_rng(0), 0.0)
    drawn.bind("np.zeros(2)")
    monkeypatch.setattr(fuzz_calls, "draw_call", lambda seed, index: (text, drawn))
    monkeypatch.setattr(fuzz, "SECONDS", 0.2)
    before = signal.signal(signal.SIGPROF, fuzz._over_time)
    try:
        outcome = fuzz.call_once(0, 0)
    finally:
        signal.signal(signal.SIGPROF, before)
    assert outcome.kind == "FAILED"
    assert found in outcome.problem


def test_a_disagreement_and_an_acceptance_are_found(monkeypatch):
    drawn = Values(np.random.default_rng(0), 0.0)
    monkeypatch.setattr(fuzz_calls, "draw_call", lambda seed, index: ("1.0", drawn))
    assert fuzz.call_once(0, 0).kind == "value"
    drawn.twin = "same(result, 1.1)"
    assert "disagrees with plain NumPy" in fuzz.call_once(0, 0).problem
    drawn.refuse = True
    assert fuzz.call_once(0, 0).problem == "accepted what must be refused"


@pytest.mark.parametrize(
    ("error", "proper"),
    [
        (ValueError("scale must be finite, got nan"), True),
        (TypeError("run() got an unexpected keyword argument 'lr'"), True),
        (ValueError("array must not contain infs or NaNs"), False),
        (np.linalg.LinAlgError("scale: SVD did not converge"), False),
        (KeyError("scale"), False),
    ],
)
def test_a_refusal_names_a_parameter(error, proper):
    assert (judge_error(error, "wn.run(method, problem, 1.0, w)") is None) == proper


def test_a_call_is_the_same_for_the_same_seed_and_index():
    first, second = fuzz_calls.draw_call(3, 5), fuzz_calls.draw_call(3, 5)
    assert (first[0], first[1].setup) == (second[0], second[1].setup)
    assert first[0] != fuzz_calls.draw_call(3, 6)[0]
