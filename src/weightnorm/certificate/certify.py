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
    """A claim and what was found.

    Attributes
    ----------
    claim : Claim
    verdict : str
        "holds", "holds with condition", "fails as printed", or "broken" if the exact form failed.
    comparisons, printed : int
        How often the exact form, and the printed one, was put to the test.
    refuted : int
        How often the printed one failed.
    counterexample : dict or None
    """

    claim: Claim
    verdict: str
    comparisons: int
    printed: int
    refuted: int
    counterexample: dict[str, Any] | None

    @property
    def ok(self) -> bool:
        """Whether the exact form stood."""
        return self.verdict != "broken"

    @property
    def as_established(self) -> bool:
        """Whether the evidence gives the established verdict; too few instances may miss a
        counterexample.
        """
        return self.verdict == self.claim.verdict

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
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
    """All lines of a verification."""

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

    Parameters
    ----------
    instances : int
        Random and hostile instances per claim, about.
    seed : int
    only : sequence of str, optional
        The ids of the claims to check; all by default.
    progress : callable, optional
        Called as progress(done, total, id of the next claim).
    perturb : float
        Falsify every prediction by this share: then everything that is checked must turn red. For
        testing the checks.

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
    rng = np.random.default_rng(
        [zlib.crc32(claim.id.encode()), seed]
    )  # its own stream: adding a claim changes no other
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
