"""The certificate: nothing missing, verdicts as established, and every check can fail."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import weightnorm as wn
from weightnorm import theory
from weightnorm.certificate import certify, to_markdown
from weightnorm.certificate.evidence import CHECKS
from weightnorm.cli.main import app
from weightnorm.theory.index import CLAIMS

# Every claim that was ever listed, with the verdict that was established for it; none may go
# missing.
FAILS, CONDITION, HOLDS = "fails as printed", "holds with condition", "holds"
EXPECTED = {
    "flow-steps": FAILS,
    "flow-gradients": FAILS,
    "flow-limit-of-algorithms": HOLDS,
    "stationary": HOLDS,
    "loss-rate": HOLDS,
    "loss-geometric": FAILS,
    "invariant": HOLDS,
    "invariant-norm": FAILS,
    "flow-dichotomy": CONDITION,
    "flow-limit": FAILS,
    "gd-limit": FAILS,
    "wn-beats-gd": FAILS,
    "fixed-scale-orthogonal": CONDITION,
    "fixed-scale-general": CONDITION,
    "restart": CONDITION,
    "convergence-time": HOLDS,
    "example-2d": FAILS,
    "adaptive-lambda": FAILS,
    "general-loss-invariant": FAILS,
    "step-identities": HOLDS,
    "scale-step-bound": CONDITION,
    "scale-step-identity": FAILS,
    "scale-increases": FAILS,
    "gv-recursion": FAILS,
    "perp-bound": FAILS,
    "perp-contraction": HOLDS,
    "loss-gap": FAILS,
    "two-phase-a-first": HOLDS,
    "two-phase-a-second": FAILS,
    "two-phase-b": FAILS,
    "two-phase-b-order": FAILS,
    "two-phase-b-bounds": FAILS,
    "general-matrix": CONDITION,
    "general-matrix-any": FAILS,
    "general-matrix-random": CONDITION,
    "discrete-wn": HOLDS,
    "discrete-rpgd": HOLDS,
    "invariant-drift": HOLDS,
    "glm-limit": HOLDS,
    "max-margin": HOLDS,
    "sphere-ball": CONDITION,
    "escape-stationary": HOLDS,
    "orthogonal-gstar": HOLDS,
    "two-phase-a-order": FAILS,
    "two-phase-b-gain": FAILS,
    "adaptive-lambda-sign": CONDITION,
    "general-matrix-random-main": CONDITION,
}

# Bounds with room to spare, a sign, a frequency: tightening them by 0.1 % refutes nothing. Their
# printed forms are refuted instead, or (the random ones) hold.
NO_TIGHT_WITNESS = {
    "scale-increases",
    "two-phase-a-second",
    "two-phase-a-order",
    "two-phase-b-order",
    "general-matrix-random",
    "general-matrix-random-main",
}


@pytest.fixture(scope="module")
def certificate():
    return wn.verify(instances=8)


def test_no_claim_is_missing():
    assert {claim.id: claim.verdict for claim in CLAIMS} == EXPECTED
    assert set(CHECKS) == set(EXPECTED)


def test_every_claim_has_functions_with_an_example():
    for claim in CLAIMS:
        for name in claim.functions:
            assert ">>>" in getattr(theory, name).__doc__, name


def test_every_claim_gets_its_verdict(certificate):
    assert {line.claim.id: line.verdict for line in certificate.lines} == EXPECTED
    assert certificate.ok
    for line in certificate.lines:
        assert line.comparisons > 0
        assert line.printed > 0 or line.claim.paper == "beyond the paper"
        assert (line.refuted > 0) == (line.verdict != HOLDS)
        assert (line.counterexample is not None) == (line.refuted > 0)


def test_a_broken_claim_is_caught():
    """Every prediction falsified by 0.1 %: all red, but for bounds that nothing attains."""
    broken = wn.verify(instances=8, perturb=1e-3)
    assert not broken.ok
    spared = {line.claim.id for line in broken.lines if line.verdict != "broken"}
    assert spared == NO_TIGHT_WITNESS


def test_what_no_witness_can_turn_red_is_refuted_as_printed(certificate):
    for name in NO_TIGHT_WITNESS:
        assert certificate[name].refuted > 0


def test_few_instances_break_nothing():
    """They may miss a counterexample, but the exact forms hold, and that is what the exit code
    says.
    """
    assert wn.verify(instances=1).ok


def test_a_wrong_reduction_is_caught(monkeypatch):
    """The simulations must not share the reduction with the predictions: falsify it, and they
    disagree.
    """
    from weightnorm.problems.reduction import RowSpace

    start = RowSpace.start

    def wrong(self, direction):
        coordinates, frame = start(self, direction)
        coordinates = coordinates.copy()
        coordinates[-1] *= 0.9
        return coordinates / np.linalg.norm(coordinates), frame

    monkeypatch.setattr(RowSpace, "start", wrong)
    assert wn.verify(instances=6, only=["flow-limit"])["flow-limit"].verdict == "broken"


def test_it_is_seeded():
    a, b, c = (
        wn.verify(instances=3, seed=seed, only=["flow-limit"])["flow-limit"] for seed in (1, 1, 2)
    )
    assert a.counterexample == b.counterexample != c.counterexample


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_every_seed_gives_the_same_verdicts(seed):
    lines = wn.verify(instances=24, seed=seed).lines
    assert {line.claim.id: line.verdict for line in lines} == EXPECTED


class TestCommand:
    def test_json(self):
        result = CliRunner().invoke(
            app,
            ["verify", "--json", "--instances", "3", "--only", "gd-limit", "--only", "stationary"],
        )
        assert result.exit_code == 0
        lines = json.loads(result.stdout)
        assert [(line["id"], line["verdict"]) for line in lines] == [
            ("stationary", HOLDS),
            ("gd-limit", FAILS),
        ]
        assert lines[1]["counterexample"]
        assert lines[1]["functions"] == ["weightnorm.theory.gd_limit"]

    def test_table(self):
        result = CliRunner().invoke(app, ["verify", "--instances", "3", "--only", "gd-limit"])
        assert result.exit_code == 0
        assert "fails as printed" in result.stdout

    def test_a_failing_claim_is_a_failing_command(self, monkeypatch):
        monkeypatch.setitem(
            CHECKS,
            "gd-limit",
            lambda evidence, rng, n: evidence.equal("x∞", 1.0, 2.0, rtol=1e-9, g0=1.0),
        )
        result = CliRunner().invoke(app, ["verify", "--only", "gd-limit"])
        assert result.exit_code == 1
        assert "broken" in result.stdout

    def test_a_check_that_compares_nothing_is_broken(self, monkeypatch):
        monkeypatch.setitem(CHECKS, "gd-limit", lambda evidence, rng, n: None)
        assert CliRunner().invoke(app, ["verify", "--only", "gd-limit"]).exit_code == 1

    def test_an_unknown_claim_is_refused(self):
        result = CliRunner().invoke(app, ["verify", "--only", "fermat"])
        assert result.exit_code == 2
        with pytest.raises(ValueError, match="only has 'fermat', which is no claim"):
            certify.verify(only=["fermat"])


def test_the_page_is_of_this_index(certificate):
    """docs/claims.md says what the index and the certificate say, but for the numbers of its
    counterexamples.
    """
    from pathlib import Path

    def stable(text):
        return [line for line in text.splitlines() if "for instance at" not in line]

    page = (Path(__file__).parents[1] / "docs" / "claims.md").read_text(encoding="utf-8")
    assert stable(page) == stable(to_markdown(certificate))
