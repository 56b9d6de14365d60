"""Random public calls: each must give a sound value or a refusal that names a parameter.

    python -m tests.fuzz.run --calls 20000            # `make fuzz`; the seed is printed
    python -m tests.fuzz.run --seed 7 --index 123     # one call again, with its traceback

A failure is any other exception, a warning, text on the terminal, a changed input, NaN in what is
promised to be finite, a disagreement with plain NumPy, or more than 15 s of processor time.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass
from multiprocessing import connection, get_context

SECONDS = 15.0  # of processor time for one call: a flow that is restarted may take two budgets
SILENCE = 90.0  # seconds without a word from a process: it hangs where no signal reaches it
OWN_VALUES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "values.py")


class OverTime(BaseException):
    """The call took too long; not an Exception, so that nothing on the way catches it."""


@dataclass(frozen=True)
class Outcome:
    """What came of one call."""

    index: int
    kind: str  # "value", "refused" or "FAILED"
    seconds: float
    problem: str = ""
    text: str = ""
    compared: bool = False


class Terminal:
    """Catches what is written to file descriptors 1 and 2, whoever writes it."""

    def __enter__(self):
        sys.stdout.flush(), sys.stderr.flush()
        self.file = tempfile.TemporaryFile()
        self.saved = [os.dup(1), os.dup(2)]
        for descriptor in (1, 2):
            os.dup2(self.file.fileno(), descriptor)
        return self

    def text(self) -> str:
        sys.stdout.flush(), sys.stderr.flush()
        self.file.seek(0)
        return self.file.read().decode(errors="replace")

    def __exit__(self, *exception):
        sys.stdout.flush(), sys.stderr.flush()
        for descriptor, saved in zip((1, 2), self.saved, strict=True):
            os.dup2(saved, descriptor)
            os.close(saved)
        self.file.close()


def _over_time(signum, frame):
    raise OverTime


def call_once(seed: int, index: int, verbose: bool = False) -> Outcome:
    """Draw a call, make it and judge it."""
    from tests.fuzz.calls import draw_call
    from tests.fuzz.judge import ALLOWED_WARNINGS, fingerprint, judge_error, judge_value
    from tests.fuzz.values import evaluate

    text, drawn = draw_call(seed, index)
    shown = "; ".join([*drawn.setup, text])
    if verbose:
        print("\n".join([*drawn.setup, text]))  # noqa: T201
    scope = evaluate(drawn.setup)
    inputs = {name: scope[name] for name in (line.split(" ", 1)[0] for line in drawn.setup)}
    before = {name: fingerprint(value) for name, value in inputs.items()}
    problem, kind, history = None, "value", ""
    started = time.process_time()
    with warnings.catch_warnings(record=True) as caught, Terminal() as terminal:
        warnings.simplefilter("always")
        try:
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            scope["result"] = eval(text, scope)
            problem = judge_value(scope["result"], text)
            signal.setitimer(signal.ITIMER_PROF, 0)
        except OverTime:
            problem = f"over {SECONDS:g} s of processor time"
        except Exception as error:
            signal.setitimer(signal.ITIMER_PROF, 0)
            kind, problem = "refused", judge_error(error, text)
            history = traceback.format_exc()
            if problem is not None:
                problem = f"{problem} [{_place(error)}]"
        written = terminal.text()
    seconds = time.process_time() - started
    if verbose:
        print(history or scope.get("result"))  # noqa: T201
    if problem is None and kind == "value" and drawn.refuse:
        problem = "accepted what must be refused"
    # Warnings of the drawn source and of its own callables are the user's affair.
    own = ("<string>", OWN_VALUES)
    leaked = [
        w for w in caught if w.category.__name__ not in ALLOWED_WARNINGS and w.filename not in own
    ]
    if problem is None and leaked:
        where = f"{'/'.join(leaked[0].filename.split('/')[-2:])}:{leaked[0].lineno}"
        problem = f"{leaked[0].category.__name__}: {leaked[0].message} [{where}]"
    if problem is None and written.strip():
        problem = f"text on the terminal: {written.strip()[:200]!r}"
    if problem is None and any(
        fingerprint(value) != before[name] for name, value in inputs.items()
    ):
        problem = "an input was changed"
    agrees = eval(drawn.twin, scope) if problem is None and kind == "value" and drawn.twin else None
    if agrees is False:
        problem = f"disagrees with plain NumPy: {drawn.twin}"
    return Outcome(
        index,
        kind if problem is None else "FAILED",
        seconds,
        problem or "",
        shown,
        agrees is not None,
    )


def _place(error: BaseException) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "weightnorm" in f.filename]
    return (
        f"{frames[-1].filename.split('weightnorm/')[-1]}:{frames[-1].lineno}"
        if frames
        else "outside"
    )


def stop_the_clock_while_numba_compiles() -> None:
    """That is paid once a machine, and by no call."""
    from numba.core import event

    class Clock(event.Listener):
        depth, left = 0, 0.0

        def on_start(self, event):
            if self.depth == 0:
                self.left = signal.setitimer(signal.ITIMER_PROF, 0)[0]
            self.depth += 1

        def on_end(self, event):
            self.depth -= 1
            if self.depth == 0 and self.left > 0:
                signal.setitimer(signal.ITIMER_PROF, self.left)

    event.register("numba:compile", Clock())


def _work(pipe, seed: int, indices: range) -> None:
    """Make the calls of these indices, saying before each which it is."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))
    signal.signal(signal.SIGPROF, _over_time)
    stop_the_clock_while_numba_compiles()
    for index in indices:
        pipe.send(index)
        pipe.send(call_once(seed, index))
    pipe.close()


def run_calls(seed: int, count: int, processes: int, show=print) -> list[Outcome]:
    """Make `count` calls on several processes; one that dies or hangs is a failure, and
    replaced.
    """
    context = get_context("spawn")
    outcomes: list[Outcome] = []
    active: dict = {}

    def launch(indices: range) -> None:
        if len(indices):
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(theirs, seed, indices), daemon=True)
            process.start()
            theirs.close()
            active[ours] = [process, indices, indices[0], time.monotonic()]

    for first in range(processes):
        launch(range(first, count, processes))
    while active:
        ready = connection.wait(list(active), timeout=1.0)
        for pipe in ready:
            state = active[pipe]
            state[3] = time.monotonic()
            try:
                message = pipe.recv()
            except EOFError:
                process, indices, current, _ = active.pop(pipe)
                process.join()
                if process.exitcode:
                    outcomes.append(
                        Outcome(
                            current,
                            "FAILED",
                            0.0,
                            f"the process died: exit code {process.exitcode}",
                        )
                    )
                    launch(indices[indices.index(current) + 1 :])
                continue
            if isinstance(message, int):
                state[2] = message
                continue
            outcomes.append(message)
            if message.kind == "FAILED":
                show(
                    f"FAILED --seed {seed} --index {message.index}: {message.problem}\n    "
                    f"{message.text}"
                )
            if len(outcomes) % 1000 == 0:
                show(f"{len(outcomes)} of {count} calls: {dict(Counter(o.kind for o in outcomes))}")
        for process, *_, heard in active.values():
            if time.monotonic() - heard > SILENCE:
                process.kill()
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=None, help="drawn and printed if not given")
    parser.add_argument("--index", type=int, default=None, help="make this one call again")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    seed = int.from_bytes(os.urandom(3), "big") if arguments.seed is None else arguments.seed
    show = lambda text: print(text, flush=True)  # noqa: E731, T201
    if arguments.index is not None:
        signal.signal(signal.SIGPROF, _over_time)
        outcome = call_once(seed, arguments.index, verbose=True)
        show(f"{outcome.kind} in {outcome.seconds:.2f} s: {outcome.problem}")
        return int(outcome.kind == "FAILED")
    show(f"{arguments.calls} calls with --seed {seed} on {arguments.processes} processes")
    started = time.monotonic()
    outcomes = run_calls(seed, arguments.calls, arguments.processes, show)
    kinds = Counter(outcome.kind for outcome in outcomes)
    show(
        f"{len(outcomes)} calls in {time.monotonic() - started:.0f} s: {kinds['value']} gave "
        "values, "
        f"{kinds['refused']} were refused, {kinds['FAILED']} failed; "
        f"{sum(o.compared for o in outcomes)} compared with plain NumPy; the slowest took "
        f"{max(o.seconds for o in outcomes):.1f} s; seed {seed}"
    )
    return int(kinds["FAILED"] > 0 or len(outcomes) < arguments.calls)


if __name__ == "__main__":
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # two processes are enough for two cores
    sys.exit(main())
