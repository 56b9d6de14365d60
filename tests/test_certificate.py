"""The certificate: nothing missing, verdicts as established, pages as generated, checks that can
fail.
"""

import json
import operator
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import weightnorm as wn
from weightnorm import theory
from weightnorm.certificate import certify, counts, summary, to_erratum, to_markdown
from weightnorm.certificate.evidence import CHECKS, Evidence
from weightnorm.certificate.mutants import applied, claims_by_function, count, mutant
from weightnorm.certificate.snippets import code, show
from weightnorm.cli.main import app
from weightnorm.theory.index import CLAIMS, GROUPS, KINDS, PREAMBLE, SURVIVES

ROOT = Path(__file__).parents[1]

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


@pytest.fixture(scope="module")
def certificate():
    return wn.verify()


def test_no_claim_is_missing_and_no_verdict_changed():
    found = {f"{claim.id} {claim.kind} {claim.conclusion}" for claim in CLAIMS}
    assert found == set(ESTABLISHED.split("\n")) - {""}
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
    for name in claim.functions:
        function = operator.attrgetter(name if "." in name else f"theory.{name}")(wn)
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
    said = theory.two_phase_a_printed_second(1.0, 0.5, 1e-4, 0.01, 0.25)
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


def turns_red(identity, instances=certify.INSTANCES):
    """Whether a claim is not ok: its first failure says so, or a check that breaks."""
    claim = next(claim for claim in CLAIMS if claim.id == identity)
    try:
        certify.collect(claim, instances, 0, Evidence(stop_at_failure=True))
    except Exception:
        return True
    return not wn.verify(instances, only=[identity]).ok


def test_what_is_true_does_not_turn_red():
    assert not turns_red("gd-limit")


class TestMutants:
    """The mutants that used to survive, one by one; `make mutate` has all of them."""

    def red(self, claim, key, change):
        """Whether a claim turns red under the mutants of a function whose change says this."""
        found = [mutant(key, i) for i in range(count(key))]
        found = [each for each in found if change in each.change]
        assert found, change
        for each in found:
            with applied(each):
                assert turns_red(claim), each.change

    @pytest.mark.parametrize(
        ("claim", "key", "change"),
        [
            ("two-phase-a-first", "step_sizes.two_phase_a", "* turns) - 1"),
            ("two-phase-a-first", "step_sizes.two_phase_a", "* turns) // 2"),
            ("two-phase-a-first", "step_sizes.two_phase_a", "2 * min(0.5, slow)"),
            ("two-phase-a-second", "step_sizes.two_phase_a", "/ second_step) - 1"),
            ("two-phase-b", "step_sizes.two_phase_b", "log_ratio) - 1"),
            ("general-matrix", "general_matrix.general_matrix_steps", "- 1"),
            ("flow-dichotomy", "dynamics.flow_outcome", "0.0 -> 0.1"),
            ("flow-limit", "limits.flow_limit_as_printed", "first_term <= GOOD -> True"),
        ],
    )
    def test_a_changed_formula_is_noticed(self, claim, key, change):
        self.red(claim, key, change)

    @pytest.mark.parametrize(
        ("claim", "name", "wrong"),
        [
            ("stationary", "stationary_point", {"kind": "spurious"}),
            ("general-matrix-random", "general_matrix_random", lambda v: 1.5 * v),
            ("scale-increases-lemma", "scale_increases", False),
            ("flow-dichotomy", "flow_outcome", 0.0),
        ],
    )
    def test_a_falsified_answer_is_noticed(self, monkeypatch, claim, name, wrong):
        true = getattr(theory, name)

        def false(*args, **kwargs):
            said = true(*args, **kwargs)
            if isinstance(wrong, dict):
                return replace(said, value=said.value | wrong)
            if callable(wrong):
                return replace(said, value={k: wrong(v) for k, v in said.value.items()})
            return replace(said, value=wrong)

        monkeypatch.setattr(theory, name, false)
        assert turns_red(claim)

    @pytest.mark.parametrize("claim", ["flow-limit", "invariant-drift"])
    def test_a_wrong_reduction_is_noticed(self, monkeypatch, claim):
        """The simulations do not share the reduction with the predictions."""
        from weightnorm.problems.coordinates.reduction import RowSpace

        start = RowSpace.start

        def wrong(self, direction):
            coordinates, frame = start(self, direction)
            coordinates = coordinates.copy()
            coordinates[-1] *= 0.9
            return coordinates / np.linalg.norm(coordinates), frame

        monkeypatch.setattr(RowSpace, "start", wrong)
        assert turns_red(claim, instances=6)

    def test_every_function_of_a_claim_is_falsified(self):
        covered = {key.split(".")[1] for key in claims_by_function()}
        for claim in CLAIMS:
            for name in claim.functions:
                assert "." in name or name == "max_margin" or name in covered, name

    @pytest.mark.long
    def test_every_mutant_can_be_made(self):
        for key in claims_by_function():
            for number in {0, count(key) // 2, count(key) - 1} if count(key) else ():
                assert " -> " in mutant(key, number).change

    def test_a_mutant_is_taken_out_again(self):
        key = "discrete.loss_gap"
        before = theory.loss_gap(1.0, 1.0, 2.0, 0.5).value
        with applied(mutant(key, 0)):
            assert theory.loss_gap(1.0, 1.0, 2.0, 0.5).value != before
        assert theory.loss_gap(1.0, 1.0, 2.0, 0.5).value == before


class TestEvidence:
    def test_a_silent_skip_is_a_failure(self):
        evidence = Evidence()
        for number in evidence.over(range(3)):
            if number:
                evidence.true("fine", True)
        assert [failure["what"] for failure in evidence.failures] == [
            "an instance was skipped without a reason"
        ]

    def test_a_reason_is_enough(self):
        evidence = Evidence()
        for _ in evidence.over(range(3)):
            evidence.skip("too large")
        assert not evidence.failures
        assert evidence.skipped == {"too large": 3}

    def test_nan_is_no_answer(self):
        evidence = Evidence()
        evidence.equal("x", np.nan, 1.0, rtol=1e-3)
        evidence.at_most("x", np.nan, 1.0)
        evidence.at_most("x", 1.0, np.nan)
        assert len(evidence.failures) >= 3

    @pytest.mark.parametrize(
        ("kind", "within", "outside", "fine"),
        [
            ("holds", False, False, True),
            ("holds", True, False, False),
            ("loose", False, True, False),
            ("false", True, False, True),
            ("false", False, True, False),
            ("misprint", False, False, False),
            ("condition-needed", False, True, True),
            ("condition-needed", True, True, False),
            ("condition-stated", False, False, False),
            ("beyond", False, False, False),
        ],
    )
    def test_the_verdict_follows_the_evidence(self, kind, within, outside, fine):
        evidence = Evidence()
        evidence.as_printed(not within)
        evidence.as_printed(not outside, within=False)
        assert (evidence.disagreement(kind) is None) == fine

    def test_tightness_is_what_would_be_noticed(self):
        evidence = Evidence()
        evidence.equal("x", 2.0, 2.0, rtol=1e-3)
        assert evidence.tightness == pytest.approx(1e-3)
        bounds = Evidence()
        bounds.at_most("x", 0.9995, 1.0, slack=0.0)
        assert bounds.tightness == pytest.approx(5e-4)


class TestCommand:
    def test_json(self):
        result = CliRunner().invoke(
            app,
            ["verify", "--json", "--instances", "3", "--only", "gd-limit", "--only", "stationary"],
        )
        assert result.exit_code == 0
        lines = json.loads(result.stdout)
        assert [(line["id"], line["class"], line["conclusion"]) for line in lines] == [
            ("stationary", "holds", "yes"),
            ("gd-limit", "false", "partly"),
        ]
        assert lines[1]["functions"] == ["weightnorm.theory.gd_limit"]
        assert lines[1]["verdict"].endswith(".")
        assert lines[1]["comparisons"] > 0
        assert lines[1]["tightness"] > 0

    @pytest.mark.long
    def test_the_table_fits_eighty_columns_with_whole_ids(self, certificate, monkeypatch):
        monkeypatch.setattr(certify, "verify", lambda *a, **k: certificate)
        monkeypatch.setattr("weightnorm.certificate.verify", lambda *a, **k: certificate)
        result = CliRunner().invoke(app, ["verify"], env={"COLUMNS": "80"})
        assert result.exit_code == 0
        assert max(map(len, result.stdout.splitlines())) <= 80
        for claim in CLAIMS:
            assert f"\n{claim.id} " in result.stdout

    def test_a_failing_claim_is_a_failing_command(self, monkeypatch):
        monkeypatch.setitem(
            CHECKS,
            "gd-limit",
            lambda evidence, rng, n: evidence.equal("x∞", 1.0, 2.0, rtol=1e-9, g0=1.0),
        )
        result = CliRunner().invoke(app, ["verify", "--only", "gd-limit"])
        assert result.exit_code == 1
        assert "BROKEN" in result.stdout

    def test_a_changed_verdict_is_a_failing_command(self, monkeypatch):
        def all_holds(evidence, rng, n):
            for _ in range(20):
                evidence.equal("x∞", 1.0, 1.0, rtol=1e-9)
                evidence.as_printed(True)

        monkeypatch.setitem(CHECKS, "gd-limit", all_holds)
        result = CliRunner().invoke(app, ["verify", "--only", "gd-limit"])
        assert result.exit_code == 1
        assert "the printed form did not fail" in result.stdout

    def test_few_comparisons_are_a_failing_command(self, monkeypatch):
        def three(evidence, rng, n):
            for _ in range(3):
                evidence.equal("x∞", 1.0, 1.0, rtol=1e-9)
                evidence.as_printed(False)

        monkeypatch.setitem(CHECKS, "gd-limit", three)
        result = CliRunner().invoke(app, ["verify", "--only", "gd-limit"])
        assert result.exit_code == 1
        assert "only 3 comparisons" in result.stdout

    def test_an_unknown_claim_is_refused(self):
        result = CliRunner().invoke(app, ["verify", "--only", "fermat"])
        assert result.exit_code == 2
        with pytest.raises(ValueError, match="only has 'fermat', which is no claim"):
            certify.verify(only=["fermat"])


@pytest.mark.long
@pytest.mark.parametrize(("name", "write"), [("claims", to_markdown), ("erratum", to_erratum)])
def test_the_pages_are_of_this_index(certificate, name, write):
    """Written anew and compared whole; `make pages` writes them."""
    page = (ROOT / "docs" / "erratum" / f"{name}.md").read_text(encoding="utf-8")
    assert page == write(certificate)


def test_the_snippets_of_the_page_run_as_they_stand():
    """Pasted from the page itself: the preamble, then each of them."""
    page = (ROOT / "docs" / "erratum" / "claims.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 1 + len(CLAIMS)
    names = {}
    exec(blocks[0], names)
    for block in blocks[1:40:6]:
        exec(block, names)
        assert "found" in names
        assert "printed" in names


def test_the_counts_in_prose_are_computed():
    text = (ROOT / "docs" / "erratum" / "index.md").read_text(encoding="utf-8")
    assert summary() in " ".join(text.split())


def test_no_page_cites_the_old_numbers():
    """Condition 2.1, Lemmas 2.2–2.5, Theorems 2.6, 2.7, 3.2, D.2, E.1 …: the LaTeX counters."""
    for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md"]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"Condition 1\b|Lemma\s+2\.1\b|Theorem\s+2\.5\b", text), path
        assert not re.search(r"Lemma\s+(v_norm|g_update|gv|Aw|fixg|anyw|randomw)\b", text), path
