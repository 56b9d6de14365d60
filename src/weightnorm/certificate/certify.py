"""verify(): run every check, give every claim its verdict."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _validate
from ..theory.index import CLAIMS, Claim
from . import checks  # noqa: F401  (they register themselves)
from .evidence import CHECKS, Evidence

INSTANCES = 24


@dataclass(frozen=True)
class Line:
    """One claim of the paper and what the checks found.

    Attributes
    ----------
    claim : Claim
        The claim: what the paper prints, what is true, and where.
    verdict : str
        "holds", "holds with condition", "fails as printed", or "broken" if the exact form failed.
    comparisons, printed : int
        How often the exact form, and the printed one, was put to the test.
    refuted : int
        How often the printed one failed.
    counterexample : dict or None
        The numbers of one case where the printed form failed.
    ok : bool
        Whether the exact form passed.
    as_established : bool
        Whether the verdict is the established one.

    Examples
    --------
    >>> import weightnorm as wn
    >>> line = wn.verify(instances=2, only=["gv-recursion"])["gv-recursion"]
    >>> line.verdict, line.refuted > 0, line.ok
    ('fails as printed', True, True)
    """

    claim: Claim
    verdict: str
    comparisons: int
    printed: int
    refuted: int
    counterexample: dict[str, Any] | None

    @property
    def ok(self) -> bool:
        """Whether the exact form passed every comparison."""
        return self.verdict != "broken"

    @property
    def as_established(self) -> bool:
        """Whether the evidence gives the established verdict.

        With too few instances a counterexample may not turn up.
        """
        return self.verdict == self.claim.verdict

    def as_dict(self) -> dict[str, Any]:
        """The line as plain data, for JSON.

        Returns
        -------
        dict
            With the keys "id", "verdict", "ok", "established_verdict", "paper", "printed", "exact",
            "functions", "comparisons", "printed_tested", "printed_refuted" and "counterexample".
        """
        return {
            "id": self.claim.id,
            "verdict": self.verdict,
            "ok": self.ok,
            "established_verdict": self.claim.verdict,
            "paper": self.claim.paper,
            "printed": self.claim.printed,
            "exact": self.claim.exact,
            "functions": [f"weightnorm.theory.{name}" for name in self.claim.functions],
            "comparisons": self.comparisons,
            "printed_tested": self.printed,
            "printed_refuted": self.refuted,
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
        Whether every claim held in its exact form.

    Examples
    --------
    >>> import weightnorm as wn
    >>> certificate = wn.verify(instances=2, only=["orthogonal-gstar"])
    >>> certificate["orthogonal-gstar"].verdict, certificate.ok
    ('holds', True)
    """

    lines: tuple[Line, ...]
    instances: int
    seed: int

    @property
    def ok(self) -> bool:
        """Whether every claim held in its exact form."""
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
    perturb: float = 0.0,
) -> Certificate:
    """Check every claim of the theory against simulations that share no code with it.

    Each claim is tried on random and on hostile instances, in the exact form that
    `weightnorm.theory` computes and in the form the paper prints.

    Parameters
    ----------
    instances : int
        How many instances per claim, about; at least 1. Few instances may miss a counterexample.
    seed : int
        Seed of the instances; not negative. Every claim has its own random stream.
    only : sequence of str, optional
        The ids of the claims to check; all by default.
    progress : callable, optional
        Called as progress(done, total, id of the next claim).
    perturb : float
        Falsify every prediction by this share: then everything that is checked must fail. For
        testing the checks.

    Returns
    -------
    Certificate
        One line per claim, with its verdict; `.ok` if every exact form passed.

    Raises
    ------
    ValueError
        If `only` has an id that is no claim.

    Examples
    --------
    >>> import weightnorm as wn
    >>> certificate = wn.verify(instances=4, only=["gd-limit", "flow-limit"])
    >>> [(line.claim.id, line.verdict) for line in certificate.lines]
    [('flow-limit', 'fails as printed'), ('gd-limit', 'fails as printed')]
    >>> certificate.ok
    True
    """
    instances = _validate.integer("instances", instances, minimum=1)
    seed = _validate.integer("seed", seed)
    known = {claim.id for claim in CLAIMS}
    for name in only or ():
        if name not in known:
            raise ValueError(
                f"only has {name!r}, which is no claim; the claims are {', '.join(sorted(known))}"
            )
    chosen = [claim for claim in CLAIMS if only is None or claim.id in only]
    lines = []
    for done, claim in enumerate(chosen):
        if progress is not None:
            progress(done, len(chosen), claim.id)
        lines.append(_line(claim, instances, seed, perturb))
    if progress is not None:
        progress(len(chosen), len(chosen), "")
    return Certificate(tuple(lines), instances, seed)


def _line(claim: Claim, instances: int, seed: int, perturb: float) -> Line:
    evidence = Evidence(perturb)
    # its own stream: adding a claim changes no other
    rng = np.random.default_rng([zlib.crc32(claim.id.encode()), seed])
    CHECKS[claim.id](evidence, rng, instances)
    refuted = len(evidence.refutations) + len(evidence.exceptions)
    return Line(
        claim,
        evidence.verdict,
        evidence.comparisons,
        evidence.printed,
        refuted,
        evidence.counterexample,
    )
