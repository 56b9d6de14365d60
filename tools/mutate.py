"""Falsify every function of the theory in turn, and see that a check of the certificate notices.

    python tools/mutate.py [--only FUNCTION ...] [--jobs N] [--verbose]

Each mutant (see weightnorm_paper.certificate.mutants) is put to the checks of the claims that
stand on its function, until one turns red, and then to the tests of the theory: these look where
the instances of the claims do not go, at extreme units, starts next to S, the side of finite steps.
A mutant that all of them pass has survived; the run fails unless it is listed below as equivalent,
with the reason. It fails as well if a claim with a function never turned red.
"""

from __future__ import annotations

import argparse
import io
import os
import resource
import signal
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from weightnorm_paper.certificate.certify import INSTANCES, collect
from weightnorm_paper.certificate.mutants import applied, claims_by_function, count, mutant
from weightnorm_paper.claims import CLAIMS
from weightnorm_paper.evidence.evidence import ENOUGH, Evidence, RefutedError

SECONDS = 20  # a mutant that makes a check take longer is noticed, too
TEST_SECONDS = 300  # the same of all tests
# the fast ones first
TESTS = tuple(
    f"tests/{name}.py"
    for name in (
        *("methods/test_batchnorm_end", "theory/test_promises", "theory/test_beyond_ends"),
        *("theory/test_theory", "theory/test_extremes", "theory/test_third_trial"),
        *("theory/test_stability", "theory/test_far_out", "theory/test_side", "theory/test_beyond"),
    )
)
MEMORY = 4 << 30

# Not formulas but ways to a number: how a root is bracketed and an integration proceeds. A change
# of the way ends at the same number, or not at all; what they return is compared with 50 digits
# (flow-limit) and with other integrations (the sign of the scale, the drift).
WAYS = {"_root._solve", "_integrate.integrate_until"}

ERROR = "the size of an estimated error, from above; what it bounds does not change"
# (function, part of the change): why the changed function predicts the same. "" is every change of
# the function that no check noticed; `AT_MOST` says how many there are, so that none slips in.
EQUIVALENT: dict[tuple[str, str], str] = {
    ("_root.perp_at_the_end", ""): (
        "cases that overlap: where two formulas meet, both hold to the last digits (checked with "
        "50 digits), and a dummy value stands where another case is taken"
    ),
    ("_sign.decide", ""): (
        "shortcuts: the sign found here at once is the one that the integration finds as well; "
        "tolerances that only rounding meets; and a sign that is not promised (on S)"
    ),
    ("_sign._under_the_bracket", ""): "tolerances that only rounding meets",
    ("_sign.at_rest", "root > 0.0"): "a guard against division by zero",
    ("_sign.at_rest", "0.0 -> 0.1"): "a guard against division by zero",
    ("_sign.at_rest", "abs(setup.g0)"): "how near S is near: an integration finds the same sign",
    ("_drift.drift_along", "whole"): "‖w‖ = 1 along the flow",
    ("_drift.drift_along", "return 1.1 * np"): "time runs faster along the same orbit",
    ("_drift.drift_along", "state[-4]"): "N is ‖w0‖² to first order: a second order in the step",
    ("_drift.drift_along", "state[-3]"): "the drift so far is small: a second order in the step",
    ("_drift.drift_along", "600.0"): "a guard against overflow",
    ("_drift.drift_along", "setup.q0 > 0.0 -> True"): "log 0 = −∞, and e to that is 0",
    ("_drift.drift_along", "clip < np.inf"): "the smaller of 1 and infinity is 1",
    ("_drift.drift_along", "TAIL * reference"): "when to stop: the drift has ended by then",
    ("_drift._joint", "1e-300"): "a guard against division by zero",
    ("_drift._wide", ""): "the size of an estimate from above, of the spread",
    ("_rank_one._poles", "-1 -> 1"): "the last of two axes",
    ("_rank_one.is_below", "-1 -> 1"): "the last of two axes",
    ("_rank_one._largest", "-1 -> 1"): "the last of two axes",
    ("_rank_one.extremes", ""): "how many matrices at once",
    ("_rank_one._largest", "rho >= 0.0 -> False"): "the same bracket from its other end",
    ("batchnorm._sign", "return 1.1 * np"): "time runs faster along the same orbit",
    ("coordinates.coordinate_wise_end", "False -> True"): "every run settles",
    ("coordinates.coordinate_wise_end", "1e-10"): "when to stop: nothing moves any more",
    ("coordinates.coordinate_wise_end", "TINY"): "a guard against division by zero",
    ("coordinates.grouped_invariant", "False -> True"): "only the first rows are used",
    ("finite_step.finite_step_limit", "clip is not None"): "a check of input",
    ("finite_step._samples", "size == m"): "the share of the variance is then 0",
    ("finite_step._end", "- more"): "both ways are looked at",
    ("fixed_scale._ridge", ""): "the bracket of a root that is found to the last digit",
    ("fixed_scale.ridge_direction", ""): "a norm that is 1 there",
    ("fixed_scale.frozen_contraction", "1e-12"): "a tolerance for rounding",
    ("layer._integrated", "np.sign(flow.scale)"): "±1: product and quotient agree",
    ("layer._integrated", "False -> True"): ERROR,
    ("layer._integrated", "- float(moved)"): ERROR,
    ("layer._integrated", "INTEGRATED * (change + abs(end.scale)) ->"): ERROR,
    ("layer._integrated", "-> change - abs(end.scale)"): ERROR,
    ("layer._integrated", "abs(end.scale) -> end.scale"): ERROR,
    ("layer._integrated", "1.0 -> 1.1"): "only where the scale, or the unseen part, is exactly 0",
    ("layer.linear_layer_limit", "CENTRED"): "a tolerance for rounding",
    ("layer.linear_layer_limit", "np.abs(X)"): "a tolerance for rounding",
    ("layer.linear_layer_limit", "0.0 -> 0.1"): "a tolerance for rounding",
    ("potential._stretch", "1.0 + nodes"): "the nodes are symmetric",
    ("separatrix.scale_sign", "undecided"): "a short integration has always settled it",
    ("_solution.solved", "second is None"): "a check of input",
    ("stability._matrices", "0.0 -> 0.1"): "times a zero: no term of rank one",
    ("stability._matrices", "0.0 * at.lam"): "times a zero: no term of rank one",
    ("stability.largest_scale_step", "-1 -> 1"): "the last of two axes",
    ("stability.largest_scale_step", "b2 > 0.0"): "0/0 only where there is no stable step at all",
    ("_drift.drift_along", "1e-07"): "the accuracy of an integration",
    ("_drift.drift_along", "0.0 -> 0.1"): (
        "the start of a maximum under g², w⊥ of a start in the row space, or when to stop"
    ),
    ("_drift.drift_along", "c + g ** 2 -> c - g ** 2"): "the size of an error estimate",
    ("_drift.drift_along", "2 -> 3"): "the size of an error estimate, or when to stop",
    ("_drift.drift_along", "abs("): "the size of an error estimate, not a prediction",
    ("_drift.drift_along", "rho * s * s + V_s"): "the size of an error estimate",
    ("_drift.drift_along", "rho * p + V_p"): "the size of an error estimate",
    ("_drift.drift_along", "0.25"): "the size of an estimate from above, of the spread",
    ("_drift.drift_along", "h * gain -> h / gain"): "the size of an estimate from above",
    ("_drift.drift_along", "max((float(np.sum"): "when to stop: the drift has ended by then",
    ("_drift._pull", "share * m -> share / m"): "the size of an estimate from above, of the spread",
    ("_drift._pull", "gram - np.outer"): "the size of an estimate from above, of the spread",
    ("_drift._pull", "2 -> 3"): "the size of an estimate from above, of the spread",
    ("_drift._pull", "- along"): "the size of an estimate from above, of the spread",
    ("_rank_one._largest", "0.0 -> 0.1"): "the same bracket from its other end",
    ("batchnorm._sign", "state[0] * float"): "only the sign is asked for",
    ("batchnorm._sign", "steep"): "a tolerance for rounding",
    ("batchnorm._sign", "scaled_norm(setup.lam"): "a tolerance for rounding",
    ("batchnorm._sign", "1.0 -> 1.1"): "a sign that is not promised (on S)",
    ("batchnorm._sign", "setup.g0 == 0.0"): "a shortcut: the integration finds the same sign",
    ("batchnorm._sign", "setup.pull > 0"): "a shortcut: the integration finds the same sign",
    ("batchnorm._sign", "0 -> 1"): "a shortcut: the integration finds the same sign",
    ("batchnorm._sign", "0.0 -> 0.1"): "a shortcut: the integration finds the same sign",
    ("batchnorm._sign", "False -> True"): "the stable set of S: met by no start but by rounding",
    ("bracket._range", "min(axis=-1)"): "where to begin a search that finds the same end",
    ("bracket._range", "-1 -> 1"): "the last of two axes",
    ("bracket._range", "at.pull @ at.pull"): "where to begin a search that finds the same end",
    ("coordinates.coordinate_wise_end", "MOST"): "how many steps at most: every run settles before",
    ("coordinates.coordinate_wise_end", "1 -> 2"): "how many steps at most",
    ("cycle.flips", "np.sign("): "only the sign of the product is asked for",
    ("cycle.two_cycle_basin", "0 -> 1"): "differs for a tie alone, which is not promised",
    ("finite_step.finite_step_limit", "found.variation"): "the size of a margin or of an estimate",
    ("finite_step.finite_step_limit", "1.0 -> 1"): "the size of an error estimate",
    ("finite_step.finite_step_limit", "abs("): "the size of an error estimate",
    ("finite_step.finite_step_limit", "0.5 -> 0.55"): "the size of an estimate, of the spread",
    ("fixed_scale.frozen_contraction", "size < setup.gstar"): "where nothing is promised",
    ("fixed_scale.frozen_contraction", "0.0 -> 0.1"): "|g0| ≥ g*, where nothing is promised",
    ("potential.divergence", "1.0 -> 1.1"): "stands for a norm of zero, times zero",
    ("potential._stretch", "np.abs(grown)"): "where the two formulas meet, both hold",
    ("separable.max_margin_offset", "ON_THE_MARGIN"): "a tolerance for rounding",
    ("separable.max_margin_offset", "0.0 -> 0.1"): "a tolerance for rounding",
    ("separable.max_margin_offset", "EXACT"): "the direction found is always that exact",
    ("_solution.contraction", "0.0 * k"): "zero, in an array of this shape",
    ("stability.stability", "hasattr"): "an object with one of the two is no result, nor a number",
    ("stability.stability", "name in ("): "a check of input",
    ("_rank_one._poles", "square > 0.0"): "0/0 only where the answer is no anyway",
    ("_rank_one.is_below", "1.0 -> 1.1"): "positive, either way",
    ("_rank_one.is_below", "rho < 0.0 -> True"): "it is asked twice",
    ("_rank_one.is_below", "0.0 -> 0.1"): "it is asked twice",
    ("_sign.limit_sign", "how == 'undecided'"): "which of two texts a failing assumption has",
    ("bracket._rises", "b2 > 0.0"): "0/0 only where there is no stable step at all",
    ("bracket._rises", "-1 -> 1"): "the last of two axes",
    ("bracket._rises", "return 1.1"): "yes or no, either way",
    ("_sign.perp_square", ""): "guards against overflow: w⊥ = 0 and exponents beyond 600",
    ("_sign._integrated_sign", "state[1:] @ state[1:] + square"): "‖w‖ = 1 along the flow",
    ("_sign._integrated_sign", "1.0 -> 1.1"): "only for a scale of exactly zero, which is S",
    ("_sign._integrated_sign", "return 1.1"): "time runs faster along the same orbit",
    ("contraction._turn", "LARGE"): "where the two formulas of log κ meet, both hold",
    ("contraction.steps_to_perp", "growth / rate -> growth * rate"): "only the sign is asked for",
    ("contraction.steps_to_perp", "-math.inf -> math.inf"): "not reached, either way",
    ("fixed_scale.fixed_scale_limit", "* math.copysign(1.0"): "±1: product and quotient agree",
    ("formula.whole", ""): "the tolerance for an integer within rounding",
    ("matrices._eigenvalues", ""): "a check of input",
    ("matrices.safe_scale_random", "inside > 0"): "the root of a negative number is NaN",
    ("scalar_limits.perp_of_limit", "np.abs(g0) -> g0"): "only g0² − g∞² enters",
    ("limits._flow_assumptions", ""): "c ≤ 0 and y = 0 are refused before",
    ("limits.flow_limit_as_printed", "0.0 -> 0.1"): "a part along an axis of length zero",
    ("rates.convergence_time", "1e-300"): "a guard against the logarithm of zero",
    ("rates.convergence_time", "smallest > 0"): "a reduced problem has no zero eigenvalue",
    ("step_sizes._nothing", "2 * nan"): "twice NaN is NaN",
    ("step_sizes.two_phase_b", "2 * 0.0"): "twice zero is zero",
}

AT_MOST = {
    "_root.perp_at_the_end": 26,
    "_sign.decide": 9,
    "_sign._under_the_bracket": 7,
    "_drift._wide": 11,
    "_rank_one.extremes": 4,
    "fixed_scale._ridge": 12,
    "_sign.perp_square": 4,
    "fixed_scale.ridge_direction": 1,
    "formula.whole": 6,
    "matrices._eigenvalues": 12,
    "limits._flow_assumptions": 2,
}


def red(identity: str, stop: bool = True) -> str | None:
    """Why a claim's check fails, in a few words; None if it is green."""
    claim = next(claim for claim in CLAIMS if claim.id == identity)
    evidence = Evidence(stop_at_failure=stop)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            collect(claim, INSTANCES, 0, evidence)
    except RefutedError as error:
        return str(error)
    except (Exception, TooLongError) as error:
        return f"{type(error).__name__}: {error}"
    if evidence.comparisons < ENOUGH:
        return "too few comparisons"
    return evidence.disagreement(claim.kind)


class TooLongError(BaseException):
    """The time of one mutant is up."""


def _alarm(number: int, frame: Any) -> None:
    raise TooLongError(f"more than {SECONDS} s")


def judge(job: tuple[str, int, tuple[str, ...]]) -> tuple[str, int, str, str, str]:
    """One mutant: its function, number, change, the claim that turned red, and why."""
    key, number, claims = job
    changed = mutant(key, number)
    signal.signal(signal.SIGALRM, _alarm)
    with applied(changed):
        for identity in claims:
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            try:
                why = red(identity)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            if why is not None:
                return key, number, changed.change, identity, why
    return key, number, changed.change, "", ""


def noticed_by_tests(job: tuple[str, int]) -> bool:
    """Whether a test of the theory turns red; in a process of its own."""
    import pytest

    signal.signal(signal.SIGALRM, _alarm)
    signal.setitimer(signal.ITIMER_REAL, TEST_SECONDS)
    try:
        with applied(mutant(*job)), redirect_stdout(io.StringIO()):
            return pytest.main(["-x", "--tb=no", *TESTS]) != 0
    except TooLongError:
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


COSTS: dict[str, float] = {}


def measure() -> list[str]:
    """The claims that are red without any mutant; and how long each check takes."""
    broken = []
    for claim in CLAIMS:
        started = time.perf_counter()
        if red(claim.id) is not None:
            broken.append(claim.id)
        COSTS[claim.id] = time.perf_counter() - started
    return broken


def _order(key: str, claims: tuple[str, ...], number: int) -> tuple[str, ...]:
    """The claims to try: those that name the function first, each in its turn; then the fast."""
    label = key.split(".")[1]
    direct = [c.id for c in CLAIMS if label in c.functions]
    turn = number % len(direct) if direct else 0
    others = sorted(set(claims) - set(direct), key=lambda identity: COSTS[identity])
    return (*direct[turn:], *direct[:turn], *others)


def _turns_red(identity: str, keys: list[str], functions: dict[str, tuple[str, ...]]) -> bool:
    """Whether any mutant turns a claim red that others noticed before it had its turn."""
    mine = [key for key in keys if identity in functions[key]]
    return any(judge((key, i, (identity,)))[3] for key in mine for i in range(count(key)))


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def main() -> int:
    """Run, report, and say in the exit code whether nothing survived."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only",
        nargs="*",
        default=[],
        help="functions as file.function, such as limits.flow_limit",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--verbose", action="store_true", help="every mutant and what noticed it")
    chosen = parser.parse_args()
    os.chdir(Path(__file__).resolve().parents[1])  # where the tests are
    started, functions = time.perf_counter(), claims_by_function()
    if unknown := set(chosen.only) - set(functions):
        near = [k for k in functions for name in unknown if k.endswith(f".{name}")]
        advice = f"; is it {', '.join(near)}?" if near else ""
        parser.error(f"no such function: {', '.join(sorted(unknown))}{advice}")
    keys = [k for k in functions if (k in chosen.only if chosen.only else k not in WAYS)]
    if broken := measure():
        print(f"red without any mutant: {', '.join(broken)}")
        return 1
    jobs = [(key, i, _order(key, functions[key], i)) for key in keys for i in range(count(key))]
    caught: Counter[str] = Counter()
    unnoticed, survivors, excused = [], [], Counter()
    with ProcessPoolExecutor(chosen.jobs, initializer=_limit) as pool:
        for done, (key, number, change, claim, why) in enumerate(
            pool.map(judge, jobs, chunksize=4)
        ):
            if claim:
                caught[claim] += 1
                if chosen.verbose:
                    print(f"  {key}: {change}  [{claim}: {why}]")
            elif reason := next((r for r in EQUIVALENT if r[0] == key and r[1] in change), None):
                excused[reason] += 1
                if chosen.verbose:
                    print(f"  equivalent: {key}: {change}")
            else:
                unnoticed.append((key, number, change))
            if sys.stderr.isatty():
                print(f"\r{done + 1}/{len(jobs)}", end="", file=sys.stderr)
    with ProcessPoolExecutor(chosen.jobs, get_context("spawn"), max_tasks_per_child=1) as pool:
        answers = pool.map(noticed_by_tests, [job[:2] for job in unnoticed])
        for (key, _, change), noticed in zip(unnoticed, answers, strict=True):
            if not noticed:
                survivors.append((key, change))
                print(f"SURVIVED {key}: {change}", flush=True)
            elif chosen.verbose:
                print(f"  {key}: {change}  [tests]")
    by_tests = len(unnoticed) - len(survivors)
    for (key, part), number in excused.items():
        if part == "" and number > AT_MOST[key]:
            survivors.append((key, part))
            print(f"SURVIVED {key}: {number} changes, more than the {AT_MOST[key]} looked at")
    unused = set(EQUIVALENT) - set(excused) if not chosen.only else set()
    for key, part in sorted(unused):
        print(f"STALE {key}: {part!r} excuses nothing")
    silent = [c.id for c in CLAIMS if any("." not in f for f in c.functions) and not caught[c.id]]
    silent = [identity for identity in silent if not _turns_red(identity, keys, functions)]
    took = time.perf_counter() - started
    print(
        f"{len(jobs)} mutants of {len(keys)} functions in {took:.0f} s: {sum(caught.values())} "
        f"noticed by claims, {by_tests} by tests, {sum(excused.values())} equivalent, "
        f"{len(survivors)} survived"
    )
    if chosen.verbose:
        for reason, number in excused.items():
            print(f"  {number} equivalent in {reason[0]} ({reason[1]}): {EQUIVALENT[reason]}")
    if not chosen.only:
        for identity in silent:
            print(f"NEVER RED {identity}")
        if silent or unused:
            return 1
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
