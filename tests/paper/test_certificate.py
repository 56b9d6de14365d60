"""The certificate: nothing missing, verdicts as established, pages as generated, checks that can
fail.
"""

import importlib
import operator
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import weightnorm as wn
from weightnorm import theory
from weightnorm_paper import lemmas
from weightnorm_paper.certificate import counts
from weightnorm_paper.certificate.snippets import code, show
from weightnorm_paper.claims import CLAIMS, GROUPS, KINDS, PREAMBLE, SURVIVES
from weightnorm_paper.evidence.evidence import CHECKS

ROOT = Path(__file__).parents[2]

# Every claim with its class and whether the conclusion survives; none may go missing or change.
ESTABLISHED = """
flow-steps misprint yes
flow-gradients misprint yes
flow-limit-of-algorithms holds yes
stationary holds yes
loss-rate holds yes
loss-geometric misprint yes
invariant holds yes
invariant-norm misprint yes
flow-dichotomy condition-needed yes
stationary-limit-point holds yes
flow-limit false partly
gd-limit false partly
wn-beats-gd false partly
wn-farther holds yes
fixed-scale-orthogonal condition-needed yes
fixed-scale-general condition-stated yes
restart condition-needed yes
orthogonal-gstar holds yes
convergence-time loose yes
example-2d false no
adaptive-lambda misprint yes
adaptive-lambda-sign condition-stated yes
general-loss-invariant holds yes
step-identities holds yes
scale-step-bound condition-stated yes
scale-step-identity false yes
scale-increases-lemma holds yes
scale-increases condition-stated yes
gv-recursion misprint yes
perp-bound misprint yes
perp-contraction holds yes
loss-gap misprint yes
large-scale-step holds yes
two-phase-a-first condition-needed yes
two-phase-a-second false partly
two-phase-a-order condition-stated yes
two-phase-a-step-order condition-stated yes
rho-tradeoff false partly
delta0-tradeoff holds yes
two-phase-b condition-stated yes
two-phase-b-bounds holds yes
two-phase-b-final loose yes
two-phase-b-order condition-stated yes
two-phase-b-second-order condition-stated yes
two-phase-b-gain holds yes
log-rate holds yes
sharp-complexities loose partly
escape-stationary condition-stated yes
sphere-ball condition-stated yes
general-matrix condition-stated yes
general-matrix-second-stage holds yes
general-matrix-any misprint yes
general-matrix-random condition-stated yes
general-matrix-random-main condition-stated yes
proof-fixed-scale-maximum false yes
proof-restart-derivative false yes
proof-rate-missing-c misprint yes
proof-step-bound false yes
proof-inner-product misprint yes
proof-random-tails false yes
experiment-row-space condition-stated yes
experiment-kappa misprint yes
figure-3-bottom-steps misprint yes
figure-4-bottom-steps misprint yes
discrete-wn beyond yes
discrete-rpgd beyond yes
invariant-drift beyond yes
glm-limit beyond yes
max-margin beyond yes
stable-steps beyond yes
norm-bracket beyond yes
linear-layer beyond yes
momentum-limit beyond yes
batch-limit beyond yes
wn-two-invariants beyond yes
scale-decay beyond yes
direction-decay beyond yes
mirror-potential beyond yes
frozen-contraction beyond yes
batchnorm-limit beyond yes
scale-sign beyond yes
margin-offset beyond yes
grouped-scales beyond yes
label-noise beyond yes
coordinate-wise beyond yes
"""


def test_no_claim_is_missing_and_no_verdict_changed():
    """Claims beyond the paper may be added to without a word here."""
    found = {f"{claim.id} {claim.kind} {claim.conclusion}" for claim in CLAIMS}
    established = set(ESTABLISHED.split("\n")) - {""}
    assert established <= found, established - found
    assert all(line.split()[1] == "beyond" for line in found - established), found - established
    assert set(CHECKS) == {claim.id for claim in CLAIMS}


def test_the_counts():
    statements = counts()
    assert statements == {
        "holds": 17,
        "condition-stated": 14,
        "condition-needed": 4,
        "misprint": 9,
        "loose": 3,
        "false": 7,
        "beyond": 0,
    }
    assert sum(counts(groups=("proof",)).values()) == 6
    assert sum(counts(groups=("set-up",)).values()) == 4


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_every_entry_is_complete(claim):
    assert claim.kind in KINDS
    assert claim.conclusion in SURVIVES
    assert claim.group in GROUPS
    assert claim.functions
    for name in claim.qualified:
        package, _, attribute = name.partition(".")
        function = operator.attrgetter(attribute)(importlib.import_module(package))
        assert ">>>" in function.__doc__, name
    assert claim.verdict.endswith(".")
    assert len(claim.verdict) < 300
    assert 1 <= len(re.findall(r".{1,100}(?:\s|$)", claim.proof)) <= 8
    assert len(code(claim).splitlines()) <= 5
    assert "|" not in claim.printed + claim.exact + claim.proof  # it would break a table


def test_every_snippet_shows_what_it_says():
    for claim in CLAIMS:
        shown, kind = show(claim), claim.kind
        assert shown.fault is None, claim.id
        if kind in ("false", "misprint") or kind.startswith("condition"):  # they contradict
            assert shown.relation in ("≠", ">", "<", "≥", "≤")
            assert not np.allclose(shown.found, shown.printed, rtol=1e-3)
    claim = next(claim for claim in CLAIMS if claim.id == "gd-limit")
    assert "not found" in replace(show(claim), relation="=").fault


def claim_of(identity):
    return next(claim for claim in CLAIMS if claim.id == identity)


def test_the_escape_is_certain_with_the_steps_of_the_theorem():
    """The condition that the paper states elsewhere, on the instance and for every scale step of
    Theorem E.1: γ⁽¹⁾ is under ∣g0∣/(g* + ∣g0∣), below which no start is trapped.
    """
    claim, problem = claim_of("escape-stationary"), wn.LeastSquares([[1.0, 0.0]], [1.0])
    steps = (1 + 1 / (0.5 * (1 - 0.01**2))) * np.log(0.64 / 0.04**2)  # ρ = ½, δ = 0.04
    largest = 0.006**2 * np.log(0.5 / 0.01**2 + 0.5) / (2 * steps * (1 - 0.006**2))
    safe = theory.two_cycle(problem, 0.01, [-0.6, 0.8], 0.1).safe_step
    assert f"{largest:.1e}" == "8.5e-06"
    assert f"({largest:.1e} against {safe:.4f}".replace("e-0", "e-") in claim.exact
    for share in np.geomspace(1e-6, 0.999, 200):
        bound = share**2 * np.log(1 / share) / (1 - share**2)  # of γ⁽¹⁾: p0 = 1, T1 = 1, ρ → 0
        assert bound < share / (1 + share)


def test_the_second_phase_is_refuted_where_no_constant_helps():
    """“Of the order” may hide a factor, but not a negative number of steps."""
    claim = claim_of("two-phase-a-second")
    said = lemmas.two_phase_a_printed_second(1.0, 0.5, 1e-4, 0.01, 0.25)
    assert said < 0
    assert f"the printed T2 is −{-said:.2f}" in claim.instance
    largest = 0.3**2 * np.log(0.99 * 4 + 0.01) / (2 * 2661 * (1 - 0.3**2))
    assert largest > 2.5e-5  # the γ⁽¹⁾ of the instance is one that the theorem allows
    names = {}
    exec(PREAMBLE + code(claim), names)
    assert names["T1"] == 2661
    points = names["path"](*names["B"], 0.5, [0.6, 0.8], [0.0] + [2.5e-5] * 2660 + [0.25] * 16)
    losses = [2 * names["loss"](*names["B"], g * w) for g, w in points[2661:]]
    assert [loss <= 1e-4 for loss in losses].index(True) == 14
    corrected = 4 * np.log((1 / np.sqrt(1 - 4e-5**2) - points[2661][0]) / 1e-2)
    assert np.ceil(corrected) == 16
    assert "14 more are needed for εg*², the corrected T2 is 16" in claim.instance
    turned = [abs(w[1]) <= 4e-5 for g, w in points].index(True)
    assert f"2661 in the instance of [two-phase-a-second], where {turned} are" in (
        claim_of("sharp-complexities").exact
    )


def test_what_may_be_called_a_misprint_says_why_it_is_false():
    verdict = claim_of("gd-limit").verdict
    assert "misprint" in verdict
    assert "[wn-beats-gd]" in verdict
    assert "[example-2d]" in verdict


def test_the_slip_behind_the_identity_is_named():
    verdict = claim_of("scale-step-identity").verdict
    assert "third line of Term 1" in verdict
    assert "(g_t/‖v_{t−1}‖ − g_{t−1})²" in verdict


@pytest.mark.parametrize(
    "slip",
    [
        "Appendix C.4.3's “cgAᵀA” and “A†b” read ĉgAᵀA, A†y",
        "In the last display of its proof v_{t+1} reads v_t, as in the first of Lemma E.2's",
        "The proof of Theorem E.1 starts with ‖w_t⊥‖ = 1 − ‖Aw_t‖², too: read ‖w_t⊥‖²",
        "In the first display of the proof of Lemma E.6, 1 − ‖Aw_0‖² reads 1 − ‖Aw_t‖²",
        "In both theorems ‖Ag_Tw_T − b‖ reads ‖Ag_Tw_T − y‖",
    ],
)
def test_minor_slips_are_on_both_pages(slip):
    for name in ("claims", "erratum"):
        text = (ROOT / "docs" / "erratum" / f"{name}.md").read_text(encoding="utf-8")
        assert f"{slip}." in " ".join(text.split()), name


@pytest.mark.long
def test_every_claim_gets_its_verdict(certificate):
    assert [line.fault for line in certificate.lines if not line.ok] == []
    assert certificate.ok
    for line in certificate.lines:
        assert line.comparisons >= 10, line.claim.id
        assert 0 <= line.tightness < 0.3, line.claim.id
        if line.claim.kind == "false":
            assert line.refuted > 0


@pytest.mark.slow
def test_every_seed_gives_the_same_verdicts_on_few_instances():
    assert wn.verify(instances=2, seed=3).ok


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
def test_every_seed_gives_the_same_verdicts(seed):
    broken = [(line.claim.id, line.fault) for line in wn.verify(seed=seed).lines if not line.ok]
    assert broken == []
