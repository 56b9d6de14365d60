"""verify(): run every check, and compare what it finds with the verdict of every claim."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weightnorm._support import validate

from .. import checks  # noqa: F401  (they register themselves)
from ..claims import CLAIMS, Claim
from ..evidence.evidence import CHECKS, ENOUGH, Evidence
from .snippets import Shown, show

INSTANCES = 24


@dataclass(frozen=True)
class Line:
    """One claim and what the checks found.

    Attributes
    ----------
    claim : Claim
        The claim: what the paper prints, what is true, why, and where.
    comparisons : int
        How often the exact form was compared with a simulation.
    tightness : float
        The relative change of a predicted number that half of these comparisons would have
        noticed; of a claim with bounds alone, the smallest room that a bound left.
    printed, refuted : int
        On how many random instances the printed form was tested, and on how many it failed.
    skipped : dict of str to int
        Instances on which there was nothing to compare, by reason.
    shown : Shown
        The claim's counterexample, or example, as its snippet computed it.
    counterexample : dict or None
        The numbers of one random instance on which the printed form failed.
    fault : str or None
        What went wrong: the exact form failed, or the evidence does not give the established
        verdict. None if all is well.
    ok : bool
        Whether all is well.
    verdict : str
        The verdict in a sentence; the fault, if there is one.

    Examples
    --------
    >>> import weightnorm as wn
    >>> line = wn.verify(instances=2, only=["gv-recursion"])["gv-recursion"]
    >>> line.claim.kind, line.refuted > 0, line.ok, line.shown.text
    ('misprint', True, True, 'found −0.36 ≠ printed −0.04')
    """

    claim: Claim
    comparisons: int
    tightness: float
    printed: int
    refuted: int
    skipped: dict[str, int]
    shown: Shown
    counterexample: dict[str, Any] | None
    fault: str | None

    @property
    def ok(self) -> bool:
        """Whether the exact form passed and the evidence gives the established verdict."""
        return self.fault is None

    @property
    def verdict(self) -> str:
        """The verdict in a sentence; the fault, if there is one."""
        return self.claim.verdict if self.fault is None else f"Broken: {self.fault}."

    def as_dict(self) -> dict[str, Any]:
        """The line as plain data, for JSON.

        Returns
        -------
        dict
            With the keys "id", "class", "conclusion", "comparisons", "tightness", "verdict", "ok",
            "paper", "printed", "exact", "proof", "functions", "instance", "shown",
            "printed_tested", "printed_refuted", "skipped" and "counterexample".
        """
        return {
            "id": self.claim.id,
            "class": self.claim.kind,
            "conclusion": self.claim.conclusion,
            "comparisons": self.comparisons,
            "tightness": self.tightness,
            "verdict": self.verdict,
            "ok": self.ok,
            "paper": self.claim.paper,
            "printed": self.claim.printed,
            "exact": self.claim.exact,
            "proof": self.claim.proof,
            "functions": list(self.claim.qualified),
            "instance": self.claim.instance,
            "shown": self.shown.text,
            "printed_tested": self.printed,
            "printed_refuted": self.refuted,
            "skipped": self.skipped,
            "counterexample": self.counterexample,
        }


@dataclass(frozen=True)
class Certificate:
    """The result of `verify`: one line per claim. `certificate[id]` is the line of a claim.

    Attributes
    ----------
    lines : tuple of Line
        The claims that were checked, in the order of the paper's index.
    instances, seed : int
        What `verify` was called with.
    ok : bool
        Whether every claim held in its exact form and got its established verdict.

    Examples
    --------
    >>> import weightnorm as wn
    >>> certificate = wn.verify(instances=2, only=["orthogonal-gstar"])
    >>> certificate["orthogonal-gstar"].claim.kind, certificate.ok
    ('holds', True)
    """

    lines: tuple[Line, ...]
    instances: int
    seed: int

    @property
    def ok(self) -> bool:
        """Whether every claim held in its exact form and got its established verdict."""
        return all(line.ok for line in self.lines)

    def __getitem__(self, identity: str) -> Line:
        for line in self.lines:
            if line.claim.id == identity:
                return line
        raise KeyError(identity)


def verify(
    instances: int = INSTANCES,
    seed: int = 0,
    only: Sequence[str] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Certificate:
    """Check every claim of the theory against simulations that share no code with it.

    Each claim is tried on random and on hostile instances, in the exact form that
    `weightnorm.theory` or `weightnorm_paper.lemmas` computes and in the form the paper prints; and
    its counterexample is run.

    Parameters
    ----------
    instances : int
        How many instances per claim, about; at least 1.
    seed : int
        Seed of the instances; not negative. Every claim has its own random stream.
    only : sequence of str, optional
        The ids of the claims to check; all by default.
    progress : callable, optional
        Called as progress(done, total, id of the next claim).

    Returns
    -------
    Certificate
        One line per claim; `.ok` if every exact form passed and every verdict is the established
        one.

    Raises
    ------
    ValueError
        If `only` has an id that is not a claim.

    Examples
    --------
    >>> import weightnorm as wn
    >>> certificate = wn.verify(instances=4, only=["gd-limit", "stationary"])
    >>> [(line.claim.id, line.claim.kind) for line in certificate.lines]
    [('stationary', 'holds'), ('gd-limit', 'false')]
    >>> certificate.ok
    True
    """
    instances = validate.integer("instances", instances, minimum=1)
    seed = validate.integer("seed", seed)
    known = {claim.id for claim in CLAIMS}
    for name in only or ():
        if name not in known:
            listed = ", ".join(sorted(known))
            raise ValueError(f"only has {name!r}, which is not a claim; the claims are {listed}")
    chosen = [claim for claim in CLAIMS if only is None or claim.id in only]
    lines = []
    for done, claim in enumerate(chosen):
        if progress is not None:
            progress(done, len(chosen), claim.id)
        lines.append(_line(claim, instances, seed))
    if progress is not None:
        progress(len(chosen), len(chosen), "")
    return Certificate(tuple(lines), instances, seed)


def collect(claim: Claim, instances: int, seed: int, evidence: Evidence) -> None:
    """Run the check of a claim on its own stream of random numbers: adding a claim changes no
    other.
    """
    if claim.id not in CHECKS:
        raise ValueError(f'it has no check: register one with @check("{claim.id}")')
    rng = np.random.default_rng([zlib.crc32(claim.id.encode()), seed])
    CHECKS[claim.id](evidence, rng, instances)


def _line(claim: Claim, instances: int, seed: int) -> Line:
    evidence, shown = Evidence(), show(claim)
    try:
        collect(claim, instances, seed, evidence)
    except Exception as error:  # one broken check must not hide the others
        evidence.failures.append({"what": f"{type(error).__name__}: {error}"})
    refuted = [*evidence.refutations, *evidence.exceptions]
    return Line(
        claim,
        evidence.comparisons,
        evidence.tightness,
        evidence.printed,
        len(refuted),
        evidence.skipped,
        shown,
        next(iter([*evidence.failures, *refuted]), None),
        _fault(claim, evidence, shown, instances),
    )


def _fault(claim: Claim, evidence: Evidence, shown: Shown, instances: int) -> str | None:
    if evidence.failures:
        first = evidence.failures[0]
        return f"the exact form failed {len(evidence.failures)} times: {first['what']}"
    if not evidence.comparisons or (instances >= INSTANCES and evidence.comparisons < ENOUGH):
        return f"only {evidence.comparisons} comparisons"
    if instances >= INSTANCES and not evidence.tightness < np.inf:
        return "no comparison of numbers"
    if shown.fault is not None:
        return shown.fault
    disagreement = evidence.disagreement(claim.kind)
    few = instances < INSTANCES and not (evidence.refutations or evidence.exceptions)
    return None if few and claim.kind not in ("holds", "loose", "beyond") else disagreement
