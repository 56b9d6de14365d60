"""The checks of the certificate can fail; its command and its pages."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import weightnorm as wn
from tests.paper.test_certificate import ROOT
from tests.support.commands import SURROUNDINGS, copied
from weightnorm import theory
from weightnorm.cli.main import app
from weightnorm_paper import lemmas
from weightnorm_paper.certificate import certify, summary, to_erratum, to_markdown
from weightnorm_paper.certificate.mutants import applied, claims_by_function, count, mutant
from weightnorm_paper.claims import CLAIMS
from weightnorm_paper.evidence.evidence import CHECKS, Evidence


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
            ("general-matrix", "safe_scale.safe_scale_steps", "- 1"),
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
            ("general-matrix-random", "safe_scale_random", lambda v: 1.5 * v),
            ("scale-increases-lemma", "scale_increases", False),
            ("flow-dichotomy", "flow_outcome", 0.0),
        ],
    )
    def test_a_falsified_answer_is_noticed(self, monkeypatch, claim, name, wrong):
        room = lemmas if name in lemmas.__all__ else theory
        true = getattr(room, name)

        def false(*args, **kwargs):
            said = true(*args, **kwargs)
            if isinstance(wrong, dict):
                return replace(said, value=said.value | wrong)
            if callable(wrong):
                return replace(said, value={k: wrong(v) for k, v in said.value.items()})
            return replace(said, value=wrong)

        monkeypatch.setattr(room, name, false)
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
        before = lemmas.loss_gap(1.0, 1.0, 2.0, 0.5).value
        with applied(mutant(key, 0)):
            assert lemmas.loss_gap(1.0, 1.0, 2.0, 0.5).value != before
        assert lemmas.loss_gap(1.0, 1.0, 2.0, 0.5).value == before


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
        monkeypatch.setattr("weightnorm_paper.certificate.verify", lambda *a, **k: certificate)
        result = CliRunner().invoke(app, ["verify"], env={**SURROUNDINGS, "COLUMNS": "80"})
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
        result = CliRunner().invoke(app, ["verify", "--only", "gd-limit"], env=SURROUNDINGS)
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
        with pytest.raises(ValueError, match="only has 'fermat', which is not a claim"):
            certify.verify(only=["fermat"])


@pytest.mark.long
@pytest.mark.parametrize(("name", "write"), [("claims", to_markdown), ("erratum", to_erratum)])
def test_the_pages_are_of_this_index(certificate, name, write):
    """Written anew and compared whole; `make pages` writes them."""
    page = (ROOT / "docs" / "erratum" / f"{name}.md").read_text(encoding="utf-8")
    assert page == write(certificate), "the claims have changed: make pages writes them anew"


def test_the_snippets_of_the_page_run_as_they_stand():
    """Pasted from the page itself: the preamble, then each of them."""
    page = (ROOT / "docs" / "erratum" / "claims.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 1 + len(CLAIMS), "the claims have changed: make pages writes them anew"
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


OWN = '''
"""A claim of my own, with its check."""

from ..evidence.evidence import check
from .claim import Claim

CLAIMS = (
    Claim(
        id="my-own", kind="beyond", conclusion="yes", group="beyond", paper="beyond the paper",
        functions=("potential",), verdict="Two and two are four.", printed="–", exact="2 + 2 = 4.",
        proof="By counting.", instance="two and two", snippet="found, printed = 2 + 2, 4",
        relation="=",
    ),
)


@check("my-own")
def my_own(evidence, rng, instances):
    """Count them."""
    for number in evidence.over(range(instances)):
        evidence.equal("the sum", number + 2, number + 2, rtol=0.0)
'''


def test_a_new_claim_is_one_file(tmp_path):
    package = copied(ROOT / "src" / "weightnorm_paper", tmp_path / "weightnorm_paper")
    own = package / "claims" / "mine.py"
    own.write_text(OWN, encoding="utf-8")
    command = [sys.executable, "-m", "weightnorm.cli.main", "verify", "--only", "my-own", "--json"]
    surroundings = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=surroundings, check=False)
    assert done.returncode == 0, done.stderr
    (line,) = json.loads(done.stdout)
    assert (line["id"], line["ok"], line["comparisons"]) == ("my-own", True, 24)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "beyon"}, "kind must be one of 'holds', .*, got 'beyon'"),
        ({"relation": "=="}, "relation must be one of '=', .*, got '=='"),
        ({"functions": ("gd_limits",)}, "'gd_limits' is neither in weightnorm.theory nor in"),
    ],
)
def test_a_claim_with_a_slip_is_refused_by_name(change, message):
    with pytest.raises(ValueError, match=f"claim 'gd-limit': {message}"):
        replace(next(claim for claim in CLAIMS if claim.id == "gd-limit"), **change)


def test_a_claim_without_a_check_says_so(monkeypatch):
    monkeypatch.delitem(CHECKS, "gd-limit")
    line = wn.verify(2, only=["gd-limit"])["gd-limit"]
    assert not line.ok
    assert 'it has no check: register one with @check("gd-limit")' in line.verdict
