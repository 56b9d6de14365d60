"""Ctrl-C at any moment: steps that were made keep their records, and nothing is left half done."""

import signal
import subprocess
import sys

import numpy as np
import pytest

import weightnorm as wn
from weightnorm._support.interrupts import held
from weightnorm.engine import batch, recording
from weightnorm.engine.backends import diagonal, rules
from weightnorm.engine.recording import Recorder

PROBLEM = wn.datasets.make_regression(seed=0)
W0 = wn.datasets.random_direction(50, seed=0)
RULE = wn.RPGD(0.01, 0.01)
RUN = sys.modules["weightnorm.runs.run"]


def press_at(monkeypatch, module, name, turn):
    """Press Ctrl-C within the call of this turn."""
    usual, calls = getattr(module, name), []

    def pressing(*args, **options):
        calls.append(name)
        if len(calls) == turn:
            signal.raise_signal(signal.SIGINT)
        return usual(*args, **options)

    monkeypatch.setattr(module, name, pressing)


@pytest.mark.parametrize(
    ("module", "name", "coordinates"),
    [
        (diagonal, "multiples", "reduced"),  # before a slice's steps
        (rules, "gather", "full"),  # after them, while records are made
        (rules, "position_of", "full"),  # between two steps
        (Recorder, "add", "reduced"),
        (Recorder, "add", "full"),
    ],
)
@pytest.mark.parametrize("turn", [1, 2, 3])
def test_every_step_that_was_made_has_its_record_once(monkeypatch, module, name, coordinates, turn):
    press_at(monkeypatch, module, name, turn)
    with pytest.raises(wn.Interrupted) as stop:
        wn.run(
            RULE, PROBLEM, 2.0, W0, record=10, tolerance=0, max_steps=10**6, coordinates=coordinates
        )
    result = stop.value.result
    np.testing.assert_array_equal(result.history.step, np.arange(0, result.num_steps + 1, 10))


@pytest.mark.parametrize(("name", "recorded"), [("check_method", None), ("loop", [0])])
def test_the_first_moments_of_a_run(monkeypatch, name, recorded):
    """Before there is anything to record, and when only the start is there."""
    press_at(monkeypatch, RUN, name, 1)
    with pytest.raises(wn.Interrupted) as stop:
        wn.run(RULE, PROBLEM, 2.0, W0, record=10, tolerance=0, max_steps=100)
    result = stop.value.result
    assert (None if result is None else result.history.step.tolist()) == recorded


def test_a_run_that_is_finished_is_not_lost(monkeypatch):
    press_at(monkeypatch, recording, "History", 1)
    with pytest.raises(wn.Interrupted) as stop:
        wn.run(RULE, PROBLEM, 2.0, W0, record=1)
    monkeypatch.undo()
    whole = wn.run(RULE, PROBLEM, 2.0, W0, record=1)
    assert stop.value.result.status == "converged"
    np.testing.assert_array_equal(stop.value.result.weights, whole.weights)
    assert len(stop.value.result.history.step) == whole.num_steps + 1


def test_a_recorder_takes_nothing_twice():
    def records(*steps):
        return batch.Records(np.array(steps), *np.zeros((6, len(steps))))

    recorder = Recorder(1)
    for steps in [(0, 1, 2), (2, 3), (0, 1, 2, 3, 4)]:
        recorder.add(records(*steps))
    np.testing.assert_array_equal(recorder.records.step, [0, 1, 2, 3, 4])


class Endless(wn.Problem):
    """A problem whose loss never returns: only a second Ctrl-C gets out."""

    dimension = 2
    num_samples = 1

    def value_and_gradient(self, x):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("the second Ctrl-C was not heard")


def test_a_second_ctrl_c_is_heard_at_once():
    with pytest.raises(KeyboardInterrupt):
        wn.run(wn.GradientDescent(0.1), Endless(), 1.0, [1.0, 0.0])


def test_ctrl_c_inside_held_work_is_heard_after_it():
    done = []

    def work():
        with held() as pressed:
            done.append(pressed())
            signal.raise_signal(signal.SIGINT)
            done.append(pressed())

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [False, True]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("seconds", [0.05, 0.3, 0.6])
def test_the_first_run_of_a_session_may_be_broken_off(seconds):
    """numba, whose import takes a while, cannot be imported again once it was broken off."""
    code = (
        "import signal, weightnorm as wn\n"
        "p, w = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, 0)\n"
        "run, method = wn.run, wn.RPGD(0.01, 0.01)\n"
        "signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))\n"
        f"signal.setitimer(signal.ITIMER_REAL, {seconds})\n"
        "try:\n"
        "    run(method, p, 2.0, w)\n"
        "    signal.setitimer(signal.ITIMER_REAL, 0)\n"
        "except KeyboardInterrupt as error:\n"
        "    print(type(error).__name__)\n"
        "print(wn.run(wn.RPGD(0.01, 0.01), p, 2.0, w).status)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split()[-1:] == ["converged"], done.stderr
    assert done.stdout.split()[:-1] in ([], ["Interrupted"])


@pytest.mark.parametrize("seconds", [0.02, 0.1])
def test_a_name_is_loaded_whole_or_not_at_all(seconds):
    """A public name loads NumPy, which cannot be imported again once it was broken off."""
    code = (
        "import signal, weightnorm as wn\n"
        "signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))\n"
        f"signal.setitimer(signal.ITIMER_REAL, {seconds})\n"
        "try:\n"
        "    wn.run\n"
        "    signal.setitimer(signal.ITIMER_REAL, 0)\n"
        "except KeyboardInterrupt:\n"
        "    pass\n"
        "print(wn.run.__name__, wn.datasets.random_direction(3, 0).shape)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["run", "(3,)"], done.stderr
